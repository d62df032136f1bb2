"""A reranker: a question and texts in, a score for each text out."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from service.llm.model import ModelError

Read = dict[str, bytes]  # texts, and what a reranker keeps of each so as not to read it again


@dataclass(frozen=True)
class Judgement:
    """A score for each text, larger is better, on any scale; tokens that it took, where they were counted.

    `read`: what it read for that and had not been given.
    """

    scores: list[float]
    tokens: int | None = None
    read: Read = field(default_factory=dict)


class StillReading(ModelError):
    """A judgement that would come too late, because texts have to be read first. `reading` goes on all the same."""

    def __init__(self, message: str, reading: asyncio.Future[Read]) -> None:
        super().__init__(message)
        self.reading = reading


class Reranker(Protocol):
    """Something that judges texts. `weight`: share of its judgement in the order; the rest is the score of the search.

    `weight_alone`: the same for texts that no conversation surrounds.

    `is_endpoint`: it is asked over the network, so its calls are budgeted and logged. `reads_turns`: it also reads the turn before
    each text, and what it says of a turn counts as a score of the search does, for its neighbours and by who said it. `keeps`: the
    name under which what it has read of memories is kept; None: nothing is.
    """

    name: str
    weight: float
    weight_alone: float
    deadline: float
    is_endpoint: bool
    reads_turns: bool
    keeps: str | None

    async def judge(
        self,
        query: str,
        texts: Sequence[str],
        *,
        deadline: float,
        before: Sequence[str | None] | None = None,
        kept: Mapping[str, bytes] | None = None,
    ) -> Judgement:
        """Judge texts within `deadline` seconds. `before`: the turn before each, where it reads turns.

        `kept`: what was read of some before. Raises ModelError, StillReading.
        """
        ...

    async def close(self) -> None:
        """Release what it holds."""
        ...
