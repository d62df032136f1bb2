"""Memories: wrappers of the SQL functions that write and read them. Rows are dicts in the shape of loci.memory_record."""

from datetime import datetime
from typing import TypedDict
from uuid import UUID

from psycopg.types.json import Jsonb

from db.pool import JsonObject, Transaction


class StoredMemory(TypedDict):
    """Outcome for a memory that was stated."""

    ordinal: int
    id: UUID
    superseded: UUID | None
    duplicate: bool
    ignored: list[str] | None
    cut_short: JsonObject | None


class MemoryRow(TypedDict):
    """A memory."""

    id: UUID
    lineage: str
    version: int
    content: str
    category: str
    tags: list[str]
    layer: int
    parent_id: UUID | None
    valid_from: datetime
    valid_to: datetime | None
    recorded_at: datetime
    superseded_at: datetime | None
    current: bool
    status: str
    importance: float
    confidence: float
    metadata: JsonObject
    about: str | None
    source: str | None
    session_id: str | None
    observations: int
    last_observed_at: datetime
    updated_at: datetime
    cursor: int


class WrittenMemory(MemoryRow):
    """A memory that was written, and what became of the write."""

    superseded: UUID | None
    duplicate: bool
    ignored: list[str] | None
    cut_short: JsonObject | None


class ErasureReceipt(TypedDict):
    """Rows that an erasure deleted, added and changed, by table, and the turns that hold the words of erased memories."""

    erased: int
    deleted: dict[str, int]
    added: dict[str, int]
    changed: dict[str, int]
    turns: list[JsonObject]
    turns_found: int


class ErasurePreview(ErasureReceipt):
    """Effects of an erasure, and the things that would go with it; `more`: those that are not listed."""

    changes: list[JsonObject]
    more: int


class DependentRow(TypedDict):
    """Something that rests on a memory, and its place in the list."""

    kind: str
    id: UUID
    content: str
    entity_id: UUID
    entity: str
    aspect: str | None
    status: str
    confidence: float
    valid_from: datetime | None
    valid_to: datetime | None
    alone: bool
    cursor: str


class FileRow(TypedDict):
    """A file: a lineage that is named by a path."""

    id: UUID
    path: str
    content: str
    metadata: JsonObject


class LinkRow(TypedDict):
    """A link between two memories."""

    source_id: UUID
    target_id: UUID
    type: str
    strength: float
    recorded_at: datetime
    superseded_at: datetime | None


class ListedLink(LinkRow):
    """A link and its place in the list."""

    cursor: str


class CategoryRow(TypedDict):
    """A category, and how many memories are in it, and in it and below."""

    category: str
    memories: int
    total: int


async def remember(tx: Transaction, *, items: list[JsonObject]) -> list[StoredMemory]:
    """Write memories in one transaction; one row an item, in order."""
    return await tx.rows(StoredMemory, "select * from loci_api.remember(%(namespace)s, %(items)s)", items=Jsonb(items))


async def remember_one(tx: Transaction, *, item: JsonObject) -> WrittenMemory:
    """Write one memory; the memory, with what became of the write."""
    return await tx.row(
        WrittenMemory,
        "select (memory).*, superseded, duplicate, ignored, cut_short from loci_api.remember_one(%(namespace)s, %(item)s)",
        item=Jsonb(item),
    )


async def get_memories(tx: Transaction, *, ids: list[UUID]) -> list[MemoryRow]:
    """Memories by id, in the order asked; unknown ids are left out."""
    return await tx.rows(MemoryRow, "select * from loci.get_memories(%(namespace)s, %(ids)s)", ids=ids)


async def get_memory(tx: Transaction, *, id: UUID, as_of: datetime | None, known_at: datetime | None) -> MemoryRow:
    """A memory as believed at `known_at`; with `as_of`, the version of its lineage that was valid then."""
    return await tx.row(
        MemoryRow,
        "select * from loci.get_memory(%(namespace)s, %(id)s, %(as_of)s, %(known_at)s)",
        id=id,
        as_of=as_of,
        known_at=known_at,
    )


async def current_versions(
    tx: Transaction, *, lineages: list[str], as_of: datetime | None = None, known_at: datetime | None = None
) -> list[MemoryRow]:
    """The visible version of each of these lineages, in the order asked; those without one are left out."""
    return await tx.rows(
        MemoryRow,
        "select * from loci.current_versions(%(namespace)s, %(lineages)s, %(as_of)s, %(known_at)s)",
        lineages=lineages,
        as_of=as_of,
        known_at=known_at,
    )


async def list_memories(
    tx: Transaction,
    *,
    filters: JsonObject,
    limit: int,
    cursor: int | None = None,
    as_of: datetime | None = None,
    known_at: datetime | None = None,
    all_versions: bool = False,
) -> list[MemoryRow]:
    """A page of memories, newest first; `cursor` is that of the last row of the page before."""
    return await tx.rows(
        MemoryRow,
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
) -> list[MemoryRow]:
    """Versions of a lineage, named by itself or by the id of one of them, oldest first."""
    return await tx.rows(
        MemoryRow,
        "select * from loci.history(%(namespace)s, %(ref)s, %(limit)s, %(after)s, %(as_of)s, %(known_at)s)",
        ref=ref,
        limit=limit,
        after=after,
        as_of=as_of,
        known_at=known_at,
    )


