"""API keys and grants. No reply that holds a key is kept."""

from typing import Annotated
from uuid import UUID

from fastapi import Path, Query
from fastapi.responses import Response

from db.retries import with_retries
from loci.models.access import (
    GrantBase,
    GrantInput,
    GrantPage,
    GrantSet,
    InvitationPage,
    KeyChanges,
    KeyInput,
    KeyMade,
    KeyOut,
    KeyPage,
    KeyRotated,
    KeyUsePage,
    Me,
    OwnGrant,
    RefusalPage,
    RotationInput,
)
from service.access import grants, keys
from service.http.caller import CallerDependency
from service.http.documented_problems import document_problems
from service.http.json_replies import reply_json
from service.http.large_bodies import Router
from service.http.parameters import Cursor, Limit, NamespaceInPath
from service.paging import parse_position

key_routes = Router(tags=["keys"])
KeyId = Annotated[UUID, Path(description="Id of the key")]
AgentId = Annotated[UUID, Path(description="Id of the agent")]
Agent = Annotated[UUID | None, Query(description="Another agent, for whom the operator answers; default: the caller")]
grant_routes = Router(tags=["grants"])
AT_ONCE = RotationInput()


@key_routes.post("/keys", status_code=201, response_model=KeyMade, responses=document_problems(404))
async def create_key(body: KeyInput, caller: CallerDependency) -> Response:
    """Make a key for the namespace. The reply is the only place that ever shows it. Admin.

    Without `agent_id` it is the key of a new agent, whose home is this namespace: its admins, and the operator, see, change and
    revoke its keys. With it, it is a further key of an agent that is at home here.
    """
    async with caller.transaction("admin", None if caller.namespace else body.first_namespace) as tx:
        made = await keys.create_key(tx, body)
    return reply_json(made, 201, **caller.headers)


@key_routes.get("/keys", response_model=KeyPage, responses=document_problems())
async def list_keys(
    caller: CallerDependency,
    limit: Limit = 50,
    cursor: Annotated[UUID | None, Query(description="`next_cursor` of the page before")] = None,
) -> Response:
    """Keys of the agents that are at home in the namespace, newest first. Admin."""
    return reply_json(await caller.read(lambda tx: keys.list_keys(tx, limit=limit, cursor=cursor), role="admin"))


