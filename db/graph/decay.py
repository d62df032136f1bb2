"""Changes of decay: wrappers of the SQL functions that bring edges in step with a new rate, batch by batch."""

from typing import TypedDict

from db.pool import Transaction


class DecayBatch(TypedDict):
    """How far a change of decay is."""

    edges: int
    faded: int
    revived: int
    faded_now: int
    done: bool


class UnfinishedDecay(TypedDict):
    """A change of decay that was left; `type` None: of all edges."""

    namespace: str
    type: str | None


async def begin_decay_change(tx: Transaction, *, type: str | None) -> None:
    """Start to recalculate when edges of a type, or of all, fade; recalculate_decay_batch does it."""
    await tx.run("select loci_api.begin_decay_change(%(namespace)s, %(type)s)", type=type)


async def recalculate_decay_batch(tx: Transaction, *, type: str | None, limit: int = 2000) -> DecayBatch:
    """The next edges of a change of decay, in this transaction: what it counts so far, and whether it is `done`."""
    return await tx.row(
        DecayBatch, "select * from loci_api.recalculate_decay_batch(%(namespace)s, %(type)s, %(limit)s)", type=type, limit=limit
    )


async def next_unfinished_decay(tx: Transaction, *, seconds: float) -> UnfinishedDecay | None:
    """The change of decay (`namespace`, `type`) left for longest, at least for `seconds`; None: there is none. Operator only."""
    return await tx.first(UnfinishedDecay, "select * from loci_api.next_unfinished_decay(%(seconds)s)", seconds=seconds)


async def unfinished_decay_changes(tx: Transaction) -> list[str | None]:
    """Edge types whose edges have to be brought in step with a change of decay; None: all."""
    return await tx.values(str, "select type from loci_api.unfinished_decay_changes(%(namespace)s)")
