"""Recall: arms side by side in the database, fused here (rows R1 to R8).

Life of a recall: one round trip for the arms that start from the question (lexical, vector, graph), a second for those
that start from the best hits (neighbours in the session, hierarchy, names shared), a third for the memories themselves.
"""

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from db import graph, memories, search
from db.pool import Entered, Transaction
from service.embedding import EmbeddingError, Provider
from service.fusion import Neighbours, ranked, reciprocal_rank, relative_score, smoothed
from service.metrics import ARM_SECONDS
from service.settings import EmbeddingSettings

Arm = Literal["lexical", "vector", "graph", "hierarchy"]
ARMS: tuple[Arm, ...] = ("lexical", "vector", "graph", "hierarchy")
IN_ARM = (0.3, 0.15)  # share of a lexical hit's score that its neighbours get; measured, docs/decisions
AFTER_FUSION = (0.1, 0.1)  # the same of fused scores
LENDERS = 50
SEEDS = 10
COSINE_FLOOR = 0.5  # relative_score only (seed B)


@dataclass(frozen=True)
class Question:
    """What is asked: text, how many results, and how to search. None: the namespace's setting."""

    query: str
    k: int = 10
    arms: tuple[Arm, ...] = ARMS
    weights: dict[str, float] = field(default_factory=dict)
    fusion: Literal["rrf", "relative_score"] = "rrf"
    rrf_k: float | None = None
    scope: search.Scope = field(default_factory=lambda: search.Scope({}))
    embedding: list[float] | None = None
    explain: bool = False


@dataclass
class Hits:
    """What one arm found: scores by id, best first, and for explanations what led to each."""

    scores: dict[UUID, float]
    paths: dict[UUID, Any] = field(default_factory=dict)


@dataclass
class Answer:
    """Results of a recall, and what did not take part."""

    results: list[dict[str, Any]]
    entities: list[dict[str, Any]]
    skipped: dict[str, str]
    took_ms: float


async def recall(tx: Transaction, question: Question, provider: Provider | None, settings: EmbeddingSettings) -> Answer:
    """Answer a question. A dead embedding endpoint costs its arm, not the answer."""
    started = time.perf_counter()
    skipped: dict[str, str] = {}
    embedding = await _embedding(question, provider, settings, skipped)
    arms, entities = await _first_round(tx, question, embedding)
    entered = await tx.entered()
    weights = {**entered.settings["weights"], **question.weights}
    fused, arms = await _second_round(tx, question, arms, weights, entered)
    best = ranked(fused)[: question.k]
    rows = await memories.get_memories(tx, ids=best)
    results = [_result(row, fused, arms, question, weights, entered) for row in rows]
    return Answer(results, entities, skipped, round(1000 * (time.perf_counter() - started), 2))


async def _embedding(
    question: Question, provider: Provider | None, settings: EmbeddingSettings, skipped: dict[str, str]
) -> list[float] | None:
    """The question's vector, or None with the reason why the vector arm is skipped."""
    if "vector" not in question.arms:
        return None
    if question.embedding is not None:
        return question.embedding
    if provider is None:
        skipped["vector"] = "no embedding model is configured"
        return None
    try:
        with ARM_SECONDS.labels("embed").time():
            vectors = await provider.embed([question.query[: settings.max_chars]], timeout=settings.query_timeout)
    except EmbeddingError as error:
        skipped["vector"] = str(error)
        return None
    return [float(x) for x in vectors[0]]


async def _first_round(
    tx: Transaction, question: Question, embedding: list[float] | None
) -> tuple[dict[str, Hits], list[dict[str, Any]]]:
    """The arms that start from the question, in one round trip; and the entities that it names."""
    sent: dict[str, Any] = {}
    if "lexical" in question.arms:
        sent["lexical"] = await search.search_text(tx, query=question.query, limit=None, scope=question.scope)
    if embedding is not None:
        sent["vector"] = await search.similar_memories(tx, embedding=embedding, limit=None, scope=question.scope)
    if "graph" in question.arms:
        sent["entities"] = await graph.send_match_entities(tx, text=question.query)
        sent["graph"] = await graph.recall_graph(tx, query=question.query, limit=None, scope=question.scope)
    fetched = {name: await cursor.fetchall() for name, cursor in sent.items()}
    entities = fetched.pop("entities", [])
    arms = {
        name: Hits({row["id"]: row["score"] for row in rows}, {row["id"]: row["path"] for row in rows if row.get("path")})
        for name, rows in fetched.items()
    }
    return arms, entities


