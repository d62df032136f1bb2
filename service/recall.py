"""Recall: arms side by side in the database, fused here (rows R1 to R8).

Life of a recall: one round trip for the arms that start from the question (lexical, vector, graph, walk), a second for those
that start from the best hits (neighbours in the session, hierarchy, names shared), a third for the memories themselves. Hits are
numbers: see service/sources.py.
"""

import time
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from db import feedback, search
from db.pool import Transaction
from db.search import Around, Hits
from service.answers import Answer, Pending
from service.embedding import EmbeddingError, Provider
from service.embedding.following import Following, Serving, serving
from service.fusion import Neighbours, normalised, ranked, reciprocal_rank, relative_score, smoothed
from service.settings import EmbeddingSettings
from service.sources import Asked, Source, ask, by_place, is_memory, joined, moved, pack
from service.timing import note, phase

__all__ = ["ARMS", "Answer", "Arm", "Pending", "Question", "Ranking", "embed_question", "make_scope", "rank", "recall"]

Arm = Literal["lexical", "vector", "graph", "hierarchy", "walk", "working_memory", "conversation"]
ARMS: tuple[Arm, ...] = ("lexical", "vector", "graph", "hierarchy", "walk")
IN_ARM = (0.3, 0.15)  # share of a lexical hit's score that its neighbours get; measured, docs/decisions
AFTER_FUSION = (0.1, 0.1)  # the same of fused scores
LENDERS = 50
COSINE_FLOOR = 0.5  # relative_score only (seed B)


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


async def recall(tx: Transaction, question: Question, provider: Provider | None, settings: EmbeddingSettings) -> Pending:
    """Ask the arms and fuse them; the memories are sent for and fetched by the caller after the transaction.

    With `question.namespaces` the transaction need not have entered any: each is authorized when it is asked.
    """
    return await Pending.send(await rank(tx, question, provider, settings))


async def rank(tx: Transaction, question: Question, provider: Provider | None, settings: EmbeddingSettings) -> "Ranking":
    """Ask the arms and fuse them, without reading the memories. What the session finds by words again is noted.

    A dead embedding endpoint costs its arm, not the answer.
    """
    started = time.perf_counter()
    skipped: dict[str, str] = {}
    asked, used = await _asked(tx, question, provider, settings, skipped)
    note(asked.found.took)
    arms = asked.found.arms
    if question.similarity is not None:
        admit(arms, question.similarity)
    weights = dict(asked.settings["weights"])
    if used.provider is not None:
        weights["vector"] = weights.get("vector", 1.0) * used.provider.weight
    plan = Plan(question, {**weights, **question.weights}, asked.settings)
    by_words = set(arms["lexical"].scores) if "lexical" in arms else set()
    with phase("around"):
        alone, fused = await _around(plan, asked.sources, arms)
    best = ranked(fused)[: question.k]
    if question.session_id is not None:
        for place, documents in by_place([key for key in best if key in by_words]).items():
            await feedback.note_recall(asked.sources[place].tx, session_id=question.session_id, documents=documents)
    return Ranking(plan, best, fused, arms, asked.found, skipped, started, asked, alone)


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

    @property
    def relative(self) -> bool:
        """Whether scores are averaged (seed B), which leaves weights, k and neighbours out of it."""
        return self.question.fusion == "relative_score"

    def normalised(self, arm: str, hits: Hits) -> dict[int, float]:
        """Scores of an arm over its best, for relative_score; a cosine below the floor does not count."""
        return normalised({key: s for key, s in hits.scores.items() if arm != "vector" or s >= COSINE_FLOOR})

    def fuse(self, arms: dict[str, Hits]) -> dict[int, float]:
        """One score a hit from what the arms found."""
        if self.relative:
            return relative_score(self.normalised(name, hits) for name, hits in arms.items())
        return reciprocal_rank(((hits.scores, self.weights.get(name, 1.0)) for name, hits in arms.items()), k=self.k)


@dataclass(frozen=True)
class Ranking:
    """What a recall found: the best hits, and every hit's fused score and arms. `alone`: what it had before neighbours lent to it.

    Where one namespace is searched, memories are their document numbers; other hits have their row in `asked.rows`.
    """

    plan: Plan
    best: list[int]
    fused: dict[int, float]
    arms: dict[str, Hits]
    found: search.Found
    skipped: dict[str, str]
    started: float
    asked: Asked
    alone: dict[int, float]

    def documents(self, place: int = 0) -> list[int]:
        """Document numbers of the memories among the best, best first, of the namespace at this place."""
        return by_place(self.best).get(place, [])


