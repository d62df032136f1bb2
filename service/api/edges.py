"""Edges: typed relations that decay unless they are observed again, and walks over them (rows G2, G7 to G10)."""

from contextlib import suppress
from typing import Any
from uuid import UUID

import psycopg
from fastapi import APIRouter
from fastapi.responses import Response

from db import graph
from db.pool import Transaction
from loci.models.fields import Moment, Text
from loci.models.graph import (
    Decayed,
    DecayInput,
    EdgeBatch,
    EdgeObserved,
    EdgeOut,
    EdgePage,
    EdgesObserved,
    EdgeTypeChanged,
    EdgeTypeChanges,
    EdgeTypeOut,
    EdgeWrite,
    GraphContext,
    GraphContextInput,
    Traversal,
    TraverseInput,
)
from service import decay
from service.api.common import Cursor, Limit, problems
from service.caller import CallerDependency
from service.replies import page, reply

router = APIRouter(tags=["graph"])


@router.post("/edges", status_code=201, response_model=EdgeObserved, responses=problems(404, 409))
async def observe_edge(body: EdgeWrite, caller: CallerDependency) -> Response:
    """Observe an edge. Names are resolved or created; seen in a new conversation, it has full confidence again."""

    async def work(tx: Transaction) -> Any:
        return _outcome(body, (await graph.observe_edges(tx, edges=[body.stated()]))[0])

    return await caller.write(work, status=201)


@router.post("/edges/batch", response_model=EdgesObserved, responses=problems(404, 409))
async def observe_edges(body: EdgeBatch, caller: CallerDependency) -> Response:
    """Observe up to 10,000 edges, all or nothing."""

    async def work(tx: Transaction) -> Any:
        rows = await graph.observe_edges(tx, edges=[item.stated() for item in body.items])
        return {"items": [_outcome(body.items[row["ordinal"] - 1], row) for row in rows]}

    return await caller.write(work)


@router.get("/edges", response_model=EdgePage, responses=problems(404))
async def list_edges(
    caller: CallerDependency,
    limit: Limit = 50,
    cursor: Cursor = None,
    entity: Text | None = None,
    type: Text | None = None,
    faded: bool = False,
    as_of: Moment | None = None,
    known_at: Moment | None = None,
) -> Response:
    """List edges with their effective confidence at `as_of`, as known at `known_at`; `faded`: faded ones too."""
    rows = await caller.read(
        lambda tx: graph.list_edges(
            tx, entity=entity, type=type, faded=faded, as_of=as_of, known_at=known_at, limit=limit + 1, cursor=cursor
        )
    )
    return page(rows, limit)


@router.delete("/edges/{id}", response_model=EdgeOut, responses=problems(404))
async def delete_edge(id: UUID, caller: CallerDependency) -> Response:
    """Take an edge back: no longer believed, kept as history."""
    return await caller.write(lambda tx: graph.delete_edge(tx, id=id))


@router.get("/edge-types/{type:path}", response_model=EdgeTypeOut, responses=problems(404))
async def get_edge_type(type: Text, caller: CallerDependency) -> Response:
    """Settings of an edge type."""
    return reply(await caller.read(lambda tx: graph.get_edge_type(tx, type=type)))


@router.put("/edge-types/{type:path}", response_model=EdgeTypeChanged, responses=problems())
async def set_edge_type(type: Text, body: EdgeTypeChanges, caller: CallerDependency) -> Response:
    """Change settings of an edge type; says how many edges faded and how many came back.

    A new rate is in force at once, whatever is read; this request ends when every edge is in step with it.
    """

    async def begin(tx: Transaction) -> dict[str, Any]:
        return await graph.set_edge_type(tx, type=type, changes=body.stated())

    async def step(tx: Transaction, row: dict[str, Any]) -> Any:
        counts = await decay.step(tx, type=row["type"], decaying=row["decaying"])
        return counts and {
            **{k: v for k, v in row.items() if k != "decaying"},
            "faded": counts["faded"],
            "revived": counts["revived"],
        }

    return await caller.write_in_steps(begin, step)


@router.post("/edges/decay", response_model=Decayed, responses=problems())
async def decay_edges(body: DecayInput, caller: CallerDependency) -> Response:
    """Recalculate when edges of a type, or of all, fade; says how many faded and how many came back. Reading never needs it."""

    async def step(tx: Transaction, _: Any) -> Any:
        return await decay.step(tx, type=body.type, decaying=True)

    return await caller.write_in_steps(lambda tx: graph.begin_decay(tx, type=body.type), step)


@router.post("/graph/traverse", response_model=Traversal, responses=problems(404))
async def traverse(body: TraverseInput, caller: CallerDependency) -> Response:
    """Walk the graph breadth first from entities; every bound that cut it short is named."""
    rows = await caller.read(lambda tx: graph.traverse(tx, **body.model_dump()))
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
        found = await graph.graph_context(tx, **body.model_dump(exclude={"touch"}))
        ids = [UUID(entity["id"]) for entity in found["entities"]]
        if body.touch and ids:
            with suppress(psycopg.errors.InsufficientPrivilege):
                async with tx.connection.transaction():
                    await graph.touch_entities(tx, ids=ids)
        return {**found, "truncated": found["truncated"] is not None, "reason": found["truncated"]}

    return reply(await caller.read(work))


def _outcome(body: EdgeWrite, row: dict[str, Any]) -> dict[str, Any]:
    target = {"target": body.target} if body.literal is None else {"literal": body.literal}
    return {"source": body.source, "type": body.type, **target, **{k: v for k, v in row.items() if k != "ordinal"}}
