"""What must hold whatever a model says, with one that runs: SmolLM2 with 135 million parameters, behind llama.cpp's server.

Its answers make little sense, and none of these tests asks for sense.
"""

import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from pydantic import Field

from service.cli.model_trials import TRIALS, Trial
from service.llm.answer_parsing import Answer, read_answer
from service.llm.client import EndpointModel
from service.llm.context_size import Sizes
from service.llm.model import Completion, InvalidAnswer, ModelError
from service.llm.prompts import Prompts
from service.llm.schemas import schema_of
from service.settings import LLMSettings
from tests.llm.model_server import Request, model_server
from tests.llm.real.recorder import Recorder
from tests.llm.real.server import RealModel
from tests.llm.shortest import shortest
from tests.services import Api, Row, Service, new_api, ok, serve

pytestmark = pytest.mark.anyio
PATIENCE = 600.0  # seconds: the machine may be slow, and busy
SLOW = {"model": "smollm2", "attempts": 1, "timeout": PATIENCE, "deadline": PATIENCE, "max_tokens": 400}
SHOWN = 3  # things that a call shows
TURNS = ["I would rather have my mail in the morning.", "Bo looks after the press release.", "Send it by Friday, please."]


class Story(Answer):
    """What is longer than the context."""

    lines: list[str] = Field(min_length=1000)


async def asked(settings: LLMSettings, trial: Trial, things: int) -> Completion:
    model = EndpointModel(settings)
    try:
        sizes = await model.measure()
        schema = trial.make_schema(Prompts(), things, sizes, settings.max_tokens)
        return await model.complete(trial.make_messages(Prompts(), things), schema=schema, title=trial.purpose)
    finally:
        await model.close()


@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.trial_name)
def test_the_server_takes_the_schema_of_each_purpose_as_a_grammar(wide: RealModel, trial: Trial) -> None:
    stated = {"name": trial.purpose, "schema": trial.make_schema(Prompts(), trial.most, Sizes(), 16_000), "strict": True}
    body = {"messages": [{"role": "user", "content": "JSON."}], "max_tokens": 1}
    body["response_format"] = {"type": "json_schema", "json_schema": stated}
    reply = httpx.post(f"{wide.url}/chat/completions", json=body, timeout=PATIENCE)
    assert reply.status_code == 200, reply.text


async def test_a_full_context_is_named_as_what_it_is(narrow: RealModel) -> None:
    model = EndpointModel(LLMSettings(endpoint=narrow.url, **{**SLOW, "max_tokens": 2000}))
    try:
        with pytest.raises(InvalidAnswer, match="context") as refused:
            await model.complete([{"role": "user", "content": "Tell a story."}], schema=schema_of(Story), title="story")
    finally:
        await model.close()
    assert "LOCI_LLM__MAX_TOKENS" not in str(refused.value)


async def test_a_prompt_beyond_the_context_is_refused_with_its_reason(narrow: RealModel) -> None:
    with pytest.raises(ModelError, match=r"exceed_context_size_error|LOCI_LLM__CONTEXT"):
        await asked(LLMSettings(endpoint=narrow.url, **SLOW), next(trial for trial in TRIALS if trial.trial_name == "retain"), 5)


def waited(question: Callable[[], Any]) -> Any:
    """The first answer that is true."""
    until = time.monotonic() + PATIENCE
    while not (answer := question()):
        assert time.monotonic() < until, "it did not come true"
        time.sleep(0.1)
    return answer


def over(api: Api, job: str) -> Row:
    """A job once it is over."""

    def found() -> Row | None:
        row: Row = ok(api.get(f"/jobs/{job}"))
        return row if row["finished_at"] else None

    ended: Row = waited(found)
    return ended


def said_in(request: Request) -> list[str]:
    return [turn["said"] for conversation in request.data["conversations"] for turn in conversation["turns"]]


def test_a_prompt_beyond_the_context_keeps_the_conversation_log(server: Any, narrow: RealModel) -> None:
    database = server.clone("model")
    with serve(database, llm={"endpoint": narrow.url, **SLOW}, jobs={"attempts": 1}) as service, new_api(service) as api:
        ok(api.post("/conversations/s/turns", {"turns": [{"role": "user", "content": turn} for turn in TURNS]}), 201)
        job = ok(api.post("/dream", {"passes": ["preferences"]}), 202)["job_id"]
        waited(lambda: ok(api.get(f"/jobs/{job}"))["error"])
        namespace = api.namespace
    with (
        model_server(lambda request: shortest(request.body["response_format"]["json_schema"]["schema"])) as mended,
        serve(database, llm={"endpoint": mended.url, "model": "another"}) as service,
        service.client(**{"X-Namespace": namespace}) as client,
    ):
        ok(client.post("/dream", json={"passes": ["preferences"]}), 202)
        waited(lambda: mended.chats)
        assert said_in(mended.chats[0]) == TURNS
    server.drop(database)


def test_two_jobs_at_one_slot_both_succeed_and_what_they_cost_and_changed_is_on_record(
    start_service: Callable[..., Service], recorded: Recorder
) -> None:
    service = start_service(llm={"endpoint": recorded.url, **SLOW}, jobs={"attempts": 1, "concurrency": 2})
    with new_api(service) as one, new_api(service) as other:
        for api in (one, other):
            ok(api.post("/conversations/s/turns", {"turns": [{"role": "user", "content": TURNS[0]}]}), 201)
        asked_for = [(api, ok(api.post("/dream", {"passes": ["preferences"]}), 202)["job_id"]) for api in (one, other)]
        jobs = [over(api, job) for api, job in asked_for]
        calls = [call for api in (one, other) for call in ok(api.get("/model-calls"))["items"]]
        made = [len(ok(api.get("/memories"))["items"]) for api in (one, other)]
        applied = [sum(len(report["changes"]) for report in job["passes"]) for job in jobs]
    assert [job["state"] for job in jobs] == ["succeeded", "succeeded"]
    first, second = recorded.heard
    assert first.ended <= second.began  # the second waited here, and not in the model's queue
    booked = sorted((call["prompt_tokens"], call["completion_tokens"]) for call in calls)
    assert booked == sorted(heard.tokens for heard in recorded.heard if heard.tokens)
    assert not any(call["estimated"] for call in calls)
    assert made == applied  # and what is not in the report of a pass, is not there


@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.trial_name)
async def test_an_answer_of_each_purpose_ends_within_its_limits_and_can_be_read(wide: RealModel, trial: Trial) -> None:
    completion = await asked(LLMSettings(endpoint=wide.url, **SLOW), trial, min(SHOWN, trial.most))
    assert completion.completion_tokens is not None
    assert completion.completion_tokens <= SLOW["max_tokens"]
    read_answer(completion, trial.answer)
