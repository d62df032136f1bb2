"""Replies that are kept for requests with an Idempotency-Key: wrappers of the SQL functions."""

from typing import TypedDict

from db.pool import JsonObject, Transaction


class KeptReply(TypedDict):
    """A reply that is kept."""

    status: int
    response: JsonObject


async def claim_idempotency_key(tx: Transaction, *, key: str, request_hash: bytes) -> KeptReply | None:
    """The reply kept for an idempotency key, or None when this request now holds the key."""
    return await tx.first(
        KeptReply, "select * from loci_api.claim_idempotency_key(%(namespace)s, %(key)s, %(hash)s)", key=key, hash=request_hash
    )


async def store_idempotent_reply(tx: Transaction, *, key: str, status: int, response: bytes) -> None:
    """Keep the reply, as JSON, of the request that holds an idempotency key."""
    await tx.post(
        "select loci_api.store_idempotent_reply(%(namespace)s, %(key)s, %(status)s::smallint, %(response)s::jsonb)",
        key=key,
        status=status,
        response=response.decode(),
    )
