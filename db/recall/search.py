"""Recall's three statements: the arms that start from the question, what stands around their best hits, and the memories.

Functions called send_… wait for nothing: the statements of many namespaces and tiers travel together.

Hits are document numbers (`doc_id`) with scores, best first.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, TypedDict
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pgvector import Vector
from psycopg.types.json import Jsonb

from db.memories import MemoryRow
from db.models.vectors import VectorRows
from db.pipeline import Sent
from db.pool import JsonObject, Transaction
from db.sessions.conversations import FoundTurn
from db.sessions.working_memory import FoundEntry

ARM_STEPS = ("lexical", "vector", "entities", "graph", "walk")  # of loci_api.recall_arms
EXPANSION_STEPS = ("neighbours", "hierarchy", "names")  # of loci_api.expand_recall_hits


class RecallNamespace(TypedDict):
    """A namespace that a recall over several asks about."""

    namespace: str
    settings: JsonObject
    searched: bool
    own: bool


class TextHit(TypedDict):
    """A memory that has the words of a question."""

    id: UUID
    doc_id: int
    score: float


@dataclass(frozen=True)
class Scope:
    """Restrictions of every arm before it ranks: filters, valid time, recorded time (None: now)."""

    filters: JsonObject
    as_of: datetime | None = None
    known_at: datetime | None = None

    def to_parameters(self) -> JsonObject:
        """Statement parameters of the scope."""
        return {"filters": Jsonb(self.filters), "as_of": self.as_of, "known_at": self.known_at}


def format_bigints(numbers: Iterable[int]) -> str:
    """Numbers as PostgreSQL reads an array of them: of a hundred, psycopg would make as many values, in eight times the time."""
    return "{" + ",".join(map(str, numbers)) + "}"


@dataclass
class Hits:
    """Hits of one arm: scores by document number, best first, and where it says so what led to each."""

    scores: dict[int, float]
    paths: dict[int, Any]


@dataclass
class Found:
    """Hits that start from the question: arms by name, the entities that it names, constraints of the focal ones.

    `late`: the walk was cut short by its deadline. `took`: seconds by arm, as the database measured.
    `model`: number of the active one. `questions`: vector of the question by the place of a namespace in which memories wait for
    theirs. `mean`: mean cosine of the question with a namespace, by its place, where known. `waits`: how many memories wait for a
    vector; `waiting`: the newest of them, with what is to be embedded; `waited`: those that got a place in the vector arm
    nevertheless.
    """

    arms: dict[str, Hits]
    entities: list[JsonObject]
    constraints: list[JsonObject]
    late: bool
    took: dict[str, float] = field(default_factory=dict)
    model: int | None = None
    questions: dict[int, NDArray[np.float32]] = field(default_factory=dict)
    mean: dict[int, float] = field(default_factory=dict)
    waits: int = 0
    waiting: list[JsonObject] = field(default_factory=list)
    waited: set[int] = field(default_factory=set)


def _read_hits(row: Mapping[str, Any], arm: str) -> Hits:
    ids, scores, paths = row[f"{arm}_ids"] or [], row[f"{arm}_scores"] or [], row.get(f"{arm}_paths") or []
    return Hits(dict(zip(ids, scores, strict=True)), dict(zip(ids, paths, strict=False)))


class QuestionWords(Protocol):
    """A question word by word."""

    @property
    def words(self) -> list[str]:
        """Different words."""

    @property
    def vectors(self) -> NDArray[np.float32]:
        """A vector of each, shape (words, dimensions)."""


Embedded = NDArray[np.float32] | QuestionWords


def embedded_parameters(embedding: Embedded | None) -> Mapping[str, object]:
    """Statement parameters of a question's vector, or of the vectors of its words."""
    if embedding is None or isinstance(embedding, np.ndarray):
        return {"embedding": None if embedding is None else Vector(embedding), "words": None, "word_vectors": None}
    return {"embedding": None, "words": embedding.words, "word_vectors": VectorRows(embedding.vectors)}


