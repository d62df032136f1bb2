"""From a ranking to an answer: the memories and their explanations."""

import time
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from db.pool import JsonObject, Transaction
from db.recall import search
from service.embedding.provider import Provider
from service.observability.metrics import PHASE_SECONDS
from service.recall.log import log_recall, ranks_by_arm
from service.recall.question import Question
from service.recall.ranking import Ranking, rank
from service.recall.sources import by_place, pack
from service.recall.timing import milliseconds_since
from service.settings import EmbeddingSettings


@dataclass
class Answer:
    """Results of a recall, constraints that hold whatever was found, and what did not take part.

    `waiting`: memories whose vectors were not made yet. `recall_id`: if it was logged.
    """

    results: list[JsonObject]
    constraints: list[JsonObject]
    entities: list[JsonObject]
    skipped: dict[str, str]
    took_ms: float
    waiting: int = 0
    recall_id: UUID | None = None

    def shown(self) -> JsonObject:
        """The answer as it is sent: with the id only of a recall that was logged."""
        return {name: value for name, value in vars(self).items() if name != "recall_id" or value is not None}


@dataclass(frozen=True)
class Pending:
    """A recall whose memories are on their way: a cursor for each namespace that has some, by its place."""

    ranking: Ranking
    rows: list[tuple[int, Any]]
    recall_id: UUID | None
    sent: float

    @classmethod
    async def send(cls, ranking: Ranking) -> "Pending":
        """Send for the memories, and word to the log, without waiting."""
        sent = time.perf_counter()
        scope, sources = ranking.plan.question.scope, ranking.asked.sources
        rows = [
            (place, await search.send_recalled_memories(sources[place].tx, documents=documents, scope=scope))
            for place, documents in by_place(ranking.best).items()
        ]
        return cls(ranking, rows, await log_recall(ranking), sent)

    async def answer(self) -> Answer:
        """Fetch the memories."""
        ranking, found = self.ranking, dict(self.ranking.asked.rows)
        for place, cursor in self.rows:
            name = ranking.asked.sources[place].name
            for row in await cursor.all():
                key = pack(place, "memory", row.pop("cursor"))
                found[key] = {"tier": "memory", "namespace": name, **row}
        PHASE_SECONDS.labels("fetch").observe(time.perf_counter() - self.sent)
        results = [self._result(key, found[key]) for key in ranking.best if key in found]
        return Answer(
            results,
            ranking.found.constraints,
            ranking.found.entities,
            ranking.skipped,
            milliseconds_since(ranking.started),
            ranking.found.waits,
            self.recall_id,
        )

    def _result(self, key: int, row: JsonObject) -> JsonObject:
        """A memory, entry or turn with its score, and with `explain` what that is made of."""
        row["score"] = self.ranking.fused[key]
        if self.ranking.plan.question.explain:
            row["explain"] = explain(self.ranking, key)
        return row


def explain(ranking: Ranking, key: int) -> JsonObject:
    """Each arm's rank, score, weight (or the normalised score that was averaged) and path; what neighbours lent.

    `waited`: its vector was not stored yet; its place in the vector arm is that of one made with the question, or of its words.
    """
    plan, arms = ranking.plan, ranks_by_arm(ranking, key)
    for name, arm in arms.items():
        hits = ranking.arms[name]
        if plan.relative:
            arm["normalised"] = plan.normalised(name, hits).get(key)
        else:
            arm["weight"] = plan.weights.get(name, 1.0)
        if hits.own is not None:
            arm["lent"] = hits.scores[key] - hits.own.get(key, 0.0)
        arm["path"] = hits.paths.get(key)
    lent = ranking.fused[key] - ranking.alone.get(key, 0.0)
    shown = {"fusion": plan.question.fusion, "rrf_k": None if plan.relative else plan.k, "lent": lent, "arms": arms}
    return {**shown, "waited": True} if key in ranking.found.waited else shown


async def recall(tx: Transaction, question: Question, provider: Provider | None, settings: EmbeddingSettings) -> Pending:
    """Ask the arms and fuse them; the memories are sent for and fetched by the caller after the transaction.

    With `question.namespaces` the transaction need not have entered any: each is authorized when it is asked.
    """
    return await Pending.send(await rank(tx, question, provider, settings))
