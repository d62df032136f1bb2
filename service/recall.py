"""Recall: arms side by side in the database, fused here (rows R1 to R8).

Life of a recall: one round trip for the arms that start from the question (lexical, vector, graph, walk), a second for those
that start from the best hits (neighbours in the session, hierarchy, names shared), a third for the memories themselves.
"""

import time
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from db import feedback, search
from db.pool import Transaction
from db.search import Hits
from service.embedding import EmbeddingError, Provider
from service.fusion import Neighbours, ranked, reciprocal_rank, relative_score, smoothed
from service.settings import EmbeddingSettings

Arm = Literal["lexical", "vector", "graph", "hierarchy", "walk"]
ARMS: tuple[Arm, ...] = ("lexical", "vector", "graph", "hierarchy", "walk")
IN_ARM = (0.3, 0.15)  # share of a lexical hit's score that its neighbours get; measured, docs/decisions
AFTER_FUSION = (0.1, 0.1)  # the same of fused scores
LENDERS = 50
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
    session_id: str | None = None


@dataclass
class Answer:
    """Results of a recall, constraints that hold whatever was found, and what did not take part."""

    results: list[dict[str, Any]]
    constraints: list[dict[str, Any]]
    entities: list[dict[str, Any]]
    skipped: dict[str, str]
    took_ms: float


async def recall(tx: Transaction, question: Question, provider: Provider | None, settings: EmbeddingSettings) -> "Pending":
    """Ask the arms and fuse them; the memories are sent for and fetched by the caller after the transaction."""
    ranking = await rank(tx, question, provider, settings)
    rows = await search.get_documents(tx, documents=ranking.best, scope=question.scope)
    return Pending(ranking, rows)


async def rank(tx: Transaction, question: Question, provider: Provider | None, settings: EmbeddingSettings) -> "Ranking":
    """Ask the arms and fuse them, without reading the memories. What the session finds by words again is noted.

    A dead embedding endpoint costs its arm, not the answer.
    """
    started = time.perf_counter()
    skipped: dict[str, str] = {}
    embedding = await _embedding(question, provider, settings, skipped)
    found = await search.recall_arms(
        tx, query=question.query, embedding=embedding, arms=list(question.arms), scope=question.scope, explain=question.explain
    )
    if found.late:
        skipped["walk"] = "cut short by its deadline (setting walk_ms): memories and constraints may be missing"
    entered = await tx.entered()
    plan = Plan(question, {**entered.settings["weights"], **question.weights}, entered.settings)
    by_words = set(found.arms["lexical"].scores) if "lexical" in found.arms else set()
    fused, arms = await _around(tx, plan, found.arms)
    best = ranked(fused)[: question.k]
    if question.session_id is not None:
        await feedback.note_recall(tx, session_id=question.session_id, documents=[key for key in best if key in by_words])
    return Ranking(plan, best, fused, arms, found, skipped, started)


@dataclass(frozen=True)
class Plan:
    """A question with the weights and settings in force."""

    question: Question
    weights: dict[str, float]
    settings: dict[str, Any]

    @property
    def k(self) -> float:
        """K of reciprocal rank fusion."""
        return float(self.settings["rrf_k"] if self.question.rrf_k is None else self.question.rrf_k)

    def fuse(self, arms: dict[str, Hits]) -> dict[int, float]:
        """One score a document from what the arms found."""
        if self.question.fusion == "relative_score":
            return relative_score(
                {key: s for key, s in hits.scores.items() if name != "vector" or s >= COSINE_FLOOR} for name, hits in arms.items()
            )
        return reciprocal_rank(((hits.scores, self.weights.get(name, 1.0)) for name, hits in arms.items()), k=self.k)


@dataclass(frozen=True)
class Ranking:
    """What a recall found: the best documents, and every document's fused score and arms."""

    plan: Plan
    best: list[int]
    fused: dict[int, float]
    arms: dict[str, Hits]
    found: search.Found
    skipped: dict[str, str]
    started: float


