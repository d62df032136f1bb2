"""A language model that says what a test wrote down, in this process; model_server.py speaks the protocol over loopback."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from service.llm.context_size import Sizes
from service.llm.model import Completion, Message, Usage

Say = Callable[[dict[str, Any]], Any]


@dataclass
class ScriptedModel:
    """Answers with what `script` gives: a value for every call, or a function of the data that the prompt holds.

    `heard` are the messages of each call. What is no string is said as JSON. An exception is raised. A function runs in a thread, one
    call at a time: where it writes, it may have to wait for what the service it answers has open in a transaction.
    """

    script: Any
    name: str = "scripted"
    heard: list[list[Message]] = field(default_factory=list)
    sizes: Sizes = field(default_factory=Sizes)
    turn: threading.Lock = field(default_factory=threading.Lock, repr=False)

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
        """Say the next thing."""
        del schema, title, deadline, max_tokens, usage, failures
        self.heard.append(list(messages))
        said = await asyncio.to_thread(self._say, messages[-1]["content"]) if callable(self.script) else self.script
        if isinstance(said, Exception):
            raise said
        return Completion(said if isinstance(said, str) else json.dumps(said), 100, 50, 1)

    def _say(self, data: str) -> Any:
        """What the function says to the data."""
        with self.turn:
            return self.script(json.loads(data))

    @asynccontextmanager
    async def slot(self, deadline: float | None) -> AsyncIterator[float | None]:
        """There is always one."""
        yield deadline

    async def measure(self) -> Sizes:
        """How long its prompts may be."""
        return self.sizes

    async def close(self) -> None:
        """Nothing to close."""

    @property
    def calls(self) -> int:
        """How often it was asked."""
        return len(self.heard)
