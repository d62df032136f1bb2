"""Walks over the graph, the graph around a message, and the constellation."""

from contextlib import suppress
from typing import Annotated, Any
from uuid import UUID

import psycopg
from fastapi import APIRouter, Query
from fastapi.responses import Response

from db.graph import entities as db_entities
from db.graph import traversal
from db.pool import Transaction
from loci.models.graph import Constellation, GraphContext, GraphContextInput, Traversal, TraverseInput
from service.http.caller import CallerDependency
from service.http.parameters import AsOf, KnownAt
from service.http.replies import reply
from service.http.responses import problems

router = APIRouter(tags=["graph"])


@router.get("/knowledge/constellation", response_model=Constellation, responses=problems(404))
async def show_constellation(
    caller: CallerDependency,
    limit: Annotated[int | None, Query(ge=1, le=10_000, description="Entities; default: setting constellation_entities")] = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> Response:
    """Show the entities that stand out, with their aspects, and the living edges between them."""
    return reply(await caller.read(lambda tx: traversal.constellation(tx, limit=limit, as_of=as_of, known_at=known_at)))


@router.post("/graph/traverse", response_model=Traversal, responses=problems(404))
async def traverse(body: TraverseInput, caller: CallerDependency) -> Response:
    """Walk the graph breadth first from entities; every bound that cut it short is named."""
    rows = await caller.read(lambda tx: traversal.traverse(tx, **body.model_dump()))
    reason = rows[0]["truncated"] if rows else None
    entities = {}
    for row in rows:
        entities[row["source_id"]] = row["source"]
        if row["target_id"] is not None:
            entities[row["target_id"]] = row["target"]
        del row["truncated"], row["ordinal"]
        for field, asked in (("path", body.paths), ("score", body.scores)):
            if not asked:
                del row[field]
    return reply(
        {
            "edges": rows,
            "entities": [{"id": key, "name": name} for key, name in entities.items()],
            "truncated": reason is not None,
            "reason": reason,
        }
    )


@router.post("/graph/context", response_model=GraphContext, responses=problems())
async def graph_context(body: GraphContextInput, caller: CallerDependency) -> Response:
    """Show the graph around the entities that a message names, as data and as lines that go before an inference.

    The entities are touched; a key that may only read touches none.
    """

    async def work(tx: Transaction) -> Any:
        found = await traversal.graph_context(tx, **body.model_dump(exclude={"touch"}))
        ids = [UUID(entity["id"]) for entity in found["entities"]]
        if body.touch and ids:
            with suppress(psycopg.errors.InsufficientPrivilege):
                async with tx.connection.transaction():
                    await db_entities.touch_entities(tx, ids=ids)
        return {**found, "truncated": found["truncated"] is not None, "reason": found["truncated"]}

    return reply(await caller.read(work))
