"""API keys: made, changed, rotated, ended, and what they were used for. No reply that holds a key is kept."""

from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import Response

from db import keys
from loci.models.access import KeyChanges, KeyInput, KeyMade, KeyOut, KeyPage, KeyRotated, KeyUsePage, RefusalPage, RotationInput
from service.api.common import Cursor, Limit, position, problems
from service.caller import OPERATION, CallerDependency
from service.keys import new_key
from service.replies import page, reply

router = APIRouter(tags=["keys"])
AT_ONCE = RotationInput()


@router.post("/keys", status_code=201, response_model=KeyMade, responses=problems(404))
async def create_key(body: KeyInput, caller: CallerDependency) -> Response:
    """Make a key for the namespace. The reply is the only place that ever shows it. Admin.

    Without `agent_id` it is the key of a new agent. With it, and unless the operator asks, it works in this namespace alone, or in
    `namespaces`, of all of which the caller must be an admin.
    """
    made = new_key()
    async with caller.transaction("admin", None if caller.namespace else body.first_namespace) as tx:
        await keys.create_key(tx, id=made.id, hash=made.hash, **body.model_dump())
        row = await keys.get_key(tx, id=made.id)
    return reply({**row, "key": made.key}, 201, **{OPERATION: str(caller.origin.operation_id)})


@router.get("/keys", response_model=KeyPage, responses=problems())
async def list_keys(caller: CallerDependency, limit: Limit = 50, cursor: UUID | None = None) -> Response:
    """Keys that reach the namespace, newest first. Admin."""
    rows = await caller.read(lambda tx: keys.list_keys(tx, limit=limit + 1, cursor=cursor), role="admin")
    return page(rows, limit, "id")


@router.get("/keys/refusals", response_model=RefusalPage, responses=problems())
async def list_refusals(caller: CallerDependency, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """Requests with keys that are unknown, expired or revoked: by hour and address, newest first. The operator's."""
    before = position(cursor)
    rows = await caller.read(lambda tx: keys.list_refusals(tx, limit=limit + 1, cursor=before), role=None)
    return page(rows, limit)


@router.patch("/keys/{id}", response_model=KeyOut, responses=problems(404))
async def change_key(id: UUID, body: KeyChanges, caller: CallerDependency) -> Response:
    """Change name, end or rate limit; other processes know a new limit within seconds. Admin wherever the key reaches."""
    async with caller.transaction("admin") as tx:
        await keys.update_key(tx, id=id, changes=body.stated())
        row = await keys.get_key(tx, id=id)
    return reply(row, 200, **{OPERATION: str(caller.origin.operation_id)})


@router.post("/keys/{id}/rotate", status_code=201, response_model=KeyRotated, responses=problems(404, 409))
async def rotate_key(id: UUID, caller: CallerDependency, body: RotationInput = AT_ONCE) -> Response:
    """Put a new key in the place of one, with its rights and limits; the old one ends after a grace. Admin wherever it reaches."""
    made = new_key()
    async with caller.transaction("admin") as tx:
        row = await keys.rotate_key(tx, id=id, new_id=made.id, hash=made.hash, **body.model_dump())
        shown = await keys.get_key(tx, id=made.id)
    rotated = {**shown, "key": made.key, "replaces": id, "old_ends_at": row["old_ends_at"]}
    return reply(rotated, 201, **{OPERATION: str(caller.origin.operation_id)})


@router.get("/keys/{id}/uses", response_model=KeyUsePage, responses=problems(404))
async def list_key_uses(id: UUID, caller: CallerDependency, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """What a key was used for in the namespace: requests by hour, address and outcome, newest first. Admin."""
    before = position(cursor)
    rows = await caller.read(lambda tx: keys.list_key_uses(tx, id=id, limit=limit + 1, cursor=before), role="admin")
    return page(rows, limit)


@router.delete("/keys/{id}", status_code=204, responses=problems(404))
async def revoke_key(id: UUID, caller: CallerDependency) -> Response:
    """End a key at once. Admin."""
    async with caller.transaction("admin") as tx:
        await keys.revoke_key(tx, id=id)
    return Response(status_code=204, headers={OPERATION: str(caller.origin.operation_id)})
