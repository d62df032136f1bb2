"""Any OpenAI-compatible `/chat/completions`, over HTTP: as a stream, with limits, asked again when it is busy."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from service.endpoints import RetryPolicy, TemporaryFailure, client_for
from service.llm.call_slots import Slots
from service.llm.context_size import Sizes, find_context
from service.llm.endpoint_replies import ContextExceeded, FormatRefused, Heard, NewerName, explain_refusal, read_reply
from service.llm.model import Completion, InvalidAnswer, Message, ModelError, TooLong, Usage
from service.llm.schemas import gist_of, without_limits
from service.settings import LLMSettings

CONNECT = 10.0  # seconds until somebody listens
LOOPBACK = {"localhost", "127.0.0.1", "::1"}
WARMER, WARMEST = 0.2, 1.0  # by how much a model is asked warmer after an answer that was none, up to where
NEARLY = 0.9  # of a deadline, which is all of it to whoever waits
WAITING = {"rewrite": "recall_deadline"}  # by purpose: the setting for how long a request waits, where it has its own


@dataclass
class _Call:
    """One question, and what its tries have cost that broke off."""

    body: dict[str, Any]
    schema: dict[str, Any]
    limit: int
    prompt_tokens: int
    started: float
    heard: Heard
    lost: tuple[int, int] = (0, 0)
    asking: bool = False  # a try is under way: it costs something, whatever has been heard

    def count_lost_try(self) -> None:
        """Count what the try has cost, which broke off."""
        prompt, completion = self.heard.count_spent_tokens(self.prompt_tokens)
        self.lost = (self.lost[0] + prompt, self.lost[1] + completion)
        self.heard = Heard(self.limit)

    def note_usage(self, usage: Usage) -> None:
        """Say what it has used, which is broken off now. A model that has said nothing yet may have thought all the same."""
        prompt, completion = self.heard.count_spent_tokens(self.prompt_tokens) if self.asking else (0, 0)
        silent = self.asking and not (self.heard.length or self.heard.counted)
        usage.prompt_tokens = self.lost[0] + prompt
        usage.completion_tokens = None if silent else self.lost[1] + completion

    def make_completion(self) -> Completion:
        """The answer, with what broken tries have cost."""
        made = self.heard.make_completion(round((time.monotonic() - self.started) * 1000))
        if not any(self.lost):
            return made
        prompt, completion = (
            self.heard.count_spent_tokens(self.prompt_tokens) if self.heard.length or self.heard.counted else (0, 0)
        )
        return Completion(made.text, prompt + self.lost[0], completion + self.lost[1], made.took_ms)


class EndpointModel:
    """A model behind an endpoint. After a failure, those who wait for an answer are refused at once for a while."""

    def __init__(self, settings: LLMSettings, transport: httpx.AsyncBaseTransport | None = None) -> None:
        assert settings.endpoint is not None  # noqa: S101 (make_model asks)
        self._settings = settings
        self.name = settings.model
        self._url = httpx.URL(settings.endpoint.rstrip("/") + "/chat/completions")
        self._host = self._url.netloc.decode().rpartition("@")[2] or "the endpoint"
        timeout = httpx.Timeout(settings.timeout, connect=min(CONNECT, settings.timeout))
        self._client = client_for(settings.endpoint, settings.api_key, "LOCI_LLM__API_KEY", timeout=timeout, transport=transport)
        self._patience = RetryPolicy()
        self._limit_name = "max_tokens"
        here = self._url.host in LOOPBACK
        self._slots = Slots(settings.concurrency or (1 if here else None))
        self._sizes = Sizes(settings.context)
        self._asked_for_context = asyncio.Lock()
        self._knows_context = settings.context is not None
        self._takes_limits = True  # in schemas, until it refuses them and takes the same without

    @asynccontextmanager
    async def slot(self, deadline: float | None) -> AsyncIterator[float | None]:
        """Hold a slot of the endpoint; gives what is left of the deadline of a request. Raises ModelError where none was free."""
        began = time.monotonic()
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(deadline):
                    await stack.enter_async_context(self._slots.hold_slot(by_request=deadline is not None))
            except TimeoutError:
                said = f"{self._host} was busy with other calls for {round(deadline or 0, 1):g} s (LOCI_LLM__CONCURRENCY)"
                raise ModelError(said) from None
            yield None if deadline is None else max(deadline - (time.monotonic() - began), 0.001)

    async def measure(self) -> Sizes:
        """How long prompts may be; the endpoint is asked once, where no setting says it."""
        async with self._asked_for_context:
            if not self._knows_context:
                self._knows_context = True
                found = await find_context(self._client, self._settings.endpoint or "", self._settings.model)
                if found is not None:
                    self._sizes.learn_context(found)
        return self._sizes

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: dict[str, Any],
        title: str,
        deadline: float | None = None,
        max_tokens: int | None = None,
        usage: Usage | None = None,
        failures: int = 0,
    ) -> Completion:
        """Answer with JSON that should follow `schema`. Raises ModelError."""
        seconds = self._settings.deadline if deadline is None else deadline
        limit = min(max_tokens or self._settings.max_tokens, self._settings.max_tokens)
        body = self._make_request_body(messages, schema, title, failures)
        sent = "\n".join(message["content"] for message in body["messages"])
        reckoned = self._sizes.estimate_tokens(len(sent.encode(errors="replace")))
        call = _Call(body, schema, limit, reckoned, time.monotonic(), Heard(limit))
        try:
            async with asyncio.timeout(seconds):
                made = await self._patience.ask_until_success(
                    lambda: self._ask_in_flight(call),
                    attempts=self._settings.attempts,
                    hurried=deadline is not None,
                    until=call.started + seconds,
                )
            return self._check_measured_completion(made, sent, call)
        except TimeoutError:
            self._patience.note_failure()
            call.count_lost_try()
            said = f"{self._host} had not answered {self._describe_deadline(seconds, waits=deadline is not None, title=title)}"
            raise ModelError(said, completion=call.make_completion()) from None
        except TemporaryFailure as failure:
            spent = call.make_completion() if any(call.lost) else None
            raise ModelError(f"{self._host} {failure}", retry_after=failure.wait, completion=spent) from None
        except ContextExceeded as refused:
            self._sizes.learn_refusal(len(sent.encode(errors="replace")), refused.context, refused.tokens)
            raise
        except InvalidAnswer as error:
            raise type(error)(str(error), call.make_completion()) from None
        except asyncio.CancelledError:
            if usage is not None:
                call.note_usage(usage)
            raise

    def _describe_deadline(self, seconds: float, *, waits: bool, title: str) -> str:
        """How long an answer was waited for, and the setting that says so."""
        name = WAITING.get(title, "request_deadline") if waits else "deadline"
        whole = float(getattr(self._settings, name))
        said = f"after {round(seconds, 1):g} s (LOCI_LLM__{name.upper()})"
        return said if seconds > NEARLY * whole else f"{said}; other calls or another deadline took the rest of its {whole:g}"

    def _check_measured_completion(self, completion: Completion, sent: str, call: _Call) -> Completion:
        """The answer, if it was given to all that was sent; tokens of broken tries are not counted in. Raises TooLong."""
        if call.heard.counted is None:
            return completion
        tokens = call.heard.counted[0]
        if self._sizes.is_cut(sent, tokens):
            self._sizes.learn_refusal(len(sent.encode(errors="replace")), tokens, None)
            counted = f"{self._host} counted {tokens:,} tokens of about {call.prompt_tokens:,}"
            raise TooLong(f"the endpoint cuts prompts: {counted} (LOCI_LLM__CONTEXT)", completion)
        self._sizes.note_ratio(len(sent.encode(errors="replace")), tokens)
        return completion

    def _make_request_body(self, messages: Sequence[Message], schema: dict[str, Any], title: str, failures: int) -> dict[str, Any]:
        """A request. The form of the answer is told in words too: most servers show the schema to no model."""
        body: dict[str, Any] = {"model": self._settings.model}
        if self._settings.format == "json_schema":
            told = f"The JSON object has this form: {gist_of(schema)}"
            stated = {"name": title, "schema": schema if self._takes_limits else without_limits(schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": stated}
        else:
            told = f"The JSON object follows this schema:\n{json.dumps(schema, ensure_ascii=False)}"
            if self._settings.format == "json_object":
                body["response_format"] = {"type": "json_object"}
        first, *others = messages
        body["messages"] = [{**first, "content": f"{first['content']}\n\n{told}"}, *others]
        if (temperature := self._settings.temperature) is not None:
            body["temperature"] = max(temperature, min(temperature + WARMER * failures, WARMEST))
        if self._settings.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        return body | self._settings.extra

    async def _ask_in_flight(self, call: _Call) -> Completion:
        """Ask once, and know as long as it lasts that it does."""
        call.asking = True
        try:
            try:
                return await self._ask_once(call)
            except FormatRefused:
                if not self._has_limits(call):
                    raise
                return await self._without_limits(call)
        except Exception:
            call.asking = False
            raise

    def _has_limits(self, call: _Call) -> bool:
        stated = call.body.get("response_format", {}).get("json_schema", {})
        return self._settings.format == "json_schema" and stated.get("schema") != without_limits(call.schema)

    async def _without_limits(self, call: _Call) -> Completion:
        """Ask for the same without limits in the schema; an endpoint that takes that is asked so from now on."""
        stated = call.body["response_format"]["json_schema"]
        call.body["response_format"]["json_schema"] = {**stated, "schema": without_limits(call.schema)}
        try:
            completion = await self._ask_once(call)
        except InvalidAnswer:
            self._takes_limits = False
            raise
        self._takes_limits = False
        return completion

    async def _ask_once(self, call: _Call) -> Completion:
        """Ask once. Raises Passing, InvalidAnswer, ModelError."""
        try:
            async with self._client.stream("POST", self._url, json={**call.body, self._limit_name: call.limit}) as reply:
                if not reply.is_success:
                    raise self._note_error(await explain_refusal(reply))
                await read_reply(reply, call.heard)
        except httpx.ConnectError:
            raise TemporaryFailure("cannot be reached; look at LOCI_LLM__ENDPOINT") from None
        except httpx.InvalidURL:
            raise ModelError("LOCI_LLM__ENDPOINT is not an address", final=True) from None
        except httpx.TimeoutException:
            call.count_lost_try()
            raise TemporaryFailure(f"sent nothing for {self._settings.timeout:g} s (LOCI_LLM__TIMEOUT)") from None
        except httpx.HTTPError as error:  # its words may hold what was sent
            call.count_lost_try()
            raise TemporaryFailure(f"broke off ({type(error).__name__})") from None
        except TemporaryFailure:
            if call.heard.length:
                call.count_lost_try()
            raise
        call.heard.check_complete()
        return call.make_completion()

    def _note_error(self, error: TemporaryFailure | ModelError) -> TemporaryFailure | ModelError:
        """The error of a reply, with the name of the endpoint; the newer name of the limit is used from now on."""
        if isinstance(error, NewerName):
            self._limit_name = "max_completion_tokens"
        if isinstance(error, ContextExceeded):
            return ContextExceeded(f"{self._host} {error}", error.context, error.tokens)
        return error if isinstance(error, TemporaryFailure) else type(error)(f"{self._host} {error}", final=error.final)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()
