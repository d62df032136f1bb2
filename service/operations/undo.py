"""Undoing an operation, with what it makes necessary: edges are brought in step where it changes a rate of decay."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeVar
from uuid import UUID

from db import operations
from db.pool import JsonObject, Transaction
from service.graph.decay import finish_decay_changes

T = TypeVar("T")


async def undo_operation(
    run: Callable[[Callable[[Transaction], Awaitable[JsonObject]]], Awaitable[T]],
    open_transaction: Callable[[], AbstractAsyncContextManager[Transaction]],
    *,
    id: UUID,
    skip_changed: bool,
) -> T:
    """Undo an operation in one transaction, which `run` runs, and return what that returns; edges follow in others."""
    decaying = False

    async def work(tx: Transaction) -> JsonObject:
        nonlocal decaying
        row = await operations.undo_operation(tx, id=id, skip_changed=skip_changed)
        decaying = row["decaying"]
        done = {name: value for name, value in row.items() if name != "decaying"}
        return {**done, "dry_run": False, "changes": [], "more": 0}

    done = await run(work)
    if decaying:
        await finish_decay_changes(open_transaction)
    return done


async def preview_undo(tx: Transaction, *, id: UUID) -> JsonObject:
    """What undoing an operation would do, but for what was changed since: it is undone, and that is taken back."""
    return {**await operations.preview_undo(tx, id=id), "undoes": id, "operation_id": None, "dry_run": True}
