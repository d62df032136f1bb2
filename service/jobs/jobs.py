"""Jobs: work that is done later, and what became of it."""

from uuid import UUID

from db.jobs import jobs
from db.jobs.jobs import JobDetail, JobRow
from db.pool import Transaction
from service.paging import Page, make_page


async def list_jobs(
    tx: Transaction, *, limit: int, cursor: UUID | None = None, state: str | None = None, kind: str | None = None
) -> Page[JobRow]:
    """Jobs, newest first."""
    return make_page(await jobs.list_jobs(tx, limit=limit + 1, cursor=cursor, state=state, kind=kind), limit, "id")


async def get_job(tx: Transaction, *, id: UUID) -> JobDetail:
    """A job: how it stands, what each of its passes did, and what its calls of a language model took."""
    return await jobs.get_job(tx, id=id)


async def retry_job(tx: Transaction, *, id: UUID) -> JobDetail:
    """Try a job again that is dead, cancelled or skipped, or now if it waits; returns it."""
    await jobs.retry_job(tx, id=id)
    return await jobs.get_job(tx, id=id)


async def cancel_job(tx: Transaction, *, id: UUID) -> JobDetail:
    """Cancel a job, or tell it to stop; returns it."""
    await jobs.cancel_job(tx, id=id)
    return await jobs.get_job(tx, id=id)
