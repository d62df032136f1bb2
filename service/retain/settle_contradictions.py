"""Settling in the background: a model says which of two memories holds, where the newer one may outdate the older one.

Its verdict is a proposal. Guards over words are here, guards over rows in SQL (settle_by_model). The result of a job names what it
was asked about: nothing of that is asked again, whatever it said, until one of the two memories has a new version.
"""

from functools import partial
from typing import Annotated, Any, Literal

from db import retain, text
from db.errors import NeedsModel
from db.jobs import jobs
from db.pool import JsonObject, Transaction
from db.retain import PairToSettle
from service.dreams.utc_days import day_of
from service.jobs.job import Job
from service.llm.answer_parsing import Answer
from service.llm.schemas import mark_bounded_list, mark_shown_number, share, text_of
from service.models.calls import ask_model, part_that_fits
from service.resources import Resources
from service.text.guards import same_subject
from service.text.marks import Read, with_readings
from service.text.subject import format_statement
from service.uuid7 import uuid7

KIND = "settle"
PAIRS_PER_JOB = 20  # pairs that a model is asked about in one job
SHOWN_CHARACTERS = 2000  # characters of a memory that the model sees


class Verdict(Answer):
    """Which of the two memories of a pair holds."""

    pair: Annotated[int, mark_shown_number("pairs")]
    reason: str = text_of(200, least=20)
    verdict: Literal["replaces", "corrects", "both_true", "unsure"]
    confidence: float = share(ge=0, le=1)


class Verdicts(Answer):
    """The model's verdicts on all pairs."""

    verdicts: list[Verdict] = mark_bounded_list("pairs", least=1, max_length=1000)


def wants_settling(settings: JsonObject) -> bool:
    """Whether a namespace wants its open pairs settled by a model."""
    return bool(settings["settle_model"] and settings["retain_model"] and settings["supersession"] == "apply")


async def enqueue_settling(tx: Transaction) -> None:
    """Have a model look at the pairs that this transaction opens, if the namespace wants that: one waiting job is enough."""
    if wants_settling((await tx.read_caller()).settings):
        await jobs.enqueue_job(tx, kind=KIND, key=KIND, turn=KIND)


async def settle_pairs(resources: Resources, job: Job) -> None:
    """Ask about the pairs that are open, and settle what stands. No transaction is open while the model thinks."""
    if not wants_settling(job.settings):
        async with job.hold_alone(resources, "settle") as tx:
            await jobs.finish_job(tx, id=job.id, result={"settling": "off"})
        return
    if resources.model is None:
        raise NeedsModel
    async with resources.transaction("settle", job.namespace, "admin") as tx:
        pairs = await retain.pairs_to_settle(tx, limit=PAIRS_PER_JOB)
    judged: list[JsonObject] = []
    further = len(pairs) == PAIRS_PER_JOB
    if job.failures and len(pairs) > 1:
        pairs, further = pairs[: max(1, len(pairs) >> job.failures)], True
    while len(pairs) > 1 and await part_that_fits(resources, Verdicts, prompt="settle.md", **_describe_pairs(pairs)) < 1:
        pairs, further = pairs[: len(pairs) // 2], True
    if pairs:
        answer = await ask_model(
            resources,
            Verdicts,
            namespace=job.namespace,
            purpose=KIND,
            prompt="settle.md",
            **_describe_pairs(pairs),
            job_id=job.id,
            failures=job.failures,
        )

        async def ask_texts(some: list[str]) -> list[text.TextMarks]:
            async with resources.transaction("settle", job.namespace, "admin") as tx:
                return await text.text_marks(tx, texts=some)

        judged = await with_readings(ask_texts, partial(weigh_verdicts, pairs, answer))
    await _apply_judgements(resources, job, judged, further=further)


def _describe_pairs(pairs: list[PairToSettle]) -> dict[str, Any]:
    data = {"pairs": [pair_shown(pair, number) for number, pair in enumerate(pairs, 1)]}
    return {"data": data, "numbers": {"pairs": range(1, len(pairs) + 1)}}


def pair_shown(pair: PairToSettle, number: int) -> JsonObject:
    """A pair as the model sees it."""
    sides: JsonObject = {"older": pair["older"], "newer": pair["newer"]}
    return {"pair": number, **{name: _describe_side(side) for name, side in sides.items()}}


def _describe_side(side: JsonObject) -> JsonObject:
    said = {} if side["source"] is None else {"said_by": side["source"]}
    return {"statement": format_statement(side)[:SHOWN_CHARACTERS], "since": day_of(side["valid_from"]).isoformat(), **said}


def weigh_verdicts(pairs: list[PairToSettle], answer: Verdicts, read: Read) -> list[JsonObject]:
    """The model's verdict on each pair that it was shown, with the guard over words that refuses it, if one does.

    A pair that it leaves out, or says two things of, is unsure.
    """
    said: dict[int, list[Verdict]] = {}
    for verdict in answer.verdicts:
        said.setdefault(verdict.pair, []).append(verdict)
    return [_weigh_verdicts(pair, said.get(number, []), read) for number, pair in enumerate(pairs, 1)]


def _weigh_verdicts(pair: PairToSettle, said: list[Verdict], read: Read) -> JsonObject:
    agreed = len({one.verdict for one in said}) == 1
    verdict = said[0].verdict if agreed else "unsure"
    judged: JsonObject = {
        "newer_id": str(pair["newer_id"]),
        "older_id": str(pair["older_id"]),
        "verdict": verdict,
        "confidence": min(one.confidence for one in said) if agreed else 0,
    }
    if verdict in ("replaces", "corrects") and not _is_of_one_subject(pair, read):
        return {**judged, "guard": "subject"}
    return judged


def _is_of_one_subject(pair: PairToSettle, read: Read) -> bool:
    """Whether both memories of a pair are about the same one, as retain demands it of a new version."""
    if not pair["comparable"]:
        return False
    alike = pair["same_subject"] or pair["signal"] is not None
    return alike or same_subject(read, format_statement(pair["newer"]), format_statement(pair["older"]))


async def _apply_judgements(resources: Resources, job: Job, judged: list[JsonObject], *, further: bool) -> None:
    """Settle what stands and report it, as one operation. Pairs that changed while the model thought are asked about again."""
    operation = str(uuid7())
    async with job.hold_alone(resources, "settle", operation_id=operation) as tx:
        standing = [one for one in judged if one["verdict"] != "unsure" and "guard" not in one]
        done = await retain.settle_by_model(tx, verdicts=standing)
        guards = {(str(row["newer_id"]), str(row["older_id"])): row["guard"] for row in done}
        settled, report = 0, []
        for one in judged:
            pair = (one["newer_id"], one["older_id"])
            guard = guards.get(pair, "changed") if one in standing else one.get("guard")
            settled += one in standing and guard is None
            if guard != "changed":
                report.append({**one, **({} if guard is None else {"guard": guard})})
        result: JsonObject = {"settling": "applied" if settled else "unchanged", "settled": settled, "judged": report}
        if settled:
            result["operation_id"] = operation
        await jobs.finish_job(tx, id=job.id, result=result)
        if further:
            await jobs.enqueue_job(tx, kind=KIND, key=KIND, turn=KIND)
