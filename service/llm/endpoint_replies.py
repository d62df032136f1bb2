"""An endpoint's reply, read piece by piece as it comes: whole completions and streams of them, and refusals."""

import re
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import httpx

from service.endpoints import TemporaryFailure, TooMuch, retry_after, stream_reply_bytes
from service.json_parts import read_json
from service.llm.context_size import told_context, told_tokens
from service.llm.model import Completion, CutOff, InvalidAnswer, ModelError, TooLong, tokens_of

LARGEST_COUNT = 10**9
FULL = 0.9  # share of its limit below which an answer was not cut off by it
ERROR_BYTES = 65_536
PASSING = {408, 409, 425, 429}  # and those from 500 on
THOUGHT = re.compile(r"</\w*think\w*>|<\|(?:message|end_of_thought)\|>")  # behind these a model has thought enough
CODE = re.compile(r"[\w.-]{1,64}")
SETTINGS = {  # what an endpoint names when it refuses a request, and the setting to look at
    "response_format": "FORMAT",
    "schema": "FORMAT",
    "grammar": "FORMAT",
    "context": "CONTEXT",
    "stream": "STREAM",
    "temperature": "TEMPERATURE",
    "max_tokens": "MAX_TOKENS",
    "model": "MODEL",
}


class Broken(TemporaryFailure):
    """The reply is none, or breaks off."""


