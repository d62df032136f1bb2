"""The log of recalls: what is written down of one, and reading it."""

from uuid import UUID

from db.pool import JsonObject, Transaction
from db.recall import log
from db.recall.log import ListedRecall, MemoryRecallRow, RecallRow
from service.paging import Page, make_page
from service.recall.ranking import Ranking
from service.recall.sources import Source, by_place, unpack_hit
from service.recall.timing import milliseconds_since
from service.uuid7 import uuid7


def ranks_by_arm(ranking: Ranking, key: int) -> dict[str, JsonObject]:
    """Rank and score of a hit in each arm that found it."""
    return {
        name: {"rank": list(hits.scores).index(key) + 1, "score": hits.scores[key]}
        for name, hits in ranking.arms.items()
        if key in hits.scores
    }


async def log_recall(ranking: Ranking) -> UUID | None:
    """Log a recall, without waiting, in each namespace that logs it and has a memory in the answer, or in the first where none has.

    Its id; None: none logs it.
    """
    question, asked = ranking.plan.question, ranking.asked
    answered = by_place(ranking.best) or dict.fromkeys(range(len(asked.sources[:1])))
    logging = [asked.sources[place] for place in answered if _wants_log(question.log, asked.sources[place])]
    if not logging:
        return None
    recall_id = uuid7()  # one for all namespaces that log it
    recall = {
        "id": str(recall_id),
        "session_id": question.session_id,
        "query": question.query,
        "arms": list(question.arms),
        "fusion": ranking.plan.fusion,
        "k": question.k,
        "filters": question.scope.filters,
        "as_of": question.scope.as_of and question.scope.as_of.isoformat(),
        "known_at": question.scope.known_at and question.scope.known_at.isoformat(),
        "skipped": ranking.skipped,
        "results": len(ranking.best),
        "took_ms": milliseconds_since(ranking.started),
    }
    for source in logging:
        await log.log_recall(source.tx, recall=recall, results=_list_log_rows(ranking, source.place))
    return recall_id


def may_be_in_log(ranking: Ranking) -> bool:
    """Whether a namespace that was searched may log it."""
    return any(_wants_log(ranking.plan.question.log, source) for source in ranking.asked.sources)


def _wants_log(asked: bool | None, source: Source) -> bool:
    return bool(source.settings["recall_log"]) if asked is None else asked


def _list_log_rows(ranking: Ranking, of: int) -> list[JsonObject]:
    """The memories of one namespace in an answer, as the log has them."""
    return [
        {
            "document": number,
            "rank": nth,
            "score": ranking.score_of(key),
            "arms": ranks_by_arm(ranking, key),
        }
        for nth, key in enumerate(ranking.best, start=1)
        for place, tier, number in [unpack_hit(key)]
        if (place, tier) == (of, "memory")
    ]


async def list_recalls(tx: Transaction, *, session_id: str | None, limit: int, cursor: str | None) -> Page[ListedRecall]:
    """Logged recalls, newest first."""
    return make_page(await log.list_recalls(tx, session_id=session_id, limit=limit + 1, cursor=cursor), limit)


async def list_memory_recalls(tx: Transaction, *, id: UUID, limit: int, cursor: str | None) -> Page[MemoryRecallRow]:
    """Logged recalls that had a memory in their answer, newest first."""
    return make_page(await log.list_memory_recalls(tx, id=id, limit=limit + 1, cursor=cursor), limit)


async def get_recall(tx: Transaction, *, id: UUID) -> RecallRow:
    """A logged recall: what it answered, by which arms, and what became of that."""
    return await log.get_recall(tx, id=id)


async def delete_recall(tx: Transaction, *, id: UUID) -> None:
    """Take a recall out of the log, question and all."""
    await log.delete_recall(tx, id=id)
