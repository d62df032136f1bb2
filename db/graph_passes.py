"""The passes that read entities out of conversations and clean up the graph; wrappers of the SQL functions (row L4)."""

from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from db.pool import Transaction

Row = dict[str, Any]


async def job_episodes(tx: Transaction, *, id: UUID, limit: int, length: int) -> list[Row]:
    """The episodes that a job learns from, the same at every call: (id, content, valid_from, session_id); content is cut."""
    return await tx.rows(
        "select * from loci.job_episodes(%(namespace)s, %(id)s, %(limit)s, %(length)s)", id=id, limit=limit, length=length
    )


async def entity_catalogue(tx: Transaction, *, texts: list[str], limit: int) -> list[Row]:
    """Entities that texts name, then the most mentioned: (id, name, type, aliases, mentions, named)."""
    return await tx.rows("select * from loci.entity_catalogue(%(namespace)s, %(texts)s, %(limit)s)", texts=texts, limit=limit)


async def edge_types_used(tx: Transaction, *, limit: int = 100) -> list[str]:
    """Types of edges that the namespace uses."""
    row = await tx.row("select loci.edge_types_used(%(namespace)s, %(limit)s) as types", limit=limit)
    return list(row["types"])


async def apply_extraction(tx: Transaction, *, plan: Row) -> list[Row]:
    """Write entities and edges that a model has read: (kind, place, id, created, guard), one row an item."""
    return await tx.rows("select * from loci.apply_extraction(%(namespace)s, %(plan)s)", plan=Jsonb(plan))


async def stale_entities(tx: Transaction, *, limit: int) -> list[Row]:
    """Entities that a pass may remove, oldest first: (id, name, type, mentions, created_at, updated_at, edges)."""
    return await tx.rows("select * from loci.stale_entities(%(namespace)s, %(limit)s)", limit=limit)


async def weak_edges(tx: Transaction, *, entities: list[UUID], limit: int) -> list[Row]:
    """Edges that a pass may remove, and those beside them (removable: false)."""
    return await tx.rows(
        "select * from loci.weak_edges(%(namespace)s, %(entities)s::uuid[], %(limit)s)", entities=entities, limit=limit
    )


async def apply_graph_cleanup(tx: Transaction, *, plan: Row) -> list[Row]:
    """Remove what the guards let go: (kind, id, guard, reason), one row a thing; kind stopped: nothing was removed, and why."""
    return await tx.rows("select * from loci.apply_graph_cleanup(%(namespace)s, %(plan)s)", plan=Jsonb(plan))
