"""The operations log: who changed what, when, through what."""

from typing import Annotated
from uuid import UUID

from fastapi import Path, Query
from fastapi.responses import Response

from loci.models.fields import Label, Moment
from loci.models.operations import OperationChangePage, OperationOut, OperationPage, Via
from service.http.caller import CallerDependency
from service.http.documented_problems import document_problems
from service.http.json_replies import reply_json
from service.http.large_bodies import Router
from service.http.parameters import Cursor, Limit
from service.operations import log
from service.paging import parse_position

router = Router(tags=["operations"])


@router.get("/operations", response_model=OperationPage, responses=document_problems(404))
async def list_operations(
    caller: CallerDependency,
    limit: Limit = 50,
    cursor: Cursor = None,
    action: Annotated[Label | None, Query(description="Such as write_memory")] = None,
    agent: Annotated[UUID | None, Query(description="Of this agent")] = None,
    via: Annotated[Via | None, Query(description="That came through this")] = None,
    subject: Annotated[UUID | None, Query(description="Operations that changed this memory, entity, edge, …")] = None,
    since: Annotated[Moment | None, Query(description="Begun at this moment or later")] = None,
    until: Annotated[Moment | None, Query(description="Begun before this moment")] = None,
) -> Response:
    """List what changed the namespace, newest first (by `started_at`): each call is one operation, with counts of its changes."""
    wanted = log.OperationFilter(action, agent, via, subject, since, until)
    return reply_json(await caller.read(lambda tx: log.list_operations(tx, wanted, limit=limit, cursor=cursor)))


@router.get("/operations/{id}", response_model=OperationOut, responses=document_problems(404))
async def get_operation(id: Annotated[UUID, Path(description="Id of the operation")], caller: CallerDependency) -> Response:
    """Show an operation. The id is in the header X-Operation-Id of the reply; a call that changed nothing left none."""
    return reply_json(await caller.read(lambda tx: log.get_operation(tx, id=id)))


@router.get("/operations/{id}/changes", response_model=OperationChangePage, responses=document_problems(404))
async def operation_changes(
    id: Annotated[UUID, Path(description="Id of the operation")],
    caller: CallerDependency,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """List what an operation changed, before and after, in order. Kept for the namespace's setting change_days."""
    after = parse_position(cursor) or 0
    return reply_json(await caller.read(lambda tx: log.list_changes_of(tx, id=id, limit=limit, after=after)))
