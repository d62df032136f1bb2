"""Entities: wrappers of the SQL functions that write, find and list them."""

from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from db.pool import Transaction

Row = dict[str, Any]


async def upsert_entities(tx: Transaction, *, entities: list[Row]) -> list[Row]:
    """Create entities or add to them, by canonical name or alias: rows (ordinal, id, name, created), in order."""
    return await tx.rows("select * from loci_api.upsert_entities(%(namespace)s, %(entities)s)", entities=Jsonb(entities))


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
) -> list[Row]:
    """A page of entities at two moments: pinned first, then the most mentioned."""
    return await tx.rows(
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


async def get_entity(tx: Transaction, *, ref: str, as_of: datetime | None = None, known_at: datetime | None = None) -> Row:
    """The entity with this id, name or alias, at two moments."""
    return await tx.row(
        "select * from loci.get_entity(%(namespace)s, %(ref)s, %(as_of)s, %(known_at)s)", ref=ref, as_of=as_of, known_at=known_at
    )


async def entity_timeline(tx: Transaction, *, ref: str, limit: int, cursor: str | None) -> list[Row]:
    """A page of dated events around an entity, oldest first."""
    return await tx.rows(
        "select * from loci.entity_timeline(%(namespace)s, %(ref)s, %(limit)s, %(cursor)s)", ref=ref, limit=limit, cursor=cursor
    )


async def update_entity(tx: Transaction, *, id: UUID, changes: Row) -> Row:
    """Change name, type, aliases, description, metadata or confidence of an entity; returns it."""
    return await tx.row("select * from loci_api.update_entity(%(namespace)s, %(id)s, %(changes)s)", id=id, changes=Jsonb(changes))


async def pin_entity(tx: Transaction, *, id: UUID, pinned: bool) -> Row:
    """Pin an entity, or unpin it; returns it."""
    return await tx.row("select * from loci_api.pin_entity(%(namespace)s, %(id)s, %(pinned)s)", id=id, pinned=pinned)


async def delete_entity(tx: Transaction, *, id: UUID) -> Row:
    """Take an entity out of the graph; returns it as it was."""
    return await tx.row("select * from loci_api.delete_entity(%(namespace)s, %(id)s)", id=id)


async def touch_entities(tx: Transaction, *, ids: list[UUID]) -> int:
    """Note that entities were referenced now; returns how many there were."""
    row = await tx.row("select loci_api.touch_entities(%(namespace)s, %(ids)s) as touched", ids=ids)
    return int(row["touched"])


async def match_entities(tx: Transaction, *, text: str) -> list[Row]:
    """Entities whose name or alias stands in a text."""
    return await tx.rows("select * from loci.match_entities(%(namespace)s, %(text)s)", text=text)


async def search_entities(
    tx: Transaction,
    *,
    query: str,
    embedding: list[float] | None,
    limit: int,
    type: str | None,
    mode: str,
    model: int | None = None,
) -> list[Row]:
    """Entities that a question means, by name, by meaning (a vector of `model`, which must be active), or both; best first."""
    return await tx.rows(
        """select * from loci.search_entities(%(namespace)s, %(query)s, %(embedding)s::real[], %(limit)s, %(type)s, %(mode)s,
           %(model)s::smallint)""",
        model=model,
        query=query,
        embedding=embedding,
        limit=limit,
        type=type,
        mode=mode,
    )
