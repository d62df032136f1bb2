"""Memories above and under a memory."""

from datetime import datetime
from uuid import UUID

from db import hierarchy
from db.hierarchy import PlacedMemoryRow, SubtreeRow
from db.pool import Transaction
from service.paging import Page, make_only_page, make_page


async def subtree(
    tx: Transaction, *, id: UUID, limit: int, cursor: str | None, as_of: datetime | None, known_at: datetime | None
) -> Page[SubtreeRow]:
    """Memories under a memory with their depth, nearest first."""
    rows = await hierarchy.subtree(tx, id=id, limit=limit + 1, cursor=cursor, as_of=as_of, known_at=known_at)
    return make_page(rows, limit, "position")


async def ancestors(tx: Transaction, *, id: UUID, as_of: datetime | None, known_at: datetime | None) -> Page[PlacedMemoryRow]:
    """Memories above a memory with their depth, nearest first."""
    return make_only_page(await hierarchy.ancestors(tx, id=id, as_of=as_of, known_at=known_at))
