"""`loci model`, `loci prompt`, and what `loci doctor` says of the endpoint."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.settings import get_settings
from tests.cli.conftest import Loci
from tests.model_server import ModelServer, model_server, status, truncated

CLOSED = "http://127.0.0.1:9/v1"


@pytest.fixture
def endpoint() -> Iterator[ModelServer]:
    with model_server([{"word": "loci"}]) as server:
        yield server


def configure(monkeypatch: pytest.MonkeyPatch, **settings: str) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(f"LOCI_LLM__{name}", value)
    get_settings.cache_clear()


def examined(loci: Loci) -> dict[str, tuple[bool, str]]:
    return {check["name"]: (check["ok"], check["detail"]) for check in json.loads(loci("doctor", "--json").stdout)}


def reserve(loci: Loci, namespace: str, purpose: str) -> None:
    loci.rows("select * from loci_api.reserve_model_call(%s, null, %s, 'scripted', 10, 1000)", namespace, purpose)


def test_calls_and_usage_are_shown(loci: Loci, namespace: str) -> None:
    reserve(loci, namespace, "memories")
    reserve(loci, namespace, "retain")
    rows = json.loads(loci("model", "calls", "-n", namespace, "--purpose", "retain", "--json").stdout)
    assert [(row["purpose"], row["state"], row["completion_tokens"]) for row in rows] == [("retain", "running", 1000)]
    usage = json.loads(loci("model", "usage", "-n", namespace, "--json").stdout)
    assert (usage["calls"], usage["tokens_left"]) == (2, 2_000_000 - 2020)
    assert json.loads(loci("model", "usage", "-n", namespace, "--day", "2020-01-01", "--json").stdout)["calls"] == 0
    assert "retain" in loci("model", "calls", "-n", namespace).stdout
    assert "tokens_left" in loci("model", "usage", "-n", namespace).stdout


def test_a_prompt_is_shown_as_it_is_in_force(loci: Loci, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ours = loci("prompt", "show", "data").stdout
    assert "Answer with one JSON object" in ours
    (tmp_path / "data.md").write_text(f"Be brief.\n{ours}")
    configure(monkeypatch, PROMPTS=str(tmp_path))
    assert loci("prompt", "show", "data.md").stdout == f"Be brief.\n{ours}"
    listed = {row["name"]: row["from"] for row in json.loads(loci("prompt", "list", "--json").stdout)}
    assert (listed["data.md"], listed["dream.md"]) == (str(tmp_path / "data.md"), "loci")


def test_an_unknown_prompt_is_named_with_those_there_are(loci: Loci) -> None:
    result = loci("prompt", "show", "dreams")
    assert result.exit_code == 1
    assert "there is no prompt dreams.md" in result.stderr
    assert "pref-dream.md" in result.stderr


def test_doctor_asks_the_endpoint_a_tiny_question(loci: Loci, monkeypatch: pytest.MonkeyPatch, endpoint: ModelServer) -> None:
    assert examined(loci)["model"] == (True, "none is configured; what needs one is not done")
    configure(monkeypatch, ENDPOINT=endpoint.url, MODEL="scripted")
    ok, detail = examined(loci)["model"]
    assert ok, detail
    assert detail.startswith("scripted, ")
    assert len(endpoint.chats) == 1
    assert endpoint.refused == []


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (status(401), "look at LOCI_LLM__API_KEY"),
        (truncated({"word": "loci"}, 3), "LOCI_LLM__MAX_TOKENS"),
        ({"no": 1}, "word is missing"),
    ],
    ids=["key", "length", "schema"],
)
def test_doctor_says_what_failed_and_which_setting_it_is(
    loci: Loci, monkeypatch: pytest.MonkeyPatch, endpoint: ModelServer, reply: object, said: str
) -> None:
    endpoint.script = [reply]
    configure(monkeypatch, ENDPOINT=endpoint.url, ATTEMPTS="1")
    ok, detail = examined(loci)["model"]
    assert not ok
    assert said in detail


def test_doctor_says_that_nobody_listens(loci: Loci, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(monkeypatch, ENDPOINT=CLOSED, ATTEMPTS="1")
    assert examined(loci)["model"] == (False, "127.0.0.1:9 cannot be reached; look at LOCI_LLM__ENDPOINT")


def test_doctor_reads_the_prompts(loci: Loci, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "dream.md").write_text("")
    configure(monkeypatch, PROMPTS=str(tmp_path))
    ok, detail = examined(loci)["prompts"]
    assert not ok
    assert detail == f"the prompt {tmp_path / 'dream.md'} is empty"


@pytest.mark.parametrize("command", [["serve", "--port", "0"], ["worker"]])
def test_a_bad_prompt_is_refused_at_the_start(
    loci: Loci, monkeypatch: pytest.MonkeyPatch, in_this_process: None, tmp_path: Path, command: list[str]
) -> None:
    (tmp_path / "dream.md").write_text(" ")
    configure(monkeypatch, PROMPTS=str(tmp_path))
    refused = loci(*command)
    assert refused.exit_code == 1
    assert refused.stderr.startswith(f"error: the prompt {tmp_path / 'dream.md'} is empty")
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize("given", ["none", ""])
def test_settings_can_be_taken_away_by_the_environment(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    configure(monkeypatch, TEMPERATURE=given, ENDPOINT=given, PROMPTS=given)
    llm = get_settings().llm
    assert (llm.temperature, llm.endpoint, llm.prompts) == (None, None, None)
    get_settings.cache_clear()
