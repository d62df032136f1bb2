"""Facts: aspects of entities with their attributes and constraints, supersession, and the walk over them."""

from datetime import datetime
from typing import TypedDict
from uuid import UUID

from psycopg.types.json import Jsonb

from db.pool import JsonObject, Transaction


class AspectRow(TypedDict):
    """An aspect of an entity, and whether it is new."""

    id: UUID
    entity_id: UUID
    name: str
    canonical_name: str
    weight: float
    single_valued: bool | None
    confirmed_at: datetime | None
    created_at: datetime
    updated_at: datetime
    created: bool


class ListedAspect(TypedDict):
    """An aspect with the attributes and constraints under it."""

    id: UUID
    entity_id: UUID
    name: str
    canonical_name: str
    weight: float
    single_valued: bool | None
    confirmed_at: datetime | None
    created_at: datetime
    updated_at: datetime
    attributes: list[JsonObject]
    constraints: list[JsonObject]


class AttributeRow(TypedDict):
    """A fact or a constraint under an aspect, and what it supersedes or would."""

    id: UUID
    aspect_id: UUID
    kind: str
    content: str
    status: str
    superseded_by: UUID | None
    memory_id: UUID | None
    confidence: float
    importance: float
    valid_from: datetime
    valid_to: datetime | None
    recorded_at: datetime
    superseded_at: datetime | None
    updated_at: datetime
    observations: int
    superseded: list[UUID]
    proposed: list[UUID]


class SupersessionRow(TypedDict):
    """A decision that one fact, or edge, supersedes another."""

    id: UUID
    status: str
    signal: str
    confidence: float
    evidence: list[str]
    origin: str
    entity_id: UUID
    entity: str
    aspect_id: UUID | None
    aspect: str | None
    older_id: UUID
    older: str
    newer_id: UUID
    newer: str
    created_at: datetime
    decided_at: datetime | None
    decided_by: UUID | None
    undone_at: datetime | None
    ended_at: datetime | None


class ListedSupersession(SupersessionRow):
    """A decision and its place in the list."""

    cursor: str


class SupersessionSweep(TypedDict):
    """Decisions of a page of a sweep."""

    visited: int
    decided: list[UUID]
    superseded: list[UUID]
    next_cursor: str | None


class AspectSweep(TypedDict):
    """Outcome of comparing the facts of an aspect anew; no aspect: none waits."""

    namespace_id: int | None
    aspect_id: UUID | None
    visited: int
    superseded: list[UUID]


class WalkRow(TypedDict):
    """Knowledge about the focal entities of a conversation."""

    focal: list[JsonObject]
    source: str | None
    memory_ids: list[UUID]
    constraints: list[JsonObject]
    attributes: list[JsonObject]
    entity_count: int
    aspect_ids: list[UUID]
    timed_out: bool
    took_ms: float


async def upsert_aspect(tx: Transaction, *, entity: str, aspect: JsonObject) -> AspectRow:
    """Give an entity an aspect, or change the one of this name; the aspect, and whether it is new."""
    return await tx.row(
        AspectRow,
        "select * from loci_api.upsert_aspect(%(namespace)s, %(entity)s, %(aspect)s)",
        entity=entity,
        aspect=Jsonb(aspect),
    )


async def list_aspects(tx: Transaction, *, entity: str, as_of: datetime | None, known_at: datetime | None) -> list[ListedAspect]:
    """Aspects of an entity, heaviest first, with the attributes and constraints that held at two moments."""
    return await tx.rows(
        ListedAspect,
        "select * from loci.list_aspects(%(namespace)s, %(entity)s, %(as_of)s, %(known_at)s)",
        entity=entity,
        as_of=as_of,
        known_at=known_at,
    )


async def add_attribute(tx: Transaction, *, aspect_id: UUID, attribute: JsonObject) -> AttributeRow:
    """Put an attribute or constraint under an aspect; returns it."""
    return await tx.row(
        AttributeRow,
        "select * from loci_api.add_attribute(%(namespace)s, %(aspect_id)s, %(attribute)s)",
        aspect_id=aspect_id,
        attribute=Jsonb(attribute),
    )


