"""Changes of decay (rows G8, G10): every edge is brought in step with a new rate, a transaction a batch.

Readers are right from the moment of the change on, because they reckon for themselves until the last batch is done. So a process
that dies on the way does no harm: the worker finishes what nobody has worked at for a while.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from db.graph import decay
from db.pool import Transaction

ABANDONED = 10.0  # seconds without a batch
Row = dict[str, Any]


async def begin_decay_change(tx: Transaction, *, type: str | None) -> None:
    """Start to recalculate when edges of a type, or of all, fade."""
    await decay.begin_decay_change(tx, type=type)


async def decay_step(tx: Transaction, *, type: str | None, decaying: bool) -> Row | None:
    """One batch: None while there are more, then how many edges `faded` and were `revived`. Nothing, if nothing is `decaying`."""
    if not decaying:
        return {"faded": 0, "revived": 0}
    row = await decay.recalculate_decay_batch(tx, type=type)
    return {"faded": row["faded"], "revived": row["revived"]} if row["done"] else None


async def finish_decay_change(
    open_transaction: Callable[[], AbstractAsyncContextManager[Transaction]],
    *,
    type: str | None,
    told: Callable[[Row], None] = lambda _: None,
) -> Row:
    """All batches, each in a transaction of its own; `told` hears how far it is. The counts of the last one."""
    while True:
        async with open_transaction() as tx:
            row = await decay.recalculate_decay_batch(tx, type=type)
        told(row)
        if row["done"]:
            return row


async def finish_decay_changes(open_transaction: Callable[[], AbstractAsyncContextManager[Transaction]]) -> None:
    """Bring edges in step with every change of decay that is not finished; readers are right before it ends."""
    async with open_transaction() as tx:
        types = await decay.unfinished_decay_changes(tx)
    for edge_type in types:
        await finish_decay_change(open_transaction, type=edge_type)
