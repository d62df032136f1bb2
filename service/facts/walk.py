"""The walk over aspects and strong edges: what to know about the entities that a conversation is about."""

from db import facts
from db.facts import WalkRow
from db.pool import Transaction
from loci.models.facts import WalkInput


async def walk(tx: Transaction, wanted: WalkInput) -> WalkRow:
    """Constraints, the most important attributes of the heaviest aspects, and the memories behind them, within the deadline."""
    return await facts.walk(tx, **wanted.model_dump())
