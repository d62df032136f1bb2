"""Consolidation of memories, and the signals that it learns from: wrappers of the SQL functions (rows L4, L5)."""

from typing import Any

from psycopg.types.json import Jsonb

from db.pool import Transaction

Row = dict[str, Any]


async def look_memories(tx: Transaction) -> list[Row]:
    """Memories that a consolidation is shown, by category."""
    return await tx.rows("select * from loci.look_memories(%(namespace)s)")


async def count_removable(tx: Transaction) -> int:
    """How many memories one pass may remove now."""
    row = await tx.row("select loci.removable_memories(%(namespace)s) as removable")
    return int(row["removable"])


async def recent_signals(tx: Transaction) -> list[Row]:
    """Signals that a consolidation is shown, newest first: (id, kind, content, memory_id, at)."""
    return await tx.rows("select * from loci.recent_signals(%(namespace)s)")


async def apply_consolidation(tx: Transaction, *, plan: Row) -> Row:
    """Apply a plan: (changes, refused, stopped)."""
    return await tx.row("select * from loci.apply_consolidation(%(namespace)s, %(plan)s)", plan=Jsonb(plan))


async def note_signals(tx: Transaction, *, signals: list[Row]) -> list[Row]:
    """Note signals, in order; with id and time."""
    return await tx.rows("select * from loci.note_signals(%(namespace)s, %(signals)s)", signals=Jsonb(signals))


async def list_signals(tx: Transaction, *, limit: int, cursor: str | None, kind: str | None, session_id: str | None) -> list[Row]:
    """Signals, newest first."""
    return await tx.rows(
        "select * from loci.list_signals(%(namespace)s, %(limit)s, %(cursor)s, %(kind)s, %(session_id)s)",
        limit=limit,
        cursor=cursor,
        kind=kind,
        session_id=session_id,
    )


async def sweep_signals(tx: Transaction, *, limit: int) -> int:
    """Delete signals past their namespace's signal_days; how many."""
    row = await tx.row("select loci.sweep_signals(%(limit)s) as deleted", limit=limit)
    return int(row["deleted"])
