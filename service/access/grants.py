"""Grants: which agent may do what in a namespace, and who the caller is."""

from datetime import datetime
from uuid import UUID

from db.access import grants
from db.access.grants import CallerRow, GrantRow, InvitationRow, ListedGrant, OwnGrantRow, SetGrant
from db.pool import Transaction
from service.paging import Page, make_page


async def whoami(tx: Transaction) -> CallerRow:
    """The caller: agent, key, and its grants (None for the operator)."""
    return await grants.whoami(tx)


async def list_grants(tx: Transaction, *, limit: int, cursor: UUID | None = None) -> Page[ListedGrant]:
    """Agents with a role in the transaction's namespace, or invited, by id; those whose grant has expired too."""
    return make_page(await grants.list_grants(tx, limit=limit + 1, cursor=cursor), limit, "agent_id")


async def set_grant(tx: Transaction, *, agent_id: UUID, role: str, expires_at: datetime | None) -> SetGrant:
    """Give an agent a role in the transaction's namespace, or invite it; the grant, and whether it is new (`created`)."""
    return await grants.set_grant(tx, agent_id=agent_id, role=role, expires_at=expires_at)


async def delete_grant(tx: Transaction, *, agent_id: UUID) -> GrantRow:
    """Take an agent's role in the transaction's namespace away, or withdraw an invitation; the grant as it was."""
    return await grants.delete_grant(tx, agent_id=agent_id)


async def list_invitations(
    tx: Transaction, *, agent_id: UUID | None = None, limit: int, cursor: str | None = None
) -> Page[InvitationRow]:
    """Invitations of the caller, or of the agent that the operator names, by namespace."""
    return make_page(await grants.list_invitations(tx, agent_id=agent_id, limit=limit + 1, cursor=cursor), limit, "namespace")


async def accept_invitation(tx: Transaction, *, name: str, agent_id: UUID | None = None) -> OwnGrantRow:
    """Accept the invitation of a namespace; the grant that is in force then."""
    return await grants.accept_invitation(tx, name=name, agent_id=agent_id)


async def decline_invitation(tx: Transaction, *, name: str, agent_id: UUID | None = None) -> None:
    """Decline the invitation of a namespace."""
    await grants.decline_invitation(tx, name=name, agent_id=agent_id)


async def leave_namespace(tx: Transaction, *, name: str, agent_id: UUID | None = None) -> None:
    """Give back the grant in a namespace."""
    await grants.leave_namespace(tx, name=name, agent_id=agent_id)
