"""API keys and grants. No reply that holds a key is kept."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response

from loci.models.access import (
    GrantBase,
    GrantInput,
    GrantPage,
    GrantSet,
    KeyChanges,
    KeyInput,
    KeyMade,
    KeyOut,
    KeyPage,
    KeyRotated,
    KeyUsePage,
    Me,
    RefusalPage,
    RotationInput,
)
from service.access import grants, keys
from service.http.caller import CallerDependency
from service.http.parameters import Cursor, Limit
from service.http.replies import reply
from service.http.responses import problems
from service.pages import position

key_routes = APIRouter(tags=["keys"])
KeyId = Annotated[UUID, Path(description="Id of the key")]
AgentId = Annotated[UUID, Path(description="Id of the agent")]
grant_routes = APIRouter(tags=["grants"])
AT_ONCE = RotationInput()


@key_routes.post("/keys", status_code=201, response_model=KeyMade, responses=problems(404))
async def create_key(body: KeyInput, caller: CallerDependency) -> Response:
    """Make a key for the namespace. The reply is the only place that ever shows it. Admin.

    Without `agent_id` it is the key of a new agent. With it, and unless the operator asks, it works in this namespace alone, or in
    `namespaces`, of all of which the caller must be an admin.
    """
    async with caller.transaction("admin", None if caller.namespace else body.first_namespace) as tx:
        made = await keys.create_key(tx, body)
    return reply(made, 201, **caller.headers)


@key_routes.get("/keys", response_model=KeyPage, responses=problems())
async def list_keys(
    caller: CallerDependency,
    limit: Limit = 50,
    cursor: Annotated[UUID | None, Query(description="`next_cursor` of the page before")] = None,
) -> Response:
    """Keys that reach the namespace, newest first. Admin."""
    return reply(await caller.read(lambda tx: keys.list_keys(tx, limit=limit, cursor=cursor), role="admin"))


@key_routes.get("/keys/refusals", response_model=RefusalPage, responses=problems())
async def list_refused_requests(caller: CallerDependency, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """Requests with keys that are unknown, expired or revoked: by hour and address, newest first. The operator's."""
    before = position(cursor)
    return reply(await caller.read(lambda tx: keys.list_refused_requests(tx, limit=limit, cursor=before), role=None))


@key_routes.patch("/keys/{id}", response_model=KeyOut, responses=problems(404))
async def change_key(id: KeyId, body: KeyChanges, caller: CallerDependency) -> Response:
    """Change name, end or rate limit; other processes know a new limit within seconds. Admin wherever the key reaches."""
    async with caller.transaction("admin") as tx:
        changed = await keys.change_key(tx, id=id, changes=body)
    return reply(changed, 200, **caller.headers)


@key_routes.post("/keys/{id}/rotate", status_code=201, response_model=KeyRotated, responses=problems(404, 409))
async def rotate_key(id: KeyId, caller: CallerDependency, body: RotationInput = AT_ONCE) -> Response:
    """Put a new key in the place of one, with its rights and limits; the old one ends after a grace. Admin wherever it reaches."""
    async with caller.transaction("admin") as tx:
        made = await keys.rotate_key(tx, id=id, wanted=body)
    return reply(made, 201, **caller.headers)


@key_routes.get("/keys/{id}/uses", response_model=KeyUsePage, responses=problems(404))
async def list_key_usage(id: KeyId, caller: CallerDependency, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """What a key was used for in the namespace: requests by hour, address and outcome, newest first. Admin."""
    before = position(cursor)
    return reply(await caller.read(lambda tx: keys.list_key_usage(tx, id=id, limit=limit, cursor=before), role="admin"))


@key_routes.delete("/keys/{id}", status_code=204, responses=problems(404))
async def revoke_key(id: KeyId, caller: CallerDependency) -> Response:
    """End a key at once. Admin."""
    async with caller.transaction("admin") as tx:
        await keys.revoke_key(tx, id=id)
    return Response(status_code=204, headers=caller.headers)


@grant_routes.get("/agents/me", response_model=Me, responses=problems())
async def whoami(caller: CallerDependency) -> Response:
    """Who the caller is: the agent's id, which a grant names; the key; and its roles, by namespace."""
    return reply(await caller.read(grants.whoami, role=None))


@grant_routes.get("/grants", response_model=GrantPage, responses=problems())
async def list_grants(
    caller: CallerDependency,
    limit: Limit = 50,
    cursor: Annotated[UUID | None, Query(description="`next_cursor` of the page before")] = None,
) -> Response:
    """Agents that have a role in the namespace, those whose grant has expired included. Admin."""
    return reply(await caller.read(lambda tx: grants.list_grants(tx, limit=limit, cursor=cursor), role="admin"))


@grant_routes.put("/grants/{agent_id}", response_model=GrantSet, responses=problems(404, 409))
async def set_grant(agent_id: AgentId, body: GrantInput, caller: CallerDependency) -> Response:
    """Give an agent a role in the namespace, until a moment or for good, in force at its next request. Admin."""
    return await caller.write(
        lambda tx: grants.set_grant(tx, agent_id=agent_id, role=body.role, expires_at=body.expires_at), role="admin"
    )


@grant_routes.delete("/grants/{agent_id}", response_model=GrantBase, responses=problems(404, 409))
async def delete_grant(agent_id: AgentId, caller: CallerDependency) -> Response:
    """Take an agent's role in the namespace away: its next request is refused. Replies with the grant as it was. Admin."""
    return await caller.write(lambda tx: grants.delete_grant(tx, agent_id=agent_id), role="admin")
