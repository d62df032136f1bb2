"""Aspects of entities, and the attributes and constraints under them: wrappers of the SQL functions."""

from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from db.pool import Transaction

Row = dict[str, Any]


async def add_aspect(tx: Transaction, *, entity: str, aspect: Row) -> Row:
    """Give an entity an aspect, or change the one of this name; the aspect, and whether it is new."""
    return await tx.row("select * from loci.add_aspect(%(namespace)s, %(entity)s, %(aspect)s)", entity=entity, aspect=Jsonb(aspect))


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
        "select * from loci.add_attribute(%(namespace)s, %(aspect_id)s, %(attribute)s)",
        aspect_id=aspect_id,
        attribute=Jsonb(attribute),
    )


async def update_attribute(tx: Transaction, *, id: UUID, changes: Row) -> Row:
    """Change an attribute; new content supersedes the old. Returns the attribute that stands now."""
    return await tx.row("select * from loci.update_attribute(%(namespace)s, %(id)s, %(changes)s)", id=id, changes=Jsonb(changes))
