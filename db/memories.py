"""Memories: wrappers of the SQL functions that write and read them. Rows are dicts in the shape of loci.memory_record."""

from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from db.pool import Transaction

Row = dict[str, Any]


async def remember(tx: Transaction, *, items: list[Row]) -> list[Row]:
    """Write memories in one transaction; one row (ordinal, id, superseded, duplicate) an item, in order."""
    return await tx.rows("select * from loci_api.remember(%(namespace)s, %(items)s)", items=Jsonb(items))


async def remember_one(tx: Transaction, *, item: Row) -> Row:
    """Write one memory; the memory, with `superseded` and `duplicate`."""
    return await tx.row(
        "select (memory).*, superseded, duplicate from loci_api.remember_one(%(namespace)s, %(item)s)", item=Jsonb(item)
    )


async def get_memories(tx: Transaction, *, ids: list[UUID]) -> list[Row]:
    """Memories by id, in the order asked; unknown ids are left out."""
    return await tx.rows("select * from loci.get_memories(%(namespace)s, %(ids)s)", ids=ids)


async def get_memory(tx: Transaction, *, id: UUID, as_of: datetime | None, known_at: datetime | None) -> Row:
    """A memory as believed at `known_at`; with `as_of`, the version of its lineage that was valid then."""
    return await tx.row(
        "select * from loci.get_memory(%(namespace)s, %(id)s, %(as_of)s, %(known_at)s)", id=id, as_of=as_of, known_at=known_at
    )


async def current_versions(
    tx: Transaction, *, lineages: list[str], as_of: datetime | None = None, known_at: datetime | None = None
) -> list[Row]:
    """The visible version of each of these lineages, in the order asked; those without one are left out."""
    return await tx.rows(
        "select * from loci.current_versions(%(namespace)s, %(lineages)s, %(as_of)s, %(known_at)s)",
        lineages=lineages,
        as_of=as_of,
        known_at=known_at,
    )


async def list_memories(
    tx: Transaction,
    *,
    filters: Row,
    limit: int,
    cursor: int | None = None,
    as_of: datetime | None = None,
    known_at: datetime | None = None,
    all_versions: bool = False,
) -> list[Row]:
    """A page of memories, newest first; `cursor` is that of the last row of the page before."""
    return await tx.rows(
        """select * from loci.list_memories(%(namespace)s, %(filters)s, %(limit)s, %(cursor)s, %(as_of)s, %(known_at)s,
           %(all_versions)s)""",
        filters=Jsonb(filters),
        limit=limit,
        cursor=cursor,
        as_of=as_of,
        known_at=known_at,
        all_versions=all_versions,
    )


async def history(
    tx: Transaction,
    *,
    ref: str,
    limit: int = 1000,
    after: int = 0,
    as_of: datetime | None = None,
    known_at: datetime | None = None,
) -> list[Row]:
    """Versions of a lineage, named by itself or by the id of one of them, oldest first."""
    return await tx.rows(
        "select * from loci.history(%(namespace)s, %(ref)s, %(limit)s, %(after)s, %(as_of)s, %(known_at)s)",
        ref=ref,
        limit=limit,
        after=after,
        as_of=as_of,
        known_at=known_at,
    )


async def update_memory(tx: Transaction, *, id: UUID, changes: Row) -> Row:
    """Change category, tags, layer, validity, parent_id, importance, confidence or metadata; returns the memory."""
    return await tx.row("select * from loci_api.update_memory(%(namespace)s, %(id)s, %(changes)s)", id=id, changes=Jsonb(changes))


async def forget_memory(tx: Transaction, *, id: UUID, forget: bool) -> Row:
    """Forget a memory, or restore it; returns it."""
    return await tx.row("select * from loci_api.forget_memory(%(namespace)s, %(id)s, %(forget)s)", id=id, forget=forget)


async def erase_memories(tx: Transaction, *, ids: list[UUID], versions: str = "all", subtree: bool = False) -> Row:
    """Erase memories for good; the receipt: `erased` memories, and rows `deleted`, `added` and `changed` by table."""
    return await tx.row(
        "select * from loci_api.erase_memories(%(namespace)s, %(ids)s, %(versions)s, %(subtree)s)",
        ids=ids,
        versions=versions,
        subtree=subtree,
    )


async def link_memories(tx: Transaction, *, source: UUID, target: UUID, type: str, strength: float) -> Row:
    """Upsert a link between two memories."""
    return await tx.row(
        "select * from loci_api.link_memories(%(namespace)s, %(source)s, %(target)s, %(type)s, %(strength)s)",
        source=source,
        target=target,
        type=type,
        strength=strength,
    )


async def unlink_memories(tx: Transaction, *, source: UUID, target: UUID, type: str) -> bool:
    """End a link; whether there was one."""
    row = await tx.row(
        "select loci_api.unlink_memories(%(namespace)s, %(source)s, %(target)s, %(type)s) as ended",
        source=source,
        target=target,
        type=type,
    )
    return bool(row["ended"])


async def list_links(tx: Transaction, *, id: UUID, limit: int, known_at: datetime | None = None) -> list[Row]:
    """Links of a memory in both directions, strongest first."""
    return await tx.rows(
        "select * from loci.list_links(%(namespace)s, %(id)s, %(limit)s, %(known_at)s)", id=id, limit=limit, known_at=known_at
    )


async def list_categories(tx: Transaction, *, under: str | None, as_of: datetime | None, known_at: datetime | None) -> list[Row]:
    """Category paths with counts of visible memories."""
    return await tx.rows(
        "select * from loci.list_categories(%(namespace)s, %(under)s, %(as_of)s, %(known_at)s)",
        under=under,
        as_of=as_of,
        known_at=known_at,
    )
