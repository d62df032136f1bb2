"""Conversations: wrappers of the SQL functions."""

from datetime import datetime
from typing import TypedDict

from psycopg.types.json import Jsonb

from db.pool import JsonObject, Transaction


class TurnRow(TypedDict):
    """A turn of a conversation."""

    id: int
    session_id: str
    role: str
    content: str
    metadata: JsonObject
    said_at: datetime


class FoundTurn(TurnRow):
    """A turn, and how well it fits a query."""

    score: float


class ConversationRow(TypedDict):
    """A session that has turns."""

    session_id: str
    turns: int
    first_said_at: datetime
    last_said_at: datetime
    logged: int


class ClearedTurns(TypedDict):
    """How many turns were taken out of the log, and how many deleted."""

    cleared: int
    deleted: int


async def add_turns(tx: Transaction, *, session_id: str, turns: list[JsonObject], last: int | None = None) -> list[TurnRow]:
    """Append turns to a session, all or none; the turns, in order.

    `last`: the number of its last turn as the caller knows it, 0 for none. If that is another one by now, nothing is written,
    and no turn comes back; nobody else adds one until the transaction ends.
    """
    return await tx.rows(
        TurnRow,
        "select * from loci_api.add_turns(%(namespace)s, %(session_id)s, %(turns)s, %(last)s::bigint)",
        session_id=session_id,
        turns=Jsonb(turns),
        last=last,
    )


async def list_turns(tx: Transaction, *, session_id: str, limit: int | None = None, cursor: int | None = None) -> list[TurnRow]:
    """The last turns of a session before a turn's number, oldest first; as many as are replayed, unless said."""
    return await tx.rows(
        TurnRow,
        "select * from loci.list_turns(%(namespace)s, %(session_id)s, %(limit)s::integer, %(cursor)s::bigint)",
        session_id=session_id,
        limit=limit,
        cursor=cursor,
    )


async def delete_last_turn(tx: Transaction, *, session_id: str) -> TurnRow | None:
    """Take the last turn of a session away; it, or None where there is none."""
    return await tx.first(TurnRow, "select * from loci_api.delete_last_turn(%(namespace)s, %(session_id)s)", session_id=session_id)


async def search_turns(tx: Transaction, *, query: str, session_id: str | None = None, limit: int = 10) -> list[FoundTurn]:
    """Turns of a session or of all, by words, best first."""
    return await tx.rows(
        FoundTurn,
        "select * from loci.search_turns(%(namespace)s, %(query)s, %(session_id)s, %(limit)s)",
        query=query,
        session_id=session_id,
        limit=limit,
    )


async def delete_turns(tx: Transaction, *, session_id: str) -> int:
    """Delete the turns of a session; how many."""
    return await tx.value(int, "select deleted from loci_api.delete_turns(%(namespace)s, %(session_id)s)", session_id=session_id)


async def list_conversations(tx: Transaction, *, limit: int, cursor: str | None = None) -> list[ConversationRow]:
    """Sessions that have turns, in order of their names."""
    return await tx.rows(
        ConversationRow, "select * from loci.list_conversations(%(namespace)s, %(limit)s, %(cursor)s)", limit=limit, cursor=cursor
    )


async def conversation_log(tx: Transaction, *, limit: int = 1000, cursor: int | None = None) -> list[TurnRow]:
    """Turns that no pass has consumed, in order of their numbers."""
    return await tx.rows(
        TurnRow, "select * from loci.conversation_log(%(namespace)s, %(limit)s, %(cursor)s::bigint)", limit=limit, cursor=cursor
    )


async def clear_conversation_log(tx: Transaction, *, ids: list[int]) -> ClearedTurns:
    """Take turns out of the log: how many were `cleared`, and how many `deleted`, being older than what is replayed."""
    return await tx.row(ClearedTurns, "select * from loci_api.clear_conversation_log(%(namespace)s, %(ids)s::bigint[])", ids=ids)
