"""Feedback: memories that a session was shown and found again raise the weight of their aspects at its end (row S6)."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import Response

from db import dreams
from db.pool import Transaction
from db.recall import log
from db.sessions import feedback
from loci.models.fields import Label
from loci.models.sessions import FeedbackInput, FeedbackNoted, FeedbackPage, SessionEnd
from service.http.caller import CallerDependency
from service.http.parameters import Cursor, Limit, SessionName
from service.http.replies import page
from service.http.responses import problems

router = APIRouter(tags=["feedback"])


@router.post("/feedback", response_model=FeedbackNoted, responses=problems(404))
async def note_feedback(body: FeedbackInput, caller: CallerDependency) -> Response:
    """Say what a session was shown and has used since, of what use a recall was, and what was said about the agent's work."""

    async def work(tx: Transaction) -> dict[str, Any]:
        noted: dict[str, Any] = {"session_id": body.session_id, "injected": [], "confirmed": []}
        if body.injected or body.confirmed:
            noted["confirmed"] = await feedback.record_hits(tx, session_id=body.session_id, ids=body.confirmed or [])
            noted["injected"] = await feedback.record_injections(tx, session_id=body.session_id, ids=body.injected or [])
        if body.ratings:
            ratings = [rating.stated() for rating in body.ratings]
            noted["rated"] = await log.rate_recall(tx, recall_id=body.recall_id, ratings=ratings)
        if body.signals:
            signals = [{"session_id": body.session_id} | signal.stated() for signal in body.signals]
            noted["signals"] = await dreams.record_signals(tx, signals=signals)
        return noted

    return await caller.write(work)


@router.get("/feedback", response_model=FeedbackPage, responses=problems(404))
async def list_feedback(
    caller: CallerDependency,
    limit: Limit = 50,
    cursor: Cursor = None,
    session_id: Annotated[Label | None, Query(description="Of this conversation")] = None,
) -> Response:
    """List what ended sessions have changed in the weights of aspects, newest first."""
    rows = await caller.read(lambda tx: feedback.list_feedback(tx, session_id=session_id, limit=limit + 1, cursor=cursor))
    return page(rows, limit)


@router.post("/sessions/{session:path}/end", response_model=SessionEnd, responses=problems(404))
async def end_session(session: SessionName, caller: CallerDependency) -> Response:
    """End a session: what it was shown and found again confirms aspects. Ending it twice changes nothing more."""
    return await caller.write(lambda tx: feedback.end_session(tx, session_id=session))
