"""Entities: named things, found by name in texts, pinned and touched."""

from typing import Annotated, Any

from fastapi import Path, Query
from fastapi.responses import Response

from db.pool import Transaction
from db.retries import with_retries
from loci.models.fields import Text
from loci.models.graph import (
    EntitiesFound,
    EntityChanges,
    EntityMatches,
    EntityOut,
    EntityPage,
    EntitySearch,
    EntityWrite,
    EntityWritten,
    MatchInput,
    Timeline,
    Touched,
    TouchInput,
)
from loci.models.graph.overview import EntityOverview
from loci.models.memories import MemoryPage
from service.graph import entities
from service.graph.overview import describe_entity
from service.http.caller import CallerDependency
from service.http.documented_problems import document_problems
from service.http.json_replies import reply_json
from service.http.large_bodies import Router
from service.http.parameters import AsOf, ChangedEntity, Cursor, EntityRef, KnownAt, Limit

router = Router(prefix="/entities", tags=["entities"])


@router.post("", status_code=201, response_model=EntityWritten, responses=document_problems(409))
async def write_entity(body: EntityWrite, caller: CallerDependency) -> Response:
    """Create an entity, or add to the one that has this name or alias. A vaguer type gives way to a more specific one."""
    return await caller.write(lambda tx: entities.write_entity(tx, body), status=201)


@router.get("", response_model=EntityPage, responses=document_problems())
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
    return reply_json(
        await caller.read(
            lambda tx: entities.list_entities(
                tx, type=type, query=query, pinned=pinned, limit=limit, cursor=cursor, as_of=as_of, known_at=known_at
            )
        )
    )


@router.post("/match", response_model=EntityMatches, responses=document_problems())
async def match_entities(body: MatchInput, caller: CallerDependency) -> Response:
    """Find known entities in a text: whole words and phrases, names and aliases; with `known_at` those of then."""
    return reply_json(await caller.read(lambda tx: entities.match_entities(tx, body)))


@router.post("/search", response_model=EntitiesFound, responses=document_problems())
async def search_entities(body: EntitySearch, caller: CallerDependency) -> Response:
    """Find entities by name (exact, alias, beginning, words, a wrong letter), by meaning, or by both; without a model by name."""
    state = caller.state

    async def search_names(tx: Transaction) -> Any:
        return await entities.search_entities(tx, body, state.provider, state.settings.embedding)

    return reply_json(await with_retries(lambda: caller.read(search_names)))  # the model may be changed between two statements


@router.post("/touch", response_model=Touched, responses=document_problems())
async def touch_entities(body: TouchInput, caller: CallerDependency) -> Response:
    """Note that entities were referenced now."""
    return await caller.write(lambda tx: entities.touch_entities(tx, ids=body.ids))


@router.post("/{ref:path}/pin", response_model=EntityOut, responses=document_problems(404))
async def pin_entity(ref: EntityRef, caller: CallerDependency) -> Response:
    """Pin an entity: always focal, sorted first, never removed by a sweep."""
    return await caller.write(lambda tx: entities.pin_entity(tx, ref=ref, pinned=True))


@router.post("/{ref:path}/unpin", response_model=EntityOut, responses=document_problems(404))
async def unpin_entity(ref: EntityRef, caller: CallerDependency) -> Response:
    """Unpin an entity."""
    return await caller.write(lambda tx: entities.pin_entity(tx, ref=ref, pinned=False))


@router.patch("/{ref:path}", response_model=EntityOut, responses=document_problems(404, 409))
async def change_entity(ref: ChangedEntity, body: EntityChanges, caller: CallerDependency) -> Response:
    """Change name, type, aliases, description, metadata or confidence."""
    return await caller.write(lambda tx: entities.change_entity(tx, ref=ref, changes=body.stated()))


@router.delete("/{ref:path}", response_model=EntityOut, responses=document_problems(404))
async def delete_entity(ref: ChangedEntity, caller: CallerDependency) -> Response:
    """Take an entity out of the graph, with its edges and attributes; history keeps it. Replies with it."""
    return await caller.write(lambda tx: entities.delete_entity(tx, ref=ref))


@router.get("/{ref:path}/history", response_model=MemoryPage | Timeline, responses=document_problems(404))
async def entity_history(
    ref: Annotated[Text, Path(description="Name of a lineage; or an entity: id, name or alias")],
    caller: CallerDependency,
    limit: Limit = 1000,
    cursor: Cursor = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> Response:
    """All versions of a lineage, oldest first; where `ref` is an entity instead, what happened around it, in order of time.

    `known_at`: what was recorded by then, as it was believed. `as_of`: what had begun or happened by then.
    """
    return reply_json(
        await caller.read(lambda tx: entities.list_history(tx, ref=ref, limit=limit, cursor=cursor, as_of=as_of, known_at=known_at))
    )


@router.get("/{ref:path}/overview", response_model=EntityOverview, responses=document_problems(404))
async def entity_overview(
    ref: EntityRef,
    caller: CallerDependency,
    limit: Annotated[int, Query(ge=1, le=100, description="Rows of each list at most; aspects come all")] = 20,
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> Response:
    """Knowledge about an entity at once: memories that mention it, facts, rules, edges, and its last events, at two moments."""
    return reply_json(await caller.read(lambda tx: describe_entity(tx, ref=ref, limit=limit, as_of=as_of, known_at=known_at)))


@router.get("/{ref:path}", response_model=EntityOut, responses=document_problems(404))
async def get_entity(ref: EntityRef, caller: CallerDependency, as_of: AsOf = None, known_at: KnownAt = None) -> Response:
    """An entity by id, name or alias, as of a moment, as known at another; its counters are present figures."""
    return reply_json(await caller.read(lambda tx: entities.get_entity(tx, ref=ref, as_of=as_of, known_at=known_at)))
