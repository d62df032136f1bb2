"""The operations log: who changed what, when, through what."""

from uuid import UUID

from db import operations
from db.operations import ListedOperation, OperationChangeRow, OperationFilter, OperationRow
from db.pool import Transaction
from service.paging import Page, make_page

__all__ = ["OperationFilter", "get_operation", "list_changes_of", "list_operations"]


async def list_operations(
    tx: Transaction, wanted: OperationFilter, *, limit: int, cursor: str | None = None
) -> Page[ListedOperation]:
    """Operations, newest first, with counts of their changes."""
    return make_page(await operations.list_operations(tx, wanted, limit=limit + 1, cursor=cursor), limit)


async def get_operation(tx: Transaction, *, id: UUID) -> OperationRow:
    """One operation."""
    return await operations.get_operation(tx, id=id)


async def list_changes_of(tx: Transaction, *, id: UUID, limit: int, after: int = 0) -> Page[OperationChangeRow]:
    """Changes of an operation, before and after, in order, behind a position."""
    rows = await operations.operation_changes(tx, id=id, limit=limit + 1, after=after)
    last = str(rows[limit - 1]["position"]) if len(rows) > limit else None
    return {"items": rows[:limit], "next_cursor": last}  # a change has a position of its own, which is shown
