"""Schedules of jobs: wrappers of the SQL functions (row L4)."""

from datetime import datetime
from typing import Any
from uuid import UUID

from db.pool import Transaction

Row = dict[str, Any]


async def list_schedules(tx: Transaction) -> list[Row]:
    """Schedules that are wanted, and what was last reckoned of them: (namespace, wanted, cron, due_at, now). The operator's."""
    return await tx.rows("select * from loci_api.list_schedules()")


async def update_schedule(tx: Transaction, *, seen: Row, cron: str | None, next_at: datetime | None) -> UUID | None:
    """Keep what was reckoned of a schedule as `seen`; the job that was made, if it was due and nobody was quicker."""
    row = await tx.row(
        "select loci_api.update_schedule(%(namespace)s, %(cron_seen)s, %(due_seen)s, %(cron)s, %(next_at)s) as id",
        cron_seen=seen["cron"],
        due_seen=seen["due_at"],
        cron=cron,
        next_at=next_at,
    )
    made: UUID | None = row["id"]
    return made
