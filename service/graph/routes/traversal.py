"""Walks over the graph, the graph around a message, and the constellation."""

from typing import Annotated

from fastapi import Query
from fastapi.responses import Response

from db.retries import with_retries
from loci.models.graph import Constellation, GraphContext, GraphContextInput, Traversal, TraverseInput
from service.graph import constellation, traversal
from service.http.caller import CallerDependency
from service.http.documented_problems import document_problems
from service.http.json_replies import reply_json
from service.http.large_bodies import Router
from service.http.parameters import AsOf, KnownAt

router = Router(tags=["graph"])


@router.get("/knowledge/constellation", response_model=Constellation, responses=document_problems(404))
async def show_constellation(
    caller: CallerDependency,
    limit: Annotated[int | None, Query(ge=1, le=10_000, description="Entities; default: setting constellation_entities")] = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    history: Annotated[bool, Query(description="Also what each edge was worth at any moment")] = False,
) -> Response:
    """Show the entities that stand out, with their aspects, and the living edges between them.

    Each stands at a place that is found once and kept: at every moment and for everybody the same.
    """
    resources, read = caller.state.resources, caller.read
    return reply_json(
        await constellation.constellation(resources, read, limit=limit, as_of=as_of, known_at=known_at, history=history)
    )


@router.post("/graph/traverse", response_model=Traversal, responses=document_problems(404))
async def traverse(body: TraverseInput, caller: CallerDependency) -> Response:
    """Walk the graph breadth first from entities; every bound that cut it short is named."""
    return reply_json(await caller.read(lambda tx: traversal.traverse(tx, body)))


@router.post("/graph/context", response_model=GraphContext, responses=document_problems())
async def graph_context(body: GraphContextInput, caller: CallerDependency) -> Response:
    """Show the graph around the entities that a message names, as data and as lines that go before an inference.

    The entities are touched; a key that may only read touches none.
    """
    return reply_json(await with_retries(lambda: caller.read(lambda tx: traversal.graph_context(tx, body))))
