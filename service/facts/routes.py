"""Aspects with their attributes and constraints, decisions that one fact supersedes another, and the walk over them."""

from typing import Annotated
from uuid import UUID

from fastapi import Path, Query
from fastapi.responses import Response

from loci.models.facts import (
    AspectPage,
    AspectWrite,
    AspectWritten,
    AttributeChanges,
    AttributeWrite,
    AttributeWritten,
    Supersession,
    SupersessionPage,
    SupersessionSignal,
    SupersessionStatus,
    Sweep,
    SweepOut,
    WalkInput,
    WalkOut,
)
from loci.models.fields import Text
from service.facts import aspects, supersession
from service.facts import walk as walking
from service.http.caller import CallerDependency
from service.http.documented_problems import document_problems
from service.http.json_replies import reply_json
from service.http.large_bodies import Router
from service.http.parameters import AsOf, Cursor, EntityRef, KnownAt, Limit

aspect_routes = Router(tags=["aspects"])
DecisionId = Annotated[UUID, Path(description="Id of the decision")]
supersession_routes = Router(prefix="/supersessions", tags=["supersessions"])
walk_routes = Router(tags=["graph"])


@aspect_routes.get("/entities/{ref:path}/aspects", response_model=AspectPage, responses=document_problems(404))
async def list_aspects(ref: EntityRef, caller: CallerDependency, as_of: AsOf = None, known_at: KnownAt = None) -> Response:
    """Aspects of an entity, heaviest first, with the attributes and constraints that held at `as_of`, as known at `known_at`."""
    return reply_json(await caller.read(lambda tx: aspects.list_aspects(tx, entity=ref, as_of=as_of, known_at=known_at)))


@aspect_routes.post("/entities/{ref:path}/aspects", status_code=201, response_model=AspectWritten, responses=document_problems(404))
async def write_aspect(ref: EntityRef, body: AspectWrite, caller: CallerDependency) -> Response:
    """Give an entity an aspect, or change the one it has by this name."""
    return await caller.write(lambda tx: aspects.write_aspect(tx, entity=ref, aspect=body.stated()), status=201)


@aspect_routes.post("/aspects/{id}/attributes", status_code=201, response_model=AttributeWritten, responses=document_problems(404))
async def write_attribute(
    id: Annotated[UUID, Path(description="Id of the aspect")], body: AttributeWrite, caller: CallerDependency
) -> Response:
    """Put a fact, or a constraint, under an aspect; facts that it contradicts are superseded, or proposed to be."""
    return await caller.write(lambda tx: aspects.write_attribute(tx, aspect_id=id, attribute=body.stated()), status=201)


@aspect_routes.patch("/attributes/{id}", response_model=AttributeWritten, responses=document_problems(404))
async def change_attribute(
    id: Annotated[UUID, Path(description="Id of the attribute")], body: AttributeChanges, caller: CallerDependency
) -> Response:
    """Change an attribute. New content is a new attribute, which is returned; the old one is superseded and stays."""
    return await caller.write(lambda tx: aspects.change_attribute(tx, id=id, changes=body.stated()))


@supersession_routes.get("", response_model=SupersessionPage, responses=document_problems(404))
async def list_supersessions(
    caller: CallerDependency,
    limit: Limit = 50,
    cursor: Cursor = None,
    status: Annotated[SupersessionStatus | None, Query(description="Decisions that stand so")] = None,
    signal: Annotated[SupersessionSignal | None, Query(description="Decisions by this signal")] = None,
    entity: Annotated[Text | None, Query(description="Decisions about this entity: id, name or alias")] = None,
) -> Response:
    """List decisions, newest first, with both contents, the signal and the words that gave it."""
    return reply_json(
        await caller.read(
            lambda tx: supersession.list_supersessions(tx, status=status, signal=signal, entity=entity, limit=limit, cursor=cursor)
        )
    )


@supersession_routes.post("", response_model=SweepOut, responses=document_problems(404))
async def sweep_supersessions(body: Sweep, caller: CallerDependency) -> Response:
    """Look for contradictions among facts that stand already, a page of them a call; what was decided once is left alone."""
    return await caller.write(lambda tx: supersession.sweep_supersessions(tx, body))


@supersession_routes.post("/{id}/accept", response_model=Supersession, responses=document_problems(404))
async def accept_supersession(id: DecisionId, caller: CallerDependency) -> Response:
    """Accept a proposed, dismissed or undone decision: the older attribute is superseded."""
    return await caller.write(lambda tx: supersession.accept_supersession(tx, id=id))


@supersession_routes.post("/{id}/undo", response_model=Supersession, responses=document_problems(404))
async def undo_supersession(id: DecisionId, caller: CallerDependency) -> Response:
    """Take an applied decision back: the older attribute is what it was, and no sweep supersedes the pair again."""
    return await caller.write(lambda tx: supersession.undo_supersession(tx, id=id))


@supersession_routes.post("/{id}/dismiss", response_model=Supersession, responses=document_problems(404))
async def dismiss_supersession(id: DecisionId, caller: CallerDependency) -> Response:
    """Say no to a proposed decision: nothing moves, and no sweep proposes the pair again."""
    return await caller.write(lambda tx: supersession.dismiss_supersession(tx, id=id))


@walk_routes.post("/graph/walk", response_model=WalkOut, responses=document_problems(404))
async def walk(body: WalkInput, caller: CallerDependency) -> Response:
    """Collect what to know about the entities that a conversation is about, and their neighbours.

    All constraints, the most important attributes of the heaviest aspects, and the memories behind them, within a hard deadline.
    """
    return reply_json(await caller.read(lambda tx: walking.walk(tx, body)))
