"""Conversations: the turns of each session, in order (row W3)."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import Response

from db.pool import Transaction
from db.sessions import conversations
from loci.models.sessions import ConversationPage, TurnPage, Turns, TurnsDeleted, TurnsInput
from service.http.caller import CallerDependency
from service.http.parameters import Cursor, Limit, SessionName, position
from service.http.replies import page, reply
from service.http.responses import problems

router = APIRouter(prefix="/conversations", tags=["conversations"])


@router.get("", response_model=ConversationPage, responses=problems(404))
async def list_conversations(caller: CallerDependency, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """List sessions that have turns, in order of their names."""
    rows = await caller.read(lambda tx: conversations.list_conversations(tx, limit=limit + 1, cursor=cursor))
    return page(rows, limit, "session_id")


@router.post("/{session:path}/turns", status_code=201, response_model=Turns, responses=problems(404, 409, 410))
async def add_turns(session: SessionName, body: TurnsInput, caller: CallerDependency) -> Response:
    """Append one turn, or up to 1,000, all or none."""

    async def work(tx: Transaction) -> dict[str, Any]:
        return {"items": await conversations.add_turns(tx, session_id=session, turns=body.listed())}

    return await caller.write(work, status=201)


@router.get("/{session:path}/turns", response_model=TurnPage, responses=problems(404))
async def list_turns(
    session: SessionName,
    caller: CallerDependency,
    limit: Annotated[int | None, Query(ge=1, le=1000, description="Default: the setting replayed_turns")] = None,
    cursor: Cursor = None,
) -> Response:
    """List the last turns, oldest first; `next_cursor` leads to those before them."""
    before = position(cursor)

    async def work(tx: Transaction) -> tuple[list[dict[str, Any]], int]:
        wanted = limit or min(1000, int((await tx.entered()).settings["replayed_turns"]))
        return await conversations.list_turns(tx, session_id=session, limit=wanted + 1, cursor=before), wanted

    rows, wanted = await caller.read(work)
    kept = rows[-wanted:] if wanted else []
    return reply({"items": kept, "next_cursor": str(kept[0]["id"]) if kept and len(rows) > wanted else None})


@router.delete("/{session:path}/turns", response_model=TurnsDeleted, responses=problems(404))
async def delete_turns(session: SessionName, caller: CallerDependency) -> Response:
    """Delete the turns of a session, those that wait for later passes included."""

    async def work(tx: Transaction) -> dict[str, Any]:
        return {"session_id": session, "deleted": await conversations.delete_turns(tx, session_id=session)}

    return await caller.write(work)