def admit(arms: dict[str, Hits], similarity: float) -> None:
    """Drop hits that only the vector arm found, below a cosine (seed B).

    Before fusion: so they neither take places nor bring what stands around them. What another arm found as well stays, and so does
    its rank by meaning; what an admitted hit brings (neighbours in time, hierarchy, shared names) rests on that.
    """
    if "vector" in arms:
        others = {key for name, hits in arms.items() if name != "vector" for key in hits.scores}
        near = {key: score for key, score in arms["vector"].scores.items() if score >= similarity or key in others}
        arms["vector"].scores = near


async def _asked(
    tx: Transaction, question: Question, provider: Provider | None, settings: EmbeddingSettings, skipped: dict[str, str]
) -> tuple[Asked, Serving]:
    """Embed the question and ask the arms; what embedded it.

    The arms say which model is active. Where that is not the one that embedded, because it was changed a moment ago, the question
    is embedded anew by that one and asked again: no answer rests on vectors of two models.
    """
    for last in (False, False, True):
        used = serving(provider)
        with phase("embed"):
            embedding, reason = await _embedding(question, used, settings)
        with phase("arms"):
            model = None if question.embedding is not None else used.model
            asked = await ask(tx, question, embedding, skipped, model)
        active = asked.found.model
        if not isinstance(provider, Following) or model is None or active is None or active == model:
            break
        await provider.follow(tx)
        if "vector" not in question.arms:
            break
        if last:
            reason = "the embedding model is being changed"
    if reason is not None:
        skipped["vector"] = reason
    return asked, used


async def _embedding(
    question: Question, used: Serving, settings: EmbeddingSettings
) -> tuple[NDArray[np.float32] | None, str | None]:
    """The question's vector, or None; the reason, where the vector arm is skipped."""
    if "vector" not in question.arms:
        return None, None
    if question.embedding is not None:
        return np.asarray(question.embedding, dtype=np.float32), None
    return await embed_question(question.query, used, settings)


async def embed_question(query: str, used: Serving, settings: EmbeddingSettings) -> tuple[NDArray[np.float32] | None, str | None]:
    """The vector of a question, or None and the reason why there is none."""
    try:
        vectors = await used.embed([query[: settings.max_chars]], timeout=settings.query_timeout)
    except EmbeddingError as error:
        return None, str(error)
    first: NDArray[np.float32] = vectors[0]
    return first, None


async def _around(plan: Plan, sources: list[Source], arms: dict[str, Hits]) -> tuple[dict[int, float], dict[int, float]]:
    """Lend scores to neighbours in time, and add what stands around the best hits: fused scores before and after lending."""
    depth = int(plan.settings["depth"])
    fused = plan.fuse(arms)
    seeds = [key for key in ranked(fused) if is_memory(key)][: 2 * LENDERS]
    if not seeds:
        return fused, fused
    lexical = arms["lexical"].scores if "lexical" in arms else {}
    found = await _ask_around(plan, sources, [] if plan.relative else list({**lexical, **dict.fromkeys(seeds)}), seeds[:20])
    near: dict[int, list[tuple[int, int]]] = {}
    for place, around in found:
        note(around.took)
        base = pack(place, "memory", 0)
        near |= {base | of: [(base | other, far) for other, far in them] for of, them in around.near.items()}
    if near and lexical:
        scores = smoothed(lexical, near, IN_ARM)
        arms["lexical"].own = lexical
        arms["lexical"].scores = {key: scores[key] for key in ranked(scores)[:depth]}
    for name, parts in (
        ("names", [moved(around.linked, place) for place, around in found if around.linked.scores]),
        ("hierarchy", [moved(around.hierarchy, place) for place, around in found if around.hierarchy.scores]),
    ):
        if parts:
            arms[name] = joined(parts, depth)
    alone = plan.fuse(arms)
    return alone, _lend(alone, near)


async def _ask_around(plan: Plan, sources: list[Source], documents: list[int], seeds: list[int]) -> list[tuple[int, Around]]:
    """What stands around hits, by the place of their namespace: one round trip, whatever the number of namespaces."""
    question, near, of = plan.question, by_place(documents), by_place(seeds)
    sent = [
        (
            place,
            await search.send_around(
                sources[place].tx,
                query=question.query,
                documents=near.get(place, []),
                seeds=of.get(place, []),
                arms=list(question.arms),
                scope=question.scope,
            ),
        )
        for place in {**of, **near}
    ]
    return [(place, await search.read_around(cursor)) for place, cursor in sent]


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
