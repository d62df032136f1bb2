"""A recall from its question to its answer.

The common recall is one statement: see service/recall/one_call.py. Of any other, one transaction ranks memories and reads them.
Where a model has a say there is one before it (whose budget is used) and one after it (what was found is noted in the order that it
has then). None is open while a model is asked.
"""

import time
from collections.abc import Hashable
from dataclasses import replace
from functools import partial
from uuid import UUID

from db.pool import JsonObject, Transaction
from service.recall.answer import Answer, Pending, answer_of, note_recall
from service.recall.auto_k import cut_to_auto_k
from service.recall.log import may_be_in_log
from service.recall.newest_first import put_newest_first
from service.recall.one_call import may_be_one_call, recall_in_one_call
from service.recall.passages import add_passages, long_results
from service.recall.question import Question
from service.recall.ranking import Ranking
from service.recall.rerank import rerank_best, results_to_judge, to_judge
from service.recall.rewrite import Read, rank_with, rewrite_question
from service.resources import Resources


async def recall_memories(
    resources: Resources, read: Read, question: Question, read_once: Read | None = None, who: Hashable = None
) -> Answer:
    """Find what answers a question. `read` runs a step in a transaction of the caller, `read_once` one of one statement.

    `who`: the key that asks, and its namespace. With `question.namespaces` the transaction need not have entered any: each is
    authorized when it is asked.
    """
    answer = None
    if read_once is not None and may_be_one_call(resources, question, who):
        answer = await recall_in_one_call(resources, read_once, question, who)
    return answer or (await recall_with_ranking(resources, read, question))[0]


async def recall_with_ranking(resources: Resources, read: Read, question: Question) -> tuple[Answer, Ranking]:
    """Find what answers a question; the answer, and the whole ranking that it is the top of."""
    started = time.perf_counter()
    rewritten = await rewrite_question(resources, read, question)
    most, reason = results_to_judge(resources, question)
    skipped = {name: why for name, why in (("rewrite", rewritten.reason), ("rerank", reason)) if why is not None}

    async def rank_once(tx: Transaction) -> tuple[Pending, UUID | None]:
        made = await rank_with(tx, question, rewritten.questions, resources.provider, resources.settings.embedding)
        made = made if rewritten.questions else await put_newest_first(made)
        ranking = replace(made, started=started, skipped=made.skipped | skipped)
        if most:  # noted when it has been judged
            ranking = replace(ranking, best=ranking.best_of(max(question.k, most)))
            return await to_judge(resources, ranking, most), None
        ranking = cut_to_auto_k(ranking).drop_irrelevant()
        return await Pending.send_query(ranking), await note_recall(None, ranking)

    pending, recall_id = await read(rank_once)
    ranking, rows, judged = pending.ranking, await pending.read_rows(), None
    if most:
        ranking, judged = await rerank_best(resources, ranking, rows, most, await pending.read_pieces())
        ranking = cut_to_auto_k(replace(ranking, best=ranking.best[: question.k])).drop_irrelevant()
        recall_id = await read(partial(note_recall, ranking=ranking)) if _has_notes(ranking) else None
    if question.max_chars is not None:
        await _show_passages(resources, read, ranking, rows, question.max_chars)
    answer = answer_of(ranking, rows, recall_id)
    answer.reranked = judged
    if rewritten.questions:
        answer.rewritten = {"how": question.rewrite, "questions": len(rewritten.questions)}
    return answer, ranking


async def _show_passages(resources: Resources, read: Read, ranking: Ranking, rows: dict[int, JsonObject], room: int) -> None:
    """Say of results that are long for their room which passage answers; no transaction where none is."""
    long, longest = long_results(ranking, rows, room)
    if long:
        await read(lambda tx: add_passages(ranking.rebind_to(tx), rows, long, longest, resources.provider))


def _has_notes(ranking: Ranking) -> bool:
    """Whether anything is to be noted of a recall: what a session found again, or the recall in a log."""
    return ranking.plan.question.session_id is not None or may_be_in_log(ranking)
