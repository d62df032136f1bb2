"""Dreams: passes that ask a language model what to change, and the signals that they learn from."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import Query
from fastapi.responses import Response

from db.pool import Transaction
from loci.models.dreams import DreamInput, PassName, PassPage, SignalKind, SignalPage
from loci.models.fields import Label
from loci.models.jobs import JobQueued
from service.dreams import reports, signals
from service.dreams.request import request_dream
from service.http.caller import CallerDependency
from service.http.documented_problems import document_problems
from service.http.json_replies import reply_json
from service.http.large_bodies import Router
from service.http.parameters import Cursor, Limit

router = Router(tags=["dreams"])

signal_routes = Router(tags=["feedback"])


@router.post("/dream", status_code=202, response_model=JobQueued, responses=document_problems(409))
async def dream(body: DreamInput, caller: CallerDependency) -> Response:
    """Ask for a dream: consolidate memories, extract entities, infer preferences, clean up the graph.

    A job does it; GET /jobs/{id} shows the reports of its passes. One that asks for the same and waits already is given back.
    """

    async def enqueue_dream(tx: Transaction) -> dict[str, Any]:
        return await request_dream(tx, caller.state.resources, passes=body.passes, dry_run=body.dry_run)

    return await caller.write(enqueue_dream, status=202)


@router.get("/passes", response_model=PassPage, responses=document_problems(404))
async def list_passes(
    caller: CallerDependency,
    limit: Limit = 50,
    cursor: Annotated[UUID | None, Query(description="`next_cursor` of the page before")] = None,
    name: Annotated[PassName | None, Query(description="Of this pass")] = None,
    job_id: Annotated[UUID | None, Query(description="Of this job")] = None,
) -> Response:
    """List reports of passes, newest first: what each saw, proposed, refused and by which guard, and applied."""
    return reply_json(await caller.read(lambda tx: reports.list_passes(tx, limit=limit, cursor=cursor, name=name, job_id=job_id)))


@signal_routes.get("/feedback/signals", response_model=SignalPage, responses=document_problems(404))
async def list_signals(
    caller: CallerDependency,
    limit: Limit = 50,
    cursor: Cursor = None,
    kind: Annotated[SignalKind | None, Query(description="Of this kind")] = None,
    session_id: Annotated[Label | None, Query(description="Of this conversation")] = None,
) -> Response:
    """List what was said about the agent's work, newest first."""
    return reply_json(
        await caller.read(lambda tx: signals.list_signals(tx, limit=limit, cursor=cursor, kind=kind, session_id=session_id))
    )
