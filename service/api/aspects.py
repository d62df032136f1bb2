"""Aspects, attributes and constraints under entities: changed, never lost (rows S1, S8)."""

from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import Response

from db import aspects
from loci.models.facts import AspectPage, AspectWrite, AspectWritten, AttributeChanges, AttributeWrite, AttributeWritten
from loci.models.fields import Moment, Text
from service.api.common import problems
from service.caller import CallerDependency
from service.replies import reply

router = APIRouter(tags=["aspects"])


@router.get("/entities/{ref:path}/aspects", response_model=AspectPage, responses=problems(404))
async def list_aspects(
    ref: Text, caller: CallerDependency, as_of: Moment | None = None, known_at: Moment | None = None
) -> Response:
    """Aspects of an entity, heaviest first, with the attributes and constraints that held at `as_of`, as known at `known_at`."""
    rows = await caller.read(lambda tx: aspects.list_aspects(tx, entity=ref, as_of=as_of, known_at=known_at))
    return reply({"items": rows, "next_cursor": None})


@router.post("/entities/{ref:path}/aspects", status_code=201, response_model=AspectWritten, responses=problems(404))
async def write_aspect(ref: Text, body: AspectWrite, caller: CallerDependency) -> Response:
    """Give an entity an aspect, or change the one it has by this name."""
    return await caller.write(lambda tx: aspects.add_aspect(tx, entity=ref, aspect=body.stated()), status=201)


@router.post("/aspects/{id}/attributes", status_code=201, response_model=AttributeWritten, responses=problems(404))
async def write_attribute(id: UUID, body: AttributeWrite, caller: CallerDependency) -> Response:
    """Put a fact, or a constraint, under an aspect; facts that it contradicts are superseded, or proposed to be."""
    return await caller.write(lambda tx: aspects.add_attribute(tx, aspect_id=id, attribute=body.stated()), status=201)


@router.patch("/attributes/{id}", response_model=AttributeWritten, responses=problems(404))
async def change_attribute(id: UUID, body: AttributeChanges, caller: CallerDependency) -> Response:
    """Change an attribute. New content is a new attribute, which is returned; the old one is superseded and stays."""
    return await caller.write(lambda tx: aspects.update_attribute(tx, id=id, changes=body.stated()))