async def question_without_speakers(tx: Transaction, *, query: str, namespaces: Sequence[str] | None, own: bool = False) -> str:
    """A question without the names of those who speak in the namespaces that it is asked of; None: all; `own`: the request's."""
    return await tx.value(
        str,
        """select loci_api.question_without_speakers(
           case when %(own)s then array[%(namespace)s::text] else %(namespaces)s::text[] end, %(namespace)s, %(query)s)""",
        query=query,
        namespaces=None if namespaces is None else list(namespaces),
        own=own,
    )


async def recall_arms(
    tx: Transaction,
    *,
    query: str,
    embedding: Embedded | None,
    arms: list[str],
    scope: Scope,
    explain: bool = False,
    model: int | None = None,
) -> Found:
    """The arms lexical, vector (where there is a vector), graph and walk; entities that the question names; constraints.

    Only with `explain` do hits say what led to them. `model` made the vector: it takes no part where another one is active.
    """
    row = await tx.row(
        JsonObject,
        """select * from loci_api.recall_arms(%(namespace)s, %(query)s, %(embedding)b::vector::real[], %(arms)s::text[],
           %(filters)s, %(as_of)s, %(known_at)s, %(explain)s, %(model)s::smallint, %(words)s::text[],
           %(word_vectors)b::vector[])""",
        query=query,
        explain=explain,
        arms=arms,
        model=model,
        **embedded_parameters(embedding),
        **scope.to_parameters(),
    )
    return _read_found(row, arms, with_vector=embedding is not None)


def _read_found(row: JsonObject, arms: list[str], *, with_vector: bool) -> Found:
    took_part = [arm for arm in ("lexical", "vector", "graph") if arm in arms and (arm != "vector" or with_vector)]
    hits: dict[str, Hits] = {arm: _read_hits(row, arm) for arm in took_part}
    if row["walk_ids"]:
        hits["walk"] = _read_hits(row, "walk")
    late, took = bool(row["walk_timed_out"]), read_durations(row, ARM_STEPS)
    found = Found(hits, row["entities"] or [], row["constraints"] or [], late, took, row["model_id"])
    found.waits, found.waiting = row["waiting"] or 0, row["without_vector"] or []
    if row["question"] is not None:
        found.questions[0] = np.asarray(row["question"], dtype=np.float32)
    if row["vector_mean"] is not None:
        found.mean[0] = row["vector_mean"]
    return found


def read_durations(row: Mapping[str, Any], steps: tuple[str, ...]) -> dict[str, float]:
    """Seconds by step, of those that took part."""
    return {step: took / 1000 for step, took in zip(steps, row["took_ms"] or [], strict=False) if took is not None}


async def send_recall_namespaces(tx: Transaction, *, namespaces: list[str] | None) -> Sent[RecallNamespace]:
    """Ask which namespaces a recall over several searches (None: all readable ones), and the request's own."""
    return await tx.send(
        RecallNamespace,
        "select * from loci_api.recall_namespaces(%(namespaces)s::text[], %(namespace)s)",
        namespaces=namespaces,
    )


async def recall_arms_in_namespaces(
    tx: Transaction,
    *,
    namespaces: list[str] | None,
    query: str,
    embedding: Embedded | None,
    arms: list[str],
    scope: Scope,
    explain: bool = False,
    model: int | None = None,
) -> dict[str, Found]:
    """The arms in each of several namespaces, in order; without those that do not have what a filter names."""
    rows = await tx.rows(
        JsonObject,
        """select * from loci_api.recall_arms_in_namespaces(%(namespaces)s::text[], %(namespace)s, %(query)s,
           %(embedding)b::vector::real[], %(arms)s::text[], %(filters)s, %(as_of)s, %(known_at)s, %(explain)s,
           %(model)s::smallint, %(words)s::text[], %(word_vectors)b::vector[])""",
        namespaces=namespaces,
        query=query,
        model=model,
        explain=explain,
        arms=arms,
        **embedded_parameters(embedding),
        **scope.to_parameters(),
    )
    return {row["namespace"]: _read_found(row, arms, with_vector=embedding is not None) for row in rows if row["missing"] is None}


