"""API keys and their grants."""

from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import Response

from db import tenancy
from service.api.common import Limit, problems
from service.caller import CallerDependency
from service.keys import new_key
from service.replies import page, reply
from service.schemas import KeyInput
from service.schemas_replies import KeyMade, KeyPage

router = APIRouter(tags=["keys"])


@router.post("/keys", status_code=201, response_model=KeyMade, responses=problems(404))
async def create_key(body: KeyInput, caller: CallerDependency) -> Response:
    """Make a key for the namespace. The reply is the only place that ever shows it. Admin."""
    made = new_key()
    async with caller.transaction("admin") as tx:  # an Idempotency-Key would store the reply, and with it the key
        row = await tenancy.create_key(tx, id=made.id, hash=made.hash, role=body.role, name=body.name, expires_at=body.expires_at)
    return reply({**row, "name": body.name, "role": body.role, "expires_at": body.expires_at, "key": made.key}, 201)


@router.get("/keys", response_model=KeyPage, responses=problems())
async def list_keys(caller: CallerDependency, limit: Limit = 50, cursor: UUID | None = None) -> Response:
    """Keys that reach the namespace, newest first. Admin."""
    rows = await caller.read(lambda tx: tenancy.list_keys(tx, limit=limit + 1, cursor=cursor), role="admin")
    return page(rows, limit, "id")


@router.delete("/keys/{id}", status_code=204, responses=problems(404))
async def revoke_key(id: UUID, caller: CallerDependency) -> Response:
    """End a key at once. Admin."""
    async with caller.transaction("admin") as tx:
        await tenancy.revoke_key(tx, id=id)
    return Response(status_code=204)
