"""The common recall, in one round trip: the database searches, fuses and reads the memories.

It is that of a question about one namespace that wants nothing beside its answer: no explanation, judge, rewriting or log, and no
hits of other tiers. Any other, and any for which the database says so (loci_internal.is_common_recall), goes in steps, which fuse
by the same rules: see service/recall/pipeline.py.
"""

import time
from collections.abc import Hashable, Iterator
from datetime import timedelta

from psycopg.errors import NumericValueOutOfRange

from db.pool import JsonObject, Transaction
from db.recall import one_call
from db.recall.one_call import AskedOf, OneCallRow
from db.recall.search import ARM_STEPS, EXPANSION_STEPS, Found, ShortStatement, read_durations
from service.embedding.active_model import ActiveModel, ActiveProvider, active_model, embed_words
from service.embedding.provider import Words
from service.recall.answer import Answer, answer_of
from service.recall.auto_k import cut_to_auto_k
from service.recall.newest_first import AMONG, find_relation, order_statements
from service.recall.question import ARMS, Question, asked_in
from service.recall.ranking import Ranking
from service.recall.relevance import Evidence, cosine_above_mean
from service.recall.rerank import results_to_judge
from service.recall.rewrite import Read
from service.recall.score_plan import Fused, Plan
from service.recall.sources import LATE, Asked, Source
from service.recall.timing import count_arm_seconds, time_phase
from service.resources import Resources

STEPS_SECONDS = 1.0  # for which recalls go in steps where one had to, as memories wait for their vectors: else each is sent twice
KNOWN_AT_MOST = 1000  # of those who ask
BESIDE = ("answer", "doc_id", "score", "factor", "standing", "statement", "earlier", "since", "stated_at", "statement_category")


def may_be_one_call(resources: Resources, question: Question, who: Hashable) -> bool:
    """Whether a question is of the common kind. Of those who went in steps a moment ago, in a namespace, one a second tries."""
    provider = resources.provider
    second = provider.second if isinstance(provider, ActiveProvider) else None
    stated = (
        question.namespaces,
        question.embedding,
        question.similarity,
        question.fusion,
        question.session_id,
        question.rewrite,
        question.max_chars,
    )
    return (
        all(each is None for each in stated)
        and not (question.explain or question.log)
        and set(question.arms) <= set(ARMS)
        and not results_to_judge(resources, question)[0]
        and not question.rerank
        and (second is None or second.serving is None)
        and _may_try(resources.in_steps, who)
    )


def _may_try(in_steps: dict[Hashable, float], who: Hashable) -> bool:
    last, now = in_steps.get(who), time.monotonic()
    if last is None:
        return True
    if now < last + STEPS_SECONDS:
        return False
    in_steps[who] = now  # the others wait for what comes of it
    return True


async def recall_in_one_call(resources: Resources, read: Read, question: Question, who: Hashable) -> Answer | None:
    """Find what answers a question; None: it is none of the common kind after all. `read` runs one statement."""
    started, used, words = time.perf_counter(), active_model(resources.provider), None
    if "vector" in question.arms:
        with time_phase("embed"):
            words = await embed_words(question.query, used, resources.settings.embedding)
        if words is None:
            return None
    relation, plan = find_relation(question), Plan(asked_in(question, None), {}, {})

    async def send(tx: Transaction) -> tuple[list[OneCallRow], Transaction]:
        with time_phase("one_call"):
            return await _send(tx, plan, used, words, statements=AMONG if relation else 0), tx

    try:
        rows, tx = await read(send)
    except NumericValueOutOfRange:  # somebody's weights; the steps know infinity
        return None
    answer, entered = rows[0]["answer"], await tx.read_caller()
    if answer is None:
        if len(resources.in_steps) >= KNOWN_AT_MOST:
            resources.in_steps.clear()
        resources.in_steps[who] = time.monotonic()
        return None
    resources.in_steps.pop(who, None)
    if plan.question_period is not None and question.time_zone is None and entered.time_zone is not None:
        return None  # of the latter, the time that is meant is another one
    namespace = entered.namespace or ""
    ranking = _ranking_of(rows, answer, Plan(plan.question, {}, entered.settings), tx, namespace, started)
    if relation is not None:
        ranking = order_statements(ranking, relation, _statements_in(rows))
    ranking = cut_to_auto_k(ranking).drop_irrelevant()
    results = dict(_results_in(rows, namespace))
    return answer_of(ranking, results, None) if results.keys() >= set(ranking.best) else None


