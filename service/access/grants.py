"""Grants: which agent may do what in a namespace, and who the caller is."""

from datetime import datetime
from uuid import UUID

from db.access import grants
from db.access.grants import CallerRow, GrantRow, ListedGrant, SetGrant
from db.pool import Transaction
from service.pages import Page, page


async def whoami(tx: Transaction) -> CallerRow:
    """The caller: agent, key, and its grants (None for the operator)."""
    return await grants.whoami(tx)


async def list_grants(tx: Transaction, *, limit: int, cursor: UUID | None = None) -> Page[ListedGrant]:
    """Agents with a role in the transaction's namespace, by id; those whose grant has expired too."""
    return page(await grants.list_grants(tx, limit=limit + 1, cursor=cursor), limit, "agent_id")


async def set_grant(tx: Transaction, *, agent_id: UUID, role: str, expires_at: datetime | None) -> SetGrant:
    """Give an agent a role in the transaction's namespace; the grant, and whether it is new (`created`)."""
    return await grants.set_grant(tx, agent_id=agent_id, role=role, expires_at=expires_at)


async def delete_grant(tx: Transaction, *, agent_id: UUID) -> GrantRow:
    """Take an agent's role in the transaction's namespace away; the grant as it was."""
    return await grants.delete_grant(tx, agent_id=agent_id)
