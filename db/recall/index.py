"""Upkeep of the lexical index."""

from typing import TypedDict

from db.pool import Transaction


class CompactedIndex(TypedDict):
    """How many counts were folded, and posting blocks joined."""

    folded: int
    joined: int


async def compact_lexical_index(tx: Transaction) -> CompactedIndex:
    """Fold counts and join small posting blocks where that is due."""
    return await tx.row(CompactedIndex, "select folded, joined from loci_api.compact_lexical_index()")