def _fuse(arms: dict[str, Hits], question: Question, weights: dict[str, float], k: float) -> dict[UUID, float]:
    if question.fusion == "relative_score":
        scores = [
            {key: s for key, s in hits.scores.items() if name != "vector" or s >= COSINE_FLOOR} for name, hits in arms.items()
        ]
        return relative_score(scores)
    return reciprocal_rank(((list(hits.scores), weights.get(name, 1.0)) for name, hits in arms.items()), k=k)


async def _second_round(
    tx: Transaction, question: Question, arms: dict[str, Hits], weights: dict[str, float], entered: Entered
) -> tuple[dict[UUID, float], dict[str, Hits]]:
    """Lend scores to neighbours in time, and add what stands around the best hits."""
    k = entered.settings["rrf_k"] if question.rrf_k is None else question.rrf_k
    depth = int(entered.settings["depth"])
    fused = _fuse(arms, question, weights, k)
    seeds = ranked(fused)
    lexical = list(arms["lexical"].scores) if "lexical" in arms else []
    asked = list(dict.fromkeys([*lexical, *seeds[: 2 * LENDERS]]))
    if not asked:
        return fused, arms
    near_rows = await search.neighbour_memories(tx, ids=asked, scope=question.scope)
    linked = await graph.linked_memories(tx, query=question.query, ids=seeds[:20], limit=depth, scope=question.scope) if "graph" in question.arms else None
    around = await search.related_memories(tx, ids=seeds[:SEEDS], limit=depth, scope=question.scope) if "hierarchy" in question.arms else None
    near: dict[UUID, list[tuple[UUID, int]]] = defaultdict(list)
    for row in await near_rows.fetchall():
        near[row["id"]].append((row["neighbour_id"], row["distance"]))
    if near and "lexical" in arms:
        scores = smoothed(arms["lexical"].scores, near, IN_ARM)
        arms["lexical"].scores = {key: scores[key] for key in ranked(scores)[:depth]}
    if linked is not None:
        _merge(arms["graph"], await linked.fetchall(), depth)
    if around is not None:
        rows = await around.fetchall()
        arms["hierarchy"] = Hits(
            {row["id"]: row["score"] for row in rows},
            {row["id"]: {"from": row["seed_id"], "relation": row["relation"]} for row in rows},
        )
    fused = _fuse(arms, question, weights, k)
    return _lend(fused, near), arms


def _lend(fused: dict[UUID, float], near: Neighbours[UUID]) -> dict[UUID, float]:
    """Each of the best fused hits adds a share of its score to its neighbours in the session."""
    if not near:
        return fused
    lenders = {key: fused[key] for key in ranked(fused)[:LENDERS]}
    lent = smoothed(lenders, near, AFTER_FUSION)
    return {key: fused.get(key, 0.0) + lent.get(key, 0.0) - lenders.get(key, 0.0) for key in {*fused, *lent}}


def _merge(hits: Hits, rows: Sequence[dict[str, Any]], depth: int) -> None:
    """Join two sources of the graph arm: by rank, because their scores are of different kinds."""
    linked = {row["id"]: row["score"] for row in rows}
    both = reciprocal_rank([(list(hits.scores), 1.0), (list(linked), 1.0)], k=1)
    hits.paths = {**{row["id"]: row["path"] for row in rows}, **hits.paths}
    hits.scores = {key: both[key] for key in ranked(both)[:depth]}


def _result(
    row: dict[str, Any], fused: dict[UUID, float], arms: dict[str, Hits], question: Question, weights: dict[str, float], entered: Entered
) -> dict[str, Any]:
    """A memory with its score, and with `explain` each arm's rank, score and path."""
    row = {key: value for key, value in row.items() if key != "cursor"}
    row["score"] = fused[row["id"]]
    if question.explain:
        row["explain"] = {"arms": {}, "fusion": question.fusion, "rrf_k": question.rrf_k or entered.settings["rrf_k"]}
        for name, hits in arms.items():
            if row["id"] in hits.scores:
                rank = list(hits.scores).index(row["id"]) + 1
                row["explain"]["arms"][name] = {
                    "rank": rank,
                    "score": hits.scores[row["id"]],
                    "weight": weights.get(name, 1.0),
                    "path": hits.paths.get(row["id"]),
                }
    return row


def make_scope(filters: dict[str, Any], as_of: datetime | None, known_at: datetime | None) -> search.Scope:
    """Scope of a question: filters without their absent fields, and the two times."""
    return search.Scope({key: value for key, value in filters.items() if value is not None}, as_of, known_at)
