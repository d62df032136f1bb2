"""API keys: made here, shown once, stored as a hash."""

import secrets
from dataclasses import dataclass
from uuid import UUID, uuid4

from db.access import keys
from db.access.keys import KeyRow, KeyUsageRow, RefusedRequests
from db.pool import JsonObject, Transaction
from loci.models.access import KeyChanges, KeyInput, RotationInput
from service.http.caller import hash_key
from service.paging import Page, make_page


@dataclass(frozen=True)
class NewKey:
    """A key and what is stored of it."""

    id: UUID
    key: str
    hash: bytes


def new_key() -> NewKey:
    """Make a key of 256 random bits: loci_<start of its id>_<secret>."""
    key_id = uuid4()
    key = f"loci_{key_id.hex[:8]}_{secrets.token_urlsafe(32)}"
    return NewKey(key_id, key, hash_key(key))


async def create_key(tx: Transaction, wanted: KeyInput) -> JsonObject:
    """Make a key for the transaction's namespace; the row with the key itself, which nothing says again."""
    made = new_key()
    await keys.create_key(tx, id=made.id, hash=made.hash, **wanted.model_dump())
    return {**await keys.get_key(tx, id=made.id), "key": made.key}


async def rotate_key(tx: Transaction, *, id: UUID, wanted: RotationInput) -> JsonObject:
    """Put a new key in the place of one; the new row with the key itself, and when the old one ends."""
    made = new_key()
    row = await keys.rotate_key(tx, id=id, new_id=made.id, hash=made.hash, **wanted.model_dump())
    shown = await keys.get_key(tx, id=made.id)
    return {**shown, "key": made.key, "replaces": id, "old_ends_at": row["old_ends_at"]}


async def change_key(tx: Transaction, *, id: UUID, changes: KeyChanges) -> KeyRow:
    """Change name, end, time zone or rate limit of a key; returns it."""
    await keys.update_key(tx, id=id, changes=changes.stated())
    return await keys.get_key(tx, id=id)


async def revoke_key(tx: Transaction, *, id: UUID) -> None:
    """End a key at once."""
    await keys.revoke_key(tx, id=id)


async def list_keys(tx: Transaction, *, limit: int, cursor: UUID | None = None) -> Page[KeyRow]:
    """Keys of agents at home in the transaction's namespace, newest first; to the operator also those that reach it."""
    return make_page(await keys.list_keys(tx, limit=limit + 1, cursor=cursor), limit, "id")


async def list_key_usage(tx: Transaction, *, id: UUID, limit: int, cursor: int | None = None) -> Page[KeyUsageRow]:
    """Uses of a key, newest first."""
    return make_page(await keys.list_key_usage(tx, id=id, limit=limit + 1, cursor=cursor), limit)


async def list_refused_requests(tx: Transaction, *, limit: int, cursor: int | None = None) -> Page[RefusedRequests]:
    """Requests with keys that are not valid, newest first. The operator's."""
    return make_page(await keys.list_refused_requests(tx, limit=limit + 1, cursor=cursor), limit)