@dataclass
class Heard:
    """The answer so far. `limit`: tokens that it may have."""

    limit: int
    said: list[str] = field(default_factory=list)
    length: int = 0  # characters, with those of thoughts that are not kept
    pieces: int = 0  # in which these came: of most endpoints a token each
    finish: str | None = None
    refused: bool = False
    counted: tuple[int, int] | None = None  # tokens of prompt and completion

    @property
    def full_text(self) -> str:
        """The text."""
        return "".join(self.said)

    def take_piece(self, piece: Any) -> None:
        """Add a completion, or one chunk of a stream. Raises Passing for an invalid reply, InvalidAnswer for too long a one."""
        if not isinstance(piece, dict):
            raise Broken("sent something that is no completion")
        if piece.get("error"):
            raise TemporaryFailure(f"broke off with an error{code_of(piece)}")
        self._count_usage(piece.get("usage"))
        choices = piece.get("choices")
        if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
            raise Broken("sent something that is no completion")
        for choice in choices[:1]:
            part = choice.get("delta") or choice.get("message") or {}
            if not isinstance(part, dict):
                raise Broken("sent something that is no completion")
            self._add_choice(part)
            self.finish = choice.get("finish_reason") or self.finish
        if self.length > 8 * self.limit + 1000:
            raise CutOff(f"the answer is longer than {self.limit} tokens can be")

    def _add_choice(self, part: dict[str, Any]) -> None:
        content = part.get("content")
        if isinstance(content, list):  # some endpoints say texts in parts
            content = "".join(str(piece.get("text") or "") for piece in content if isinstance(piece, dict))
        if isinstance(content, str):
            self.said.append(content)
            self.length += len(content)
            self.pieces += bool(content)
        thoughts = part.get("reasoning_content") or part.get("reasoning")
        if isinstance(thoughts, str):
            self.length += len(thoughts)
            self.pieces += bool(thoughts)
        self.refused = self.refused or bool(part.get("refusal"))

    def _count_usage(self, usage: Any) -> None:
        if not isinstance(usage, dict):
            return
        counts = (usage.get("prompt_tokens"), usage.get("completion_tokens"))
        if all(isinstance(count, int) and 0 <= count < LARGEST_COUNT for count in counts):
            self.counted = (int(counts[0] or 0), int(counts[1] or 0))

    def make_completion(self, took_ms: int) -> Completion:
        """The answer. Tokens that were not counted are None."""
        prompt, completion = self.counted or (None, None)
        return Completion(self.full_text, prompt, completion, took_ms, self.estimate_tokens)

    @property
    def estimate_tokens(self) -> int:
        """About how many tokens came."""
        return max(self.pieces, tokens_of(self.full_text), self.length // 4)

    def count_spent_tokens(self, prompt_tokens: int) -> tuple[int, int]:
        """Tokens of prompt and completion, reckoned where they were not counted."""
        return self.counted or (prompt_tokens, self.estimate_tokens)

    def check_complete(self) -> None:
        """Raise InvalidAnswer for an empty or cut-off answer."""
        if self.finish == "length":
            came = self.counted[1] if self.counted else self.estimate_tokens
            full = came < FULL * self.limit
            why = (
                "the context of the model was full (LOCI_LLM__CONTEXT)"
                if full
                else "raise LOCI_LLM__MAX_TOKENS, or the day's budget"
            )
            said = self.full_text.strip()
            thinks = not said or (said.startswith("<think") and not THOUGHT.search(said))
            what = "the model was still thinking (LOCI_LLM__EXTRA switches that off), and" if thinks else "the answer"
            raise CutOff(f"{what} was cut off after {came if full else self.limit} tokens: {why}")
        if self.refused or self.finish == "content_filter":
            raise InvalidAnswer("the model refused to answer")
        if not self.full_text.strip():
            raise InvalidAnswer("the model said nothing")


async def read_reply(reply: httpx.Response, heard: Heard) -> None:
    """Read a successful reply to its end. Its content type decides how, whatever was asked for. Raises Passing, InvalidAnswer."""
    most = 1_000_000 + 1000 * heard.limit  # bytes: a chunk of a stream says one token in some hundred
    if "text/event-stream" in reply.headers.get("content-type", ""):
        ended = False
        async for event in iterate_events(reply, most):
            if event.strip() == b"[DONE]":
                ended = True
                break
            heard.take_piece(await parse_payload(event))
        if not ended and heard.finish is None:
            raise Broken("broke off in the middle of its answer")
    else:
        heard.take_piece(await parse_payload(b"".join([part async for part in iterate_bounded_bytes(reply, most)])))


async def iterate_events(reply: httpx.Response, most: int) -> AsyncIterator[bytes]:
    """The data of each event of a stream; comments and other fields are left out."""
    data: list[bytes] = []
    async for line in iterate_lines(reply, most):
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line and data:
            yield b"\n".join(data)
            data = []
    if data:
        yield b"\n".join(data)


async def iterate_lines(reply: httpx.Response, most: int) -> AsyncIterator[bytes]:
    """Lines of a reply, without their ends."""
    begun: list[bytes] = []
    async for part in iterate_bounded_bytes(reply, most):
        first, *others = part.split(b"\n")
        begun.append(first)
        for following in others:
            yield b"".join(begun).removesuffix(b"\r")
            begun = [following]
    if rest := b"".join(begun):
        yield rest


async def iterate_bounded_bytes(reply: httpx.Response, most: int) -> AsyncIterator[bytes]:
    """The bytes of a reply. Raises InvalidAnswer when they are too many."""
    try:
        async for part in stream_reply_bytes(reply, most):
            yield part
    except TooMuch as error:
        raise InvalidAnswer(str(error)) from None


async def parse_payload(payload: bytes) -> Any:
    """A payload as JSON. Raises Broken."""
    try:
        return await read_json(payload)
    except ValueError:
        raise Broken("sent something that is no JSON, or much more than an answer") from None


async def read_error(reply: httpx.Response) -> tuple[bytes, Any]:
    """The beginning of a reply that is an error, and what it says where it is JSON."""
    parts: list[bytes] = []
    with suppress(TooMuch):
        async for part in stream_reply_bytes(reply, ERROR_BYTES):
            parts.append(part)  # noqa: PERF401 (what has come counts, where more is too much)
    body = b"".join(parts)
    try:
        return body, await read_json(body)
    except ValueError:
        return body, {}


async def explain_refusal(reply: httpx.Response) -> TemporaryFailure | ModelError:
    """Why a reply is an error, and whether that may pass. Only a short code of it is told."""
    body, said = await read_error(reply)
    text = body.decode(errors="replace").lower()
    status = reply.status_code
    message = f"answered {status}{code_of(said)}"
    if status in PASSING or status >= 500:  # noqa: PLR2004 (errors of the server)
        return TemporaryFailure(message, wait=retry_after(reply))
    if status == 400 and "max_completion_tokens" in text:  # noqa: PLR2004 (a bad request)
        return NewerName(message)
    if status in {401, 403}:
        look = "LOCI_LLM__API_KEY"
    elif status in {400, 422}:
        look = "LOCI_LLM__" + next((setting for word, setting in SETTINGS.items() if word in text), "MODEL")
        if look == "LOCI_LLM__CONTEXT":
            return ContextExceeded(f"{message}; look at {look}", told_context(text), told_tokens(text))
        if look == "LOCI_LLM__FORMAT":
            return FormatRefused(f"{message}; look at {look}", final=True)
    else:
        look = "LOCI_LLM__ENDPOINT and LOCI_LLM__MODEL"
    return ModelError(f"{message}; look at {look}", final=True)


class ContextExceeded(TooLong):
    """The prompt does not fit. `context`: what the endpoint says that it takes; `tokens`: what it says that the prompt has."""

    def __init__(self, message: str, context: int | None = None, tokens: int | None = None) -> None:
        super().__init__(message)
        self.context = context
        self.tokens = tokens


class FormatRefused(ModelError):
    """The endpoint does not take the schema in this form."""


class NewerName(TemporaryFailure):
    """The endpoint wants the limit of tokens under its newer name."""

    def __init__(self, message: str) -> None:
        super().__init__(message, wait=0)


def code_of(said: Any) -> str:
    """The short code or type of an error, in brackets, which says more than its status; nothing else of it."""
    error = said.get("error") if isinstance(said, dict) else None
    named = [error.get(key) for key in ("code", "type")] if isinstance(error, dict) else []
    code = next((str(name) for name in named if name and CODE.fullmatch(str(name)) and not str(name).isdigit()), None)
    return f" ({code})" if code else ""
