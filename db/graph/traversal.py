"""Traversal of the graph: walks from entities, the graph around a text, and the constellation."""

from datetime import datetime
from typing import TypedDict
from uuid import UUID

from db.pool import JsonObject, Transaction


class ConstellationRow(TypedDict):
    """The entities that stand out, and the edges between them."""

    entities: list[JsonObject]
    edges: list[JsonObject]
    more: bool
    history: list[JsonObject] | None


class EntityToPlace(TypedDict):
    """Where an entity stands in the constellation (None: nowhere yet), and where edges lead from it."""

    id: UUID
    x: float | None
    y: float | None
    neighbors: list[UUID]


class HopRow(TypedDict):
    """An edge of a walk, in the order of discovery."""

    id: UUID
    source_id: UUID
    source: str
    type: str
    target_id: UUID | None
    target: str | None
    literal: str | None
    confidence: float
    strength: float
    hop: int
    path: list[str] | None
    score: float | None
    ordinal: int
    truncated: list[str] | None


class GraphContextRow(TypedDict):
    """The graph around the entities that a text names."""

    entities: list[JsonObject]
    edges: list[JsonObject]
    rendered: str | None
    truncated: list[str] | None


async def constellation(
    tx: Transaction, *, limit: int | None, as_of: datetime | None, known_at: datetime | None, history: bool = False
) -> ConstellationRow:
    """The entities that stand out, their aspects, and the edges between them; `history`: also those of other moments."""
    return await tx.row(
        ConstellationRow,
        "select * from loci.constellation(%(namespace)s, %(limit)s, %(as_of)s, %(known_at)s, %(history)s)",
        limit=limit,
        as_of=as_of,
        known_at=known_at,
        history=history,
    )


async def entities_to_place(tx: Transaction, *, ids: list[str]) -> list[EntityToPlace]:
    """Where entities stand, and which edges lead from one to another, in order of id."""
    return await tx.rows(EntityToPlace, "select * from loci_api.entities_to_place(%(namespace)s, %(ids)s::uuid[])", ids=ids)


async def store_entity_places(tx: Transaction, *, placed: list[tuple[UUID, float, float]]) -> None:
    """Keep where entities stand, unless they stand somewhere."""
    await tx.run(
        "select loci_api.store_entity_places(%(namespace)s, %(ids)s, %(x)s::real[], %(y)s::real[])",
        ids=[each[0] for each in placed],
        x=[each[1] for each in placed],
        y=[each[2] for each in placed],
    )


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
) -> list[HopRow]:
    """Walk the graph breadth first; edges in order of discovery, each with `truncated` (what cut the walk short, or None)."""
    return await tx.rows(
        HopRow,
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
) -> GraphContextRow:
    """Entities that a text names, edges around them, and their lines: one row (entities, edges, rendered, truncated)."""
    return await tx.row(
        GraphContextRow,
        "select * from loci.graph_context(%(namespace)s, %(text)s, %(max_hops)s, %(limit)s, %(as_of)s, %(known_at)s)",
        text=text,
        max_hops=max_hops,
        limit=limit,
        as_of=as_of,
        known_at=known_at,
    )
