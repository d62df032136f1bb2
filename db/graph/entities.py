"""Entities: wrappers of the SQL functions that write, find and list them."""

from datetime import datetime
from typing import TypedDict
from uuid import UUID

from psycopg.types.json import Jsonb

from db.pool import JsonObject, Transaction


class WrittenEntity(TypedDict):
    """Outcome for an entity that was stated."""

    ordinal: int
    id: UUID
    name: str
    created: bool


class EntityRow(TypedDict):
    """An entity."""

    id: UUID
    name: str
    canonical_name: str
    type: str
    aliases: list[str]
    description: str | None
    confidence: float
    mentions: int
    observations: int
    pinned: bool
    pinned_at: datetime | None
    metadata: JsonObject
    first_seen_at: datetime
    created_at: datetime
    updated_at: datetime
    last_referenced_at: datetime | None


class ListedEntity(EntityRow):
    """An entity and its place in the list."""

    cursor: str


class LatestEvent(TypedDict):
    """Something that happened around an entity."""

    at: datetime
    recorded_at: datetime
    kind: str
    event: str
    id: UUID
    detail: JsonObject


class EntityEvent(LatestEvent):
    """The same in a page of events."""

    cursor: str


class MatchedEntity(TypedDict):
    """An entity whose name stands in a text."""

    id: UUID
    name: str
    type: str
    matched: str
    is_alias: bool
    mentions: int
    pinned: bool
    position: int


class FoundEntity(TypedDict):
    """An entity that a question means, and how near it is."""

    id: UUID
    name: str
    type: str
    aliases: list[str]
    description: str | None
    mentions: int
    pinned: bool
    score: float
    matched: str | None
    by_name: float | None
    by_meaning: float | None


async def upsert_entities(tx: Transaction, *, entities: list[JsonObject]) -> list[WrittenEntity]:
    """Create entities or add to them, by canonical name or alias, in their order."""
    return await tx.rows(
        WrittenEntity, "select * from loci_api.upsert_entities(%(namespace)s, %(entities)s)", entities=Jsonb(entities)
    )


async def list_entities(
    tx: Transaction,
    *,
    type: str | None,
    query: str | None,
    pinned: bool | None,
    limit: int,
    cursor: str | None,
    as_of: datetime | None = None,
    known_at: datetime | None = None,
) -> list[ListedEntity]:
    """A page of entities at two moments: pinned first, then the most mentioned."""
    return await tx.rows(
        ListedEntity,
        """select * from loci.list_entities(%(namespace)s, %(type)s, %(query)s, %(pinned)s, %(limit)s, %(cursor)s, %(as_of)s,
           %(known_at)s)""",
        type=type,
        query=query,
        pinned=pinned,
        limit=limit,
        cursor=cursor,
        as_of=as_of,
        known_at=known_at,
    )


async def get_entity(
    tx: Transaction, *, ref: str, as_of: datetime | None = None, known_at: datetime | None = None
) -> EntityRow | None:
    """The entity with this id, name or alias, at two moments."""
    return await tx.first(
        EntityRow,
        "select * from loci.get_entity(%(namespace)s, %(ref)s, %(as_of)s, %(known_at)s)",
        ref=ref,
        as_of=as_of,
        known_at=known_at,
    )


async def entity_timeline(
    tx: Transaction,
    *,
    ref: str,
    limit: int,
    cursor: str | None,
    as_of: datetime | None = None,
    known_at: datetime | None = None,
) -> list[EntityEvent]:
    """A page of dated events around an entity, oldest first: those that had happened, and were recorded by then."""
    return await tx.rows(
        EntityEvent,
        "select * from loci.entity_timeline(%(namespace)s, %(ref)s, %(limit)s, %(cursor)s, %(as_of)s, %(known_at)s)",
        ref=ref,
        limit=limit,
        cursor=cursor,
        as_of=as_of,
        known_at=known_at,
    )


async def update_entity(tx: Transaction, *, ref: str, changes: JsonObject) -> EntityRow | None:
    """Change name, type, aliases, description, metadata or confidence of an entity; returns it."""
    return await tx.first(
        EntityRow,
        """select * from loci_api.update_entity(%(namespace)s, (select e.id from loci.get_entity(%(namespace)s, %(ref)s) e),
           %(changes)s)""",
        ref=ref,
        changes=Jsonb(changes),
    )


async def pin_entity(tx: Transaction, *, ref: str, pinned: bool) -> EntityRow | None:
    """Pin an entity, or unpin it; returns it."""
    return await tx.first(
        EntityRow,
        """select * from loci_api.pin_entity(%(namespace)s, (select e.id from loci.get_entity(%(namespace)s, %(ref)s) e),
           %(pinned)s)""",
        ref=ref,
        pinned=pinned,
    )


async def delete_entity(tx: Transaction, *, ref: str) -> EntityRow | None:
    """Take an entity out of the graph; returns it as it was."""
    return await tx.first(
        EntityRow,
        """select * from loci_api.delete_entity(%(namespace)s, (select e.id from loci.get_entity(%(namespace)s, %(ref)s) e))""",
        ref=ref,
    )


async def touch_entities(tx: Transaction, *, ids: list[UUID]) -> int:
    """Note that entities were referenced now; returns how many there were."""
    return await tx.value(int, "select loci_api.touch_entities(%(namespace)s, %(ids)s) as touched", ids=ids)


async def match_entities(
    tx: Transaction, *, text: str, as_of: datetime | None = None, known_at: datetime | None = None
) -> list[MatchedEntity]:
    """Entities whose name or alias stands in a text, at two moments."""
    return await tx.rows(
        MatchedEntity,
        "select * from loci.match_entities(%(namespace)s, %(text)s, %(as_of)s, %(known_at)s)",
        text=text,
        as_of=as_of,
        known_at=known_at,
    )


async def search_entities(
    tx: Transaction,
    *,
    query: str,
    embedding: list[float] | None,
    limit: int,
    type: str | None,
    mode: str,
    model: int | None = None,
    as_of: datetime | None = None,
    known_at: datetime | None = None,
) -> list[FoundEntity]:
    """Entities that a question means, by name, by meaning (a vector of `model`, which must be active), or both; best first."""
    return await tx.rows(
        FoundEntity,
        """select * from loci.search_entities(%(namespace)s, %(query)s, %(embedding)s::real[], %(limit)s, %(type)s, %(mode)s,
           %(model)s::smallint, %(as_of)s, %(known_at)s)""",
        model=model,
        as_of=as_of,
        known_at=known_at,
        query=query,
        embedding=embedding,
        limit=limit,
        type=type,
        mode=mode,
    )
