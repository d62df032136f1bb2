"""The hierarchy: memories above and under others, and the repair of its closure."""

from datetime import datetime
from typing import Any
from uuid import UUID

from db.pool import Transaction

Row = dict[str, Any]


async def repair_hierarchy(tx: Transaction) -> Row:
    """Make the closure equal to the recursion; how many rows were removed and added."""
    return await tx.row("select * from loci_api.repair_hierarchy(%(namespace)s)")


async def subtree(
    tx: Transaction, *, id: UUID, limit: int, cursor: str | None, as_of: datetime | None, known_at: datetime | None
) -> list[Row]:
    """Memories under a memory with their depth, nearest first; `cursor` is that of the last row of the page before."""
    return await tx.rows(
        """select depth, (memory).*, page.cursor as position
           from loci.subtree(%(namespace)s, %(id)s, %(limit)s, %(as_of)s, %(known_at)s, %(cursor)s) page""",
        id=id,
        limit=limit,
        cursor=cursor,
        as_of=as_of,
        known_at=known_at,
    )


async def ancestors(tx: Transaction, *, id: UUID, as_of: datetime | None, known_at: datetime | None) -> list[Row]:
    """Memories above a memory with their depth, nearest first."""
    return await tx.rows(
        "select depth, (memory).* from loci.ancestors(%(namespace)s, %(id)s, %(as_of)s, %(known_at)s)",
        id=id,
        as_of=as_of,
        known_at=known_at,
    )
