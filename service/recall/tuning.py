"""Tuning a namespace: what its own questions say about its settings; see tuning_statistics.py. Asked for over REST it is a job."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from db.jobs import jobs
from db.pool import JsonObject, Transaction
from db.recall import tuning
from loci.models.recall import TuneInput
from service.jobs.job import Job
from service.namespaces.namespaces import change_namespace
from service.recall.question import Question
from service.recall.ranking import rank_question
from service.recall.rewrite import Read
from service.recall.tuning_statistics import Case, Setting, make_report
from service.resources import Resources
from service.uuid7 import uuid7

MOST_TUNING_QUESTIONS = 1000  # questions at once
QUESTIONS_PER_TRANSACTION = 20  # of a transaction


async def questions_of(tx: Transaction, wanted: TuneInput) -> list[JsonObject]:
    """Questions with the ids of what answers them: those that are stated, or the rated ones of the log.

    Raises P0002 for a memory that the namespace does not have.
    """
    if wanted.questions is None:
        rated = await tuning.rated_questions(tx, limit=MOST_TUNING_QUESTIONS)
        return [{"question": row["question"], "ids": list(map(str, row["ids"]))} for row in rated]
    stated = [question.model_dump(mode="json", exclude_none=True) for question in wanted.questions]
    found = {row["place"]: row["ids"] for row in await tuning.tuning_evidence(tx, questions=stated)}
    return [{"question": q["question"], "ids": list(map(str, found[nth]))} for nth, q in enumerate(stated)]


async def measure_questions(
    resources: Resources, read: Read, questions: list[JsonObject], wanted: TuneInput, asked: Callable[[int], Awaitable[None]]
) -> JsonObject:
    """Ask each question once, and say what settings would do.

    `read` runs a step in a transaction in the namespace; `asked` is told how many questions were asked.
    """
    cases: list[Case] = []
    settings: JsonObject = {}
    for start in range(0, len(questions), QUESTIONS_PER_TRANSACTION):
        made, settings = await read(
            partial(_make_cases, resources=resources, rows=questions[start : start + QUESTIONS_PER_TRANSACTION], wanted=wanted)
        )
        cases += made
        await asked(len(cases))
    if not cases:
        return make_report(cases, Setting({}, 1, 1, 1), k=wanted.k, fusion=wanted.fusion)
    return make_report(cases, Setting.from_settings(settings), k=wanted.k, fusion=wanted.fusion)


async def _make_cases(
    tx: Transaction, *, resources: Resources, rows: list[JsonObject], wanted: TuneInput
) -> tuple[list[Case], JsonObject]:
    evidence = await tuning.tuning_evidence(tx, questions=rows, lenient=True)  # some may be gone since the request
    cases = []
    for row, answers in zip(rows, evidence, strict=True):
        if not answers["documents"]:
            continue
        question = Question(query=row["question"], k=wanted.k, fusion=wanted.fusion)
        ranking = await rank_question(tx, question, resources.provider, resources.settings.embedding)
        cases.append(Case.from_ranking(row["question"], dict.fromkeys(answers["documents"]), ranking))
    return cases, (await tx.read_caller()).settings


async def apply_settings(tx: Transaction, proposed: JsonObject) -> bool:
    """Make the proposal the namespace's settings; its other settings stay. Whether anything was proposed."""
    changes = proposed["settings"]
    if changes is None:
        return False
    if "weights" in changes:
        standard, present = (await tuning.default_settings(tx))["weights"], (await tx.read_caller()).settings["weights"]
        own = {arm: weight for arm, weight in present.items() if weight != standard[arm]}
        changes = {**changes, "weights": {**own, **changes["weights"]}}
    await change_namespace(tx, changes={"settings": changes})
    return True


async def request_tuning(tx: Transaction, wanted: TuneInput) -> JsonObject:
    """Make the job: (job_id, created)."""
    arguments = {"questions": await questions_of(tx, wanted), **wanted.model_dump(include={"k", "fusion", "apply"})}
    made = await jobs.enqueue_job(tx, kind="tune", arguments=arguments, turn="tune")
    return {"job_id": made["id"], "created": made["created"]}


async def run_tuning(resources: Resources, job: Job) -> None:
    """Measure what the job says; its result is the report. Applying is one operation."""
    given: dict[str, Any] = dict(job.arguments)
    questions = given.pop("questions")
    wanted = TuneInput.model_validate(given)

    async def read_step(step: Any) -> Any:
        async with resources.transaction("tune", job.namespace, "reader") as tx:
            return await step(tx)

    async def report_count(count: int) -> None:
        async with job.hold_alone(resources, "tune") as tx:
            await jobs.report_progress(tx, id=job.id, tries=job.tries, progress={"asked": count, "questions": len(questions)})

    said = await measure_questions(resources, read_step, questions, wanted, report_count)
    operation = str(uuid7())
    async with job.hold_alone(resources, "tune", operation_id=operation) as tx:
        if wanted.apply and await apply_settings(tx, said):
            said |= {"applied": True, "operation_id": operation}
        await jobs.finish_job(tx, id=job.id, result=said)