async def update_attribute(tx: Transaction, *, id: UUID, changes: JsonObject) -> AttributeRow:
    """Change an attribute; new content supersedes the old. Returns the attribute that stands now."""
    return await tx.row(
        AttributeRow, "select * from loci_api.update_attribute(%(namespace)s, %(id)s, %(changes)s)", id=id, changes=Jsonb(changes)
    )


async def list_supersessions(
    tx: Transaction, *, status: str | None, signal: str | None, entity: str | None, limit: int, cursor: str | None
) -> list[ListedSupersession]:
    """List decisions, newest first; each row carries the cursor of the page after it."""
    return await tx.rows(
        ListedSupersession,
        "select * from loci.list_supersessions(%(namespace)s, %(status)s, %(signal)s, %(entity)s, %(limit)s, %(cursor)s)",
        status=status,
        signal=signal,
        entity=entity,
        limit=limit,
        cursor=cursor,
    )


async def sweep_supersessions(
    tx: Transaction, *, entity: str | None, mode: str | None, limit: int, cursor: str | None
) -> SupersessionSweep:
    """Visit a page of active facts; how many, the decisions made, the attributes superseded and the cursor of the next page."""
    return await tx.row(
        SupersessionSweep,
        "select * from loci_api.sweep_supersessions(%(namespace)s, %(entity)s, %(mode)s, %(limit)s, %(cursor)s)",
        entity=entity,
        mode=mode,
        limit=limit,
        cursor=cursor,
    )


async def sweep_aspects(tx: Transaction) -> AspectSweep:
    """Compare the facts of an aspect that waits for it. Operator only."""
    return await tx.row(AspectSweep, "select * from loci_api.sweep_aspects()")


async def get_supersessions(tx: Transaction, *, ids: list[UUID]) -> list[SupersessionRow]:
    """Decisions by id, in order."""
    return await tx.rows(SupersessionRow, "select * from loci.get_supersessions(%(namespace)s, %(ids)s)", ids=ids)


async def apply_supersession(tx: Transaction, *, id: UUID) -> SupersessionRow:
    """Accept a decision: the older attribute is superseded."""
    return await tx.row(SupersessionRow, "select * from loci_api.apply_supersession(%(namespace)s, %(id)s)", id=id)


async def undo_supersession(tx: Transaction, *, id: UUID) -> SupersessionRow:
    """Take an applied decision back: the older attribute is what it was."""
    return await tx.row(SupersessionRow, "select * from loci_api.undo_supersession(%(namespace)s, %(id)s)", id=id)


async def dismiss_supersession(tx: Transaction, *, id: UUID) -> SupersessionRow:
    """Say no to a proposed decision."""
    return await tx.row(SupersessionRow, "select * from loci_api.dismiss_supersession(%(namespace)s, %(id)s)", id=id)


async def propagate_memory_status(tx: Transaction) -> int:
    """Supersede attributes that rest on memories which are over; how many."""
    return await tx.value(int, "select loci_api.propagate_memory_status(%(namespace)s) as attributes")


async def walk(
    tx: Transaction,
    *,
    query: str | None,
    project_path: str | None,
    checkpoint: list[UUID] | None,
    session_key: str | None,
    as_of: datetime | None,
    known_at: datetime | None,
    attributes: bool,
) -> WalkRow:
    """Knowledge about the focal entities of a conversation, within the deadline."""
    return await tx.row(
        WalkRow,
        """select * from loci.walk(%(namespace)s, %(query)s, %(project_path)s, %(checkpoint)s::uuid[], %(session_key)s,
           %(as_of)s, %(known_at)s, %(attributes)s)""",
        query=query,
        project_path=project_path,
        checkpoint=checkpoint,
        session_key=session_key,
        as_of=as_of,
        known_at=known_at,
        attributes=attributes,
    )
