"""The log of recalls: what is written down of one."""

import secrets
import time
from typing import TYPE_CHECKING, Any
from uuid import UUID

from db.recall import log as db_log
from service.recall.sources import Source, by_place, unpack
from service.recall.timing import milliseconds_since

if TYPE_CHECKING:
    from service.recall.ranking import Ranking

Row = dict[str, Any]


def ranks_by_arm(ranking: "Ranking", key: int) -> dict[str, Row]:
    """Rank and score of a hit in each arm that found it."""
    return {
        name: {"rank": list(hits.scores).index(key) + 1, "score": hits.scores[key]}
        for name, hits in ranking.arms.items()
        if key in hits.scores
    }


async def log_recall(ranking: "Ranking") -> UUID | None:
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
        "took_ms": milliseconds_since(ranking.started),
    }
    for source in logging:
        await db_log.log_recall(source.tx, recall=recall, results=_logged(ranking, source.place))
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
            "arms": ranks_by_arm(ranking, key),
        }
        for nth, key in enumerate(ranking.best, start=1)
        for place, tier, number in [unpack(key)]
        if (place, tier) == (of, "memory")
    ]


def _uuid7() -> UUID:
    """A UUID of version 7 (RFC 9562), made here so that one recall has one id in all namespaces that log it."""
    milliseconds = time.time_ns() // 1_000_000
    return UUID(int=milliseconds << 80 | 7 << 76 | secrets.randbits(12) << 64 | 2 << 62 | secrets.randbits(62))
