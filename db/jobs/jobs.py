"""Jobs: wrappers of the SQL functions."""

from datetime import datetime
from typing import Any, TypedDict
from uuid import UUID

from psycopg.errors import ObjectNotInPrerequisiteState
from psycopg.types.json import Jsonb

from db.pool import JsonObject, Transaction

JobOver = ObjectNotInPrerequisiteState  # what lock_job and finish_job raise for a job that is over or gone


class EnqueuedJob(TypedDict):
    """A job that was asked for, and whether it is new."""

    id: UUID
    created: bool


class StartedJob(TypedDict):
    """A job that is begun."""

    namespace_id: int
    id: UUID
    namespace: str
    kind: str
    arguments: JsonObject
    tries: int
    failures: int
    postponed: int
    agent_id: UUID | None
    created_at: datetime
    settings: JsonObject


class JobFailures(TypedDict):
    """How often a job has failed and was put off."""

    failures: int
    postponed: int


class LostJob(TypedDict):
    """A job whose worker was lost."""

    id: UUID
    kind: str
    dead: bool


class JobRow(TypedDict):
    """A job."""

    id: UUID
    kind: str
    state: str
    arguments: JsonObject
    tries: int
    failures: int
    postponed: int
    agent_id: UUID | None
    created_at: datetime
    due_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    error: str | None
    result: JsonObject | None


class JobDetail(JobRow):
    """A job with the reports of its passes, and what its calls of a language model took."""

    passes: list[JsonObject]
    calls: JsonObject


async def enqueue_job(
    tx: Transaction,
    *,
    kind: str,
    arguments: dict[str, Any] | None = None,
    key: str | None = None,
    turn: str | None = None,
    due_at: datetime | None = None,
) -> EnqueuedJob:
    """Ask for a job in this transaction. `created` is False where one with the same key waits already."""
    tx.outcome.jobs = True
    return await tx.row(
        EnqueuedJob,
        "select id, created from loci_api.enqueue_job(%(namespace)s, %(kind)s, %(arguments)s, %(key)s, %(turn)s, %(due_at)s)",
        kind=kind,
        arguments=Jsonb(arguments or {}),
        key=key,
        turn=turn,
        due_at=due_at,
    )


async def start_job(tx: Transaction, *, queue_id: int, attempt: int) -> StartedJob | None:
    """The job of a place in the queue that was taken; empty if there is nothing to do any more."""
    return await tx.first(
        StartedJob, "select * from loci_api.start_job(%(queue_id)s, %(attempt)s)", queue_id=queue_id, attempt=attempt
    )


async def lock_job(tx: Transaction, *, id: UUID, tries: int | None = None) -> None:
    """Lock a job for this transaction, which does its work as the `tries`-th try. Raises JobOver."""
    await tx.run("select loci_api.lock_job(%(namespace)s, %(id)s, %(tries)s)", id=id, tries=tries)


async def report_progress(tx: Transaction, *, id: UUID, tries: int, progress: JsonObject) -> None:
    """Say how far the `tries`-th try of a job is. Raises JobOver."""
    await tx.run(
        "select loci_api.report_job_progress(%(namespace)s, %(id)s, %(tries)s, %(progress)s)",
        id=id,
        tries=tries,
        progress=Jsonb(progress),
    )


async def finish_job(tx: Transaction, *, id: UUID, result: Any = None, state: str = "succeeded", error: str | None = None) -> None:
    """Say that a job is over, in the transaction of its work. Raises JobOver."""
    await tx.run(
        "select loci_api.finish_job(%(namespace)s, %(id)s, %(result)s, %(state)s, %(error)s)",
        id=id,
        result=None if result is None else Jsonb(result),
        state=state,
        error=error,
    )


async def record_job_failure(
    tx: Transaction, *, queue_id: int, attempt: int, error: str, postponed: bool = False, refused_with: str | None = None
) -> JobFailures | None:
    """Note why a try failed or was put off; None if the job is gone, over, or another worker's.

    `refused_with`: the hash of the settings, where the operator has to mend something.
    """
    return await tx.first(
        JobFailures,
        "select * from loci_api.record_job_failure(%(queue_id)s, %(attempt)s, %(error)s, %(postponed)s, %(refused_with)s)",
        queue_id=queue_id,
        attempt=attempt,
        error=error,
        postponed=postponed,
        refused_with=refused_with,
    )


async def resume_jobs(tx: Transaction, *, settings: str) -> int:
    """Let jobs go on that were refused under other settings; how many. The operator's."""
    return await tx.value(int, "select loci_api.resume_jobs(%(settings)s) as jobs", settings=settings)


async def take_over_jobs(
    tx: Transaction, *, worker: int | None, lost_after: float, attempts: int, backoff: float, backoff_limit: float
) -> list[LostJob]:
    """Give jobs of lost workers back to the queue, or up; those of the `worker` that asks are not lost. The operator's."""
    return await tx.rows(
        LostJob,
        "select * from loci_api.take_over_jobs(%(worker)s, %(lost_after)s, %(attempts)s, %(backoff)s, %(backoff_limit)s)",
        worker=worker,
        lost_after=lost_after,
        attempts=attempts,
        backoff=backoff,
        backoff_limit=backoff_limit,
    )


async def cancel_job(tx: Transaction, *, id: UUID) -> str:
    """Cancel a job; its state: cancelled, or running until its worker has stopped."""
    tx.outcome.jobs = True
    return await tx.value(str, "select loci_api.cancel_job(%(namespace)s, %(id)s) as state", id=id)


async def retry_job(tx: Transaction, *, id: UUID) -> None:
    """Put a job that is dead, cancelled or skipped into the queue again."""
    tx.outcome.jobs = True
    await tx.run("select loci_api.retry_job(%(namespace)s, %(id)s)", id=id)


async def list_jobs(
    tx: Transaction, *, limit: int, cursor: UUID | None = None, state: str | None = None, kind: str | None = None
) -> list[JobRow]:
    """Jobs, newest first."""
    return await tx.rows(
        JobRow,
        "select * from loci.list_jobs(%(namespace)s, %(limit)s, %(cursor)s, %(state)s, %(kind)s)",
        limit=limit,
        cursor=cursor,
        state=state,
        kind=kind,
    )


async def get_job(tx: Transaction, *, id: UUID) -> JobDetail:
    """A job with the reports of its passes (passes) and what its calls of a language model took (calls)."""
    return await tx.row(JobDetail, "select * from loci.get_job(%(namespace)s, %(id)s)", id=id)
