"""Saved memories that a model expands: wrappers of the SQL functions (row L2)."""

from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from db.pool import Transaction

Row = dict[str, Any]


async def memory_to_enrich(tx: Transaction, *, id: UUID) -> Row:
    """A saved memory with `is_named`, `is_protected`, `near` and `categories`; {}: there is nothing to expand any more."""
    return await tx.row(
        "select (memory).*, is_named, is_protected, near, categories from loci.memory_to_enrich(%(namespace)s, %(id)s)", id=id
    )


async def enrich_memory(tx: Transaction, *, id: UUID, entries: list[Row]) -> Row:
    """Put entries in the place of a saved memory: (action, ids of it and of what it became); {}: it was changed meanwhile."""
    return await tx.row("select * from loci.enrich_memory(%(namespace)s, %(id)s, %(entries)s)", id=id, entries=Jsonb(entries))
