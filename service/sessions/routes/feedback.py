"""Feedback: memories that a session was shown and found again raise the weight of their aspects at its end."""

from typing import Annotated

from fastapi import Query
from fastapi.responses import Response

from loci.models.fields import Label
from loci.models.sessions import FeedbackInput, FeedbackNoted, FeedbackPage, SessionEnd
from service.http.caller import CallerDependency
from service.http.documented_problems import document_problems
from service.http.json_replies import reply_json
from service.http.large_bodies import Router
from service.http.parameters import Cursor, Limit, SessionName
from service.sessions import feedback

router = Router(tags=["feedback"])


@router.post("/feedback", response_model=FeedbackNoted, responses=document_problems(404))
async def note_feedback(body: FeedbackInput, caller: CallerDependency) -> Response:
    """Say what a session was shown and has used since, of what use a recall was, and what was said about the agent's work."""
    return await caller.write(lambda tx: feedback.record_feedback(tx, body))


@router.get("/feedback", response_model=FeedbackPage, responses=document_problems(404))
async def list_feedback(
    caller: CallerDependency,
    limit: Limit = 50,
    cursor: Cursor = None,
    session_id: Annotated[Label | None, Query(description="Of this conversation")] = None,
) -> Response:
    """List what ended sessions have changed in the weights of aspects, newest first."""
    return reply_json(await caller.read(lambda tx: feedback.list_feedback(tx, session_id=session_id, limit=limit, cursor=cursor)))


@router.post("/sessions/{session:path}/end", response_model=SessionEnd, responses=document_problems(404))
async def end_session(session: SessionName, caller: CallerDependency) -> Response:
    """End a session: what it was shown and found again confirms aspects. Ending it twice changes nothing more."""
    await caller.wait_for_noted_writes()  # what its recalls found on a standby counts for its end
    return await caller.write(lambda tx: feedback.end_session(tx, session_id=session))
