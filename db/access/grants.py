"""Grants: which agent may do what in a namespace, and who the caller is."""

from datetime import datetime
from typing import TypedDict
from uuid import UUID

from db.pool import JsonObject, Transaction


class GrantRow(TypedDict):
    """An agent with a role in a namespace."""

    agent_id: UUID
    agent: str
    kind: str
    role: str
    expires_at: datetime | None
    created_at: datetime


class SetGrant(GrantRow):
    """A grant that was set, and whether it is new."""

    created: bool


class ListedGrant(GrantRow):
    """A grant, and whether it has expired."""

    expired: bool


class CallerRow(TypedDict):
    """Who calls; `grants` None: the operator."""

    agent_id: UUID
    name: str
    kind: str
    key_id: UUID | None
    created_at: datetime
    grants: list[JsonObject] | None


async def set_grant(tx: Transaction, *, agent_id: UUID, role: str, expires_at: datetime | None) -> SetGrant:
    """Give an agent a role in the transaction's namespace; the grant, and whether it is new (`created`)."""
    return await tx.row(
        SetGrant,
        "select * from loci_api.set_grant(%(namespace)s, %(agent_id)s, %(role)s, %(expires_at)s)",
        agent_id=agent_id,
        role=role,
        expires_at=expires_at,
    )


async def list_grants(tx: Transaction, *, limit: int, cursor: UUID | None = None) -> list[ListedGrant]:
    """Agents with a role in the transaction's namespace, by id; those whose grant has expired too."""
    return await tx.rows(
        ListedGrant, "select * from loci_api.list_grants(%(namespace)s, %(limit)s, %(cursor)s)", limit=limit, cursor=cursor
    )


async def delete_grant(tx: Transaction, *, agent_id: UUID) -> GrantRow:
    """Take an agent's role in the transaction's namespace away; the grant as it was."""
    return await tx.row(GrantRow, "select * from loci_api.delete_grant(%(namespace)s, %(agent_id)s)", agent_id=agent_id)


async def whoami(tx: Transaction) -> CallerRow:
    """The caller: agent, key, and its grants (None for the operator)."""
    return await tx.row(CallerRow, "select * from loci_api.whoami()")
