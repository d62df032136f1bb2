"""What a reranker is here: a question and texts in, a score for each text out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Judgement:
    """A score for each text, larger is better, on any scale; tokens that it took, where they were counted."""

    scores: list[float]
    tokens: int | None = None


class Reranker(Protocol):
    """Something that judges texts. `weight`: share of its judgement in the order; the rest is the score of the search.

    `is_endpoint`: it is asked over the network, so its calls are budgeted and logged. `reads_turns`: it also reads the turn before
    each text, and what it says of a turn counts as a score of the search does, for its neighbours and by who said it.
    """

    name: str
    weight: float
    is_endpoint: bool
    reads_turns: bool

    async def judge(
        self, query: str, texts: Sequence[str], *, deadline: float, before: Sequence[str | None] | None = None
    ) -> Judgement:
        """Judge texts within `deadline` seconds. `before`: the turn before each, where it reads turns. Raises ModelError."""
        ...

    async def close(self) -> None:
        """Release what it holds."""
        ...
