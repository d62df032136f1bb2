"""Edges: typed relations that decay unless they are observed again."""

from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import Path, Query
from fastapi.responses import Response

from db.pool import Transaction
from loci.models.fields import Text
from loci.models.graph import (
    DecayInput,
    EdgeBatch,
    EdgeChanges,
    EdgeDetail,
    EdgeOut,
    EdgePage,
    EdgesObserved,
    EdgeTypeChanged,
    EdgeTypeChanges,
    EdgeTypeOut,
    EdgeTypePage,
    EdgeWrite,
    EdgeWritten,
    Recalculated,
)
from service.graph import decay, edges
from service.http.caller import CallerDependency
from service.http.documented_problems import document_problems
from service.http.json_replies import reply_json
from service.http.large_bodies import Router
from service.http.parameters import AsOf, Cursor, KnownAt, Limit

router = Router(tags=["graph"])
EdgeId = Annotated[UUID, Path(description="Id of the edge")]
Faded = Annotated[
    Literal["without", "with", "only", "false", "true"],
    Query(description="Edges without faded ones, with them, or only them; false and true mean without and with"),
]
EdgeTypeName = Annotated[Text, Path(description="A type of edges, such as works_on")]


@router.post("/edges", status_code=201, response_model=EdgeWritten, responses=document_problems(404, 409))
async def observe_edge(body: EdgeWrite, caller: CallerDependency) -> Response:
    """Observe an edge. Names are resolved or created; seen in a new conversation, it has full confidence again.

    The reply is the edge as it is now, and what the observation did: `superseded` names the edges that it ended.
    """
    return await caller.write(lambda tx: edges.observe_edge(tx, body), status=201)


@router.post("/edges/batch", response_model=EdgesObserved, responses=document_problems(404, 409))
async def observe_edges(body: EdgeBatch, caller: CallerDependency) -> Response:
    """Observe up to 10,000 edges, all or nothing."""

    async def write_observations(tx: Transaction) -> Any:
        return {"items": await edges.observe_edges(tx, body.items)}

    return await caller.write(write_observations)


@router.get("/edges", response_model=EdgePage, responses=document_problems(404))
async def list_edges(
    caller: CallerDependency,
    limit: Limit = 50,
    cursor: Cursor = None,
    entity: Annotated[Text | None, Query(description="Edges of this entity: id, name or alias")] = None,
    type: Annotated[Text | None, Query(description="Edges of this type")] = None,
    faded: Faded = "without",
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> Response:
    """List edges with their effective confidence at `as_of`, as known at `known_at`; without faded ones, with, or only them."""
    return reply_json(
        await caller.read(
            lambda tx: edges.list_edges(
                tx, entity=entity, type=type, faded=faded, as_of=as_of, known_at=known_at, limit=limit, cursor=cursor
            )
        )
    )


@router.get("/edges/{id}", response_model=EdgeDetail, responses=document_problems(404))
async def get_edge(
    id: EdgeId,
    caller: CallerDependency,
    limit: Annotated[int, Query(ge=1, le=1000, description="Observations at most, newest first")] = 100,
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> Response:
    """Show an edge at `as_of`, as known at `known_at`, with the spells in which it holds and what was observed of it."""
    return reply_json(await caller.read(lambda tx: edges.get_edge(tx, id=id, as_of=as_of, known_at=known_at, limit=limit)))


@router.patch("/edges/{id}", response_model=EdgeOut, responses=document_problems(404))
async def change_edge(id: EdgeId, body: EdgeChanges, caller: CallerDependency) -> Response:
    """Correct confidence, strength or validity of an edge, as one operation. `valid_to=null`: it still holds."""
    return await caller.write(lambda tx: edges.update_edge(tx, id=id, changes=body.stated()))


@router.delete("/edges/{id}", response_model=EdgeOut, responses=document_problems(404))
async def delete_edge(id: EdgeId, caller: CallerDependency) -> Response:
    """Take an edge back: no longer believed, kept as history."""
    return await caller.write(lambda tx: edges.delete_edge(tx, id=id))


@router.get("/edge-types", response_model=EdgeTypePage, responses=document_problems())
async def list_edge_types(caller: CallerDependency, limit: Limit = 100, cursor: Cursor = None) -> Response:
    """List types of edges in the order of the alphabet, with the rates in force and how many edges they have."""
    return reply_json(await caller.read(lambda tx: edges.list_edge_types(tx, limit=limit, cursor=cursor)))


@router.get("/edge-types/{type:path}", response_model=EdgeTypeOut, responses=document_problems(404))
async def get_edge_type(type: EdgeTypeName, caller: CallerDependency) -> Response:
    """Settings of an edge type."""
    return reply_json(await caller.read(lambda tx: edges.get_edge_type(tx, type=type)))


@router.put("/edge-types/{type:path}", response_model=EdgeTypeChanged, responses=document_problems(404))
async def set_edge_type(type: EdgeTypeName, body: EdgeTypeChanges, caller: CallerDependency) -> Response:
    """Change settings of an edge type; says how many edges faded and how many came back.

    A new rate is in force at once, whatever is read; this request ends when every edge is in step with it.
    """
    return await caller.write_in_steps(lambda tx: edges.set_edge_type(tx, type=type, changes=body.stated()), decay.edge_type_step)


@router.post("/edges/decay", response_model=Recalculated, responses=document_problems(404))
async def decay_edges(body: DecayInput, caller: CallerDependency) -> Response:
    """Recalculate when edges of a type, or of all, fade; says how many are faded, and how many since the last time.

    Reading never needs it. A type need not be used yet.
    """

    async def continue_decay(tx: Transaction, _: Any) -> Any:
        return await decay.recalculation_step(tx, type=body.type)

    return await caller.write_in_steps(lambda tx: decay.begin_decay_change(tx, type=body.type), continue_decay)
