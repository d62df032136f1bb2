"""The operations log (row X5): wrappers of the SQL functions."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from db.changes import sequence_changes
from db.pool import Transaction

Row = dict[str, Any]
SEQUENCED = 10_000


@dataclass(frozen=True)
class Wanted:
    """Which operations a list is about; None restricts nothing."""

    action: str | None = None
    agent: UUID | None = None
    via: str | None = None
    subject: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None


async def list_operations(tx: Transaction, wanted: Wanted, *, limit: int, cursor: UUID | None = None) -> list[Row]:
    """Operations, newest first, with counts of their changes."""
    return await tx.rows(
        """select * from loci.list_operations(%(namespace)s, %(limit)s, %(cursor)s, %(action)s, %(agent)s, %(via)s, %(subject)s,
                                              %(since)s, %(until)s)""",
        limit=limit,
        cursor=cursor,
        **vars(wanted),
    )


async def get_operation(tx: Transaction, *, id: UUID) -> Row:
    """One operation."""
    return await tx.row("select * from loci.get_operation(%(namespace)s, %(id)s)", id=id)


async def operation_changes(tx: Transaction, *, id: UUID, limit: int, after: int) -> list[Row]:
    """What an operation changed, in order. What is committed has its position first: a page is never short of something."""
    while await sequence_changes(tx, limit=SEQUENCED) == SEQUENCED:
        pass
    return await tx.rows(
        "select * from loci.operation_changes(%(namespace)s, %(id)s, %(limit)s, %(after)s)", id=id, limit=limit, after=after
    )


async def sweep_operations(tx: Transaction, *, limit: int) -> int:
    """Delete changes and operations that are past their time; how many of what there was more of. The operator's."""
    row = await tx.row("select greatest(changes, operations) as swept from loci.sweep_operations(%(limit)s)", limit=limit)
    return int(row["swept"])
