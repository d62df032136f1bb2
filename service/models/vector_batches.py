"""Batches of what waits for a vector: embedded and stored in the transaction that claimed them."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from uuid import UUID

import numpy as np

from db.models import embeddings
from db.models.embeddings import EntityToEmbed, MemoryToEmbed
from db.pool import Transaction
from service.embedding.claimed_rows import embed_claimed_rows
from service.embedding.provider import Provider, RejectedText, Vectors

log = logging.getLogger(__name__)
C = TypeVar("C", MemoryToEmbed, EntityToEmbed)
BATCH_TEXTS = 256


@dataclass(frozen=True)
class Queue(Generic[C]):
    """A queue of what waits for vectors: how a batch is claimed and stored, and the id of what a row is about."""

    claim: Callable[..., Awaitable[list[C]]]
    store: Callable[..., Awaitable[int]]
    id_of: Callable[[C], UUID]


MEMORIES = Queue(embeddings.claim_memories_to_embed, embeddings.store_memory_vectors, lambda row: row["memory_id"])
ENTITIES = Queue(embeddings.claim_entities_to_embed, embeddings.store_entity_vectors, lambda row: row["entity_id"])
QUEUES: tuple[Queue[Any], ...] = (MEMORIES, ENTITIES)


async def embed_batch(tx: Transaction, queue: Queue[C], provider: Provider, *, model: int) -> int | None:
    """Claim a batch that waits for a model, embed and store it; how many. None: there is none to be had, or it is being changed."""
    claimed = await queue.claim(tx, limit=BATCH_TEXTS, model=model)
    return (await embed_and_store(tx, queue, provider, claimed) or None) if claimed else None


async def embed_and_store(tx: Transaction, queue: Queue[C], provider: Provider, claimed: list[C]) -> int:
    """Make the vectors of claimed rows, and store them together, since the rows are locked from then on; how many.

    Texts that the provider refuses together are tried one by one.
    """
    try:
        return await queue.store(tx, claimed=claimed, vectors=await embed_claimed_rows(provider, claimed))
    except RejectedText as error:
        log.warning("%s; trying its %d texts one by one", str(error).partition(":")[0], len(claimed))  # behind it the reply
    taken: list[C] = []
    vectors: list[Vectors] = []
    for row in claimed:
        try:
            vectors.append(await embed_claimed_rows(provider, [row]))
            taken.append(row)
        except RejectedText as refusal:
            await embeddings.refuse_embedding(
                tx, namespace_id=row["namespace_id"], id=queue.id_of(row), model=row["model_id"], error=str(refusal)
            )
    return await queue.store(tx, claimed=taken, vectors=np.concatenate(vectors)) if taken else 0
