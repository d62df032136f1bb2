"""Entities and edges: wrappers of the SQL functions that write, find and walk them."""

from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from db.pool import Transaction

Row = dict[str, Any]


async def upsert_entities(tx: Transaction, *, entities: list[Row]) -> list[Row]:
    """Create entities or add to them, by canonical name or alias: rows (ordinal, id, name, created), in order."""
    return await tx.rows("select * from loci.upsert_entities(%(namespace)s, %(entities)s)", entities=Jsonb(entities))


async def list_entities(
    tx: Transaction,
    *,
    type: str | None,
    query: str | None,
    pinned: bool | None,
    limit: int,
    cursor: str | None,
    as_of: datetime | None = None,
    known_at: datetime | None = None,
) -> list[Row]:
    """A page of entities at two moments: pinned first, then the most mentioned."""
    return await tx.rows(
        """select * from loci.list_entities(%(namespace)s, %(type)s, %(query)s, %(pinned)s, %(limit)s, %(cursor)s, %(as_of)s,
           %(known_at)s)""",
        type=type,
        query=query,
        pinned=pinned,
        limit=limit,
        cursor=cursor,
        as_of=as_of,
        known_at=known_at,
    )


async def get_entity(tx: Transaction, *, ref: str, as_of: datetime | None = None, known_at: datetime | None = None) -> Row:
    """The entity with this id, name or alias, at two moments."""
    return await tx.row(
        "select * from loci.get_entity(%(namespace)s, %(ref)s, %(as_of)s, %(known_at)s)", ref=ref, as_of=as_of, known_at=known_at
    )


async def entity_timeline(tx: Transaction, *, ref: str, limit: int, cursor: str | None) -> list[Row]:
    """A page of dated events around an entity, oldest first."""
    return await tx.rows(
        "select * from loci.entity_timeline(%(namespace)s, %(ref)s, %(limit)s, %(cursor)s)", ref=ref, limit=limit, cursor=cursor
    )


async def update_entity(tx: Transaction, *, id: UUID, changes: Row) -> Row:
    """Change name, type, aliases, description, metadata or confidence of an entity; returns it."""
    return await tx.row("select * from loci.update_entity(%(namespace)s, %(id)s, %(changes)s)", id=id, changes=Jsonb(changes))


async def pin_entity(tx: Transaction, *, id: UUID, pinned: bool) -> Row:
    """Pin an entity, or unpin it; returns it."""
    return await tx.row("select * from loci.pin_entity(%(namespace)s, %(id)s, %(pinned)s)", id=id, pinned=pinned)


async def delete_entity(tx: Transaction, *, id: UUID) -> Row:
    """Take an entity out of the graph; returns it as it was."""
    return await tx.row("select * from loci.delete_entity(%(namespace)s, %(id)s)", id=id)


async def touch_entities(tx: Transaction, *, ids: list[UUID]) -> int:
    """Note that entities were referenced now; returns how many there were."""
    row = await tx.row("select loci.touch_entities(%(namespace)s, %(ids)s) as touched", ids=ids)
    return int(row["touched"])


async def match_entities(tx: Transaction, *, text: str) -> list[Row]:
    """Entities whose name or alias stands in a text."""
    return await tx.rows("select * from loci.match_entities(%(namespace)s, %(text)s)", text=text)


async def observe_edges(tx: Transaction, *, edges: list[Row]) -> list[Row]:
    """Observe edges between named entities: rows (ordinal, id, source_id, target_id, created, restored), in order."""
    return await tx.rows("select * from loci.observe_edges(%(namespace)s, %(edges)s)", edges=Jsonb(edges))


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
    return await tx.row("select * from loci.delete_edge(%(namespace)s, %(id)s)", id=id)


async def get_edge_type(tx: Transaction, *, type: str) -> Row:
    """Settings of an edge type."""
    return await tx.row("select * from loci.get_edge_type(%(namespace)s, %(type)s)", type=type)


async def set_edge_type(tx: Transaction, *, type: str, changes: Row) -> Row:
    """Change settings of an edge type; the row, and `decaying`: whether fade_batch has edges to bring in step."""
    return await tx.row("select * from loci.set_edge_type(%(namespace)s, %(type)s, %(changes)s)", type=type, changes=Jsonb(changes))


async def begin_decay(tx: Transaction, *, type: str | None) -> None:
    """Start to recalculate when edges of a type, or of all, fade; fade_batch does it."""
    await tx.row("select loci.begin_decay(%(namespace)s, %(type)s)", type=type)


async def fade_batch(tx: Transaction, *, type: str | None, limit: int = 2000) -> Row:
    """The next edges of a change of decay, in this transaction: `edges`, `faded`, `revived` so far, and whether it is `done`."""
    return await tx.row("select * from loci.fade_batch(%(namespace)s, %(type)s, %(limit)s)", type=type, limit=limit)


async def waiting_decay(tx: Transaction, *, seconds: float) -> Row:
    """The change of decay (`namespace`, `type`) left for longest, at least for `seconds`, or {}. Operator only."""
    return await tx.row("select * from loci.waiting_decay(%(seconds)s)", seconds=seconds)


async def traverse(
    tx: Transaction,
    *,
    start: list[str] | None,
    text: str | None = None,
    edge_types: list[str] | None = None,
    direction: str = "both",
    max_hops: int | None = None,
    limit: int = 100,
    min_confidence: float | None = None,
    min_strength: float = 0.0,
    as_of: datetime | None = None,
    known_at: datetime | None = None,
    paths: bool = False,
    scores: bool = False,
) -> list[Row]:
    """Walk the graph breadth first; edges in order of discovery, each with `truncated` (why the walk ended early, or None)."""
    return await tx.rows(
        """select * from loci.traverse(%(namespace)s, %(start)s, %(edge_types)s, %(direction)s, %(max_hops)s, %(limit)s,
           %(min_confidence)s, %(min_strength)s, %(as_of)s, %(paths)s, %(known_at)s, %(text)s,
           %(scores)s)""",
        start=start,
        edge_types=edge_types,
        direction=direction,
        max_hops=max_hops,
        limit=limit,
        min_confidence=min_confidence,
        min_strength=min_strength,
        as_of=as_of,
        known_at=known_at,
        paths=paths,
        text=text,
        scores=scores,
    )


async def graph_context(
    tx: Transaction,
    *,
    text: str,
    max_hops: int | None,
    limit: int | None,
    as_of: datetime | None,
    known_at: datetime | None,
) -> Row:
    """Entities that a text names, edges around them, and their lines: one row (entities, edges, rendered, truncated)."""
    return await tx.row(
        "select * from loci.graph_context(%(namespace)s, %(text)s, %(max_hops)s, %(limit)s, %(as_of)s, %(known_at)s)",
        text=text,
        max_hops=max_hops,
        limit=limit,
        as_of=as_of,
        known_at=known_at,
    )
