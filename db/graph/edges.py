"""Edges and their types: wrappers of the SQL functions."""

from datetime import datetime
from typing import TypedDict
from uuid import UUID

from psycopg.types.json import Jsonb

from db.pool import JsonObject, Transaction


class ObservedEdge(TypedDict):
    """Outcome for an edge that was observed."""

    ordinal: int
    id: UUID
    source_id: UUID
    target_id: UUID | None
    created: bool
    restored: bool
    superseded: list[JsonObject]


class EdgeRow(TypedDict):
    """An edge."""

    id: UUID
    source_id: UUID
    source: str
    type: str
    target_id: UUID | None
    target: str | None
    literal: str | None
    confidence: float
    strength: float
    faded: bool
    observations: int
    first_observed_at: datetime | None
    last_observed_at: datetime | None
    restored_at: datetime | None
    fades_at: datetime | None
    valid_from: datetime
    valid_to: datetime | None
    recorded_at: datetime
    superseded_at: datetime | None
    metadata: JsonObject
    aspect: str | None


class ListedEdge(EdgeRow):
    """An edge and its place in the list."""

    cursor: str


class EdgeDetailRow(EdgeRow):
    """An edge with its spells and its evidence."""

    spells: list[JsonObject]
    evidence: list[JsonObject]


class EdgeTypeRow(TypedDict):
    """Settings of an edge type."""

    type: str
    decay_rate: float
    single_valued: bool
    description: str | None
    updated_at: datetime | None


class ListedEdgeType(EdgeTypeRow):
    """An edge type, how many edges it has, and its place in the list."""

    edges: int
    faded: int
    cursor: str


class ChangedEdgeType(EdgeTypeRow):
    """Settings of an edge type, and whether edges have to be brought in step with them."""

    decaying: bool


async def observe_edges(tx: Transaction, *, edges: list[JsonObject]) -> list[ObservedEdge]:
    """Observe edges between named entities, in their order."""
    return await tx.rows(ObservedEdge, "select * from loci_api.observe_edges(%(namespace)s, %(edges)s)", edges=Jsonb(edges))


async def list_edges(
    tx: Transaction,
    *,
    entity: str | None,
    type: str | None,
    faded: str,
    as_of: datetime | None,
    known_at: datetime | None,
    limit: int,
    cursor: str | None,
) -> list[ListedEdge]:
    """A page of edges with their effective confidence, at two moments; `faded`: without faded ones, with, or only them."""
    return await tx.rows(
        ListedEdge,
        """select * from loci.list_edges(%(namespace)s, %(entity)s, %(type)s, %(faded)s = 'with', %(as_of)s, %(limit)s,
           %(cursor)s, %(known_at)s, %(faded)s = 'only')""",
        entity=entity,
        type=type,
        faded=faded,
        as_of=as_of,
        known_at=known_at,
        limit=limit,
        cursor=cursor,
    )


async def get_edge(
    tx: Transaction, *, id: UUID, as_of: datetime | None = None, known_at: datetime | None = None, limit: int = 100
) -> EdgeDetailRow:
    """An edge at two moments, with its spells and at most `limit` observations."""
    return await tx.row(
        EdgeDetailRow,
        "select * from loci.get_edge(%(namespace)s, %(id)s, %(as_of)s, %(known_at)s, %(limit)s)",
        id=id,
        as_of=as_of,
        known_at=known_at,
        limit=limit,
    )


async def update_edge(tx: Transaction, *, id: UUID, changes: JsonObject) -> EdgeRow:
    """Correct `confidence`, `strength`, `valid_from` or `valid_to` of an edge."""
    return await tx.row(
        EdgeRow, "select * from loci_api.update_edge(%(namespace)s, %(id)s, %(changes)s)", id=id, changes=Jsonb(changes)
    )


async def delete_edge(tx: Transaction, *, id: UUID) -> EdgeRow:
    """Take an edge back: it is no longer believed, and stays in history."""
    return await tx.row(EdgeRow, "select * from loci_api.delete_edge(%(namespace)s, %(id)s)", id=id)


async def list_edge_types(tx: Transaction, *, limit: int, cursor: str | None = None) -> list[ListedEdgeType]:
    """A page of types of edges, in the order of the alphabet."""
    return await tx.rows(
        ListedEdgeType,
        "select * from loci.list_edge_types(%(namespace)s, %(limit)s, %(cursor)s)",
        limit=limit,
        cursor=cursor,
    )


async def get_edge_type(tx: Transaction, *, type: str) -> EdgeTypeRow:
    """Settings of an edge type."""
    return await tx.row(EdgeTypeRow, "select * from loci.get_edge_type(%(namespace)s, %(type)s)", type=type)


async def set_edge_type(tx: Transaction, *, type: str, changes: JsonObject) -> ChangedEdgeType:
    """Change settings of an edge type; the row, and `decaying`: whether recalculate_decay_batch has edges to bring in step."""
    return await tx.row(
        ChangedEdgeType,
        "select * from loci_api.set_edge_type(%(namespace)s, %(type)s, %(changes)s)",
        type=type,
        changes=Jsonb(changes),
    )


async def edge_types_used(tx: Transaction, *, limit: int = 100) -> list[str]:
    """Types of edges that the namespace uses."""
    return await tx.value(list[str], "select loci_api.edge_types_used(%(namespace)s, %(limit)s) as types", limit=limit)
