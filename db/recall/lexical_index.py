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


async def join_lexical_ranges(tx: Transaction) -> int:
    """Join the postings of some thousand documents of a large namespace into a range, or write a worn one anew; how many."""
    return await tx.value(int, "select joined from loci_api.join_lexical_ranges()")
