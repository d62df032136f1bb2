"""From a ranking to an answer: the memories, their explanations, and the log (row R4)."""

import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from db import recall_log, search
from service.metrics import PHASE_SECONDS
from service.sources import Source, by_place, pack, unpack

if TYPE_CHECKING:
    from service.recall import Ranking

Row = dict[str, Any]


@dataclass
class Answer:
    """Results of a recall, constraints that hold whatever was found, and what did not take part. `recall_id`: if it was logged."""

    results: list[Row]
    constraints: list[Row]
    entities: list[Row]
    skipped: dict[str, str]
    took_ms: float
    recall_id: UUID | None = None


@dataclass(frozen=True)
class Pending:
    """A recall whose memories are on their way: a cursor for each namespace that has some, by its place."""

    ranking: "Ranking"
    rows: list[tuple[int, Any]]
    recall_id: UUID | None
    sent: float

    @classmethod
    async def send(cls, ranking: "Ranking") -> "Pending":
        """Send for the memories, and word to the log, without waiting."""
        sent = time.perf_counter()
        scope, sources = ranking.plan.question.scope, ranking.asked.sources
        rows = [
            (place, await search.get_documents(sources[place].tx, documents=documents, scope=scope))
            for place, documents in by_place(ranking.best).items()
        ]
        return cls(ranking, rows, await log(ranking), sent)

    async def answer(self) -> Answer:
        """Fetch the memories."""
        ranking, found = self.ranking, dict(self.ranking.asked.rows)
        for place, cursor in self.rows:
            name = ranking.asked.sources[place].name
            for row in await cursor.fetchall():
                key = pack(place, "memory", row.pop("cursor"))
                found[key] = {"tier": "memory", "namespace": name, **row}
        PHASE_SECONDS.labels("fetch").observe(time.perf_counter() - self.sent)
        results = [self._result(key, found[key]) for key in ranking.best if key in found]
        return Answer(
            results, ranking.found.constraints, ranking.found.entities, ranking.skipped, _since(ranking.started), self.recall_id
        )

    def _result(self, key: int, row: Row) -> Row:
        """A memory, entry or turn with its score, and with `explain` what that is made of."""
        row["score"] = self.ranking.fused[key]
        if self.ranking.plan.question.explain:
            row["explain"] = explain(self.ranking, key)
        return row


def explain(ranking: "Ranking", key: int) -> Row:
    """Each arm's rank, score, weight (or the normalised score that was averaged) and path; what neighbours lent."""
    plan, arms = ranking.plan, standing(ranking, key)
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
    return {"fusion": plan.question.fusion, "rrf_k": None if plan.relative else plan.k, "lent": lent, "arms": arms}


def standing(ranking: "Ranking", key: int) -> dict[str, Row]:
    """Rank and score of a hit in each arm that found it."""
    return {
        name: {"rank": list(hits.scores).index(key) + 1, "score": hits.scores[key]}
        for name, hits in ranking.arms.items()
        if key in hits.scores
    }


async def log(ranking: "Ranking") -> UUID | None:
    """Log a recall, without waiting, in each namespace that logs it and has a memory in the answer, or in the first where none has.

    Its id; None: none logs it.
    """
    question, asked = ranking.plan.question, ranking.asked
    answered = by_place(ranking.best) or dict.fromkeys(range(len(asked.sources[:1])))
    logging = [asked.sources[place] for place in answered if _logs(question.log, asked.sources[place])]
    if not logging:
        return None
    recall_id = _uuid7()
    recall = {
        "id": str(recall_id),
        "session_id": question.session_id,
        "query": question.query,
        "arms": list(question.arms),
        "fusion": question.fusion,
        "k": question.k,
        "filters": question.scope.filters,
        "as_of": question.scope.as_of and question.scope.as_of.isoformat(),
        "known_at": question.scope.known_at and question.scope.known_at.isoformat(),
        "skipped": ranking.skipped,
        "results": len(ranking.best),
        "took_ms": _since(ranking.started),
    }
    for source in logging:
        await recall_log.log_recall(source.tx, recall=recall, results=_logged(ranking, source.place))
    return recall_id


def _logs(asked: bool | None, source: Source) -> bool:
    return bool(source.settings["recall_log"]) if asked is None else asked


def _logged(ranking: "Ranking", of: int) -> list[Row]:
    """The memories of one namespace in an answer, as the log has them."""
    return [
        {
            "document": number,
            "rank": nth,
            "score": ranking.fused[key],
            "arms": standing(ranking, key),
        }
        for nth, key in enumerate(ranking.best, start=1)
        for place, tier, number in [unpack(key)]
        if (place, tier) == (of, "memory")
    ]


def _since(started: float) -> float:
    return round(1000 * (time.perf_counter() - started), 2)


def _uuid7() -> UUID:
    """A UUID of version 7 (RFC 9562), made here so that one recall has one id in all namespaces that log it."""
    milliseconds = time.time_ns() // 1_000_000
    return UUID(int=milliseconds << 80 | 7 << 76 | secrets.randbits(12) << 64 | 2 << 62 | secrets.randbits(62))
