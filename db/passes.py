"""Passes that use a model: what they last saw, and their reports; wrappers of the SQL functions (row L5)."""

from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from db.pool import Transaction

Row = dict[str, Any]


async def last_pass(tx: Transaction, *, name: str, job_id: UUID) -> Row:
    """Whether the job has run this pass already, and the corpus that the newest run left less than its days ago: (done, corpus)."""
    return await tx.row("select done, corpus from loci.last_pass(%(namespace)s, %(name)s, %(job_id)s)", name=name, job_id=job_id)


async def record_pass(tx: Transaction, *, job_id: UUID, name: str, report: Row) -> None:
    """Write the report of a pass, in the transaction of its changes. `report`: columns of pass_runs."""
    await tx.row(
        "select loci.record_pass(%(namespace)s, %(job_id)s, %(name)s, %(report)s)", job_id=job_id, name=name, report=Jsonb(report)
    )


async def list_passes(
    tx: Transaction, *, limit: int = 50, cursor: UUID | None = None, name: str | None = None, job_id: UUID | None = None
) -> list[Row]:
    """Reports of passes, newest first; `cursor` is the id of the last one of the page before."""
    return await tx.rows(
        "select * from loci.list_passes(%(namespace)s, %(limit)s, %(cursor)s, %(name)s, %(job_id)s)",
        limit=limit,
        cursor=cursor,
        name=name,
        job_id=job_id,
    )


async def busy_with(tx: Transaction) -> str | None:
    """What somebody is doing in the namespace; None: it is quiet."""
    row = await tx.row("select loci.busy_with(%(namespace)s) as busy")
    return row["busy"] or None


async def write_preferences(tx: Transaction, *, items: list[Row]) -> list[Row]:
    """Write inferred preferences; a row (action, id, superseded, guard, reason) an item, in order."""
    return await tx.rows("select * from loci.write_preferences(%(namespace)s, %(items)s) order by ordinal", items=Jsonb(items))
