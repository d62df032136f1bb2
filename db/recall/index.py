"""Upkeep of the lexical index."""

from typing import Any

from db.pool import Transaction

Row = dict[str, Any]


async def compact_lexical_index(tx: Transaction) -> Row:
    """Fold counts and join small posting blocks where that is due: (folded, joined)."""
    return await tx.row("select folded, joined from loci_api.compact_lexical_index()")
