"""Signals: what was said about the agent's work, which consolidation learns from."""

from db import dreams
from db.dreams import ListedSignal
from db.pool import Transaction
from service.paging import Page, make_page


async def list_signals(
    tx: Transaction, *, limit: int, cursor: str | None, kind: str | None, session_id: str | None
) -> Page[ListedSignal]:
    """Signals, newest first."""
    rows = await dreams.list_signals(tx, limit=limit + 1, cursor=cursor, kind=kind, session_id=session_id)
    return make_page(rows, limit)