async def send_working_memory(
    tx: Transaction, *, query: str, category: str | None, tags: list[str] | None, limit: int
) -> Sent[FoundEntry]:
    """Ask for live entries of every space, best first."""
    return await tx.send(
        FoundEntry,
        """select * from loci.search_working_memory(%(namespace)s, %(query)s, %(category)s, %(tags)s::text[],
           p_limit => %(limit)s)""",
        query=query,
        category=category,
        tags=tags,
        limit=limit,
    )


async def send_turns(tx: Transaction, *, query: str, session_id: str | None, limit: int) -> Sent[FoundTurn]:
    """Ask for turns of a session, or of all, best first."""
    return await tx.send(
        FoundTurn,
        "select * from loci.search_turns(%(namespace)s, %(query)s, %(session_id)s, %(limit)s)",
        query=query,
        session_id=session_id,
        limit=limit,
    )


class ExpansionRow(TypedDict):
    """The row of loci_api.expand_recall_hits: arrays that go together; null where nothing was found."""

    near_of: list[int] | None
    near_ids: list[int] | None
    near_distances: list[int] | None
    near_sources: list[str | None] | None
    share: float | None
    hierarchy_ids: list[int] | None
    hierarchy_scores: list[float] | None
    hierarchy_paths: list[JsonObject] | None
    linked_ids: list[int] | None
    linked_scores: list[float] | None
    linked_paths: list[JsonObject] | None
    took_ms: list[float | None] | None
    covered: list[float | None] | None
    standing_ids: list[int] | None
    standings: list[str] | None
    time_ids: list[int] | None
    time_gaps: list[float] | None
    terms: int
    unknown: int
    memories: int


@dataclass(frozen=True)
class Coverage:
    """How much of a question memories say: the share of its terms by their rarity, by document.

    `terms`: how many it has; `unknown`: those that no memory of the namespace has; `memories`: how many there are.
    """

    shares: dict[int, float]
    terms: int
    unknown: int
    memories: int


@dataclass(frozen=True)
class Expansion:
    """Surroundings of the best hits: neighbours in time by document (number, distance), and two arms; seconds of each.

    `sources`: who said what, of these and their neighbours. `share`: what a hit lends, less where memories are long.
    `standings`: how documents stand to whom the question is about (sql/recall/speakers.sql). `gaps`: days between them and the
    time that it asks about; negative: before.
    """

    near: dict[int, list[tuple[int, int]]]
    sources: dict[int, str]
    share: float
    hierarchy: Hits
    linked: Hits
    coverage: Coverage
    standings: dict[int, str]
    gaps: dict[int, float]
    took: dict[str, float] = field(default_factory=dict)


async def send_expansion(
    tx: Transaction,
    *,
    query: str,
    documents: list[int],
    seeds: list[int],
    arms: list[str],
    scope: Scope,
    user: str | None = None,
    period: tuple[datetime, datetime] | None = None,
) -> Sent[ExpansionRow]:
    """Ask for neighbours of `documents`, hierarchy and shared names around `seeds`, given best first; see read_expansion.

    `period`: from when to when the question asks.
    """
    return await tx.send(
        ExpansionRow,
        """select * from loci_api.expand_recall_hits(%(namespace)s, %(query)s, %(documents)s::bigint[], %(seeds)s::bigint[],
           %(arms)s::text[], %(filters)s, %(as_of)s, %(known_at)s, %(user)s, %(from)s, %(to)s)""",
        query=query,
        user=user,
        **dict(zip(("from", "to"), period or (None, None), strict=True)),
        documents=format_bigints(documents),
        seeds=format_bigints(seeds),
        arms=arms,
        **scope.to_parameters(),
    )


