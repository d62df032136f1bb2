"""Conversations: the turns of each session, in order."""

from typing import Annotated

from fastapi import Query
from fastapi.responses import Response

from loci.models.sessions import ConversationPage, Turn, TurnPage, Turns, TurnsDeleted, TurnsInput
from service.http.caller import CallerDependency
from service.http.documented_problems import document_problems
from service.http.json_replies import reply_json
from service.http.large_bodies import Router
from service.http.parameters import Cursor, Limit, SessionName
from service.paging import parse_position
from service.sessions import conversations

router = Router(prefix="/conversations", tags=["conversations"])


@router.get("", response_model=ConversationPage, responses=document_problems(404))
async def list_conversations(caller: CallerDependency, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """List sessions that have turns, in order of their names."""
    return reply_json(await caller.read(lambda tx: conversations.list_conversations(tx, limit=limit, cursor=cursor)))


@router.post("/{session:path}/turns", status_code=201, response_model=Turns, responses=document_problems(404, 409, 410))
async def add_turns(session: SessionName, body: TurnsInput, caller: CallerDependency) -> Response:
    """Append one turn, or up to 1,000, all or none."""
    return await caller.write(lambda tx: conversations.add_turns(tx, body, session_id=session), status=201)


@router.get("/{session:path}/turns", response_model=TurnPage, responses=document_problems(404))
async def list_turns(
    session: SessionName,
    caller: CallerDependency,
    limit: Annotated[int | None, Query(ge=1, le=1000, description="Default: the setting replayed_turns")] = None,
    cursor: Cursor = None,
) -> Response:
    """List the last turns, oldest first; `next_cursor` leads to those before them."""
    before = parse_position(cursor)
    return reply_json(await caller.read(lambda tx: conversations.list_turns(tx, session_id=session, limit=limit, before=before)))


@router.delete("/{session:path}/turns", response_model=TurnsDeleted, responses=document_problems(404))
async def delete_turns(session: SessionName, caller: CallerDependency) -> Response:
    """Delete the turns of a session, those that wait for later passes included."""
    return await caller.write(lambda tx: conversations.delete_turns(tx, session_id=session))


@router.delete("/{session:path}/turns/last", response_model=Turn, responses=document_problems(404))
async def pop_turn(session: SessionName, caller: CallerDependency) -> Response:
    """Take the last turn of a session away, and reply it."""
    return await caller.write(lambda tx: conversations.delete_last_turn(tx, session_id=session))
