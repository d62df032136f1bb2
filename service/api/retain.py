"""Retain and reflect: decisions about facts and places (row L3)."""

from fastapi import APIRouter
from fastapi.responses import Response

from service import retain as retaining
from service.api.common import position, problems
from service.caller import Caller, CallerDependency, Work
from service.replies import reply
from service.schemas_retain import Reflect, ReflectOut, Retain, RetainOut

router = APIRouter(tags=["retain"])


@router.post("/retain", response_model=RetainOut, responses=problems(409, 410))
async def retain(body: Retain, caller: CallerDependency) -> Response:
    """Take in a text: each fact becomes a memory, a new version of one, a linked one, or reinforces what is known.

    All or nothing. A later fact of the text sees the earlier ones. In doubt a fact becomes a memory of its own.
    """
    stated = {key: value for key, value in body.stated().items() if key != "dry_run"}
    prepared = await retaining.prepare(stated, caller.state.provider, caller.state.settings.embedding)
    return await _run(caller, lambda tx: retaining.retain(tx, prepared, dry_run=body.dry_run), dry_run=body.dry_run)


@router.post("/reflect", response_model=ReflectOut, responses=problems(409, 410))
async def reflect(body: Reflect, caller: CallerDependency) -> Response:
    """Give facts and episodes that stand nowhere a place under a concept, and link what is related.

    A category that several share gets a concept if it has none. A second run changes nothing.
    """
    cursor = position(body.cursor)
    return await _run(
        caller,
        lambda tx: retaining.reflect(tx, limit=body.limit, category=body.category, cursor=cursor, dry_run=body.dry_run),
        dry_run=body.dry_run,
    )


async def _run(caller: Caller, work: Work, *, dry_run: bool) -> Response:
    """A dry run may be repeated as it is: no reply is kept, which would hold a text that no memory leads to."""
    return reply(await caller.read(work, role="writer")) if dry_run else await caller.write(work)
