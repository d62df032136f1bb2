"""Schedules of jobs: wrappers of the SQL functions."""

from datetime import datetime
from typing import TypedDict
from uuid import UUID

from db.pool import Transaction


class ScheduleRow(TypedDict):
    """A schedule that is wanted, and what was last reckoned of it."""

    namespace: str
    wanted: str | None
    cron: str | None
    due_at: datetime | None
    now: datetime


async def list_schedules(tx: Transaction) -> list[ScheduleRow]:
    """Schedules that are wanted, and what was last computed of them. The operator's."""
    return await tx.rows(ScheduleRow, "select * from loci_api.list_schedules()")


async def update_schedule(tx: Transaction, *, seen: ScheduleRow, cron: str | None, next_at: datetime | None) -> UUID | None:
    """Keep what was reckoned of a schedule as `seen`; the job that was made, if it was due and nobody was quicker."""
    return await tx.optional(
        UUID,
        "select loci_api.update_schedule(%(namespace)s, %(cron_seen)s, %(due_seen)s, %(cron)s, %(next_at)s) as id",
        cron_seen=seen["cron"],
        due_seen=seen["due_at"],
        cron=cron,
        next_at=next_at,
    )