async def _send(tx: Transaction, plan: Plan, used: ActiveModel, words: Words | None, statements: int) -> list[OneCallRow]:
    question, period = plan.question, plan.question_period
    asked: AskedOf = {
        "focus": used.provider.weight if used.provider is not None else 1.0,
        "said": plan.asks_what_was_said,
        "you": plan.asks_the_assistant,
        "days": 0.0 if period is None else (period.end - period.start) / timedelta(days=1),
        "alone": plan.asks_of_time_alone,
    }
    return await one_call.recall_in_one_call(
        tx,
        query=question.query,
        words=words,
        model=used.model,
        arms=question.arms,
        scope=question.scope,
        weights=question.weights,
        k=question.k,
        statements=statements,
        user=question.user,
        period=(None, None) if period is None else (period.start, period.end),
        asked=asked,
    )


def _ranking_of(rows: list[OneCallRow], answer: JsonObject, plan: Plan, tx: Transaction, namespace: str, started: float) -> Ranking:
    """The ranking that the database has made, with what is needed of it from here on."""
    hits = {row["doc_id"]: row for row in rows if row["doc_id"] is not None}
    count_arm_seconds(read_durations({"took_ms": answer["arms_ms"]}, ARM_STEPS))
    count_arm_seconds(read_durations({"took_ms": answer["around_ms"]}, EXPANSION_STEPS))
    fused = Fused(
        {key: row["score"] for key, row in hits.items()},
        {},
        factors={key: row["factor"] for key, row in hits.items()},
        standings={key: row["standing"] for key, row in hits.items() if row["standing"] is not None},
        evidence={0: _evidence_of(answer)} if hits else {},
    )
    found = Found({}, answer["entities"] or [], answer["constraints"] or [], bool(answer["late"]))
    asked = Asked([Source(0, namespace, tx, plan.settings)], plan.settings, found, tx.server_kind)
    for row in (*found.entities, *found.constraints):
        row["namespace"] = namespace
    skipped = {"walk": LATE} if found.late else {}
    return Ranking(plan, list(hits)[: plan.question.k], fused, {}, found, skipped, started, asked)


def _evidence_of(answer: JsonObject) -> Evidence:
    nearest, memories = answer["nearest"], answer["memories"]
    near = None if nearest is None else cosine_above_mean(nearest, answer["mean"] or 0.0, memories)
    said = answer["evidence"]
    return Evidence(said["coverage"], near, answer["terms"], answer["unknown"], memories, said["said"])


def _statements_in(rows: list[OneCallRow]) -> Iterator[ShortStatement]:
    for row in rows:
        if row["statement"] is not None:
            yield {
                "doc_id": row["doc_id"] or 0,
                "content": row["statement"],
                "earlier": row["earlier"] or [],
                "valid_from": row["since"],
                "recorded_at": row["stated_at"],
                "category": row["statement_category"],
            }


def _results_in(rows: list[OneCallRow], namespace: str) -> Iterator[tuple[int, JsonObject]]:
    """The memories by document number, as they are shown."""
    for row in rows:
        number = row["cursor"]
        if number is not None:
            shown: JsonObject = {"tier": "memory", "namespace": namespace, **row}
            for name in ("cursor", *BESIDE, *(("contradicts",) if row["contradicts"] is None else ())):
                del shown[name]
            yield number, shown
