"""Queues of what waits for a vector: wrappers of SQL functions. All are the operator's."""

from typing import TypedDict
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector

from db.pool import Transaction


class MemoryToEmbed(TypedDict):
    """A memory that waits for a vector."""

    namespace_id: int
    memory_id: UUID
    model_id: int
    text: str
    speaker: str | None
    said: str | None


class EntityToEmbed(TypedDict):
    """An entity that waits for a vector."""

    namespace_id: int
    entity_id: UUID
    model_id: int
    text: str


async def register_model(tx: Transaction, *, name: str, dimensions: int, asks: int | None = None) -> int | None:
    """Make a model the active one where no other has made vectors; its number, None where another one serves."""
    return await tx.optional(
        int, "select loci_api.register_model(%(name)s, %(dimensions)s, %(asks)s) as id", name=name, dimensions=dimensions, asks=asks
    )


async def claim_memories_to_embed(tx: Transaction, *, limit: int, model: int | None = None) -> list[MemoryToEmbed]:
    """Lock up to `limit` memories that wait for a model (None: the active one) until the transaction ends.

    Rows (namespace_id, memory_id, model_id, text, speaker, said).
    """
    return await tx.rows(
        MemoryToEmbed, "select * from loci_api.claim_memories_to_embed(%(limit)s, %(model)s::smallint)", limit=limit, model=model
    )


async def store_memory_vectors(tx: Transaction, *, claimed: list[MemoryToEmbed], vectors: NDArray[np.float32]) -> int:
    """Store a vector, shape (len(claimed), dimensions), for each claimed memory that says the same as then; how many."""
    return await tx.value(
        int,
        """select loci_api.store_memory_vectors(%(model)s::smallint, %(namespaces)s::int[], %(ids)s::uuid[], %(texts)s::text[],
           %(vectors)s::halfvec[]) as stored""",
        model=claimed[0]["model_id"],
        namespaces=[row["namespace_id"] for row in claimed],
        ids=[row["memory_id"] for row in claimed],
        texts=[row["text"] for row in claimed],
        vectors=[HalfVector(vector) for vector in vectors.astype(np.float16)],
    )


async def claim_entities_to_embed(tx: Transaction, *, limit: int, model: int | None = None) -> list[EntityToEmbed]:
    """Lock up to `limit` entities that wait for a model, as memories are."""
    return await tx.rows(
        EntityToEmbed, "select * from loci_api.claim_entities_to_embed(%(limit)s, %(model)s::smallint)", limit=limit, model=model
    )


async def store_entity_vectors(tx: Transaction, *, claimed: list[EntityToEmbed], vectors: NDArray[np.float32]) -> int:
    """Store a vector, shape (len(claimed), dimensions), for each claimed entity; how many."""
    return await tx.value(
        int,
        """select loci_api.store_entity_vectors(%(model)s::smallint, %(namespaces)s::int[], %(ids)s::uuid[], %(texts)s::text[],
           %(vectors)s::halfvec[]) as stored""",
        model=claimed[0]["model_id"],
        namespaces=[row["namespace_id"] for row in claimed],
        ids=[row["entity_id"] for row in claimed],
        texts=[row["text"] for row in claimed],
        vectors=[HalfVector(vector) for vector in vectors.astype(np.float16)],
    )


async def refuse_embedding(tx: Transaction, *, namespace_id: int, id: UUID, model: int, error: str) -> None:
    """Keep why the provider refused the text of a memory or an entity for good."""
    await tx.run(
        "select loci_api.refuse_embedding(%(namespace_id)s, %(id)s, %(model)s::smallint, %(error)s)",
        namespace_id=namespace_id,
        id=id,
        model=model,
        error=error,
    )