async def read_expansion(sent: Sent[ExpansionRow], seeds: list[int]) -> Expansion:
    """The reply to send_expansion, for these seeds."""
    row = await sent.one()
    near: dict[int, list[tuple[int, int]]] = {}
    others = row["near_ids"] or []
    for of, other, distance in zip(row["near_of"] or [], others, row["near_distances"] or [], strict=True):
        if distance:
            near.setdefault(of, []).append((other, distance))
    sources = {other: source for other, source in zip(others, row["near_sources"] or [], strict=True) if source}
    shares = {seed: share for seed, share in zip(seeds, row["covered"] or [], strict=False) if share is not None}
    return Expansion(
        near,
        sources,
        row["share"] or 1.0,
        _read_hits(row, "hierarchy"),
        _read_hits(row, "linked"),
        Coverage(shares, row["terms"], row["unknown"], row["memories"]),
        dict(zip(row["standing_ids"] or [], row["standings"] or [], strict=True)),
        dict(zip(row["time_ids"] or [], row["time_gaps"] or [], strict=True)),
        read_durations(row, EXPANSION_STEPS),
    )


class RecalledRow(MemoryRow):
    """A memory, and the current ones that it may contradict; None: it is part of no open pair."""

    contradicts: list[UUID] | None


async def send_recalled_memories(tx: Transaction, *, documents: list[int], scope: Scope) -> Sent[RecalledRow]:
    """Ask for memories by document number, at the scope's times, in the order asked."""
    return await tx.send(
        RecalledRow,
        """select (memory).*, contradicts
           from loci_api.get_recall_results(%(namespace)s, %(documents)s::bigint[], %(as_of)s, %(known_at)s)""",
        documents=format_bigints(documents),
        as_of=scope.as_of,
        known_at=scope.known_at,
    )


class ShortStatement(TypedDict):
    """A short memory: what it says, what its lineage said before, and since when it holds."""

    doc_id: int
    content: str
    earlier: list[str]
    valid_from: datetime
    recorded_at: datetime
    category: str


async def short_statements(tx: Transaction, *, documents: list[int], scope: Scope) -> list[ShortStatement]:
    """The short ones of some memories."""
    return await tx.rows(
        ShortStatement,
        "select * from loci_api.short_statements(%(namespace)s, %(documents)s::bigint[], %(known_at)s)",
        documents=documents,
        known_at=scope.known_at,
    )


@dataclass(frozen=True)
class SearchContext:
    """Entities that a question names, rules of these and of pinned ones, and the entities that each document mentions."""

    entities: list[JsonObject]
    constraints: list[JsonObject]
    mentions: dict[int, list[JsonObject]]


async def search_context(tx: Transaction, *, query: str, documents: list[int], scope: Scope) -> SearchContext:
    """The graph around a question and found documents, at the times of a scope."""
    row = await tx.row(
        JsonObject,
        "select * from loci_api.search_context(%(namespace)s, %(query)s, %(documents)s::bigint[], %(as_of)s, %(known_at)s)",
        query=query,
        documents=documents,
        as_of=scope.as_of,
        known_at=scope.known_at,
    )
    mentions = {int(document): named for document, named in (row["mentions"] or {}).items()}
    return SearchContext(row["entities"] or [], row["constraints"] or [], mentions)


async def search_text(tx: Transaction, *, query: str, limit: int | None, scope: Scope) -> list[TextHit]:
    """Memories in BM25 order."""
    return await tx.rows(
        TextHit,
        "select * from loci.search_text(%(namespace)s, %(query)s, %(limit)s, %(filters)s, %(as_of)s, %(known_at)s)",
        query=query,
        limit=limit,
        **scope.to_parameters(),
    )
