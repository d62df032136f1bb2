"""Ranking: arms side by side in the database, fused here. Hits are numbers: see service/recall/sources.py."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

import numpy as np

from db.pool import JsonObject, ServerKind, Transaction
from db.recall import search
from db.recall.search import Expansion, Hits
from db.sessions import feedback
from service.embedding import active_model as embedding_models
from service.embedding.active_model import ActiveModel, ActiveProvider, active_model, embed_words
from service.embedding.provider import Provider
from service.recall.fusion import add_weighted_scores, lend_to_neighbours, order_by_score
from service.recall.question import Question, asked_in, text_to_embed
from service.recall.relevance import Evidence, estimate_relevance, gather_evidence, nearest_by_namespace, raise_own
from service.recall.score_plan import ASSISTANT, LENT_TO_STANDING, NAMING_ARMS, SUBJECTS, Fused, Plan, first_word
from service.recall.second_arm import second_opinion
from service.recall.sources import Asked, Source, ask_arms, by_place, hits_at_place, is_memory, join_hits, pack_hit
from service.recall.timing import count_arm_seconds, time_phase
from service.recall.unembedded import include_unembedded
from service.settings import EmbeddingSettings

LENDERS = 100
SPOKEN = frozenset({"told", "said"})  # standings of what one says whom the question names
SHARES = (0.5, 0.25)  # of a hit's score that the turns one and two away from it get; measured: docs/design/recall.md


async def rank_question(tx: Transaction, question: Question, provider: Provider | None, settings: EmbeddingSettings) -> "Ranking":
    """Ask the arms and fuse them, without reading the memories or noting anything.

    A dead embedding endpoint costs its arm, not the answer.
    """
    started = time.perf_counter()
    skipped: dict[str, str] = {}
    async with second_opinion(tx, question, provider) as second:
        asked, used = await _ask_arms(tx, question, provider, settings, skipped)
        count_arm_seconds(asked.found.took)
        arms = asked.found.arms
        near = nearest_by_namespace(arms.get("vector"))
        if question.similarity is not None:
            require_similarity(arms, question.similarity)
        weights = dict(asked.settings["weights"])
        if used.provider is not None:
            weights["vector"] = weights.get("vector", 1.0) * used.provider.weight
        plan = Plan(asked_in(question, (await tx.read_caller()).time_zone), {**weights, **question.weights}, asked.settings)
        if second is not None:
            await second.join(plan, asked, skipped)
    with time_phase("around"):
        fused = await _expand_and_fuse(plan, asked, arms, near)
    return Ranking(plan, order_by_score(fused.scores)[: question.k], fused, arms, asked.found, skipped, started, asked)


async def note_hits(ranking: "Ranking") -> None:
    """Note what the session that asks has found again by words."""
    session_id, lexical = ranking.plan.question.session_id, ranking.arms.get("lexical")
    if session_id is None or lexical is None:
        return
    for place, documents in by_place([key for key in ranking.best if key in lexical.scores]).items():
        await feedback.send_recall_hits(ranking.asked.sources[place].tx, session_id=session_id, documents=documents)


@dataclass(frozen=True)
class Ranking:
    """Result of a recall: the best hits, and every hit's fused score and arms.

    `final`: scores that somebody gave in place of fused ones, and `notes` what the explanation says of that; see rewrite.py and
    rerank.py. Where one namespace is searched, memories are their document numbers; other hits have their row in `asked.rows`.
    `near`: the turns beside some hits and the share that each gets, where a reranker reads them; see `with_turns`.
    `relevance`: of each memory found, how likely it answers; `left_out`: how many were less likely than is asked for; see
    `drop_irrelevant`.
    """

    plan: Plan
    best: list[int]
    fused: Fused
    arms: dict[str, Hits]
    found: search.Found
    skipped: dict[str, str]
    started: float
    asked: Asked
    final: dict[int, float] = field(default_factory=dict)
    notes: dict[int, JsonObject] = field(default_factory=dict)
    near: dict[int, list[tuple[int, float]]] = field(default_factory=dict)
    relevance: dict[int, float] = field(default_factory=dict)
    left_out: int = 0

    @property
    def server_kind(self) -> ServerKind:
        """The kind of server that ranked."""
        return self.asked.server

    def score_of(self, key: int) -> float:
        """Scores that a hit is ranked by."""
        return self.final[key] if key in self.final else self.fused.scores[key]

    def plain_score(self, key: int) -> float:
        """The same without what it counts who said it and whom it is about."""
        return self.score_of(key) / self.fused.factors.get(key, 1.0)

    def best_of(self, count: int) -> list[int]:
        """The best hits by what they are ranked by."""
        return order_by_score({key: self.score_of(key) for key in self.fused.scores})[:count]

    def drop_irrelevant(self) -> "Ranking":
        """The same with how likely each of the best answers, and without those that are less likely than is asked for."""
        favours = {key: factor for key, factor in self.fused.factors.items() if factor > 1 and key not in self.final}
        scores = {key: self.score_of(key) for key in self.best}
        given = raise_own(estimate_relevance(self.best, scores, self.fused.evidence, favours), scores, self.fused.standings)
        least = self.plan.question.min_relevance or 0.0
        best = [key for key in self.best if given.get(key, 1.0) >= least]
        return replace(self, best=best, relevance=given, left_out=len(self.best) - len(best))

    def rebind_to(self, tx: Transaction) -> "Ranking":
        """The same, to be noted in another transaction."""
        sources = [replace(source, tx=tx.for_namespace(source.name)) for source in self.asked.sources]
        return replace(self, asked=replace(self.asked, sources=sources))

    def best_documents(self, place: int = 0) -> list[int]:
        """Document numbers of the memories among the best, best first, of the namespace at this place."""
        return by_place(self.best).get(place, [])


def require_similarity(arms: dict[str, Hits], similarity: float) -> None:
    """Drop hits that only the vector arm found, below a cosine.

    Before fusion: so they neither take places nor bring what stands around them. Hits that another arm found as well stay, and so
    does their rank by meaning; hits that an admitted one brings (neighbours in time, hierarchy, shared names) rest on that.
    """
    if "vector" in arms:
        others = {key for name, hits in arms.items() if name != "vector" for key in hits.scores}
        near = {key: score for key, score in arms["vector"].scores.items() if score >= similarity or key in others}
        arms["vector"].scores = near


async def _ask_arms(
    tx: Transaction, question: Question, provider: Provider | None, settings: EmbeddingSettings, skipped: dict[str, str]
) -> tuple[Asked, ActiveModel]:
    """Embed the question and ask the arms; what embedded it.

    The arms say which model is active. If another model embedded the question, because the active one has just changed, the
    question is embedded and asked again: no answer rests on vectors of two models.
    """
    for last in (False, False, True):
        used = active_model(provider)
        with time_phase("embed"):
            embedding, reason = await embed_question(tx, question, used, settings)
        with time_phase("arms"):
            model = None if question.embedding is not None else used.model
            asked = await ask_arms(tx, question, embedding, skipped, model)
        active = asked.found.model
        if not isinstance(provider, ActiveProvider) or model is None or active is None or active == model:
            break
        await provider.follow_active_model(tx)
        if "vector" not in question.arms:
            break
        if last:
            reason = "the embedding model is being changed"
    if reason is not None:
        skipped["vector"] = reason
    if isinstance(provider, ActiveProvider) and asked.found.waiting and used.model != asked.found.model:
        used = await provider.follow_active_model(tx)  # a question with a vector of its own comes before the first look
    await include_unembedded(asked.found, used, int(asked.settings["depth"]))
    return asked, used


async def embed_question(
    tx: Transaction, question: Question, used: ActiveModel, settings: EmbeddingSettings
) -> tuple[search.Embedded | None, str | None]:
    """The question's vector, or those of its words, or None; the reason, where the vector arm is skipped.

    A model that cannot tell words apart is not shown the names of speakers, which begin every text of theirs.
    """
    if "vector" not in question.arms:
        return None, None
    if question.embedding is not None:
        return np.asarray(question.embedding, dtype=np.float32), None
    words = await embed_words(question.query, used, settings)
    if words is not None or used.provider is None:
        return words, used.problem
    return await embedding_models.embed_question(await text_to_embed(tx, question), used, settings)


async def _expand_and_fuse(plan: Plan, asked: Asked, arms: dict[str, Hits], near: Mapping[int, float]) -> Fused:
    """Fuse the arms, add what stands around the best hits, lend to their neighbours in time, and look who said what.

    `near`: the best cosine by the place of a namespace.
    """
    depth, mean = int(plan.settings["depth"]), asked.found.mean
    parts = plan.arm_parts(arms, mean)
    seeds = [key for key in order_by_score(plan.fuse_parts(parts)) if is_memory(key)][:LENDERS]
    if not seeds:
        return Fused(plan.fuse_parts(parts), parts)
    found = await _ask_around(plan, asked.sources, [] if plan.uses_relative_scores else seeds, seeds[:20])
    around = Surroundings({}, {}, {}, {}, {}, {})
    for place, expansion in found:
        count_arm_seconds(expansion.took)
        around.add_expansion(place, expansion)
    linked = [] if around.names_a_speaker else found  # who speaks is named so often that names which hits share say little
    for name, more in (
        ("names", [hits_at_place(each.linked, place) for place, each in linked if each.linked.scores]),
        ("hierarchy", [hits_at_place(each.hierarchy, place) for place, each in found if each.hierarchy.scores]),
    ):
        if more:
            arms[name] = join_hits(more, depth)
            parts |= plan.arm_parts({name: arms[name]}, mean, around.shares)
    evidence = gather_evidence(around.coverage, near, mean, around.sources, around.named_sources, around.standings)
    return around.fuse_with_neighbours(plan, parts, evidence)


@dataclass(frozen=True)
class Surroundings:
    """Surroundings of the best hits: neighbours in time, with the share of each, who said what, and how much of the question."""

    near: dict[int, list[tuple[int, float]]]
    sources: dict[int, str]
    coverage: dict[int, search.Coverage]  # by the place of a namespace
    shares: dict[int, float]  # what hits lend there, and names count; likewise
    standings: dict[int, str]  # how memories stand to whom the question is about
    gaps: dict[int, float]  # days from the time that the question asks about

    def add_expansion(self, place: int, found: Expansion) -> None:
        """Hits in the namespace at a place."""
        base = pack_hit(place, "memory", 0)
        self.coverage[place] = found.coverage
        self.shares[place] = found.share
        self.sources.update({base | number: source for number, source in found.sources.items()})
        self.standings.update({base | number: standing for number, standing in found.standings.items()})
        self.gaps.update({base | number: gap for number, gap in found.gaps.items()})
        for number, near in found.near.items():
            self.near[base | number] = [(base | other, found.share * SHARES[distance - 1]) for other, distance in near]

    @cached_property
    def kinds(self) -> set[str]:
        """Standings that any of the memories has."""
        return set(self.standings.values())

    @property
    def names_a_speaker(self) -> bool:
        """Whether one whom the question names also speaks."""
        return not SPOKEN.isdisjoint(self.kinds)

    @cached_property
    def named_sources(self) -> set[str]:
        """Sources that the question names."""
        return {self.sources[key] for key, standing in self.standings.items() if standing in SPOKEN and key in self.sources}

    def fuse_with_neighbours(self, plan: Plan, parts: dict[str, dict[int, float]], evidence: dict[int, Evidence]) -> Fused:
        """Scores with what neighbours lend, times what it counts who said it."""
        alone, kinds = plan.fuse_parts(parts), self.kinds
        given = lend_to_neighbours({key: alone[key] for key in order_by_score(alone)[:LENDERS]}, self.near)
        naming = add_weighted_scores((part, 1.0) for name, part in parts.items() if name in NAMING_ARMS)
        added = {key: plan.standing_part(standing, naming.get(key, 0.0)) for key, standing in self.standings.items()}
        if kinds & SUBJECTS:
            given = {key: share * LENT_TO_STANDING for key, share in given.items()}
        beside = {
            "several": len({first_word(source) for source in self.named_sources}) > 1,
            "spoken": self.names_a_speaker,
            "own": "own" in kinds,
        }

        @cache  # few speakers and standings among many memories
        def factor(source: str | None, standing: str | None) -> float:
            return plan.standing_factor(source, standing, **beside)

        counted = {*self.standings, *(key for key, source in self.sources.items() if source == ASSISTANT)}
        factors = {key: factor(self.sources.get(key), self.standings.get(key)) for key in counted}
        times = {key: plan.time_nearness(gap) for key, gap in self.gaps.items()}
        factors |= {key: factors.get(key, 1.0) * plan.time_factor(near) for key, near in times.items()}
        added |= {key: added.get(key, 0.0) + plan.time_part(near) for key, near in times.items()}
        scores = add_weighted_scores(((alone, 1.0), (given, 1.0), (added, 1.0)))
        for key in factors.keys() & scores.keys():
            scores[key] *= factors[key]
        return Fused(scores, parts, given, factors, self.sources, evidence, self.near, self.shares, self.standings, added, times)


async def with_turns(ranking: Ranking, keys: list[int]) -> Ranking:
    """The same, with the turns beside these hits. One more round trip."""
    around = Surroundings({}, {}, {}, {}, {}, {})
    for place, found in await _ask_around(ranking.plan, ranking.asked.sources, keys, []):
        around.add_expansion(place, found)
    return replace(ranking, near=around.near)


async def _ask_around(plan: Plan, sources: list[Source], documents: list[int], seeds: list[int]) -> list[tuple[int, Expansion]]:
    """Surroundings of hits, by the place of their namespace: one round trip, whatever the number of namespaces."""
    question, near, of = plan.question, by_place(documents), by_place(seeds)
    sent = [
        (
            place,
            await search.send_expansion(
                sources[place].tx,
                query=question.query,
                documents=near.get(place, []),
                seeds=of.get(place, []),
                arms=list(question.arms) if seeds else [],
                scope=question.scope,
                user=question.user,
                period=None if plan.question_period is None else (plan.question_period.start, plan.question_period.end),
            ),
        )
        for place in {**of, **near}
    ]
    return [(place, await search.read_expansion(cursor, of.get(place, []))) for place, cursor in sent]
