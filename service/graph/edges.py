"""Edges: observed, listed, taken back; the settings of their types."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar, cast
from uuid import UUID

import psycopg

from db.errors import refused_rows
from db.graph import edges
from db.graph.edges import ChangedEdgeType, EdgeDetailRow, EdgeRow, EdgeTypeRow, ListedEdge, ListedEdgeType, ObservedEdge
from db.pool import JsonObject, Transaction
from loci.models.graph import EdgeWrite
from service.batches import drop_field_prefix, write_all
from service.paging import Page, make_page

R = TypeVar("R", bound=Mapping[str, Any])
ALONE = "edges[0]."  # what the database calls the fields of an edge that is written alone


def round_confidence(row: R) -> R:
    """An edge with as many digits of confidence as mean something: six after the point."""
    return cast("R", {**row, "confidence": round(row["confidence"], 6)})


async def observe_edge(tx: Transaction, stated: EdgeWrite) -> JsonObject:
    """Observe an edge; the edge as it is now, and what became of the observation."""
    try:
        (outcome,) = await edges.observe_edges(tx, edges=[stated.stated()])
    except psycopg.Error as error:
        known = refused_rows(error)
        if known is None:
            raise
        raise drop_field_prefix(known, ALONE) from None
    row = await edges.get_edge(tx, id=outcome["id"], limit=1)
    shown = {name: value for name, value in round_confidence(row).items() if name not in {"spells", "evidence"}}
    return {**shown, **{name: value for name, value in outcome.items() if name in {"created", "restored", "superseded"}}}


async def observe_edges(tx: Transaction, stated: list[EdgeWrite]) -> list[JsonObject]:
    """Observe edges, all or nothing: what became of each, in order. Names are resolved or created."""
    items = [edge.stated() for edge in stated]
    rows = await write_all(tx, items, lambda part: edges.observe_edges(tx, edges=list(part)), prefix=ALONE)
    return [_describe_outcome(stated[row["ordinal"] - 1], row) for row in rows]


def _describe_outcome(stated: EdgeWrite, row: ObservedEdge) -> JsonObject:
    target = {"target": stated.target} if stated.literal is None else {"literal": stated.literal}
    return {"source": stated.source, "type": stated.type, **target, **{k: v for k, v in row.items() if k != "ordinal"}}


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
) -> Page[ListedEdge]:
    """Edges with their effective confidence, at two moments; `faded`: without faded ones, with, or only them."""
    faded = {"true": "with", "false": "without"}.get(faded, faded)
    rows = await edges.list_edges(
        tx, entity=entity, type=type, faded=faded, as_of=as_of, known_at=known_at, limit=limit + 1, cursor=cursor
    )
    return make_page([round_confidence(row) for row in rows], limit)


async def get_edge(tx: Transaction, *, id: UUID, as_of: datetime | None, known_at: datetime | None, limit: int) -> EdgeDetailRow:
    """An edge at two moments, whether it holds then or not, with its spells and its evidence, newest first."""
    return round_confidence(await edges.get_edge(tx, id=id, as_of=as_of, known_at=known_at, limit=limit))


async def update_edge(tx: Transaction, *, id: UUID, changes: JsonObject) -> EdgeRow:
    """Correct confidence, strength or validity of an edge; returns it."""
    return round_confidence(await edges.update_edge(tx, id=id, changes=changes))


async def delete_edge(tx: Transaction, *, id: UUID) -> EdgeRow:
    """Take an edge back: no longer believed, kept as history; returns it."""
    return round_confidence(await edges.delete_edge(tx, id=id))


async def list_edge_types(tx: Transaction, *, limit: int, cursor: str | None = None) -> Page[ListedEdgeType]:
    """Types of edges with rates and counts, in the order of the alphabet."""
    return make_page(await edges.list_edge_types(tx, limit=limit + 1, cursor=cursor), limit)


async def get_edge_type(tx: Transaction, *, type: str) -> EdgeTypeRow:
    """Settings of an edge type."""
    return await edges.get_edge_type(tx, type=type)


async def set_edge_type(tx: Transaction, *, type: str, changes: JsonObject) -> ChangedEdgeType:
    """Change settings of an edge type; the row, and `decaying`: whether edges have to be brought in step with it."""
    return await edges.set_edge_type(tx, type=type, changes=changes)
