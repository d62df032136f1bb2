"""The model's endpoint, asked over loopback by a server that speaks the protocol for real and misbehaves as endpoints do."""

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Iterator
from email.utils import formatdate
from typing import Any

import pytest
from pydantic import ValidationError

from service.llm.answer_parsing import Answer
from service.llm.client import EndpointModel
from service.llm.context_size import Sizes
from service.llm.model import Completion, CutOff, InvalidAnswer, Message, ModelError, TooLong
from service.llm.schemas import at_most, schema_of, without_limits
from service.settings import LLMSettings, Settings
from tests.clocks import instead
from tests.llm.model_server import (
    ModelServer,
    Reply,
    Request,
    cut,
    fence,
    garbage,
    hang,
    model_server,
    prose,
    say,
    slow,
    status,
    truncated,
)

pytestmark = pytest.mark.anyio
SAID = {"kept": [1, 2], "why": "naïve café – 東京"}
KEY = "sk-canary-7781"
CLOSED = "http://127.0.0.1:9/v1"  # the discard port: nobody listens


class Kept(Answer):
    kept: list[int] = at_most(5)
    why: str


@pytest.fixture
def endpoint() -> Iterator[ModelServer]:
    with model_server([SAID]) as server:
        yield server


@pytest.fixture
async def models() -> AsyncIterator[list[EndpointModel]]:
    made: list[EndpointModel] = []
    yield made
    for model in made:
        await model.close()


def model_of(url: str, models: list[EndpointModel], **options: Any) -> EndpointModel:
    given = {"endpoint": url, "model": "scripted", "api_key": KEY, "timeout": 5.0, "attempts": 1, **options}
    models.append(EndpointModel(LLMSettings(**given)))
    return models[-1]


