"""Conversations: the turns of each session, in order."""

from db.errors import FieldError, NotFound
from db.pool import JsonObject, Transaction
from db.sessions import conversations
from db.sessions.conversations import ConversationRow, TurnRow
from loci.models.sessions import TurnsInput
from service.paging import Page, make_page

MOST_TURNS = 1000  # turns of a page


async def list_conversations(tx: Transaction, *, limit: int, cursor: str | None) -> Page[ConversationRow]:
    """Sessions that have turns, in order of their names."""
    return make_page(await conversations.list_conversations(tx, limit=limit + 1, cursor=cursor), limit, "session_id")


async def add_turns(tx: Transaction, stated: TurnsInput, *, session_id: str) -> JsonObject:
    """Append turns to a session, all or none; the turns, in order."""
    return {"items": await conversations.add_turns(tx, session_id=session_id, turns=stated.listed())}


async def list_turns(tx: Transaction, *, session_id: str, limit: int | None, before: int | None) -> Page[TurnRow]:
    """The last turns of a session before a turn's number, oldest first; as many as are replayed, unless said.

    The next page is of those before them.
    """
    wanted = limit or min(MOST_TURNS, int((await tx.read_caller()).settings["replayed_turns"]))
    rows = await conversations.list_turns(tx, session_id=session_id, limit=wanted + 1, cursor=before)
    kept = rows[-wanted:] if wanted else []
    return {"items": kept, "next_cursor": str(kept[0]["id"]) if kept and len(rows) > wanted else None}


async def delete_turns(tx: Transaction, *, session_id: str) -> JsonObject:
    """Delete the turns of a session; how many."""
    return {"session_id": session_id, "deleted": await conversations.delete_turns(tx, session_id=session_id)}


async def delete_last_turn(tx: Transaction, *, session_id: str) -> TurnRow:
    """Take the last turn of a session away; returns it. Raises NotFound where there is none."""
    turn = await conversations.delete_last_turn(tx, session_id=session_id)
    if turn is None:
        message = f"session {session_id!r} has no turns"
        raise NotFound(message, [FieldError("session", message)])
    return turn
