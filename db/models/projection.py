"""The map of a namespace: wrappers of SQL functions. Columns are bytes in network byte order, one value a memory."""

from datetime import datetime
from typing import TypedDict
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pgvector import Vector

from db.pool import Transaction

AXES = 3


class SampledVectors(TypedDict):
    """Vectors that speak for a namespace, as halfvec_send writes them; null where there are none."""

    model_id: int
    dimensions: int
    total: int
    ids: bytes | None
    vectors: bytes | None


class UnplacedVectors(TypedDict):
    """Vectors without a place on a map that was laid out, as halfvec_send writes them; null where there are none."""

    ids: bytes | None
    vectors: bytes | None


class ProjectedMemories(TypedDict):
    """Where memories stand on the axes that are kept, and what they are coloured by. `fitted` None: no axes are kept."""

    model: str
    fitted: int | None
    fitted_at: datetime | None
    points: int | None
    id: bytes | None
    position: bytes | None
    valid_from: bytes | None
    valid_to: bytes | None
    recorded_at: bytes | None
    layer: bytes | None
    category: bytes | None
    source: bytes | None
    session: bytes | None
    categories: list[str] | None
    sources: list[str] | None
    sessions: list[str] | None
    cluster: bytes | None
    clusters: list[str] | None
    laid_out: int | None
    laid_out_at: datetime | None
    added: int | None
    waiting: int | None


async def sample_vectors(tx: Transaction, *, most_bytes: int, most: int | None = None) -> SampledVectors | None:
    """At most so many bytes of the active model's vectors, and so many vectors; None: no model is active."""
    rows = await tx.rows(
        SampledVectors,
        "select * from loci_api.sample_vectors(%(namespace)s, %(bytes)s, %(most)s)",
        bytes=most_bytes,
        most=most,
    )
    return rows[0] if rows else None


async def store_projection(
    tx: Transaction,
    *,
    model_id: int,
    vectors: int,
    ids: bytes,
    mean: NDArray[np.float32],
    axes: NDArray[np.float32],
    centres: NDArray[np.float32],
    replace: bool,
) -> bool:
    """Keep axes, shape (3, dimensions), and centres of clusters, unless there are some; `replace`: whatever there is.

    `ids`: of the memories in whose vectors they were found. False: one of them was erased since, and nothing is kept.
    """
    return await tx.value(
        bool,
        """select loci_api.store_projection(%(namespace)s, %(model_id)s::smallint, %(vectors)s, %(ids)s, %(mean)s,
           %(axes)s::vector[], %(centres)s::vector[], %(replace)s) as kept""",
        model_id=model_id,
        vectors=vectors,
        ids=ids,
        mean=Vector(mean),
        axes=[Vector(axis) for axis in axes],
        centres=[Vector(centre) for centre in centres],
        replace=replace,
    )


async def store_layout(
    tx: Transaction, *, model_id: int, dims: int, ids: list[UUID], positions: NDArray[np.float32], added: bool
) -> None:
    """Keep where memories stand, shape (memories, dims), instead of the map before; `added`: of more of them on that map."""
    x, y = positions[:, 0].tolist(), positions[:, 1].tolist()
    await tx.run(
        """select loci_api.store_layout(%(namespace)s, %(model_id)s::smallint, %(dims)s, %(ids)s::uuid[], %(x)s::real[],
           %(y)s::real[], %(z)s::real[], %(added)s)""",
        model_id=model_id,
        dims=dims,
        ids=ids,
        x=x,
        y=y,
        z=positions[:, 2].tolist() if dims == AXES else [None] * len(ids),
        added=added,
    )


async def unplaced_vectors(tx: Transaction, *, model_id: int, dims: int, after: UUID | None, limit: int) -> UnplacedVectors:
    """The next vectors without a place on a map that was laid out, in order of their memories' ids."""
    return await tx.row(
        UnplacedVectors,
        "select * from loci_api.unplaced_vectors(%(namespace)s, %(model_id)s::smallint, %(dims)s, %(after)s, %(limit)s)",
        model_id=model_id,
        dims=dims,
        after=after,
        limit=limit,
    )


async def place_new_points(tx: Transaction, *, dims: int, limit: int) -> int:
    """Place the next memories that came after the map was laid out; how many got a place."""
    return await tx.value(
        int, "select loci_api.place_new_points(%(namespace)s, %(dims)s, %(limit)s) as placed", dims=dims, limit=limit
    )


async def project_memories(
    tx: Transaction, *, method: str, dims: int, known_at: datetime | None, clusters: bool
) -> ProjectedMemories:
    """Where memories stand, in two or three dimensions; `clusters`: and to which cluster each belongs."""
    return await tx.row(
        ProjectedMemories,
        "select * from loci_api.project_memories(%(namespace)s, %(dims)s, %(known_at)s, %(clusters)s, %(method)s)",
        method=method,
        dims=dims,
        known_at=known_at,
        clusters=clusters,
    )
