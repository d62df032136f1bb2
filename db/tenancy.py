"""Namespaces and API keys: wrappers of the SQL functions that make, change and list them."""

from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from db.pool import Transaction

Row = dict[str, Any]


async def create_namespace(tx: Transaction, *, name: str, description: str | None, language: str, settings: Row) -> None:
    """Create a namespace. Operator only."""
    await tx.row(
        "select loci.create_namespace(%(name)s, %(description)s, %(language)s, %(settings)s)",
        name=name,
        description=description,
        language=language,
        settings=Jsonb(settings),
    )


async def list_namespaces(tx: Transaction, *, name: str | None = None, limit: int = 100, cursor: str | None = None) -> list[Row]:
    """Readable namespaces with role, settings and counts, by name; only `name` if given."""
    return await tx.rows(
        "select * from loci.list_namespaces(%(name)s, %(limit)s, %(cursor)s)", name=name, limit=limit, cursor=cursor
    )


async def update_namespace(tx: Transaction, *, changes: Row) -> bool:
    """Merge {description, settings} into the transaction's namespace; whether graph.fade_batch has edges to bring in step."""
    row = await tx.row("select loci.update_namespace(%(namespace)s, %(changes)s) as decaying", changes=Jsonb(changes))
    return bool(row["decaying"])


async def delete_namespace(tx: Transaction) -> None:
    """Delete the transaction's namespace and everything in it."""
    await tx.row("select loci.delete_namespace(%(namespace)s)")


async def create_key(
    tx: Transaction,
    *,
    id: UUID,
    hash: bytes,
    role: str,
    name: str,
    expires_at: datetime | None,
) -> Row:
    """Register a key by its SHA-256, with a role in the transaction's namespace."""
    return await tx.row(
        "select * from loci.create_key(%(namespace)s, %(role)s, %(name)s, %(id)s, %(hash)s, %(expires_at)s)",
        id=id,
        hash=hash,
        role=role,
        name=name,
        expires_at=expires_at,
    )


async def list_keys(tx: Transaction, *, limit: int, cursor: UUID | None = None) -> list[Row]:
    """Keys that reach the transaction's namespace, newest first."""
    return await tx.rows("select * from loci.list_keys(%(namespace)s, %(limit)s, %(cursor)s)", limit=limit, cursor=cursor)


async def revoke_key(tx: Transaction, *, id: UUID) -> None:
    """End a key at once."""
    await tx.row("select loci.revoke_key(%(namespace)s, %(id)s)", id=id)
