"""Changes of decay: every edge is brought in step with a new rate, a transaction a batch.

Readers are right from the moment of the change on, because they compute confidence themselves until the last batch is done. A
process that dies on the way does no harm: the worker finishes a change that nobody has worked at for a while.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from db.graph import decay
from db.graph.decay import DecayBatch
from db.graph.edges import ChangedEdgeType
from db.pool import JsonObject, Transaction

ABANDONED_SECONDS = 10.0  # seconds without a batch
Retries = Callable[[Callable[[], Awaitable[Any]]], Awaitable[Any]]  # runs a transaction, and may run it again


async def begin_decay_change(tx: Transaction, *, type: str | None) -> None:
    """Start to recalculate when edges of a type, or of all, fade."""
    await decay.begin_decay_change(tx, type=type)


async def decay_step(tx: Transaction, *, type: str | None, decaying: bool) -> dict[str, int] | None:
    """One batch: None while there are more, then how many edges `faded` and were `revived`. Nothing, if nothing is `decaying`."""
    if not decaying:
        return {"faded": 0, "revived": 0}
    row = await decay.recalculate_decay_batch(tx, type=type)
    return {"faded": row["faded"], "revived": row["revived"]} if row["done"] else None


async def recalculation_step(tx: Transaction, *, type: str | None) -> dict[str, int] | None:
    """One batch of a recalculation: None while there are more, then how many edges faded since the last one, and are faded."""
    row = await decay.recalculate_decay_batch(tx, type=type)
    return {name: row[name] for name in ("edges", "faded", "revived", "faded_now")} if row["done"] else None


async def edge_type_step(tx: Transaction, row: ChangedEdgeType) -> JsonObject | None:
    """One batch after an edge type was changed: None while there are more, then the type, and how many edges it concerned."""
    counts = await decay_step(tx, type=row["type"], decaying=row["decaying"])
    return counts and {**{name: value for name, value in row.items() if name != "decaying"}, **counts}


async def _run_batch_once(work: Callable[[], Awaitable[Any]]) -> Any:
    return await work()


async def finish_decay_change(
    open_transaction: Callable[[], AbstractAsyncContextManager[Transaction]],
    *,
    type: str | None,
    retried: Retries = _run_batch_once,
) -> None:
    """All batches, each in a transaction of its own, which `retried` runs."""

    async def recalculate_batch() -> DecayBatch:
        async with open_transaction() as tx:
            return await decay.recalculate_decay_batch(tx, type=type)

    while not (await retried(recalculate_batch))["done"]:
        pass


async def finish_decay_changes(open_transaction: Callable[[], AbstractAsyncContextManager[Transaction]], retried: Retries) -> None:
    """Bring edges in step with every change of decay that is not finished; readers are right before it ends."""
    async with open_transaction() as tx:
        types = await decay.unfinished_decay_changes(tx)
    for edge_type in types:
        await finish_decay_change(open_transaction, type=edge_type, retried=retried)
