"""The hierarchy: memories above and under others, and the repair of its closure."""

from datetime import datetime
from typing import TypedDict
from uuid import UUID

from db.memories import MemoryRow
from db.pool import Transaction


class PlacedMemoryRow(MemoryRow):
    """A memory above or under another, and how far."""

    depth: int


class SubtreeRow(PlacedMemoryRow):
    """A memory under another, and its place in the list."""

    position: str


class HierarchyRepair(TypedDict):
    """How many rows of the closure were removed and added."""

    removed: int
    added: int


async def repair_hierarchy(tx: Transaction) -> HierarchyRepair:
    """Make the closure equal to the recursion; how many rows were removed and added."""
    return await tx.row(HierarchyRepair, "select * from loci_api.repair_hierarchy(%(namespace)s)")


async def subtree(
    tx: Transaction, *, id: UUID, limit: int, cursor: str | None, as_of: datetime | None, known_at: datetime | None
) -> list[SubtreeRow]:
    """Memories under a memory with their depth, nearest first; `cursor` is that of the last row of the page before."""
    return await tx.rows(
        SubtreeRow,
        """select depth, (memory).*, page.cursor as position
           from loci.subtree(%(namespace)s, %(id)s, %(limit)s, %(as_of)s, %(known_at)s, %(cursor)s) page""",
        id=id,
        limit=limit,
        cursor=cursor,
        as_of=as_of,
        known_at=known_at,
    )


async def ancestors(tx: Transaction, *, id: UUID, as_of: datetime | None, known_at: datetime | None) -> list[PlacedMemoryRow]:
    """Memories above a memory with their depth, nearest first."""
    return await tx.rows(
        PlacedMemoryRow,
        "select depth, (memory).* from loci.ancestors(%(namespace)s, %(id)s, %(as_of)s, %(known_at)s)",
        id=id,
        as_of=as_of,
        known_at=known_at,
    )