@dataclass(frozen=True)
class Pending:
    """A recall whose memories are on their way."""

    ranking: Ranking
    rows: Any

    async def answer(self) -> Answer:
        """Fetch the memories."""
        ranking = self.ranking
        results = [self._result(row) for row in await self.rows.fetchall()]
        took_ms = round(1000 * (time.perf_counter() - ranking.started), 2)
        return Answer(results, ranking.found.constraints, ranking.found.entities, ranking.skipped, took_ms)

    def _result(self, row: dict[str, Any]) -> dict[str, Any]:
        """A memory with its score, and with `explain` each arm's rank, score, weight and path."""
        ranking, plan = self.ranking, self.ranking.plan
        document = row.pop("cursor")
        row["score"] = ranking.fused[document]
        if plan.question.explain:
            row["explain"] = {
                "fusion": plan.question.fusion,
                "rrf_k": plan.k,
                "arms": {
                    name: {
                        "rank": list(hits.scores).index(document) + 1,
                        "score": hits.scores[document],
                        "weight": plan.weights.get(name, 1.0),
                        "path": hits.paths.get(document),
                    }
                    for name, hits in ranking.arms.items()
                    if document in hits.scores
                },
            }
        return row


async def _embedding(
    question: Question, provider: Provider | None, settings: EmbeddingSettings, skipped: dict[str, str]
) -> NDArray[np.float32] | None:
    """The question's vector, or None with the reason why the vector arm is skipped."""
    if "vector" not in question.arms:
        return None
    if question.embedding is not None:
        return np.asarray(question.embedding, dtype=np.float32)
    vector, reason = await embed_question(question.query, provider, settings)
    if reason is not None:
        skipped["vector"] = reason
    return vector


async def embed_question(
    query: str, provider: Provider | None, settings: EmbeddingSettings
) -> tuple[NDArray[np.float32] | None, str | None]:
    """The vector of a question, or None and the reason why there is none."""
    if provider is None:
        return None, "no embedding model is configured"
    try:
        vectors = await provider.embed([query[: settings.max_chars]], timeout=settings.query_timeout)
    except EmbeddingError as error:
        return None, str(error)
    first: NDArray[np.float32] = vectors[0]
    return first, None


async def _around(tx: Transaction, plan: Plan, arms: dict[str, Hits]) -> tuple[dict[int, float], dict[str, Hits]]:
    """Lend scores to neighbours in time, and add what stands around the best hits."""
    question, depth = plan.question, int(plan.settings["depth"])
    fused = plan.fuse(arms)
    seeds = ranked(fused)[: 2 * LENDERS]
    if not seeds:
        return fused, arms
    lexical = arms["lexical"].scores if "lexical" in arms else {}
    around = await search.recall_around(
        tx,
        query=question.query,
        documents=list({**lexical, **dict.fromkeys(seeds)}),
        seeds=seeds[:20],
        arms=list(question.arms),
        scope=question.scope,
    )
    if around.near and lexical:
        scores = smoothed(lexical, around.near, IN_ARM)
        arms["lexical"].scores = {key: scores[key] for key in ranked(scores)[:depth]}
    if around.linked.scores:
        arms["names"] = around.linked
    if around.hierarchy.scores:
        arms["hierarchy"] = around.hierarchy
    return _lend(plan.fuse(arms), around.near), arms


def _lend(fused: dict[int, float], near: Neighbours[int]) -> dict[int, float]:
    """Each of the best fused hits adds a share of its score to its neighbours in the session."""
    if not near:
        return fused
    lenders = {key: fused[key] for key in ranked(fused)[:LENDERS]}
    lent = smoothed(lenders, near, AFTER_FUSION)
    return {key: fused.get(key, 0.0) + lent.get(key, 0.0) - lenders.get(key, 0.0) for key in {*fused, *lent}}


def make_scope(filters: dict[str, Any], as_of: datetime | None, known_at: datetime | None) -> search.Scope:
    """Scope of a question: filters without their absent fields, and the two times."""
    return search.Scope({key: value for key, value in filters.items() if value is not None}, as_of, known_at)
