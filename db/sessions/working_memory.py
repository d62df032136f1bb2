"""Working memory: wrappers of the SQL functions. `space` is the space that the caller declared, if any."""

from datetime import datetime
from typing import Any, TypedDict

from psycopg.types.json import Jsonb

from db.pool import Transaction


class EntryRow(TypedDict):
    """An entry of working memory, without its value."""

    key: str
    space: str
    category: str | None
    tags: list[str]
    stored_at: datetime
    expires_at: datetime


class EntryWithValue(EntryRow):
    """An entry of working memory."""

    value: object


class FoundEntry(EntryWithValue):
    """An entry that was searched for; `score` None: not by words."""

    score: float | None


class EntryCandidate(TypedDict):
    """An entry that may answer a question: its text, and its score by words (BM25); None: no word of the question."""

    key: str
    score: float | None
    stored_at: datetime
    text: str


class DeletedEntry(TypedDict):
    """The full key of an entry, and whether there was a live one."""

    key: str
    deleted: bool


async def save_working_memory(
    tx: Transaction,
    *,
    key: str,
    value: Any,
    ttl_seconds: float | None = None,
    category: str | None = None,
    tags: list[str] | None = None,
    space: str | None = None,
) -> EntryRow:
    """Write an entry, or replace it; the entry without its value."""
    return await tx.row(
        EntryRow,
        """select * from loci_api.save_working_memory(%(namespace)s, %(key)s, %(value)s, %(ttl_seconds)s::double precision,
           %(category)s, %(tags)s::text[], %(space)s)""",
        key=key,
        value=Jsonb(value),
        ttl_seconds=ttl_seconds,
        category=category,
        tags=tags,
        space=space,
    )


async def get_working_memory(tx: Transaction, *, key: str, space: str | None = None) -> EntryWithValue:
    """An entry that has not expired."""
    return await tx.row(
        EntryWithValue, "select * from loci.get_working_memory(%(namespace)s, %(key)s, %(space)s)", key=key, space=space
    )


async def list_working_memory(
    tx: Transaction, *, prefix: str | None = None, limit: int = 50, cursor: str | None = None, space: str | None = None
) -> list[EntryRow]:
    """Entries under a prefix of whole segments, without values, in order of the key."""
    return await tx.rows(
        EntryRow,
        "select * from loci.list_working_memory(%(namespace)s, %(prefix)s, %(limit)s, %(cursor)s, %(space)s)",
        prefix=prefix,
        limit=limit,
        cursor=cursor,
        space=space,
    )


async def search_working_memory(
    tx: Transaction,
    *,
    query: str | None = None,
    category: str | None = None,
    tags: list[str] | None = None,
    prefix: str | None = None,
    limit: int = 10,
    space: str | None = None,
) -> list[FoundEntry]:
    """Entries by words, best first; without a query newest first, and without a score."""
    return await tx.rows(
        FoundEntry,
        """select * from loci.search_working_memory(%(namespace)s, %(query)s, %(category)s, %(tags)s::text[], %(prefix)s, %(limit)s,
           %(space)s)""",
        query=query,
        category=category,
        tags=tags,
        prefix=prefix,
        limit=limit,
        space=space,
    )


async def working_memory_candidates(
    tx: Transaction,
    *,
    query: str,
    category: str | None,
    tags: list[str] | None,
    prefix: str | None,
    limit: int,
    space: str | None,
) -> list[EntryCandidate]:
    """Entries that may answer a question by words or by meaning, in no order."""
    return await tx.rows(
        EntryCandidate,
        """select * from loci_api.working_memory_candidates(%(namespace)s, %(query)s, %(category)s, %(tags)s::text[], %(prefix)s,
           %(limit)s, %(space)s)""",
        query=query,
        category=category,
        tags=tags,
        prefix=prefix,
        limit=limit,
        space=space,
    )


async def working_memory_entries(tx: Transaction, *, keys: list[str]) -> list[EntryWithValue]:
    """Entries of these full keys that live, in no order."""
    return await tx.rows(
        EntryWithValue, "select * from loci_api.working_memory_entries(%(namespace)s, %(keys)s::text[])", keys=keys
    )


async def delete_working_memory(tx: Transaction, *, key: str, space: str | None = None) -> DeletedEntry:
    """Delete an entry: its full key, and whether there was a live one (`deleted`)."""
    return await tx.row(
        DeletedEntry, "select * from loci_api.delete_working_memory(%(namespace)s, %(key)s, %(space)s)", key=key, space=space
    )


class SweptEntries(TypedDict):
    """How many entries were deleted, and where to go on; None: that was the last part."""

    swept: int
    next_id: int | None
    next_key: str | None


async def sweep_working_memory(tx: Transaction, *, after: tuple[int, str]) -> tuple[int, tuple[int, str] | None]:
    """Delete what has expired among the next entries after a namespace's number and a key; how many, and where to go on."""
    row = await tx.row(
        SweptEntries,
        "select swept, next_id, next_key from loci_api.sweep_working_memory(5000, %(after_id)s, %(after_key)s)",
        after_id=after[0],
        after_key=after[1],
    )
    further = None if row["next_id"] is None or row["next_key"] is None else (row["next_id"], row["next_key"])
    return row["swept"], further