async def update_memory(tx: Transaction, *, id: UUID, changes: JsonObject) -> MemoryRow:
    """Change what is said about a memory, its parent or its validity; returns the memory."""
    return await tx.row(
        MemoryRow, "select * from loci_api.update_memory(%(namespace)s, %(id)s, %(changes)s)", id=id, changes=Jsonb(changes)
    )


async def forget_memory(tx: Transaction, *, id: UUID, forget: bool) -> MemoryRow:
    """Forget a memory, or restore it; returns it."""
    return await tx.row(MemoryRow, "select * from loci_api.forget_memory(%(namespace)s, %(id)s, %(forget)s)", id=id, forget=forget)


async def forget_memories(tx: Transaction, *, ids: list[UUID]) -> int:
    """Forget memories that are not forgotten yet; how many."""
    return await tx.value(int, "select loci_api.forget_memories(%(namespace)s, %(ids)s::uuid[]) as forgotten", ids=ids)


async def list_files(tx: Transaction, *, path: str, below: bool = True) -> list[FileRow]:
    """The files at a path, and under it, in order of path."""
    return await tx.rows(FileRow, "select * from loci_api.list_files(%(namespace)s, %(path)s, %(below)s)", path=path, below=below)


async def lock_files(tx: Transaction, *, path: str, below: bool = False) -> list[FileRow]:
    """The same, locked until the transaction ends: what is written then follows what was read."""
    return await tx.rows(FileRow, "select * from loci_api.lock_files(%(namespace)s, %(path)s, %(below)s)", path=path, below=below)


async def lock_folders(tx: Transaction) -> None:
    """Wait for the turn to make or move files, until the transaction ends: a path that is free then stays so."""
    await tx.post("select loci_api.lock_folders(%(namespace)s)")


async def erase_memories(
    tx: Transaction, *, ids: list[UUID], versions: str = "all", subtree: bool = False, with_turns: bool = False
) -> ErasureReceipt:
    """Erase memories for good; the receipt: `erased` memories, and rows `deleted`, `added` and `changed` by table."""
    return await tx.row(
        ErasureReceipt,
        "select * from loci_api.erase_memories(%(namespace)s, %(ids)s, %(versions)s, %(subtree)s, %(with_turns)s)",
        ids=ids,
        versions=versions,
        subtree=subtree,
        with_turns=with_turns,
    )


async def preview_erasure(
    tx: Transaction, *, ids: list[UUID], versions: str = "all", subtree: bool = False, with_turns: bool = False
) -> ErasurePreview:
    """Erase memories, say what went with them, and take it back."""
    return await tx.row(
        ErasurePreview,
        "select * from loci_api.preview_erasure(%(namespace)s, %(ids)s, %(versions)s, %(subtree)s, p_with_turns => %(with_turns)s)",
        ids=ids,
        versions=versions,
        subtree=subtree,
        with_turns=with_turns,
    )


async def list_dependents(tx: Transaction, *, id: UUID, limit: int, cursor: str | None) -> list[DependentRow]:
    """Facts, edges and entities that rest on a memory."""
    return await tx.rows(
        DependentRow,
        "select * from loci.list_dependents(%(namespace)s, %(id)s, %(limit)s, %(cursor)s)",
        id=id,
        limit=limit,
        cursor=cursor,
    )


async def link_memories(tx: Transaction, *, source: UUID, target: UUID, type: str, strength: float) -> LinkRow:
    """Upsert a link between two memories."""
    return await tx.row(
        LinkRow,
        "select * from loci_api.link_memories(%(namespace)s, %(source)s, %(target)s, %(type)s, %(strength)s)",
        source=source,
        target=target,
        type=type,
        strength=strength,
    )


async def unlink_memories(tx: Transaction, *, source: UUID, target: UUID, type: str) -> bool:
    """End a link; whether there was one."""
    return await tx.value(
        bool,
        "select loci_api.unlink_memories(%(namespace)s, %(source)s, %(target)s, %(type)s) as ended",
        source=source,
        target=target,
        type=type,
    )


async def list_links(
    tx: Transaction,
    *,
    id: UUID,
    limit: int,
    cursor: str | None = None,
    as_of: datetime | None = None,
    known_at: datetime | None = None,
    all_versions: bool = False,
) -> list[ListedLink]:
    """A page of links of a memory in both directions, strongest first, at two times."""
    return await tx.rows(
        ListedLink,
        "select * from loci.list_links(%(namespace)s, %(id)s, %(limit)s, %(cursor)s, %(as_of)s, %(known_at)s, %(all_versions)s)",
        id=id,
        limit=limit,
        cursor=cursor,
        as_of=as_of,
        known_at=known_at,
        all_versions=all_versions,
    )


async def list_categories(
    tx: Transaction, *, under: str | None, as_of: datetime | None, known_at: datetime | None
) -> list[CategoryRow]:
    """Category paths with counts of visible memories."""
    return await tx.rows(
        CategoryRow,
        "select * from loci.list_categories(%(namespace)s, %(under)s, %(as_of)s, %(known_at)s)",
        under=under,
        as_of=as_of,
        known_at=known_at,
    )
