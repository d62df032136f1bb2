"""What a recall is asked."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from db.recall import search

Arm = Literal["lexical", "vector", "graph", "hierarchy", "walk", "working_memory", "conversation"]
ARMS: tuple[Arm, ...] = ("lexical", "vector", "graph", "hierarchy", "walk")


@dataclass(frozen=True)
class Question:
    """What is asked: text, how many results, and how to search. None: the namespace's setting.

    `similarity`: the cosine from which a memory counts that only its meaning found; None: any. `namespaces` None: the
    transaction's; "*": all that the caller may read.
    """

    query: str
    k: int = 10
    arms: tuple[Arm, ...] = ARMS
    weights: dict[str, float] = field(default_factory=dict)
    fusion: Literal["rrf", "relative_score"] = "rrf"
    rrf_k: float | None = None
    scope: search.Scope = field(default_factory=lambda: search.Scope({}))
    embedding: list[float] | None = None
    explain: bool = False
    session_id: str | None = None
    similarity: float | None = None
    namespaces: tuple[str, ...] | Literal["*"] | None = None
    log: bool | None = None


def make_scope(filters: dict[str, Any], as_of: datetime | None, known_at: datetime | None) -> search.Scope:
    """Scope of a question: filters without their absent fields, and the two times."""
    return search.Scope({key: value for key, value in filters.items() if value is not None}, as_of, known_at)
