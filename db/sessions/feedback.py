"""Use of memories in sessions, and what it says about aspects: wrappers of the SQL functions."""

from datetime import datetime
from typing import TypedDict
from uuid import UUID

from db.pool import Transaction


class EndedSession(TypedDict):
    """Changes by the end of a session."""

    session_id: str
    ended: bool
    ended_at: datetime
    injected: int
    hit: int
    confirmed: int
    decayed: int
    sessions: int


class FeedbackRow(TypedDict):
    """Changes by ended sessions."""

    id: UUID
    at: datetime
    agent_id: UUID | None
    session_id: str | None
    kind: str
    aspects: int
    confirmations: int
    change: float
    cursor: str


async def record_injections(tx: Transaction, *, session_id: str | None, ids: list[UUID]) -> list[UUID]:
    """Note that memories are shown to a session; those that are new to it."""
    return await tx.values(
        UUID,
        "select memory_id from loci_api.record_injections(%(namespace)s, %(session_id)s, %(ids)s::uuid[]) order by memory_id",
        session_id=session_id,
        ids=ids,
    )


async def record_hits(tx: Transaction, *, session_id: str | None, ids: list[UUID]) -> list[UUID]:
    """Note that a full-text search of a session found memories; those that had been shown to it."""
    return await tx.values(
        UUID,
        "select memory_id from loci_api.record_hits(%(namespace)s, %(session_id)s, %(ids)s::uuid[]) order by memory_id",
        session_id=session_id,
        ids=ids,
    )


async def send_recall_hits(tx: Transaction, *, session_id: str, documents: list[int]) -> None:
    """Send word, without waiting, of documents that a search of a session found by words; who may only read notes nothing."""
    await tx.note(
        "select loci_api.record_recall_hits(%(namespace)s, %(session_id)s, %(documents)s::bigint[])",
        session_id=session_id,
        documents=documents,
    )


async def end_session(tx: Transaction, *, session_id: str) -> EndedSession:
    """End a session; what that changed."""
    return await tx.row(EndedSession, "select * from loci_api.end_session(%(namespace)s, %(session_id)s)", session_id=session_id)


async def list_feedback(tx: Transaction, *, session_id: str | None, limit: int, cursor: str | None) -> list[FeedbackRow]:
    """Changes by ended sessions, newest first."""
    return await tx.rows(
        FeedbackRow,
        "select * from loci.list_feedback(%(namespace)s, %(session_id)s, %(limit)s, %(cursor)s)",
        session_id=session_id,
        limit=limit,
        cursor=cursor,
    )
