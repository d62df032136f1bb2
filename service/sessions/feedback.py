"""Feedback: what a session was shown and has used raises the weight of aspects at its end."""

from db import dreams
from db.pool import JsonObject, Transaction
from db.recall import log
from db.sessions import feedback
from db.sessions.feedback import EndedSession, FeedbackRow
from loci.models.sessions import FeedbackInput
from service.paging import Page, make_page


async def record_feedback(tx: Transaction, stated: FeedbackInput) -> JsonObject:
    """Write down what a session was shown and found, of what use results were, and what was said about the agent's work."""
    noted: JsonObject = {"session_id": stated.session_id, "injected": [], "confirmed": []}
    if stated.injected or stated.confirmed:
        noted["confirmed"] = await feedback.record_hits(tx, session_id=stated.session_id, ids=stated.confirmed or [])
        noted["injected"] = await feedback.record_injections(tx, session_id=stated.session_id, ids=stated.injected or [])
    if stated.ratings:
        ratings = [rating.stated() for rating in stated.ratings]
        noted["rated"] = await log.rate_recall(tx, recall_id=stated.recall_id, ratings=ratings)
    if stated.signals:
        signals = [{"session_id": stated.session_id} | signal.stated() for signal in stated.signals]
        noted["signals"] = await dreams.record_signals(tx, signals=signals)
    return noted


async def list_feedback(tx: Transaction, *, session_id: str | None, limit: int, cursor: str | None) -> Page[FeedbackRow]:
    """Changes in the weights of aspects by ended sessions, newest first."""
    return make_page(await feedback.list_feedback(tx, session_id=session_id, limit=limit + 1, cursor=cursor), limit)


async def end_session(tx: Transaction, *, session_id: str) -> EndedSession:
    """End a session: what it was shown and found again confirms aspects; what that changed."""
    return await feedback.end_session(tx, session_id=session_id)
