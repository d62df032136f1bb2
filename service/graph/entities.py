"""Entities: written, found by name and by meaning, changed, pinned and touched, and what happened around them."""

from datetime import datetime
from typing import Any
from uuid import UUID

from db.errors import NotFound
from db.graph import entities
from db.graph.entities import EntityEvent, EntityRow, ListedEntity
from db.pool import JsonObject, Transaction
from loci.models.graph import EntitySearch, EntityWrite, MatchInput
from service.embedding.active_model import embed_question, find_active_model
from service.embedding.provider import Provider
from service.memories.memories import LAST_VERSION, list_versions
from service.paging import Page, make_page, parse_position, without_place
from service.settings import EmbeddingSettings

NOT_FOUND = "P0002"


async def write_entity(tx: Transaction, wanted: EntityWrite) -> JsonObject:
    """Create an entity, or add to the one that has this name or alias; the entity, and whether it is new."""
    (outcome,) = await entities.upsert_entities(tx, entities=[wanted.stated()])
    return {**await get_entity(tx, ref=str(outcome["id"])), "created": outcome["created"]}


async def get_entity(tx: Transaction, *, ref: str, as_of: datetime | None = None, known_at: datetime | None = None) -> EntityRow:
    """The entity with this id, name or alias, at two moments. Raises NotFound."""
    return _require_entity(await entities.get_entity(tx, ref=ref, as_of=as_of, known_at=known_at))


async def list_entities(
    tx: Transaction,
    *,
    type: str | None,
    query: str | None,
    pinned: bool | None,
    limit: int,
    cursor: str | None,
    as_of: datetime | None,
    known_at: datetime | None,
) -> Page[ListedEntity]:
    """Entities at two moments: pinned first, then the most mentioned."""
    rows = await entities.list_entities(
        tx, type=type, query=query, pinned=pinned, limit=limit + 1, cursor=cursor, as_of=as_of, known_at=known_at
    )
    return make_page(rows, limit)


async def match_entities(tx: Transaction, wanted: MatchInput) -> JsonObject:
    """Entities whose name or alias stands in a text, at two moments."""
    return {"entities": await entities.match_entities(tx, **wanted.model_dump())}


async def touch_entities(tx: Transaction, *, ids: list[UUID]) -> JsonObject:
    """Note that entities were referenced now; how many there were."""
    return {"touched": await entities.touch_entities(tx, ids=ids)}


async def change_entity(tx: Transaction, *, ref: str, changes: JsonObject) -> EntityRow:
    """Change name, type, aliases, description, metadata or confidence of an entity; returns it."""
    return _require_entity(await entities.update_entity(tx, ref=ref, changes=changes))


async def delete_entity(tx: Transaction, *, ref: str) -> EntityRow:
    """Take an entity out of the graph; returns it as it was."""
    return _require_entity(await entities.delete_entity(tx, ref=ref))


async def pin_entity(tx: Transaction, *, ref: str, pinned: bool) -> EntityRow:
    """Pin an entity, or unpin it; returns it."""
    return _require_entity(await entities.pin_entity(tx, ref=ref, pinned=pinned))


async def search_entities(
    tx: Transaction, wanted: EntitySearch, provider: Provider | None, settings: EmbeddingSettings
) -> JsonObject:
    """Entities that a question means, by name, by meaning, or both; without a model by name, and why."""
    embedding, reason, model = wanted.embedding, None, None
    if embedding is None and wanted.mode != "name":
        used = await find_active_model(provider, tx)
        vector, reason = await embed_question(wanted.query, used, settings)
        embedding, model = None if vector is None else vector.tolist(), used.model
    mode = "name" if reason is not None else wanted.mode
    rows = await entities.search_entities(
        tx,
        query=wanted.query,
        embedding=embedding,
        limit=wanted.k,
        type=wanted.type,
        mode=mode,
        model=model,
        as_of=wanted.as_of,
        known_at=wanted.known_at,
    )
    return {"entities": rows, "skipped": {"semantic": reason} if reason is not None else {}}


async def list_history(
    tx: Transaction, *, ref: str, limit: int, cursor: str | None, as_of: datetime | None, known_at: datetime | None
) -> Page[Any]:
    """Versions of a lineage, oldest first; where `ref` is an entity instead, what happened around it, in order of time."""
    times = {"as_of": as_of, "known_at": known_at}

    async def list_entity_versions() -> Page[Any]:
        return await list_versions(tx, ref=ref, limit=limit, after=min(parse_position(cursor) or 0, LAST_VERSION), **times)

    async def list_events() -> Page[EntityEvent]:
        return make_page(await entities.entity_timeline(tx, ref=ref, limit=limit + 1, cursor=cursor, **times), limit)

    numbered = cursor is None or cursor.isdigit()  # a cursor of versions is a number, one of events is not
    first, second = (list_entity_versions, list_events) if numbered else (list_events, list_entity_versions)
    await tx.read_caller()  # what is wrong with the caller must not look as if the first way had found nothing
    try:
        async with tx.savepoint():
            return await first()
    except Exception as error:
        if getattr(error, "sqlstate", None) != NOT_FOUND:
            raise
    return await second()


def _require_entity(row: EntityRow | None) -> EntityRow:
    if row is None:
        raise NotFound("this entity does not exist")
    return without_place(row)
