"""A recall's question."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal
from zoneinfo import ZoneInfo

from db.pool import Transaction
from db.recall import search
from loci.models.recall import Fusion, RecallInput

Arm = Literal["lexical", "vector", "graph", "hierarchy", "walk", "working_memory", "conversation"]
Rewriting = Literal["decompose", "hypothetical"]
DEFAULT_RESULTS = 50  # results where their number is left open
ARMS: tuple[Arm, ...] = ("lexical", "vector", "graph", "hierarchy", "walk")


@dataclass(frozen=True)
class Question:
    """Text, number of results, and the way to search. None: the namespace's setting.

    `auto`: as many as may answer, `k` at most. `similarity`: the cosine from which a memory counts that only its meaning found;
    None: any. `namespaces` None: the transaction's; "*": all that the caller may read. `user`: whom the first person means; None:
    the key's user, or nobody in particular. `min_relevance`: results below it are left out. `rerank`: how many results a reranker
    judges; True and None: as configured; False: none. `rewrite`: how a language model adds questions to this one; None: not at
    all. `max_chars`: the room in which results are to be shown, so that long ones have a passage; None: they have none.
    `asked_at`: the moment that `yesterday` is told from; `time_zone`: of the one who asks, None: that of the key.
    """

    query: str
    k: int = 10
    auto: bool = False
    arms: tuple[Arm, ...] = ARMS
    weights: dict[str, float] = field(default_factory=dict)
    fusion: Fusion | None = None
    rrf_k: float | None = None
    scope: search.Scope = field(default_factory=lambda: search.Scope({}))
    embedding: list[float] | None = None
    explain: bool = False
    session_id: str | None = None
    user: str | None = None
    similarity: float | None = None
    namespaces: tuple[str, ...] | Literal["*"] | None = None
    log: bool | None = None
    rerank: bool | int | None = None
    rewrite: Rewriting | None = None
    min_relevance: float | None = None
    max_chars: int | None = None
    asked_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    time_zone: str | None = None


def make_scope(filters: dict[str, Any], as_of: datetime | None, known_at: datetime | None) -> search.Scope:
    """Scope of a question: filters without their absent fields, and the two times."""
    return search.Scope({key: value for key, value in filters.items() if value is not None}, as_of, known_at)


def question_of(stated: RecallInput) -> Question:
    """The question that a request asks."""
    return Question(
        query=stated.query,
        k=DEFAULT_RESULTS if stated.k == "auto" else stated.k,
        auto=stated.k == "auto",
        arms=tuple(dict.fromkeys(stated.arms)) if stated.arms else ARMS,
        weights=stated.weights.model_dump(exclude_none=True) if stated.weights else {},
        fusion=stated.fusion,
        rrf_k=stated.rrf_k,
        scope=make_scope(stated.filters.stated() if stated.filters else {}, stated.as_of, stated.known_at),
        embedding=stated.embedding,
        explain=stated.explain,
        session_id=stated.session_id,
        user=stated.user,
        namespaces=tuple(stated.namespaces) if isinstance(stated.namespaces, list) else stated.namespaces,
        log=stated.log,
        rerank=stated.rerank,
        rewrite=stated.rewrite,
        min_relevance=stated.min_relevance,
        max_chars=stated.max_chars,
        asked_at=stated.at or stated.as_of or datetime.now(UTC),
        time_zone=stated.time_zone,
    )


async def text_to_embed(tx: Transaction, question: Question) -> str:
    """The question for a model that cannot tell words apart, without the names of speakers, which begin every text of theirs."""
    namespaces = None if question.namespaces == "*" else question.namespaces
    own = question.namespaces is None
    return await search.question_without_speakers(tx, query=question.query, namespaces=namespaces, own=own)


def asked_in(question: Question, time_zone: str | None) -> Question:
    """The question with its moment in the zone of the one who asks: as stated, else that of the key, else that of the moment."""
    zone = question.time_zone or time_zone
    return question if zone is None else replace(question, asked_at=question.asked_at.astimezone(ZoneInfo(zone)))
