"""API keys, their allowances and what they were used for: wrappers of the SQL functions."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypedDict
from uuid import UUID

from psycopg.types.json import Jsonb

from db.pool import JsonObject, Pool, Transaction


class NewKeyRow(TypedDict):
    """A key that was made."""

    id: UUID
    agent_id: UUID
    created_at: datetime


class RotatedKey(NewKeyRow):
    """The key that takes the place of another, and when that one ends."""

    old_ends_at: datetime


class KeyRow(TypedDict):
    """A key."""

    id: UUID
    name: str
    agent_id: UUID
    role: str | None
    scope: str
    namespaces: list[str] | None
    default_namespace: str | None
    space: str | None
    user: str | None
    time_zone: str | None
    rate_limit: int | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    replaced_by: UUID | None
    last_used_at: datetime | None


class RefusedRequests(TypedDict):
    """Requests of an hour with keys that are not valid."""

    cursor: int
    hour: datetime
    address: str | None
    outcome: str
    requests: int
    first_at: datetime
    last_at: datetime


class KeyUsageRow(RefusedRequests):
    """Requests of an hour with a key."""

    namespace: str | None


async def create_key(
    tx: Transaction,
    *,
    id: UUID,
    hash: bytes,
    name: str,
    role: str | None,
    expires_at: datetime | None = None,
    scope: str = "admin",
    namespaces: list[str] | None = None,
    agent_id: UUID | None = None,
    rate_limit: int | None = None,
    default_namespace: str | None = None,
    space: str | None = None,
    user: str | None = None,
    time_zone: str | None = None,
) -> NewKeyRow:
    """Register a key by its SHA-256: of a new agent with a role in the transaction's namespace, or a further one of `agent_id`."""
    return await tx.row(
        NewKeyRow,
        "select * from loci_api.create_key(%(namespace)s, %(role)s, %(name)s, %(id)s, %(hash)s, %(expires_at)s,"
        " %(scope)s, %(namespaces)s, %(agent_id)s, %(rate_limit)s, %(default_namespace)s, %(space)s, %(user)s,"
        " %(time_zone)s)",
        id=id,
        hash=hash,
        role=role,
        name=name,
        expires_at=expires_at,
        scope=scope,
        namespaces=namespaces,
        agent_id=agent_id,
        rate_limit=rate_limit,
        default_namespace=default_namespace,
        space=space,
        user=user,
        time_zone=time_zone,
    )


async def list_keys(tx: Transaction, *, limit: int, cursor: UUID | None = None) -> list[KeyRow]:
    """Keys of agents at home in the transaction's namespace, newest first; to the operator also those that reach it."""
    return await tx.rows(
        KeyRow, "select * from loci_api.list_keys(%(namespace)s, %(limit)s, %(cursor)s)", limit=limit, cursor=cursor
    )


async def get_key(tx: Transaction, *, id: UUID) -> KeyRow:
    """One key of an agent at home in the transaction's namespace; to the operator any."""
    return await tx.row(KeyRow, "select * from loci_api.list_keys(%(namespace)s, p_key_id => %(id)s)", id=id)


async def revoke_key(tx: Transaction, *, id: UUID) -> None:
    """End a key at once."""
    await tx.run("select loci_api.revoke_key(%(namespace)s, %(id)s)", id=id)


async def rotate_key(
    tx: Transaction, *, id: UUID, new_id: UUID, hash: bytes, grace_seconds: int, expires_at: datetime | None
) -> RotatedKey:
    """Put a new key in the place of one, which ends after the grace (`old_ends_at`)."""
    return await tx.row(
        RotatedKey,
        "select * from loci_api.rotate_key(%(namespace)s, %(id)s, %(new_id)s, %(hash)s, %(grace)s, %(expires_at)s)",
        id=id,
        new_id=new_id,
        hash=hash,
        grace=grace_seconds,
        expires_at=expires_at,
    )


async def update_key(tx: Transaction, *, id: UUID, changes: JsonObject) -> None:
    """Change {name, rate_limit, expires_at} of a key."""
    await tx.run("select loci_api.update_key(%(namespace)s, %(id)s, %(changes)s)", id=id, changes=Jsonb(changes))


async def list_key_usage(tx: Transaction, *, id: UUID, limit: int, cursor: int | None = None) -> list[KeyUsageRow]:
    """Uses of a key, newest first."""
    return await tx.rows(
        KeyUsageRow,
        "select * from loci_api.list_key_usage(%(namespace)s, %(id)s, %(limit)s, %(cursor)s)",
        id=id,
        limit=limit,
        cursor=cursor,
    )


async def list_refused_requests(tx: Transaction, *, limit: int, cursor: int | None = None) -> list[RefusedRequests]:
    """Requests with keys that are not valid, newest first. The operator's."""
    return await tx.rows(
        RefusedRequests, "select * from loci_api.list_refused_requests(%(limit)s, %(cursor)s)", limit=limit, cursor=cursor
    )


@dataclass(frozen=True)
class KeyUse:
    """Requests of one kind: key (None: not a valid one), namespace named, address, and how they ended."""

    key_id: UUID | None
    namespace: str | None
    address: str | None
    outcome: str


async def record_key_usage(tx: Transaction, *, uses: Sequence[tuple[KeyUse, int]]) -> None:
    """Add counts of requests to the record of what keys were used for. The operator's."""
    await tx.run(
        "select loci_api.record_key_usage(%(keys)s::uuid[], %(namespaces)s::text[], %(addresses)s::inet[],"
        " %(outcomes)s::text[], %(n)s::bigint[])",
        keys=[use.key_id for use, _ in uses],
        namespaces=[use.namespace for use, _ in uses],
        addresses=[use.address for use, _ in uses],
        outcomes=[use.outcome for use, _ in uses],
        n=[count for _, count in uses],
    )


@dataclass(frozen=True)
class Lease:
    """Requests that may be sent with a key now, and its limit; `rate_limit` None: none, and the rest says nothing."""

    key_id: UUID
    rate_limit: int | None
    granted: int
    remaining: int
    next_in: float
    full_in: float
    clock: float
    key_hash: bytes | None = None  # of the key itself, where a session of a browser stands for it


async def lease_requests(pool: Pool, *, key_hash: bytes, wanted: int, default: int | None, returned: int = 0) -> Lease | None:
    """Take requests from the allowance of a key; None: it is not valid. One round trip in a transaction of its own."""
    async with pool.connection() as connection:
        cursor = await connection.execute(
            "select * from loci_api.lease_requests(%s, %s, %s, %s)", (key_hash, wanted, default, returned)
        )
        row = await cursor.fetchone()
    return None if row is None else Lease(**row)
