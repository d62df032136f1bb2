"""Supersession: which fact made which sibling obsolete, why, and taking that back (row S7)."""

from typing import Any
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import Response

from db import supersessions
from db.pool import Transaction
from loci.models.facts import Supersession, SupersessionPage, SupersessionSignal, SupersessionStatus, Sweep, SweepOut
from loci.models.fields import Text
from service.api.common import Cursor, Limit, problems
from service.caller import CallerDependency
from service.replies import page

router = APIRouter(prefix="/supersessions", tags=["supersessions"])


@router.get("", response_model=SupersessionPage, responses=problems(404))
async def list_supersessions(
    caller: CallerDependency,
    limit: Limit = 50,
    cursor: Cursor = None,
    status: SupersessionStatus | None = None,
    signal: SupersessionSignal | None = None,
    entity: Text | None = None,
) -> Response:
    """List decisions, newest first, with both contents, the signal and the words that gave it."""
    rows = await caller.read(
        lambda tx: supersessions.list_supersessions(tx, status=status, signal=signal, entity=entity, limit=limit + 1, cursor=cursor)
    )
    return page(rows, limit)


@router.post("", response_model=SweepOut, responses=problems(404))
async def sweep_supersessions(body: Sweep, caller: CallerDependency) -> Response:
    """Look for contradictions among facts that stand already, a page of them a call; what was decided once is left alone."""

    async def work(tx: Transaction) -> Any:
        swept = await supersessions.sweep_supersessions(
            tx, entity=body.entity, mode=body.mode, limit=body.limit, cursor=body.cursor
        )
        items = await supersessions.get_supersessions(tx, ids=swept.pop("decided"))
        return {"items": items, **swept}

    return await caller.write(work)


@router.post("/{id}/accept", response_model=Supersession, responses=problems(404))
async def accept_supersession(id: UUID, caller: CallerDependency) -> Response:
    """Accept a proposed, dismissed or undone decision: the older attribute is superseded."""
    return await caller.write(lambda tx: supersessions.apply_supersession(tx, id=id))


@router.post("/{id}/undo", response_model=Supersession, responses=problems(404))
async def undo_supersession(id: UUID, caller: CallerDependency) -> Response:
    """Take an applied decision back: the older attribute is what it was, and no sweep supersedes the pair again."""
    return await caller.write(lambda tx: supersessions.undo_supersession(tx, id=id))


@router.post("/{id}/dismiss", response_model=Supersession, responses=problems(404))
async def dismiss_supersession(id: UUID, caller: CallerDependency) -> Response:
    """Say no to a proposed decision: nothing moves, and no sweep proposes the pair again."""
    return await caller.write(lambda tx: supersessions.dismiss_supersession(tx, id=id))
