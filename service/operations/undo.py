"""Undoing an operation, with what it makes necessary: edges are brought in step where it changes a rate of decay."""

import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeVar
from uuid import UUID

import psycopg
from psycopg_pool import PoolClosed, PoolTimeout

from db import operations
from db.errors import LociError
from db.pool import JsonObject, Transaction
from service.graph.decay import Retries, finish_decay_changes

T = TypeVar("T")
log = logging.getLogger(__name__)


async def undo_operation(
    run: Callable[[Callable[[Transaction], Awaitable[JsonObject]]], Awaitable[T]],
    open_transaction: Callable[[], AbstractAsyncContextManager[Transaction]],
    retried: Retries,
    *,
    id: UUID,
    skip_changed: bool,
) -> T:
    """Undo an operation in one transaction, which `run` runs, and return what that returns; edges follow in others.

    A failure in spite of `retried` is logged: the operation is undone, and the worker brings the edges in step.
    """
    decaying = False

    async def undo_in_transaction(tx: Transaction) -> JsonObject:
        nonlocal decaying
        row = await operations.undo_operation(tx, id=id, skip_changed=skip_changed)
        decaying = row["decaying"]
        done = {name: value for name, value in row.items() if name != "decaying"}
        return {**done, "dry_run": False, "changes": [], "more": 0}

    done = await run(undo_in_transaction)
    if decaying:
        try:
            await finish_decay_changes(open_transaction, retried)
        except (LociError, psycopg.Error, PoolTimeout, PoolClosed) as error:
            log.warning("it is undone, and the worker brings the edges in step: %s", error)
    return done


async def preview_undo(tx: Transaction, *, id: UUID) -> JsonObject:
    """Effects of undoing an operation, but for things that were changed since: it is undone, and that is taken back."""
    return {**await operations.preview_undo(tx, id=id), "undoes": id, "operation_id": None, "dry_run": True}
