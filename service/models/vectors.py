"""Batches of what waits for a vector: embedded and stored in the transaction that claimed them."""

import logging
from collections.abc import Awaitable, Callable

from db.models import embeddings
from db.pool import Transaction
from service.embedding.provider import Provider, RejectedText
from service.embedding.turns import embed_claimed

log = logging.getLogger(__name__)
Claim = Callable[..., Awaitable[list[embeddings.Row]]]
Store = Callable[..., Awaitable[None]]
BATCH = 256


async def store_claimed(tx: Transaction, provider: Provider, store: Store, claimed: list[embeddings.Row]) -> int:
    """Embed and store what is claimed; how many. What the provider refuses together is tried one by one."""
    try:
        await store(tx, claimed=claimed, vectors=await embed_claimed(provider, claimed))
        return len(claimed)
    except RejectedText as error:
        log.warning("%s; trying its %d texts one by one", str(error).partition(":")[0], len(claimed))  # behind it the reply
    stored = 0
    for row in claimed:
        try:
            await store(tx, claimed=[row], vectors=await embed_claimed(provider, [row]))
            stored += 1
        except RejectedText as refusal:
            await embeddings.refuse_embedding(tx, claimed=row, error=str(refusal))
    return stored
