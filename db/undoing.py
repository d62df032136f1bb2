"""Undoing operations (row X5)."""

from typing import Any
from uuid import UUID

from db.pool import Transaction

Row = dict[str, Any]


async def undo_operation(tx: Transaction, *, id: UUID, skip_changed: bool = False) -> Row:
    """Undo an operation: which one does it, what is as before, what was skipped, and whether edges are `decaying`."""
    return await tx.row(
        "select * from loci.undo_operation(%(namespace)s, %(id)s, %(skip_changed)s)", id=id, skip_changed=skip_changed
    )


async def unfinished_decay(tx: Transaction) -> list[str | None]:
    """Edge types whose edges have to be brought in step with a change of decay; None: all."""
    return [row["type"] for row in await tx.rows("select type from loci.unfinished_decay(%(namespace)s)")]
