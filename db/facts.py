"""Facts: aspects of entities with their attributes and constraints, supersession, and the walk over them."""

from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from db.pool import Transaction

Row = dict[str, Any]


async def upsert_aspect(tx: Transaction, *, entity: str, aspect: Row) -> Row:
    """Give an entity an aspect, or change the one of this name; the aspect, and whether it is new."""
    return await tx.row(
        "select * from loci_api.upsert_aspect(%(namespace)s, %(entity)s, %(aspect)s)", entity=entity, aspect=Jsonb(aspect)
    )


async def list_aspects(tx: Transaction, *, entity: str, as_of: datetime | None, known_at: datetime | None) -> list[Row]:
    """Aspects of an entity, heaviest first, with the attributes and constraints that held at two moments."""
    return await tx.rows(
        "select * from loci.list_aspects(%(namespace)s, %(entity)s, %(as_of)s, %(known_at)s)",
        entity=entity,
        as_of=as_of,
        known_at=known_at,
    )


async def add_attribute(tx: Transaction, *, aspect_id: UUID, attribute: Row) -> Row:
    """Put an attribute or constraint under an aspect; returns it."""
    return await tx.row(
        "select * from loci_api.add_attribute(%(namespace)s, %(aspect_id)s, %(attribute)s)",
        aspect_id=aspect_id,
        attribute=Jsonb(attribute),
    )


async def update_attribute(tx: Transaction, *, id: UUID, changes: Row) -> Row:
    """Change an attribute; new content supersedes the old. Returns the attribute that stands now."""
    return await tx.row(
        "select * from loci_api.update_attribute(%(namespace)s, %(id)s, %(changes)s)", id=id, changes=Jsonb(changes)
    )


async def list_supersessions(
    tx: Transaction, *, status: str | None, signal: str | None, entity: str | None, limit: int, cursor: str | None
) -> list[Row]:
    """List decisions, newest first; each row carries the cursor of the page after it."""
    return await tx.rows(
        "select * from loci.list_supersessions(%(namespace)s, %(status)s, %(signal)s, %(entity)s, %(limit)s, %(cursor)s)",
        status=status,
        signal=signal,
        entity=entity,
        limit=limit,
        cursor=cursor,
    )


async def sweep_supersessions(tx: Transaction, *, entity: str | None, mode: str | None, limit: int, cursor: str | None) -> Row:
    """Visit a page of active facts; how many, the decisions made, the attributes superseded and the cursor of the next page."""
    return await tx.row(
        "select * from loci_api.sweep_supersessions(%(namespace)s, %(entity)s, %(mode)s, %(limit)s, %(cursor)s)",
        entity=entity,
        mode=mode,
        limit=limit,
        cursor=cursor,
    )


async def get_supersessions(tx: Transaction, *, ids: list[UUID]) -> list[Row]:
    """Decisions by id, in order."""
    return await tx.rows("select * from loci.get_supersessions(%(namespace)s, %(ids)s)", ids=ids)


async def apply_supersession(tx: Transaction, *, id: UUID) -> Row:
    """Accept a decision: the older attribute is superseded."""
    return await tx.row("select * from loci_api.apply_supersession(%(namespace)s, %(id)s)", id=id)


async def undo_supersession(tx: Transaction, *, id: UUID) -> Row:
    """Take an applied decision back: the older attribute is what it was."""
    return await tx.row("select * from loci_api.undo_supersession(%(namespace)s, %(id)s)", id=id)


async def dismiss_supersession(tx: Transaction, *, id: UUID) -> Row:
    """Say no to a proposed decision."""
    return await tx.row("select * from loci_api.dismiss_supersession(%(namespace)s, %(id)s)", id=id)


async def propagate_memory_status(tx: Transaction) -> Row:
    """Supersede attributes that rest on memories which are over; how many."""
    return await tx.row("select loci_api.propagate_memory_status(%(namespace)s) as attributes")


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
) -> Row:
    """What to know about the focal entities of a conversation, within the deadline."""
    return await tx.row(
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
