"""Queues of what waits for a vector: wrappers of SQL functions. All are the operator's."""

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector

from db.pool import Transaction

Row = dict[str, Any]


async def register_model(tx: Transaction, *, name: str, dimensions: int, asks: int | None = None) -> int | None:
    """Make a model the active one where no other has made vectors; its number, None where another one serves."""
    row = await tx.row(
        "select loci_api.register_model(%(name)s, %(dimensions)s, %(asks)s) as id", name=name, dimensions=dimensions, asks=asks
    )
    return cast("int | None", row["id"])


async def claim_memories_to_embed(tx: Transaction, *, limit: int, model: int | None = None) -> list[Row]:
    """Lock up to `limit` memories that wait for a model (None: the active one) until the transaction ends.

    Rows (namespace_id, memory_id, model_id, text, speaker, said).
    """
    return await tx.rows("select * from loci_api.claim_memories_to_embed(%(limit)s, %(model)s::smallint)", limit=limit, model=model)


async def store_memory_vectors(tx: Transaction, *, claimed: list[Row], vectors: NDArray[np.float32]) -> None:
    """Store a vector, shape (len(claimed), dimensions), for each claimed memory."""
    await tx.row(
        "select loci_api.store_memory_vectors(%(model)s::smallint, %(namespaces)s::int[], %(ids)s::uuid[], %(vectors)s::halfvec[])",
        model=claimed[0]["model_id"],
        namespaces=[row["namespace_id"] for row in claimed],
        ids=[row["memory_id"] for row in claimed],
        vectors=[HalfVector(vector) for vector in vectors.astype(np.float16)],
    )


async def claim_entities_to_embed(tx: Transaction, *, limit: int, model: int | None = None) -> list[Row]:
    """Lock up to `limit` entities that wait for a model, as memories are: rows (namespace_id, entity_id, model_id, text)."""
    return await tx.rows("select * from loci_api.claim_entities_to_embed(%(limit)s, %(model)s::smallint)", limit=limit, model=model)


async def store_entity_vectors(tx: Transaction, *, claimed: list[Row], vectors: NDArray[np.float32]) -> None:
    """Store a vector, shape (len(claimed), dimensions), for each claimed entity."""
    await tx.row(
        """select loci_api.store_entity_vectors(%(model)s::smallint, %(namespaces)s::int[], %(ids)s::uuid[], %(texts)s::text[],
           %(vectors)s::halfvec[])""",
        model=claimed[0]["model_id"],
        namespaces=[row["namespace_id"] for row in claimed],
        ids=[row["entity_id"] for row in claimed],
        texts=[row["text"] for row in claimed],
        vectors=[HalfVector(vector) for vector in vectors.astype(np.float16)],
    )


async def refuse_embedding(tx: Transaction, *, claimed: Row, error: str) -> None:
    """Keep why the provider refused the text of a claimed memory or entity for good."""
    await tx.row(
        "select loci_api.refuse_embedding(%(namespace_id)s, %(id)s, %(model)s::smallint, %(error)s)",
        namespace_id=claimed["namespace_id"],
        id=claimed["memory_id"] if "memory_id" in claimed else claimed["entity_id"],
        model=claimed["model_id"],
        error=error,
    )
