"""Grants: which agent may do what in a namespace, and who the caller is."""

from datetime import datetime
from typing import TypedDict
from uuid import UUID

from db.pool import JsonObject, Transaction


class GrantRow(TypedDict):
    """An agent with a role in a namespace; not `accepted`: it is only invited, and no more is said of it than its id."""

    agent_id: UUID
    agent: str | None
    kind: str | None
    role: str
    expires_at: datetime | None
    created_at: datetime
    accepted: bool


class SetGrant(GrantRow):
    """A grant that was set, and whether it is new."""

    created: bool


class ListedGrant(GrantRow):
    """A grant, and whether it has expired."""

    expired: bool


class CallerRow(TypedDict):
    """The caller; `grants` None: the operator."""

    agent_id: UUID
    name: str
    kind: str
    home: str | None
    key_id: UUID | None
    default_namespace: str | None
    space: str | None
    user: str | None
    time_zone: str | None
    created_at: datetime
    grants: list[JsonObject] | None


class OwnGrantRow(TypedDict):
    """A role of an agent in a namespace."""

    namespace: str
    role: str
    expires_at: datetime | None


class InvitationRow(OwnGrantRow):
    """A grant that waits to be accepted."""

    created_at: datetime


async def set_grant(tx: Transaction, *, agent_id: UUID, role: str, expires_at: datetime | None) -> SetGrant:
    """Give an agent a role in the transaction's namespace, or invite it; the grant, and whether it is new (`created`)."""
    return await tx.row(
        SetGrant,
        "select * from loci_api.set_grant(%(namespace)s, %(agent_id)s, %(role)s, %(expires_at)s)",
        agent_id=agent_id,
        role=role,
        expires_at=expires_at,
    )


async def list_grants(tx: Transaction, *, limit: int, cursor: UUID | None = None) -> list[ListedGrant]:
    """Agents with a role in the transaction's namespace, or invited, by id; those whose grant has expired too."""
    return await tx.rows(
        ListedGrant, "select * from loci_api.list_grants(%(namespace)s, %(limit)s, %(cursor)s)", limit=limit, cursor=cursor
    )


async def delete_grant(tx: Transaction, *, agent_id: UUID) -> GrantRow:
    """Take an agent's role in the transaction's namespace away, or withdraw an invitation; the grant as it was."""
    return await tx.row(GrantRow, "select * from loci_api.delete_grant(%(namespace)s, %(agent_id)s)", agent_id=agent_id)


async def whoami(tx: Transaction) -> CallerRow:
    """The caller: agent, key, and its grants (None for the operator)."""
    return await tx.row(CallerRow, "select * from loci_api.whoami()")


async def list_invitations(
    tx: Transaction, *, agent_id: UUID | None = None, limit: int, cursor: str | None = None
) -> list[InvitationRow]:
    """Invitations of the caller, or of the agent that the operator names, by namespace."""
    return await tx.rows(
        InvitationRow,
        "select * from loci_api.list_invitations(%(agent_id)s, %(limit)s, %(cursor)s)",
        agent_id=agent_id,
        limit=limit,
        cursor=cursor,
    )


async def accept_invitation(tx: Transaction, *, name: str, agent_id: UUID | None = None) -> OwnGrantRow:
    """Accept the invitation of a namespace; the grant that is in force then."""
    return await tx.row(
        OwnGrantRow, "select * from loci_api.accept_invitation(%(name)s, %(agent_id)s)", name=name, agent_id=agent_id
    )


async def decline_invitation(tx: Transaction, *, name: str, agent_id: UUID | None = None) -> None:
    """Decline the invitation of a namespace."""
    await tx.run("select loci_api.decline_invitation(%(name)s, %(agent_id)s)", name=name, agent_id=agent_id)


async def leave_namespace(tx: Transaction, *, name: str, agent_id: UUID | None = None) -> None:
    """Give back the grant in a namespace."""
    await tx.run("select loci_api.leave_namespace(%(name)s, %(agent_id)s)", name=name, agent_id=agent_id)
