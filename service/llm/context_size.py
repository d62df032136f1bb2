"""How long a prompt may be: the context of a model, as it is set, told by its endpoint or learned, and the bytes of a token."""

import asyncio
import re
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import httpx

from service.endpoints import TooMuch, stream_reply_bytes
from service.json_parts import read_json

UNMEASURED_BYTES_PER_TOKEN = 3.0  # bytes of a token before any call was counted; a refusal tells of texts that have fewer
LESS = 0.7  # of a prompt that was refused, which may fit
FILLED = 0.95  # of a context: a prompt is sent with room for its answer
REMEMBERED_CALLS = 20  # calls whose bytes and tokens are kept
SURE = 3  # calls after which the measured ratio is used
SPARE = 1.05  # by how much a prompt may turn out longer
BASE, TIMES = 500, 3  # tokens of the longest answer: so many, and so many for each that is shown
LEAST_WORDS = 1000  # of a prompt of which is asked whether it was cut
WORD, CUT_WORDS, CUT = re.compile(r"\w+"), 0.8, 0.6  # a word has a token at least; shares of words and of tokens that were sent
STATED = ("n_ctx", "loaded_context_length", "max_model_len", "context_length", "context_window", "max_context_length")
OLLAMA = 4096  # its context where neither a setting nor a loaded model says another
CONTEXT_QUESTION_SECONDS = 3.0  # seconds for each question about the context
MOST_BYTES = 1 << 20  # of what an endpoint says of its models: Ollama shows a template and a licence
PROMPT_TOLD = re.compile(r"(?:request \(|n_prompt_tokens\W{1,4})(\d{1,8})")
CONTEXT_PATTERN = re.compile(
    r"(?:context (?:length|size|window)|n_ctx)\D{0,40}?(\d{3,8})|(\d{3,8}) tokens?\)?.{0,20}context", re.IGNORECASE
)


@dataclass
class Sizes:
    """Known sizes of a model's prompts. `context`: tokens of prompt and answer together; None: nobody has said."""

    context: int | None = None
    counted: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=REMEMBERED_CALLS))

    def note_ratio(self, size: int, tokens: int) -> None:
        """Remember of how many bytes an endpoint has counted how many tokens."""
        if size and tokens:
            self.counted.append((size, tokens))

    def estimate_tokens(self, size: int) -> int:
        """About how many tokens so many bytes are."""
        if not self.counted:
            return round(size / UNMEASURED_BYTES_PER_TOKEN)
        return -(-size * sum(tokens for _, tokens in self.counted) // sum(size for size, _ in self.counted))

    def answer_room(self, most: int) -> int:
        """The room that is left for an answer."""
        return most if self.context is None else min(most, max(self.context // 4, 1))

    def longest(self, shown: int, most: int) -> int:
        """The tokens that limits leave an answer to so many bytes of data; a model that repeats itself uses them all."""
        return min(most, BASE + TIMES * self.estimate_tokens(shown))

    def fitting_share(self, size: int, most: int) -> float:
        """Share of a prompt of so many bytes that there is room for, beside an answer; 1 and more: all of it."""
        if self.context is None:
            return 1.0
        return (self.context - self.answer_room(most)) / (SPARE * max(self.estimate_tokens(size), 1))

    def learn_context(self, context: int) -> None:
        """An endpoint has shown that it takes no more."""
        self.context = max(min(context, self.context or context), 1)

    def learn_refusal(self, size: int, context: int | None, tokens: int | None) -> None:
        """A prompt of so many bytes was refused for its size; of what the endpoint told of the context and of it, None is unknown.

        If the size of the context was known, the prompt has more tokens than estimated.
        """
        if self.context is None or (context is not None and context < self.context):
            self.learn_context(context or round(LESS * self.estimate_tokens(size)))
        most = self.context or 1
        if tokens is not None or self.estimate_tokens(size) < most:
            self.counted.clear()
            self.note_ratio(size, tokens or round(most / LESS))

    def is_cut(self, text: str, tokens: int) -> bool:
        """Whether fewer tokens were counted than a text has, or no room was left for an answer: the endpoint has cut it."""
        if self.context is not None and tokens >= FILLED * self.context:
            return True
        words = len(WORD.findall(text))
        if words < LEAST_WORDS:
            return False
        usual = self.estimate_tokens(len(text.encode(errors="replace"))) if len(self.counted) >= SURE else 0
        return tokens < max(CUT_WORDS * words, CUT * usual)


def told_tokens(text: str) -> int | None:
    """The tokens of a prompt that a refusal names."""
    found = PROMPT_TOLD.search(text)
    return int(found.group(1)) if found else None


def told_context(text: str) -> int | None:
    """The context that a refusal names."""
    found = CONTEXT_PATTERN.search(text)
    return int(found.group(1) or found.group(2)) if found else None


async def find_context(client: httpx.AsyncClient, url: str, model: str) -> int | None:
    """The context that an endpoint states: vLLM, LM Studio and others in /models, llama.cpp in /props, Ollama by its own API."""
    base = url.rstrip("/")
    root = base.removesuffix("/v1")
    listed = await _ask_endpoint(client, "GET", f"{base}/models")
    of_model = [row for row in _list_rows(listed, "data") if row.get("id") == model] or _list_rows(listed, "data")[:2]
    if len(of_model) == 1 and (stated := _find_stated_context(of_model[0], of_model[0].get("meta"))):
        return stated
    props = await _ask_endpoint(client, "GET", f"{root}/props")
    if stated := _find_stated_context(props.get("default_generation_settings"), props):
        return stated
    shown = await _ask_endpoint(client, "POST", f"{root}/api/show", {"model": model})
    if "model_info" not in shown:
        return None
    loaded = [
        row
        for row in _list_rows(await _ask_endpoint(client, "GET", f"{root}/api/ps"), "models")
        if model in (row.get("name"), row.get("model"))
    ]
    chosen = re.search(r"num_ctx\s+(\d+)", str(shown.get("parameters", "")))
    return _find_stated_context(*loaded) or (int(chosen.group(1)) if chosen else OLLAMA)


async def _ask_endpoint(client: httpx.AsyncClient, method: str, url: str, body: Any = None) -> dict[str, Any]:
    """The endpoint's own words; nothing where it does not know the question."""
    with suppress(httpx.HTTPError, ValueError, TooMuch, TimeoutError):
        async with (
            asyncio.timeout(CONTEXT_QUESTION_SECONDS),
            client.stream(method, url, json=body, timeout=CONTEXT_QUESTION_SECONDS) as reply,
        ):
            text = b"".join([piece async for piece in stream_reply_bytes(reply, MOST_BYTES)])
            if reply.is_success and isinstance(said := await read_json(text, part=False), dict):
                return said
    return {}


def _list_rows(said: dict[str, Any], name: str) -> list[dict[str, Any]]:
    rows = said.get(name)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _find_stated_context(*parts: Any) -> int | None:
    """The first context that one of these states."""
    said = (part.get(name) for part in parts if isinstance(part, dict) for name in STATED)
    return next((value for value in said if isinstance(value, int) and value > 0), None)
