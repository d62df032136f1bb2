"""Undoing an operation, with what it makes necessary: edges are brought in step where it changes a rate of decay."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from db import undoing
from db.pool import Transaction
from service import decay


async def finish_decay(open_transaction: Callable[[], AbstractAsyncContextManager[Transaction]]) -> None:
    """Bring edges in step with every change of decay that is not finished; readers are right before it ends."""
    async with open_transaction() as tx:
        types = await undoing.unfinished_decay(tx)
    for edge_type in types:
        await decay.finish(open_transaction, type=edge_type)
