"""The worker's queues, for vectors and for names: wrappers of SQL functions. All are the operator's."""

from typing import Any, cast
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector

from db.pool import Transaction

Row = dict[str, Any]


async def register_model(tx: Transaction, *, name: str, dimensions: int, asks: int | None = None) -> int | None:
    """Make a model the active one where no other has made vectors; its number, None where another one serves."""
    row = await tx.row(
        "select loci.register_model(%(name)s, %(dimensions)s, %(asks)s) as id", name=name, dimensions=dimensions, asks=asks
    )
    return cast("int | None", row["id"])


async def claim_embeddings(tx: Transaction, *, limit: int, model: int | None = None) -> list[Row]:
    """Lock up to `limit` memories that wait for a model (None: the active one) until the transaction ends.

    Rows (namespace_id, memory_id, model_id, text, speaker, said).
    """
    return await tx.rows("select * from loci.claim_embeddings(%(limit)s, %(model)s::smallint)", limit=limit, model=model)


async def store_embeddings(tx: Transaction, *, claimed: list[Row], vectors: NDArray[np.float32]) -> None:
    """Store a vector, shape (len(claimed), dimensions), for each claimed memory."""
    await tx.row(
        "select loci.store_embeddings(%(model)s::smallint, %(namespaces)s::int[], %(ids)s::uuid[], %(vectors)s::halfvec[])",
        model=claimed[0]["model_id"],
        namespaces=[row["namespace_id"] for row in claimed],
        ids=[row["memory_id"] for row in claimed],
        vectors=[HalfVector(vector) for vector in vectors.astype(np.float16)],
    )


async def claim_entities(tx: Transaction, *, limit: int, model: int | None = None) -> list[Row]:
    """Lock up to `limit` entities that wait for a model, like claim_embeddings: rows (namespace_id, entity_id, model_id, text)."""
    return await tx.rows("select * from loci.claim_entities(%(limit)s, %(model)s::smallint)", limit=limit, model=model)


async def store_entities(tx: Transaction, *, claimed: list[Row], vectors: NDArray[np.float32]) -> None:
    """Store a vector, shape (len(claimed), dimensions), for each claimed entity."""
    await tx.row(
        """select loci.store_entity_vectors(%(model)s::smallint, %(namespaces)s::int[], %(ids)s::uuid[], %(texts)s::text[],
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
        "select loci.refuse_embedding(%(namespace_id)s, %(id)s, %(model)s::smallint, %(error)s)",
        namespace_id=claimed["namespace_id"],
        id=claimed["memory_id"] if "memory_id" in claimed else claimed["entity_id"],
        model=claimed["model_id"],
        error=error,
    )


async def claim_names(tx: Transaction, *, limit: int) -> list[Row]:
    """Take up to `limit` memories off the name queue: rows (namespace_id, memory_id, content, source, language)."""
    return await tx.rows("select * from loci.claim_names(%(limit)s)", limit=limit)


async def note_names(tx: Transaction, *, found: list[tuple[int, UUID, str]], read: list[tuple[int, UUID]]) -> int:
    """Note names found in memories, as (namespace_id, memory_id, name), and the stated entities in those read.

    Returns the number of new mentions.
    """
    row = await tx.row(
        """select loci.note_names(%(namespaces)s::int[], %(memories)s::uuid[], %(names)s::text[],
                                  %(read_namespaces)s::int[], %(read)s::uuid[]) as mentions""",
        namespaces=[namespace for namespace, _, _ in found],
        memories=[memory for _, memory, _ in found],
        names=[name for _, _, name in found],
        read_namespaces=[namespace for namespace, _ in read],
        read=[memory for _, memory in read],
    )
    return int(row["mentions"])


async def tidy(tx: Transaction) -> Row:
    """Fold counts and join small posting blocks where that is due: (folded, joined)."""
    return await tx.row("select folded, joined from loci.tidy_index()")


async def analyze_new(tx: Transaction) -> list[str]:
    """Analyze tables that have rows and no statistics yet, so that every session plans anew; which."""
    return [row["analyze_new"] for row in await tx.rows("select analyze_new from loci.analyze_new()")]
