"""The log of recalls, and what was said of their results later: wrappers of the SQL functions."""

from datetime import datetime
from typing import TypedDict
from uuid import UUID

from psycopg.types.json import Jsonb

from db.pool import JsonObject, Transaction


class RecallRow(TypedDict):
    """A logged recall with the memories in its answer."""

    id: UUID
    at: datetime
    agent_id: UUID | None
    session_id: str | None
    query: str
    arms: list[str]
    fusion: str
    k: int
    filters: JsonObject
    as_of: datetime | None
    known_at: datetime | None
    skipped: JsonObject
    results: int
    took_ms: float
    memories: list[JsonObject]


class ListedRecall(TypedDict):
    """A logged recall and its place in the list."""

    id: UUID
    at: datetime
    agent_id: UUID | None
    session_id: str | None
    query: str
    arms: list[str]
    fusion: str
    k: int
    filters: JsonObject
    as_of: datetime | None
    known_at: datetime | None
    skipped: JsonObject
    results: int
    took_ms: float
    useful: int
    useless: int
    cursor: str


class MemoryRecallRow(TypedDict):
    """A logged recall that had a memory in its answer, what became of that, and its place in the list."""

    recall_id: UUID
    at: datetime
    agent_id: UUID
    session_id: str | None
    query: str
    rank: int
    score: float
    arms: JsonObject
    injected_at: datetime | None
    hits: int | None
    last_hit_at: datetime | None
    useful: bool | None
    note: str | None
    rated_at: datetime | None
    rated_by: UUID | None
    cursor: str


async def log_recall(tx: Transaction, *, recall: JsonObject, results: list[JsonObject]) -> None:
    """Send a recall and the memories in its answer to the log, without waiting."""
    await tx.note(
        "select loci_api.log_recall(%(namespace)s, %(recall)s, %(results)s)", recall=Jsonb(recall), results=Jsonb(results)
    )


async def list_recalls(tx: Transaction, *, session_id: str | None, limit: int, cursor: str | None) -> list[ListedRecall]:
    """Logged recalls, newest first."""
    return await tx.rows(
        ListedRecall,
        "select * from loci.list_recalls(%(namespace)s, %(session_id)s, %(limit)s, %(cursor)s)",
        session_id=session_id,
        limit=limit,
        cursor=cursor,
    )


async def list_memory_recalls(tx: Transaction, *, id: UUID, limit: int, cursor: str | None) -> list[MemoryRecallRow]:
    """Logged recalls that had a memory in their answer, newest first."""
    return await tx.rows(
        MemoryRecallRow,
        "select * from loci.list_memory_recalls(%(namespace)s, %(id)s, %(limit)s, %(cursor)s)",
        id=id,
        limit=limit,
        cursor=cursor,
    )


async def get_recall(tx: Transaction, *, id: UUID) -> RecallRow:
    """A logged recall with the memories in its answer."""
    return await tx.row(RecallRow, "select * from loci.get_recall(%(namespace)s, %(id)s)", id=id)


async def rate_recall(tx: Transaction, *, recall_id: UUID | None, ratings: list[JsonObject]) -> list[UUID]:
    """Say of results {memory_id, useful, note?} whether they were of use; the memories rated."""
    return await tx.values(
        UUID,
        "select memory_id from loci_api.rate_recall(%(namespace)s, %(recall_id)s, %(ratings)s) order by memory_id",
        recall_id=recall_id,
        ratings=Jsonb(ratings),
    )


async def delete_recall(tx: Transaction, *, id: UUID) -> None:
    """Take a recall out of the log."""
    await tx.run("select loci_api.delete_recall(%(namespace)s, %(id)s)", id=id)
