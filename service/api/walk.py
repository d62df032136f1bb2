"""Walks from what a conversation is about, and the graph as a picture (rows S2 to S4, X7)."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from db import walk as db
from loci.models.facts import WalkInput, WalkOut
from loci.models.graph import Constellation
from service.api.common import AsOf, KnownAt, problems
from service.caller import CallerDependency
from service.replies import reply

router = APIRouter(tags=["graph"])


@router.post("/graph/walk", response_model=WalkOut, responses=problems(404))
async def walk(body: WalkInput, caller: CallerDependency) -> Response:
    """Collect what to know about the entities that a conversation is about, and their neighbours.

    All constraints, the most important attributes of the heaviest aspects, and the memories behind them, within a hard deadline.
    """
    return reply(await caller.read(lambda tx: db.walk(tx, **body.model_dump())))


@router.get("/knowledge/constellation", response_model=Constellation, responses=problems(404))
async def show_constellation(
    caller: CallerDependency,
    limit: Annotated[int | None, Query(ge=1, le=10_000, description="Entities; default: setting constellation_entities")] = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> Response:
    """Show the entities that stand out, with their aspects, and the living edges between them."""
    return reply(await caller.read(lambda tx: db.constellation(tx, limit=limit, as_of=as_of, known_at=known_at)))
