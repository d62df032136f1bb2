"""Grants: which agent may do what in a namespace, and who the caller is."""

from datetime import datetime
from typing import Any
from uuid import UUID

from db.pool import Transaction

Row = dict[str, Any]


async def set_grant(tx: Transaction, *, agent_id: UUID, role: str, expires_at: datetime | None) -> Row:
    """Give an agent a role in the transaction's namespace; the grant, and whether it is new (`created`)."""
    return await tx.row(
        "select * from loci_api.set_grant(%(namespace)s, %(agent_id)s, %(role)s, %(expires_at)s)",
        agent_id=agent_id,
        role=role,
        expires_at=expires_at,
    )


async def list_grants(tx: Transaction, *, limit: int, cursor: UUID | None = None) -> list[Row]:
    """Agents with a role in the transaction's namespace, by id; those whose grant has expired too."""
    return await tx.rows("select * from loci_api.list_grants(%(namespace)s, %(limit)s, %(cursor)s)", limit=limit, cursor=cursor)


async def delete_grant(tx: Transaction, *, agent_id: UUID) -> Row:
    """Take an agent's role in the transaction's namespace away; the grant as it was."""
    return await tx.row("select * from loci_api.delete_grant(%(namespace)s, %(agent_id)s)", agent_id=agent_id)


async def whoami(tx: Transaction) -> Row:
    """The caller: agent, key, and its grants (None for the operator)."""
    return await tx.row("select * from loci_api.whoami()")
