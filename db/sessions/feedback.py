"""Use of memories in sessions, and what it says about aspects: wrappers of the SQL functions."""

from typing import Any
from uuid import UUID

from db.pool import Transaction

Row = dict[str, Any]


async def record_injections(tx: Transaction, *, session_id: str | None, ids: list[UUID]) -> list[UUID]:
    """Note that memories are shown to a session; those that are new to it."""
    rows = await tx.rows(
        "select memory_id from loci_api.record_injections(%(namespace)s, %(session_id)s, %(ids)s::uuid[]) order by memory_id",
        session_id=session_id,
        ids=ids,
    )
    return [row["memory_id"] for row in rows]


async def record_hits(tx: Transaction, *, session_id: str | None, ids: list[UUID]) -> list[UUID]:
    """Note that a full-text search of a session found memories; those that had been shown to it."""
    rows = await tx.rows(
        "select memory_id from loci_api.record_hits(%(namespace)s, %(session_id)s, %(ids)s::uuid[]) order by memory_id",
        session_id=session_id,
        ids=ids,
    )
    return [row["memory_id"] for row in rows]


async def send_recall_hits(tx: Transaction, *, session_id: str, documents: list[int]) -> None:
    """Send word, without waiting, of documents that a search of a session found by words; who may only read notes nothing."""
    await tx.send(
        "select loci_api.record_recall_hits(%(namespace)s, %(session_id)s, %(documents)s::bigint[])",
        session_id=session_id,
        documents=documents,
    )


async def end_session(tx: Transaction, *, session_id: str) -> Row:
    """End a session; what that changed."""
    return await tx.row("select * from loci_api.end_session(%(namespace)s, %(session_id)s)", session_id=session_id)


async def list_feedback(tx: Transaction, *, session_id: str | None, limit: int, cursor: str | None) -> list[Row]:
    """What ended sessions have changed, newest first."""
    return await tx.rows(
        "select * from loci.list_feedback(%(namespace)s, %(session_id)s, %(limit)s, %(cursor)s)",
        session_id=session_id,
        limit=limit,
        cursor=cursor,
    )
