"""Ranking: arms side by side in the database, fused here. Hits are numbers: see service/recall/sources.py."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from db.pool import Transaction
from db.recall import search
from db.recall.search import Expansion, Hits
from db.sessions import feedback
from service.embedding.active import ActiveModel, ActiveProvider, active_model, embed_question
from service.embedding.provider import Provider
from service.recall.fusion import Neighbours, normalised, ranked, reciprocal_rank, relative_score, smoothed
from service.recall.question import Question
from service.recall.sources import Asked, Source, ask_arms, by_place, hits_at_place, is_memory, join_hits, pack
from service.recall.timing import count_arm_seconds, phase
from service.recall.waiting import add_waiting
from service.settings import EmbeddingSettings

IN_ARM = (0.3, 0.15)  # share of a lexical hit's score that its neighbours get; measured, docs/decisions
AFTER_FUSION = (0.1, 0.1)  # the same of fused scores
LENDERS = 50
COSINE_FLOOR = 0.5  # relative_score only


async def rank(tx: Transaction, question: Question, provider: Provider | None, settings: EmbeddingSettings) -> "Ranking":
    """Ask the arms and fuse them, without reading the memories. What the session finds by words again is noted.

    A dead embedding endpoint costs its arm, not the answer.
    """
    started = time.perf_counter()
    skipped: dict[str, str] = {}
    asked, used = await _asked(tx, question, provider, settings, skipped)
    count_arm_seconds(asked.found.took)
    arms = asked.found.arms
    if question.similarity is not None:
        require_similarity(arms, question.similarity)
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
            await feedback.send_recall_hits(asked.sources[place].tx, session_id=question.session_id, documents=documents)
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
        """Whether scores are averaged, which leaves weights, k and neighbours out of it."""
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


def require_similarity(arms: dict[str, Hits], similarity: float) -> None:
    """Drop hits that only the vector arm found, below a cosine.

    Before fusion: so they neither take places nor bring what stands around them. What another arm found as well stays, and so does
    its rank by meaning; what an admitted hit brings (neighbours in time, hierarchy, shared names) rests on that.
    """
    if "vector" in arms:
        others = {key for name, hits in arms.items() if name != "vector" for key in hits.scores}
        near = {key: score for key, score in arms["vector"].scores.items() if score >= similarity or key in others}
        arms["vector"].scores = near


async def _asked(
    tx: Transaction, question: Question, provider: Provider | None, settings: EmbeddingSettings, skipped: dict[str, str]
) -> tuple[Asked, ActiveModel]:
    """Embed the question and ask the arms; what embedded it.

    The arms say which model is active. Where that is not the one that embedded, because it was changed a moment ago, the question
    is embedded anew by that one and asked again: no answer rests on vectors of two models.
    """
    for last in (False, False, True):
        used = active_model(provider)
        with phase("embed"):
            embedding, reason = await _embedding(question, used, settings)
        with phase("arms"):
            model = None if question.embedding is not None else used.model
            asked = await ask_arms(tx, question, embedding, skipped, model)
        active = asked.found.model
        if not isinstance(provider, ActiveProvider) or model is None or active is None or active == model:
            break
        await provider.follow(tx)
        if "vector" not in question.arms:
            break
        if last:
            reason = "the embedding model is being changed"
    if reason is not None:
        skipped["vector"] = reason
    await add_waiting(asked.found, embedding, used, int(asked.settings["depth"]))
    return asked, used


async def _embedding(
    question: Question, used: ActiveModel, settings: EmbeddingSettings
) -> tuple[NDArray[np.float32] | None, str | None]:
    """The question's vector, or None; the reason, where the vector arm is skipped."""
    if "vector" not in question.arms:
        return None, None
    if question.embedding is not None:
        return np.asarray(question.embedding, dtype=np.float32), None
    return await embed_question(question.query, used, settings)


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
        count_arm_seconds(around.took)
        base = pack(place, "memory", 0)
        near |= {base | of: [(base | other, far) for other, far in them] for of, them in around.near.items()}
    if near and lexical:
        scores = smoothed(lexical, near, IN_ARM)
        arms["lexical"].own = lexical
        arms["lexical"].scores = {key: scores[key] for key in ranked(scores)[:depth]}
    for name, parts in (
        ("names", [hits_at_place(around.linked, place) for place, around in found if around.linked.scores]),
        ("hierarchy", [hits_at_place(around.hierarchy, place) for place, around in found if around.hierarchy.scores]),
    ):
        if parts:
            arms[name] = join_hits(parts, depth)
    alone = plan.fuse(arms)
    return alone, _lend(alone, near)


async def _ask_around(plan: Plan, sources: list[Source], documents: list[int], seeds: list[int]) -> list[tuple[int, Expansion]]:
    """What stands around hits, by the place of their namespace: one round trip, whatever the number of namespaces."""
    question, near, of = plan.question, by_place(documents), by_place(seeds)
    sent = [
        (
            place,
            await search.send_expansion(
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
    return [(place, await search.read_expansion(cursor)) for place, cursor in sent]


def _lend(fused: dict[int, float], near: Neighbours[int]) -> dict[int, float]:
    """Each of the best fused hits adds a share of its score to its neighbours in the session."""
    if not near:
        return fused
    lenders = {key: fused[key] for key in ranked(fused)[:LENDERS]}
    lent = smoothed(lenders, near, AFTER_FUSION)
    return {key: fused.get(key, 0.0) + lent.get(key, 0.0) - lenders.get(key, 0.0) for key in {*fused, *lent}}