@key_routes.get("/keys/refusals", response_model=RefusalPage, responses=document_problems())
async def list_refused_requests(caller: CallerDependency, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """Requests with keys that are unknown, expired or revoked: by hour and address, newest first. The operator's."""
    before = parse_position(cursor)
    return reply_json(await caller.read(lambda tx: keys.list_refused_requests(tx, limit=limit, cursor=before), role=None))


@key_routes.patch("/keys/{id}", response_model=KeyOut, responses=document_problems(404))
async def change_key(id: KeyId, body: KeyChanges, caller: CallerDependency) -> Response:
    """Change name, end or rate limit; other processes know a new limit within seconds. Admin of the agent's home."""
    async with caller.transaction("admin") as tx:
        changed = await keys.change_key(tx, id=id, changes=body)
    return reply_json(changed, 200, **caller.headers)


@key_routes.post("/keys/{id}/rotate", status_code=201, response_model=KeyRotated, responses=document_problems(404, 409))
async def rotate_key(id: KeyId, caller: CallerDependency, body: RotationInput = AT_ONCE) -> Response:
    """Put a new key in the place of one, with its rights and limits; the old one ends after a grace. Admin of its home."""
    async with caller.transaction("admin") as tx:
        made = await keys.rotate_key(tx, id=id, wanted=body)
    return reply_json(made, 201, **caller.headers)


@key_routes.get("/keys/{id}/uses", response_model=KeyUsePage, responses=document_problems(404))
async def list_key_usage(id: KeyId, caller: CallerDependency, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """Uses of a key: requests by namespace, hour, address and outcome, newest first. Admin of the agent's home."""
    before = parse_position(cursor)
    return reply_json(await caller.read(lambda tx: keys.list_key_usage(tx, id=id, limit=limit, cursor=before), role="admin"))


@key_routes.delete("/keys/{id}", status_code=204, responses=document_problems(404))
async def revoke_key(id: KeyId, caller: CallerDependency) -> Response:
    """End a key at once. Admin of the agent's home."""
    async with caller.transaction("admin") as tx:
        await keys.revoke_key(tx, id=id)
    return Response(status_code=204, headers=caller.headers)


@grant_routes.get("/agents/me", response_model=Me, responses=document_problems())
async def whoami(caller: CallerDependency) -> Response:
    """The caller: the agent's id, which a grant names; its home; the key; and its roles, by namespace."""
    return reply_json(await caller.read(grants.whoami, role=None))


@grant_routes.get("/grants", response_model=GrantPage, responses=document_problems())
async def list_grants(
    caller: CallerDependency,
    limit: Limit = 50,
    cursor: Annotated[UUID | None, Query(description="`next_cursor` of the page before")] = None,
) -> Response:
    """Agents that have a role in the namespace, or are invited; those whose grant has expired included. Admin."""
    return reply_json(await caller.read(lambda tx: grants.list_grants(tx, limit=limit, cursor=cursor), role="admin"))


@grant_routes.put("/grants/{agent_id}", response_model=GrantSet, responses=document_problems(404, 409))
async def set_grant(agent_id: AgentId, body: GrantInput, caller: CallerDependency) -> Response:
    """Give an agent a role in the namespace, until a moment or for good, in force at its next request. Admin.

    An agent of another home is invited: until it accepts, it has no role here, and nothing is said of it but its id.
    """
    return await caller.write(
        lambda tx: grants.set_grant(tx, agent_id=agent_id, role=body.role, expires_at=body.expires_at), role="admin"
    )


@grant_routes.delete("/grants/{agent_id}", response_model=GrantBase, responses=document_problems(404, 409))
async def delete_grant(agent_id: AgentId, caller: CallerDependency) -> Response:
    """Take an agent's role in the namespace away, at its next request, or an invitation back. Replies with what it was. Admin."""
    return await caller.write(lambda tx: grants.delete_grant(tx, agent_id=agent_id), role="admin")


@grant_routes.get("/agents/me/invitations", response_model=InvitationPage, responses=document_problems())
async def list_invitations(caller: CallerDependency, limit: Limit = 50, cursor: Cursor = None, agent: Agent = None) -> Response:
    """Namespaces that invite the caller, by name, with the role that it would have."""
    return reply_json(
        await caller.read(lambda tx: grants.list_invitations(tx, agent_id=agent, limit=limit, cursor=cursor), role=None)
    )


@grant_routes.post("/agents/me/invitations/{name}/accept", response_model=OwnGrant, responses=document_problems(404))
async def accept_invitation(name: NamespaceInPath, caller: CallerDependency, agent: Agent = None) -> Response:
    """Accept an invitation: all keys of the agent reach the namespace from now on. Again, it says the same. Scope admin."""

    async def accept_once() -> Response:
        async with caller.transaction(None) as tx:
            accepted = await grants.accept_invitation(tx, name=name, agent_id=agent)
        return reply_json(accepted, 200, **caller.headers)

    return await with_retries(accept_once)


@grant_routes.delete("/agents/me/invitations/{name}", status_code=204, responses=document_problems(404))
async def decline_invitation(name: NamespaceInPath, caller: CallerDependency, agent: Agent = None) -> Response:
    """Decline an invitation. Scope admin."""

    async def decline_once() -> Response:
        async with caller.transaction(None) as tx:
            await grants.decline_invitation(tx, name=name, agent_id=agent)
        return Response(status_code=204, headers=caller.headers)

    return await with_retries(decline_once)


@grant_routes.delete("/agents/me/grants/{name}", status_code=204, responses=document_problems(404, 409))
async def leave_namespace(name: NamespaceInPath, caller: CallerDependency, agent: Agent = None) -> Response:
    """Leave a namespace: no key of the agent reaches it any more. The last admin stays, where it is at home. Scope admin."""

    async def leave_once() -> Response:
        async with caller.transaction(None) as tx:
            await grants.leave_namespace(tx, name=name, agent_id=agent)
        return Response(status_code=204, headers=caller.headers)

    return await with_retries(leave_once)
