"""Presets: settings by the name of a server, each of which can be set otherwise, tried against endpoints like those servers."""

from typing import Any, get_args

import pytest
from pydantic import ValidationError

from service.cli.model_trials import TRIALS, Trial
from service.llm.answer_parsing import read_answer
from service.llm.client import EndpointModel
from service.llm.model import Completion, ModelError
from service.llm.prompts import Prompts
from service.llm_presets import MODELS, SETTINGS, Preset
from service.settings import LLMSettings, Settings
from tests.llm.likenesses import KEYS, LIKE, SERVED
from tests.llm.model_server import model_server

pytestmark = pytest.mark.anyio
NAMES = get_args(Preset)
TRIED = {trial.trial_name: trial for trial in TRIALS}


def settings_of(name: str, url: str, **others: Any) -> LLMSettings:
    given = {"preset": name, "endpoint": url, "attempts": 1, "api_key": KEYS.get(name), "max_tokens": 500}
    return LLMSettings(**given, **({"model": SERVED} if name in MODELS else {}), **others)


async def ask(settings: LLMSettings, trial: Trial) -> Completion:
    model = EndpointModel(settings)
    try:
        return await model.complete(
            trial.make_messages(Prompts(), 1),
            schema=trial.make_schema(Prompts(), 1, await model.measure(), settings.max_tokens),
            title=trial.purpose,
            deadline=settings.deadline,
        )
    finally:
        await model.close()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("trial", [TRIED["retain"], TRIED["memories"]], ids=lambda trial: trial.trial_name)
async def test_a_preset_gets_answers_of_a_server_like_its_own(name: str, trial: Trial) -> None:
    with model_server(LIKE[name], strict=False) as endpoint:
        completion = await ask(settings_of(name, endpoint.url), trial)
        read_answer(completion, trial.answer)
        assert len(endpoint.chats) <= 2  # one more where it has to find out that limits are refused


@pytest.mark.parametrize(
    ("name", "otherwise"),
    [
        ("ollama", {"extra": {}}),  # it thinks until the tokens are used up
        ("llamacpp", {"extra": {}}),
        ("vllm", {"extra": {}}),
        ("vllm", {"model": "another"}),
        ("lmstudio", {"format": "json_object"}),
        ("openai", {"extra": {"chat_template_kwargs": {"enable_thinking": False}}}),
        ("openai", {"api_key": None}),
        ("google", {"extra": {"reasoning_effort": "none"}}),
    ],
    ids=str,
)
async def test_without_what_a_preset_sets_such_a_server_gives_no_answer(name: str, otherwise: dict[str, Any]) -> None:
    with model_server(LIKE[name], strict=False) as endpoint:
        given = settings_of(name, endpoint.url).model_dump(exclude_unset=True) | otherwise
        with pytest.raises(ModelError):
            await ask(LLMSettings(**given), TRIED["retain"])


async def test_a_server_that_passes_the_form_over_needs_the_schema_in_the_prompt() -> None:
    with model_server(LIKE["anthropic"], strict=False) as endpoint:
        completion = await ask(settings_of("anthropic", endpoint.url, format="json_schema"), TRIED["retain"])
        with pytest.raises(ModelError, match="no JSON object"):
            read_answer(completion, TRIED["retain"].answer)


@pytest.mark.parametrize("name", NAMES)
def test_a_preset_says_where_its_server_is(name: str) -> None:
    made = LLMSettings(preset=name, model="m")
    assert made.endpoint == SETTINGS[name]["endpoint"]
    assert {field: getattr(made, field) for field in SETTINGS[name] if field != "model"} == {
        field: value for field, value in SETTINGS[name].items() if field != "model"
    }


@pytest.mark.parametrize("name", NAMES)
def test_each_setting_of_a_preset_can_be_set_otherwise(name: str) -> None:
    others = {
        "endpoint": "http://gpu.lan:9000/v1",
        "model": "mine",
        "format": "json_object",
        "concurrency": 3,
        "context": 9000,
        "extra": {"seed": 1},
    }
    assert set(SETTINGS[name]) <= set(others)
    for field, value in others.items():
        made = LLMSettings(**{"preset": name, "model": "m", field: value})
        assert getattr(made, field) == value
    assert LLMSettings(preset=name, model="m", endpoint="none").endpoint is None


def test_the_environment_names_a_preset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"PRESET": "ollama", "MODEL": "qwen3:8b", "CONCURRENCY": "2"}.items():
        monkeypatch.setenv(f"LOCI_LLM__{name}", value)
    made = Settings(_env_file=None).llm
    assert (made.endpoint, made.model, made.concurrency) == ("http://localhost:11434/v1", "qwen3:8b", 2)
    monkeypatch.setenv("LOCI_LLM__PRESET", "none")
    assert Settings(_env_file=None).llm.endpoint is None


@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_preset_without_a_model_of_its_own_asks_for_one(name: str) -> None:
    with pytest.raises(ValidationError, match=f"the preset {name} needs the name of a model in LOCI_LLM__MODEL"):
        LLMSettings(preset=name)


def test_an_unknown_preset_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValidationError, match="'ollama', 'llamacpp', 'vllm', 'lmstudio', 'openai', 'anthropic' or 'google'"):
        LLMSettings(preset="olama")
