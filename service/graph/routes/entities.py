"""Entities: named things, found by name in texts, pinned and touched (rows G1, G3, G5, G6)."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response

from db import memories
from db.errors import NotFound
from db.graph import entities
from db.pool import Transaction
from loci.models.fields import Text
from loci.models.graph import (
    EntityChanges,
    EntityMatches,
    EntityOut,
    EntityPage,
    EntityWrite,
    EntityWritten,
    TextInput,
    Timeline,
    Touched,
    TouchInput,
)
from loci.models.memories import MemoryPage
from service.http.caller import CallerDependency
from service.http.parameters import VERSIONS, AsOf, Cursor, EntityRef, KnownAt, Limit, position
from service.http.replies import page, reply
from service.http.responses import problems

router = APIRouter(prefix="/entities", tags=["entities"])
Id = Annotated[UUID, Path(description="Id of the entity")]


@router.post("", status_code=201, response_model=EntityWritten, responses=problems(409))
async def write_entity(body: EntityWrite, caller: CallerDependency) -> Response:
    """Create an entity, or add to the one that has this name or alias. A vaguer type gives way to a more specific one."""

    async def work(tx: Transaction) -> Any:
        outcome = (await entities.upsert_entities(tx, entities=[body.stated()]))[0]
        return {**_shown(await entities.get_entity(tx, ref=str(outcome["id"]))), "created": outcome["created"]}

    return await caller.write(work, status=201)


@router.get("", response_model=EntityPage, responses=problems())
async def list_entities(
    caller: CallerDependency,
    limit: Limit = 50,
    cursor: Cursor = None,
    type: Annotated[Text | None, Query(description="Entities of this type")] = None,
    query: Annotated[Text | None, Query(description="How the name begins")] = None,
    pinned: Annotated[bool | None, Query(description="True: pinned ones alone; false: the others")] = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> Response:
    """List entities seen by `as_of`, as known at `known_at`: pinned first, then the most mentioned (a present figure).

    `query` is the start of a name.
    """
    rows = await caller.read(
        lambda tx: entities.list_entities(
            tx, type=type, query=query, pinned=pinned, limit=limit + 1, cursor=cursor, as_of=as_of, known_at=known_at
        )
    )
    return page(rows, limit)


@router.post("/match", response_model=EntityMatches, responses=problems())
async def match_entities(body: TextInput, caller: CallerDependency) -> Response:
    """Find known entities in a text: whole words and phrases, names and aliases."""
    rows = await caller.read(lambda tx: entities.match_entities(tx, text=body.text))
    return reply({"entities": rows})


@router.post("/touch", response_model=Touched, responses=problems())
async def touch_entities(body: TouchInput, caller: CallerDependency) -> Response:
    """Note that entities were referenced now."""

    async def work(tx: Transaction) -> Any:
        return {"touched": await entities.touch_entities(tx, ids=body.ids)}

    return await caller.write(work)


@router.patch("/{ref}", response_model=EntityOut, responses=problems(404, 409))
async def change_entity(ref: Id, body: EntityChanges, caller: CallerDependency) -> Response:
    """Change name, type, aliases, description, metadata or confidence; `ref` is the entity's id."""

    async def work(tx: Transaction) -> Any:
        return _shown(await entities.update_entity(tx, id=ref, changes=body.stated()))

    return await caller.write(work)


@router.delete("/{ref}", response_model=EntityOut, responses=problems(404))
async def delete_entity(ref: Id, caller: CallerDependency) -> Response:
    """Take an entity (`ref` is its id) out of the graph, with its edges and attributes; history keeps it. Replies with it."""

    async def work(tx: Transaction) -> Any:
        return _shown(await entities.delete_entity(tx, id=ref))

    return await caller.write(work)


@router.post("/{id}/pin", response_model=EntityOut, responses=problems(404))
async def pin_entity(id: Id, caller: CallerDependency) -> Response:
    """Pin an entity: always focal, sorted first, never removed by a sweep."""

    async def work(tx: Transaction) -> Any:
        return _shown(await entities.pin_entity(tx, id=id, pinned=True))

    return await caller.write(work)


@router.post("/{id}/unpin", response_model=EntityOut, responses=problems(404))
async def unpin_entity(id: Id, caller: CallerDependency) -> Response:
    """Unpin an entity."""

    async def work(tx: Transaction) -> Any:
        return _shown(await entities.pin_entity(tx, id=id, pinned=False))

    return await caller.write(work)


@router.get("/{ref:path}/history", response_model=MemoryPage | Timeline, responses=problems(404))
async def entity_history(
    ref: Annotated[Text, Path(description="Name of a lineage; or an entity: id, name or alias")],
    caller: CallerDependency,
    limit: Limit = 1000,
    cursor: Cursor = None,
) -> Response:
    """All versions of a lineage, oldest first; where `ref` is an entity instead, what happened around it, in order of time."""

    async def versions(tx: Transaction) -> list[dict[str, Any]]:
        return await memories.history(tx, ref=ref, limit=limit + 1, after=min(position(cursor) or 0, VERSIONS))

    async def events(tx: Transaction) -> list[dict[str, Any]]:
        return await entities.entity_timeline(tx, ref=ref, limit=limit + 1, cursor=cursor)

    async def work(tx: Transaction) -> tuple[list[dict[str, Any]], str]:
        numbered = cursor is None or cursor.isdigit()  # a cursor of versions is a number, one of events is not
        ways = [(versions, "version"), (events, "cursor")]
        (first, key), (second, other) = ways if numbered else reversed(ways)
        await tx.entered()  # what is wrong with the caller must not look as if the first way had found nothing
        try:
            async with tx.connection.transaction():
                return await first(tx), key
        except Exception as error:
            if getattr(error, "sqlstate", None) != "P0002":
                raise
        return await second(tx), other

    rows, key = await caller.read(work)
    return page(rows, limit, key)


@router.get("/{ref:path}", response_model=EntityOut, responses=problems(404))
async def get_entity(ref: EntityRef, caller: CallerDependency, as_of: AsOf = None, known_at: KnownAt = None) -> Response:
    """An entity by id, name or alias, as of a moment, as known at another; its counters are present figures."""
    return reply(_shown(await caller.read(lambda tx: entities.get_entity(tx, ref=ref, as_of=as_of, known_at=known_at))))


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    if not row:
        raise NotFound("this entity does not exist")
    return {key: value for key, value in row.items() if key != "cursor"}
