"""Edges and their types: wrappers of the SQL functions."""

from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from db.pool import Transaction

Row = dict[str, Any]


async def observe_edges(tx: Transaction, *, edges: list[Row]) -> list[Row]:
    """Observe edges between named entities: rows (ordinal, id, source_id, target_id, created, restored), in order."""
    return await tx.rows("select * from loci_api.observe_edges(%(namespace)s, %(edges)s)", edges=Jsonb(edges))


async def list_edges(
    tx: Transaction,
    *,
    entity: str | None,
    type: str | None,
    faded: bool,
    as_of: datetime | None,
    known_at: datetime | None,
    limit: int,
    cursor: str | None,
) -> list[Row]:
    """A page of edges with their effective confidence, at two moments."""
    return await tx.rows(
        """select * from loci.list_edges(%(namespace)s, %(entity)s, %(type)s, %(faded)s, %(as_of)s, %(limit)s, %(cursor)s,
           %(known_at)s)""",
        entity=entity,
        type=type,
        faded=faded,
        as_of=as_of,
        known_at=known_at,
        limit=limit,
        cursor=cursor,
    )


async def delete_edge(tx: Transaction, *, id: UUID) -> Row:
    """Take an edge back: it is no longer believed, and stays in history."""
    return await tx.row("select * from loci_api.delete_edge(%(namespace)s, %(id)s)", id=id)


async def get_edge_type(tx: Transaction, *, type: str) -> Row:
    """Settings of an edge type."""
    return await tx.row("select * from loci.get_edge_type(%(namespace)s, %(type)s)", type=type)


async def set_edge_type(tx: Transaction, *, type: str, changes: Row) -> Row:
    """Change settings of an edge type; the row, and `decaying`: whether recalculate_decay_batch has edges to bring in step."""
    return await tx.row(
        "select * from loci_api.set_edge_type(%(namespace)s, %(type)s, %(changes)s)", type=type, changes=Jsonb(changes)
    )


async def edge_types_used(tx: Transaction, *, limit: int = 100) -> list[str]:
    """Types of edges that the namespace uses."""
    row = await tx.row("select loci_api.edge_types_used(%(namespace)s, %(limit)s) as types", limit=limit)
    return list(row["types"])
