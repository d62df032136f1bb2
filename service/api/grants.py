"""Grants: who may do what in a namespace, and who the caller is (row X2)."""

from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import Response

from db import grants
from loci.models.access import GrantBase, GrantInput, GrantPage, GrantSet, Me
from service.api.common import Limit, problems
from service.caller import CallerDependency
from service.replies import page, reply

router = APIRouter(tags=["grants"])


@router.get("/agents/me", response_model=Me, responses=problems())
async def whoami(caller: CallerDependency) -> Response:
    """Who the caller is: the agent's id, which a grant names; the key; and its roles, by namespace."""
    return reply(await caller.read(grants.whoami, role=None))


@router.get("/grants", response_model=GrantPage, responses=problems())
async def list_grants(caller: CallerDependency, limit: Limit = 50, cursor: UUID | None = None) -> Response:
    """Agents that have a role in the namespace, those whose grant has expired included. Admin."""
    rows = await caller.read(lambda tx: grants.list_grants(tx, limit=limit + 1, cursor=cursor), role="admin")
    return page(rows, limit, "agent_id")


@router.put("/grants/{agent_id}", response_model=GrantSet, responses=problems(404, 409))
async def set_grant(agent_id: UUID, body: GrantInput, caller: CallerDependency) -> Response:
    """Give an agent a role in the namespace, until a moment or for good, in force at its next request. Admin."""
    return await caller.write(
        lambda tx: grants.set_grant(tx, agent_id=agent_id, role=body.role, expires_at=body.expires_at), role="admin"
    )


@router.delete("/grants/{agent_id}", response_model=GrantBase, responses=problems(404, 409))
async def delete_grant(agent_id: UUID, caller: CallerDependency) -> Response:
    """Take an agent's role in the namespace away: its next request is refused. Replies with the grant as it was. Admin."""
    return await caller.write(lambda tx: grants.delete_grant(tx, agent_id=agent_id), role="admin")
