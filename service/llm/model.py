"""A language model: messages in, text out, with the cost."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypedDict

from service.llm.context_size import Sizes

BYTES_OF_TOKEN = 3


class Message(TypedDict):
    """One message of a chat."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class Completion:
    """An answer; tokens are None where the endpoint did not count them. `heard`: about how many came, thoughts among them."""

    text: str
    prompt_tokens: int | None
    completion_tokens: int | None
    took_ms: int
    heard: int | None = None


@dataclass
class Usage:
    """Usage of a call until it is broken off, if known; None: nobody knows."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class ModelError(Exception):
    """The endpoint gave no answer. Messages hold nothing of what was sent or said.

    `retry_after`: seconds that it asked to wait. `final`: trying again is of no use before the operator has mended something.
    `completion`: what it cost all the same, as far as that is known.
    """

    def __init__(
        self, message: str, *, retry_after: float | None = None, final: bool = False, completion: Completion | None = None
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.final = final
        self.completion = completion


class InvalidAnswer(ModelError):
    """The endpoint answered something else than was asked for; nothing of it is used."""

    def __init__(self, message: str, completion: Completion | None = None) -> None:
        super().__init__(message, completion=completion)


class TooLong(ModelError):
    """The prompt is longer than the endpoint takes; how long one may be is known better now."""

    def __init__(self, message: str, completion: Completion | None = None) -> None:
        super().__init__(message, completion=completion, final=True)


class CutOff(InvalidAnswer):
    """The answer did not end by itself: less is to be asked for."""


class ChatModel(Protocol):
    """A language model."""

    name: str

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
        """Answer with JSON that should follow `schema`. Raises ModelError.

        `deadline`: seconds, of somebody who waits; None: the configured time. `max_tokens` of the answer; None: as configured.
        `usage` is told what the call has used where it is cancelled. `failures`: how often it has been asked the like in vain;
        it is asked the warmer.
        """
        ...

    def slot(self, deadline: float | None) -> AbstractAsyncContextManager[float | None]:
        """Hold one of the calls that may be made at once; gives what is left of a request's deadline. Raises ModelError."""
        ...

    async def measure(self) -> Sizes:
        """How long its prompts may be."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


def tokens_of(text: str) -> int:
    """About how many tokens a text has, rather too many: a token of English is about 4 bytes; of ids and other scripts, 2 or 3."""
    return -(-len(text.encode(errors="replace")) // BYTES_OF_TOKEN)