MESSAGES: list[Message] = [
    {"role": "system", "content": "Answer with JSON."},
    {"role": "user", "content": "the canary sang"},
]


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pause before an endpoint is asked again that did not say when."""
    monkeypatch.setattr("db.retries.asyncio", instead(asyncio, sleep=lambda seconds: asyncio.sleep(0 * seconds)))


async def ask(model: EndpointModel, **options: Any) -> Completion:
    return await model.complete(MESSAGES, schema=schema_of(Kept), title="memories", **options)


# Answers


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("as_stream", [None, True, False])
async def test_an_answer_is_read_as_a_stream_or_whole_whatever_was_asked_for(
    endpoint: ModelServer, models: list[EndpointModel], stream: bool, as_stream: bool | None
) -> None:
    endpoint.script = [say(SAID, stream=as_stream, pieces=7)]
    answer = await ask(model_of(endpoint.url, models, stream=stream))
    assert json.loads(answer.text) == SAID
    counted = stream or as_stream is not True  # usage of a stream comes when it is asked for, and that is done with a stream
    assert (answer.prompt_tokens, answer.completion_tokens) == ((100, 50) if counted else (None, None))
    assert endpoint.refused == []


async def test_the_request_holds_what_was_configured_and_nothing_more(endpoint: ModelServer, models: list[EndpointModel]) -> None:
    await ask(model_of(endpoint.url, models, max_tokens=123, temperature=0.5))
    (request,) = endpoint.chats
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert {key: value for key, value in request.body.items() if key not in {"messages", "response_format"}} == {
        "model": "scripted",
        "max_tokens": 123,
        "temperature": 0.5,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert request.purpose == "memories"


async def test_a_setting_of_none_is_left_out(endpoint: ModelServer, models: list[EndpointModel]) -> None:
    await ask(model_of(endpoint.url, models, stream=False, temperature=None, api_key=None))
    (request,) = endpoint.chats
    assert set(request.body) == {"model", "messages", "max_tokens", "response_format"}
    assert "authorization" not in request.headers


@pytest.mark.parametrize(("form", "sent"), [("json_object", {"type": "json_object"}), ("none", None)])
async def test_without_strict_schemas_the_words_say_what_is_asked_for(
    endpoint: ModelServer, models: list[EndpointModel], form: str, sent: Any
) -> None:
    await ask(model_of(endpoint.url, models, format=form))
    (request,) = endpoint.chats
    assert request.body.get("response_format") == sent
    assert json.dumps(schema_of(Kept)) in request.prompt


async def test_the_words_say_the_form_of_the_answer_to_a_model_that_is_shown_no_schema(
    endpoint: ModelServer, models: list[EndpointModel]
) -> None:
    await ask(model_of(endpoint.url, models))
    assert (
        endpoint.chats[0].prompt == 'Answer with JSON.\n\nThe JSON object has this form: {"kept": [number, up to 5], "why": text}'
    )


async def test_an_endpoint_that_refuses_limits_is_asked_without_them_from_then_on(
    endpoint: ModelServer, models: list[EndpointModel]
) -> None:
    endpoint.takes_limits = False
    model = model_of(endpoint.url, models)
    for _ in range(2):
        assert json.loads((await ask(model)).text) == SAID
    sent = [request.body["response_format"]["json_schema"]["schema"] for request in endpoint.chats]
    assert sent == [schema_of(Kept), without_limits(schema_of(Kept)), without_limits(schema_of(Kept))]


async def test_an_endpoint_that_refuses_both_forms_is_asked_with_limits_again(
    endpoint: ModelServer, models: list[EndpointModel]
) -> None:
    endpoint.script = [status(400, {"error": {"message": "json_schema is not supported"}})]
    model = model_of(endpoint.url, models)
    for _ in range(2):
        with pytest.raises(ModelError, match="LOCI_LLM__FORMAT"):
            await ask(model)
    assert ['"maxItems":' in json.dumps(request.body) for request in endpoint.chats] == [True, False, True, False]


@pytest.mark.parametrize(
    ("own", "failures", "sent"), [(0.0, 0, 0.0), (0.0, 2, 0.4), (0.7, 1, 0.9), (0.0, 9, 1.0), (1.5, 3, 1.5), (None, 3, None)]
)
async def test_after_an_answer_that_was_none_a_model_is_asked_warmer(
    endpoint: ModelServer, models: list[EndpointModel], own: float | None, failures: int, sent: float | None
) -> None:
    await ask(model_of(endpoint.url, models, temperature=own), failures=failures)
    assert endpoint.chats[0].body.get("temperature") == (None if sent is None else pytest.approx(sent))


@pytest.mark.parametrize(
    "reply",
    [
        say(SAID, comments=True, pieces=30),
        say(SAID, usage=None),
        slow(SAID, 0.02),
        Reply(raw=b'data: {"choices":[{"delta":{"content":"{}"},"finish_reason":"stop"}]}', raw_type="text/event-stream"),
        Reply(raw=b'data:{"choices":[{"delta":{"content":"{}"}}]}\r\n\r\ndata:[DONE]\r\n\r\n', raw_type="text/event-stream"),
        Reply(raw=json.dumps({"choices": [{"message": {"content": [{"type": "text", "text": "{}"}]}}]}).encode()),
    ],
    ids=["comments", "no usage", "slow", "no end", "other line ends", "parts"],
)
async def test_dialects_of_the_protocol_are_understood(endpoint: ModelServer, models: list[EndpointModel], reply: Reply) -> None:
    endpoint.script = [reply]
    answer = await ask(model_of(endpoint.url, models))
    assert json.loads(answer.text) in (SAID, {})


@pytest.mark.parametrize("reply", [prose("Of course: ", SAID, " Done."), fence(SAID)], ids=["prose", "fence"])
async def test_talk_around_the_answer_comes_as_it_is(endpoint: ModelServer, models: list[EndpointModel], reply: Reply) -> None:
    endpoint.script = [reply]
    assert (await ask(model_of(endpoint.url, models))).text == reply.text


# Answers that are none


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (truncated(SAID), r"cut off after 50 tokens: the context of the model was full \(LOCI_LLM__CONTEXT\)"),
        (say(""), "said nothing"),
        (say(None), "said nothing"),
        (say(None, finish="tool_calls"), "said nothing"),
        (say(None, refusal="the canary sang"), "refused"),
        (say("the canary", finish="content_filter"), "refused"),
    ],
    ids=["length", "empty", "null", "tools", "refusal", "filter"],
)
async def test_an_answer_that_is_none_is_invalid_and_says_what_it_cost(
    endpoint: ModelServer, models: list[EndpointModel], stream: bool, reply: Reply, why: str
) -> None:
    endpoint.script = [reply]
    with pytest.raises(InvalidAnswer, match=why) as raised:
        await ask(model_of(endpoint.url, models, stream=stream, attempts=3))
    assert len(endpoint.chats) == 1
    assert raised.value.completion is not None
    assert (raised.value.completion.prompt_tokens, raised.value.completion.completion_tokens) == (100, 50)
    assert "canary" not in str(raised.value)


async def test_an_answer_that_was_cut_off_by_its_own_limit_says_so(endpoint: ModelServer, models: list[EndpointModel]) -> None:
    endpoint.script = [truncated(SAID)]
    with pytest.raises(CutOff, match="cut off after 50 tokens: raise LOCI_LLM__MAX_TOKENS"):
        await ask(model_of(endpoint.url, models, max_tokens=50))


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("said", ["", "<think>What does the canary", "<thinking>\nPerhaps it sang."])
async def test_a_model_that_thinks_until_its_tokens_are_used_up_is_told_apart_and_how_to_stop_that(
    endpoint: ModelServer, models: list[EndpointModel], stream: bool, said: str
) -> None:
    endpoint.script = [say(said, finish="length")]
    with pytest.raises(
        CutOff, match=r"still thinking \(LOCI_LLM__EXTRA switches that off\), and was cut off after 50 tokens: raise"
    ):
        await ask(model_of(endpoint.url, models, max_tokens=50, stream=stream))


async def test_fields_of_the_operator_go_with_each_request(endpoint: ModelServer, models: list[EndpointModel]) -> None:
    endpoint.script = [SAID]
    await ask(model_of(endpoint.url, models, extra={"top_p": 0.5, "temperature": 1.0}))
    assert (endpoint.chats[0].body["top_p"], endpoint.chats[0].body["temperature"]) == (0.5, 1.0)


@pytest.mark.parametrize("field", ["messages", "model", "stream", "response_format"])
def test_fields_of_ours_are_not_the_operators(field: str) -> None:
    with pytest.raises(ValidationError, match=f"must not have {field}, which each request has of its own"):
        LLMSettings(extra={field: None})


def test_extra_fields_are_read_as_json_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCI_LLM__EXTRA", '{"chat_template_kwargs": {"enable_thinking": false}}')
    assert Settings(_env_file=None).llm.extra == {"chat_template_kwargs": {"enable_thinking": False}}


@pytest.mark.parametrize("field", ["content", "reasoning_content", "reasoning"])
async def test_uncounted_tokens_are_estimated_by_pieces_thoughts_included(
    endpoint: ModelServer, models: list[EndpointModel], field: str
) -> None:
    thought = b"".join(b'data: {"choices":[{"delta":{"%s":" "}}]}\n\n' % field.encode() for _ in range(700))
    said = b'data: {"choices":[{"delta":{"content":"{}"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    endpoint.script = [Reply(raw=thought + said, raw_type="text/event-stream")]
    answer = await ask(model_of(endpoint.url, models))
    assert (answer.completion_tokens, answer.heard) == (None, 701)


async def test_an_endless_answer_is_not_read_to_its_end(endpoint: ModelServer, models: list[EndpointModel]) -> None:
    endpoint.script = [say("x" * 50_000, pieces=500)]
    with pytest.raises(InvalidAnswer, match="longer than 10 tokens"):
        await ask(model_of(endpoint.url, models, max_tokens=10))


async def test_a_reply_without_lines_is_not_read_for_ever(endpoint: ModelServer, models: list[EndpointModel]) -> None:
    endpoint.script = [Reply(raw=b"x" * 1_200_000, raw_type="text/event-stream")]
    with pytest.raises(InvalidAnswer, match="bytes"):
        await ask(model_of(endpoint.url, models, max_tokens=10))


# Failures that may pass


@pytest.mark.parametrize(
    "failure",
    [
        status(429, retry_after=0),
        status(500, retry_after=0),
        status(503, b"<html>", retry_after=0),
        status(408, retry_after=0),
        cut(SAID, 300),
        cut(SAID, 0),
        say(SAID, stream=False, cut=30),
        garbage(),
        garbage(b"", "application/json"),
        garbage(b"[1]", "application/json"),
        garbage(b'{"choices": [1]}', "application/json"),
        garbage(b'{"choices": "no"}', "application/json"),
        garbage(b'{"id": 1}', "application/json"),
        garbage(b'data: {"choices":[{"delta":{"content":"{', "text/event-stream"),
        garbage(b'data: {"choices":[{"delta":{"content":"{"}}]}\n\n', "text/event-stream"),
        garbage(b"data: nonsense\n\n", "text/event-stream"),
        garbage(b'data: {"error":{"message":"the canary sang","code":"overloaded"}}\n\n', "text/event-stream"),
        garbage(b"data: \xff\xfe\n\n", "text/event-stream"),
    ],
    ids=[
        "429", "500", "503", "408", "cut", "cut at once", "cut whole", "html", "empty", "list", "choices of numbers", "choices of text",
        "no choices", "cut event", "no end", "nonsense", "error in stream", "no text",
    ],
)  # fmt: skip
@pytest.mark.usefixtures("hurried")
async def test_a_failure_that_may_pass_is_asked_again(endpoint: ModelServer, models: list[EndpointModel], failure: Reply) -> None:
    endpoint.script = [failure, SAID]
    answer = await ask(model_of(endpoint.url, models, attempts=2))
    assert json.loads(answer.text) == SAID
    assert len(endpoint.chats) == 2


@pytest.mark.usefixtures("hurried")
async def test_broken_tries_are_counted_with_their_cost(endpoint: ModelServer, models: list[EndpointModel]) -> None:
    endpoint.script = [say({"kept": [1], "why": "x" * 900}, cut=2000, pieces=10), SAID]
    answer = await ask(model_of(endpoint.url, models, attempts=2))
    assert answer.prompt_tokens is not None
    assert answer.completion_tokens is not None
    assert answer.prompt_tokens > 120
    assert 50 < answer.completion_tokens < 50 + 900


async def test_an_endpoint_that_is_refused_costs_nothing(endpoint: ModelServer, models: list[EndpointModel]) -> None:
    endpoint.script = [status(500, retry_after=0), SAID]
    answer = await ask(model_of(endpoint.url, models, attempts=2))
    assert (answer.prompt_tokens, answer.completion_tokens) == (100, 50)


@pytest.mark.parametrize("failure", [status(429, retry_after=7), cut(SAID, 100)], ids=["429", "cut"])
async def test_tries_are_limited(endpoint: ModelServer, models: list[EndpointModel], failure: Reply) -> None:
    endpoint.script = [failure]
    with pytest.raises(ModelError) as raised:
        await ask(model_of(endpoint.url, models, attempts=1))
    assert not raised.value.final
    assert len(endpoint.chats) == 1
    assert raised.value.retry_after == (7.0 if failure.status == 429 else None)


@pytest.mark.parametrize("as_date", [False, True])
async def test_retry_after_is_kept_to(endpoint: ModelServer, models: list[EndpointModel], as_date: bool) -> None:
    def later(_: Request) -> Reply:
        return status(429, retry_after=formatdate(time.time() + 2, usegmt=True) if as_date else 1)

    endpoint.script = [later, SAID]
    await ask(model_of(endpoint.url, models, attempts=2))
    first, second = endpoint.chats
    assert second.at - first.at >= 0.9


async def test_a_pause_beyond_the_deadline_is_left_to_the_job(endpoint: ModelServer, models: list[EndpointModel]) -> None:
    endpoint.script = [status(429, {"error": {"code": "rate_limit_exceeded"}}, retry_after=3600)]
    began = time.monotonic()
    with pytest.raises(ModelError, match=r"answered 429 \(rate_limit_exceeded\)") as raised:
        await ask(model_of(endpoint.url, models, attempts=3))
    assert raised.value.retry_after == 3600
    assert len(endpoint.chats) == 1
    assert time.monotonic() - began < 60


async def test_an_endpoint_that_sends_nothing_is_given_up(endpoint: ModelServer, models: list[EndpointModel]) -> None:
    endpoint.script = [hang()]
    with pytest.raises(ModelError, match=r"sent nothing for 0.2 s \(LOCI_LLM__TIMEOUT\)"):
        await ask(model_of(endpoint.url, models, timeout=0.2))


async def test_a_slow_stream_is_waited_for_as_long_as_something_comes(endpoint: ModelServer, models: list[EndpointModel]) -> None:
    endpoint.script = [slow(SAID, 0.15, pieces=20)]
    assert json.loads((await ask(model_of(endpoint.url, models, timeout=2.5))).text) == SAID


async def test_an_answer_has_a_deadline_however_lively_its_stream(endpoint: ModelServer, models: list[EndpointModel]) -> None:
    endpoint.script = [slow(SAID, 0.2, pieces=60)]
    with pytest.raises(ModelError, match=r"after 0.5 s \(LOCI_LLM__DEADLINE\)") as raised:
        await ask(model_of(endpoint.url, models, deadline=0.5, attempts=3))
    assert raised.value.completion is not None
    assert (raised.value.completion.prompt_tokens or 0) > 0
    assert len(endpoint.chats) == 1


@pytest.mark.parametrize(("title", "setting"), [("retain", "REQUEST_DEADLINE"), ("rewrite", "RECALL_DEADLINE")])
async def test_a_model_call_out_of_time_names_the_seconds_and_the_setting(
    endpoint: ModelServer, models: list[EndpointModel], title: str, setting: str
) -> None:
    endpoint.script = [slow(SAID, 0.2, pieces=60)]

    def waits(seconds: float) -> Any:
        model = model_of(endpoint.url, models, **{setting.lower(): 0.3})
        return model.complete(MESSAGES, schema=schema_of(Kept), title=title, deadline=seconds)

    with pytest.raises(ModelError, match=rf"had not answered after 0\.3 s \(LOCI_LLM__{setting}\)$"):
        await waits(0.29996)
    with pytest.raises(
        ModelError, match=rf"0\.2 s \(LOCI_LLM__{setting}\); other calls or another deadline took the rest of its 0\.3"
    ):
        await waits(0.2)


async def test_nobody_who_waits_asks_an_endpoint_that_just_failed(models: list[EndpointModel]) -> None:
    model = model_of(CLOSED, models)
    with pytest.raises(ModelError, match="cannot be reached; look at LOCI_LLM__ENDPOINT"):
        await ask(model, deadline=5)
    with pytest.raises(ModelError, match=r"^127\.0\.0\.1:\d+ failed a moment ago$"):
        await ask(model, deadline=5)
    with pytest.raises(ModelError, match="cannot be reached"):
        await ask(model)  # a job asks all the same


async def test_an_endpoint_that_has_answered_since_is_asked_by_those_who_wait(
    endpoint: ModelServer, models: list[EndpointModel]
) -> None:
    endpoint.script = [status(500), SAID]
    model = model_of(endpoint.url, models)
    with pytest.raises(ModelError, match="500"):
        await ask(model, deadline=5)
    await ask(model)  # a job
    assert json.loads((await ask(model, deadline=5)).text) == SAID


async def test_an_endpoint_that_wants_the_newer_name_of_a_limit_gets_it(endpoint: ModelServer, models: list[EndpointModel]) -> None:
    def newer(request: Any) -> Any:
        message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
        return status(400, {"error": {"message": message, "param": "max_tokens"}}) if "max_tokens" in request.body else SAID

    endpoint.script = newer
    model = model_of(endpoint.url, models, attempts=2)
    await ask(model)
    await ask(model)
    assert ["max_tokens" in request.body for request in endpoint.chats] == [True, False, False]


# Sizes

REFUSALS = {
    "llama.cpp": ("request (4031 tokens) exceeds the available context size (2048 tokens), try increasing it", 2048),
    "vLLM": ("This model's maximum context length is 8192 tokens. However, you requested 9000 tokens", 8192),
    "nobody's": ("the context is too small", None),
}


@pytest.mark.parametrize("who", REFUSALS)
async def test_a_refusal_for_size_says_how_much_fits(endpoint: ModelServer, models: list[EndpointModel], who: str) -> None:
    said, context = REFUSALS[who]
    endpoint.script = [status(400, {"error": {"message": said, "type": "exceed_context_size_error"}})]
    model = model_of(endpoint.url, models)
    with pytest.raises(TooLong, match=r"LOCI_LLM__CONTEXT"):
        await ask(model)
    learned = (await model.measure()).context
    assert learned == context if context else 0 < (learned or 0) < 100


async def test_a_prompt_that_is_refused_although_it_was_believed_to_fit_is_known_to_have_more_tokens(
    endpoint: ModelServer, models: list[EndpointModel]
) -> None:
    said = "request (1900 tokens) exceeds the available context size (2048 tokens), try increasing it"
    endpoint.script = [status(400, {"error": {"message": said, "type": "exceed_context_size_error"}})]
    model = model_of(endpoint.url, models, context=2048)
    sizes = await model.measure()
    sizes.note_ratio(4000, 1000)
    with pytest.raises(TooLong):
        await ask(model)
    sent = "\n".join(message["content"] for message in endpoint.chats[0].body["messages"])
    assert (sizes.context, sizes.estimate_tokens(len(sent.encode()))) == (2048, 1900)


@pytest.mark.parametrize("told", [2048, None])
def test_refusals_that_say_nothing_new_still_make_the_next_prompt_smaller(told: int | None) -> None:
    sizes, size, parts = Sizes(2048), 5000, []
    for _ in range(5):
        sizes.learn_refusal(size, told, None)
        parts.append(sizes.fitting_share(size, 512))
        size = round(size * min(parts[-1], 1))
    assert all(part < 0.8 for part in parts)


async def test_a_prompt_that_fills_the_whole_context_was_cut(endpoint: ModelServer, models: list[EndpointModel]) -> None:
    endpoint.script = [say(SAID, usage=(2047, 50))]
    with pytest.raises(TooLong, match="the endpoint cuts prompts"):
        await ask(model_of(endpoint.url, models, context=2048))


STATED = {
    "a setting": ({}, {"context": 512}, 512),
    "vLLM": ({"/v1/models": {"data": [{"id": "scripted", "max_model_len": 8192}, {"id": "other", "max_model_len": 1}]}}, {}, 8192),
    "LM Studio": ({"/v1/models": {"data": [{"id": "scripted", "loaded_context_length": 6000}]}}, {}, 6000),
    "llama.cpp": ({"/v1/models": {"data": [{"id": "a.gguf"}]}, "/props": {"default_generation_settings": {"n_ctx": 2048}}}, {}, 2048),
    "Ollama, loaded": (
        {"/api/show": {"model_info": {}}, "/api/ps": {"models": [{"name": "scripted", "context_length": 16384}]}}, {}, 16384
    ),
    "Ollama, chosen": ({"/api/show": {"model_info": {}, "parameters": "stop x\nnum_ctx                        8000"}}, {}, 8000),
    "Ollama": ({"/api/show": {"model_info": {"llama.context_length": 131072}}}, {}, 4096),
    "nobody": ({}, {}, None),
    "nonsense": ({"/v1/models": {"data": "no"}, "/props": {"default_generation_settings": {"n_ctx": "many"}}}, {}, None),
}  # fmt: skip


@pytest.mark.parametrize("who", STATED)
async def test_the_context_is_as_it_is_set_or_stated(endpoint: ModelServer, models: list[EndpointModel], who: str) -> None:
    told, options, context = STATED[who]
    endpoint.told = told
    assert (await model_of(endpoint.url, models, **options).measure()).context == context


async def test_an_answer_to_a_prompt_that_was_cut_is_not_used(endpoint: ModelServer, models: list[EndpointModel]) -> None:
    endpoint.script = [say(SAID, usage=(2048, 50))]
    model = model_of(endpoint.url, models)
    long: list[Message] = [{"role": "system", "content": "JSON"}, {"role": "user", "content": "the canary sang " * 2000}]
    with pytest.raises(TooLong, match=r"the endpoint cuts prompts: .* counted 2,048 tokens") as raised:
        await model.complete(long, schema=schema_of(Kept), title="memories")
    assert raised.value.completion is not None
    assert (raised.value.completion.prompt_tokens, (await model.measure()).context) == (2048, 2048)


async def test_the_bytes_of_a_token_are_measured(endpoint: ModelServer, models: list[EndpointModel]) -> None:
    endpoint.script = [say(SAID, usage=(25, 50))]
    model = model_of(endpoint.url, models)
    assert (await model.measure()).estimate_tokens(3000) == 1000
    await ask(model)
    sent = "\n".join(message["content"] for message in endpoint.chats[0].body["messages"])
    assert (await model.measure()).estimate_tokens(len(sent.encode())) == 25


# Failures for good


@pytest.mark.parametrize(
    ("code", "said", "setting"),
    [
        (401, "no such key", "LOCI_LLM__API_KEY"),
        (403, "not allowed", "LOCI_LLM__API_KEY"),
        (404, "no such path", "LOCI_LLM__ENDPOINT and LOCI_LLM__MODEL"),
        (400, "response_format is not supported", "LOCI_LLM__FORMAT"),
        (400, "'temperature' does not support 0", "LOCI_LLM__TEMPERATURE"),
        (422, "max_tokens is too large", "LOCI_LLM__MAX_TOKENS"),
        (400, "the context length is 4096 tokens", "LOCI_LLM__CONTEXT"),
        (400, "no such model", "LOCI_LLM__MODEL"),
        (302, "", "LOCI_LLM__ENDPOINT"),
    ],
)
async def test_a_refusal_is_final_and_names_the_setting_to_look_at(
    endpoint: ModelServer, models: list[EndpointModel], code: int, said: str, setting: str
) -> None:
    endpoint.script = [status(code, {"error": {"message": f"{said}: the canary sang", "code": "bad_thing"}})]
    with pytest.raises(ModelError) as raised:
        await ask(model_of(endpoint.url, models, attempts=3))
    assert raised.value.final
    assert len(endpoint.chats) == (2 if setting == "LOCI_LLM__FORMAT" else 1)  # with limits in the schema, and without
    host = endpoint.url.removeprefix("http://").removesuffix("/v1")
    assert str(raised.value).startswith(f"{host} answered {code} (bad_thing); look at ")
    assert setting in str(raised.value)
    assert "canary" not in str(raised.value)


@pytest.mark.parametrize("code", [400, "400", None])
async def test_a_refusal_names_its_type_where_its_code_says_no_more_than_its_status(
    endpoint: ModelServer, models: list[EndpointModel], code: Any
) -> None:
    endpoint.script = [status(400, {"error": {"message": "m", "code": code, "type": "exceed_context_size_error"}})]
    with pytest.raises(ModelError, match=r"answered 400 \(exceed_context_size_error\); look at LOCI_LLM__CONTEXT"):
        await ask(model_of(endpoint.url, models))


@pytest.mark.parametrize("code", ["the canary sang, and sang", "x" * 100, ["canary"], {"canary": 1}, 3.5])
async def test_a_code_that_is_none_is_not_repeated(endpoint: ModelServer, models: list[EndpointModel], code: Any) -> None:
    endpoint.script = [status(401, {"error": {"message": "m", "code": code}})]
    with pytest.raises(ModelError) as raised:
        await ask(model_of(endpoint.url, models))
    assert "canary" not in str(raised.value)
    assert "xxx" not in str(raised.value)


@pytest.mark.parametrize("body", [b"x" * 300_000, b'["error"]', b'{"error": "the canary"}', b"\xff", b"[" * 60_000], ids=range(5))
async def test_any_body_of_an_error_is_survived(endpoint: ModelServer, models: list[EndpointModel], body: bytes) -> None:
    endpoint.script = [status(400, body)]
    with pytest.raises(ModelError, match="answered 400; look at LOCI_LLM__MODEL"):
        await ask(model_of(endpoint.url, models))


# Keys


async def test_the_key_is_in_no_line_of_the_log_and_in_no_error(
    endpoint: ModelServer, models: list[EndpointModel], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    endpoint.script = [status(401), SAID]
    model = model_of(endpoint.url, models)
    with pytest.raises(ModelError) as raised:
        await ask(model)
    await ask(model)
    assert KEY not in caplog.text + repr(raised.value) + repr(model._settings) + repr(vars(raised.value))


async def test_a_key_read_from_a_file_with_its_line_end_works(endpoint: ModelServer, models: list[EndpointModel]) -> None:
    await ask(model_of(endpoint.url, models, api_key=f"{KEY}\n"))
    assert endpoint.chats[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("key", [f"{KEY}\nx", f"{KEY}…", f"{KEY}\0"])
async def test_a_key_that_no_header_can_carry_is_named_but_not_shown(key: str) -> None:
    with pytest.raises(RuntimeError, match="LOCI_LLM__API_KEY") as raised:
        EndpointModel(LLMSettings(endpoint=CLOSED, api_key=key))
    assert KEY not in str(raised.value)


async def test_a_name_and_password_in_the_address_are_in_no_error(models: list[EndpointModel]) -> None:
    with pytest.raises(ModelError, match=r"^127\.0\.0\.1:9 cannot be reached") as raised:
        await ask(model_of("http://user:hunter2@127.0.0.1:9/v1", models))
    assert "hunter2" not in str(raised.value)


async def test_a_call_that_is_cancelled_lets_go_of_the_connection(endpoint: ModelServer, models: list[EndpointModel]) -> None:
    endpoint.script = [slow(SAID, 0.2, pieces=50), SAID]
    model = model_of(endpoint.url, models)
    asking = asyncio.create_task(ask(model))
    while not endpoint.chats:  # noqa: ASYNC110 (it comes in another thread)
        await asyncio.sleep(0.01)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert json.loads((await ask(model)).text) == SAID
