"""The map of a namespace: its vectors seen from their first three principal components, and clusters of them.

The axes, and the middles of the clusters, are found once, in at most 8 MB of vectors, in a thread, one namespace at a time; they
are kept, so a new memory gets its place and its cluster and moves no other. The points are made by the database, in columns of
bytes that are passed on as they are.
"""

import json
import time
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from typing import Any, Literal

import anyio
import numpy as np
from numpy.typing import NDArray

from db.errors import NotFound, Unavailable
from db.models import projection as db
from db.models.projection import ProjectedMemories, SampledVectors
from db.pool import Transaction
from service.resources import Resources

Read = Callable[[Callable[[Transaction], Awaitable[Any]]], Awaitable[Any]]  # runs a step in a transaction of the caller
Dims = Literal[2, 3]
Method = Literal["pca", "umap"]
MEDIA = "application/octet-stream"
MAGIC = b"LOCIMAP1"
MOST_BYTES = 8 * 1024 * 1024  # of vectors in which the axes are found; some six times that in memory
AXES = 3
GROWN = 10
AXES_TRIES = 5  # to find axes while memories are being erased
PLACED, PATIENCE = 50, 2.0  # new points at once; seconds that a reader waits for theirs
CLUSTERS, MEMBERS, LOOKED_AT, TURNS = 7, 4, 4000, 25  # at most; of each at least; in so many vectors; rounds of Lloyd's
SAME = 1e-5  # square of a distance that is none
SPARE, ROUNDS, SEED = 10, 6, 1  # Halko, Martinsson and Tropp, 2011: further columns, and rounds of the power method
COLUMNS = {  # numpy's names, in network byte order
    "position": ">f4",
    "valid_from": ">f8",
    "valid_to": ">f8",
    "recorded_at": ">f8",
    "layer": ">i2",
    "category": ">i4",
    "source": ">i4",
    "session": ">i4",
}
CLUSTER = {"cluster": ">i2"}
FITTED = {"pca": "fitted", "umap": "laid_out"}


def principal_axes(vectors: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Mean, and the first three principal components of rows, shape (3, dimensions): the same for the same rows.

    Each points to where its largest component is positive. The axes beyond the number of rows are 0.
    """
    mean = vectors.mean(axis=0, dtype=np.float32)
    centred = vectors - mean
    wide = min(AXES + SPARE, *centred.shape)
    found = centred @ np.random.default_rng(SEED).standard_normal((centred.shape[1], wide)).astype(np.float32)
    for _ in range(ROUNDS):
        found, _ = np.linalg.qr(centred @ (centred.T @ found))
    _, _, rows = np.linalg.svd(found.T @ centred, full_matrices=False)
    axes = np.zeros((AXES, centred.shape[1]), dtype=np.float32)
    axes[: min(AXES, len(rows))] = rows[:AXES]
    signs = np.sign(axes[np.arange(AXES), np.abs(axes).argmax(axis=1)])
    return mean, axes * signs[:, None]


def cluster_centres(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Middles of clusters (k-means: Lloyd, begun as k-means++), shape (clusters, dimensions): the same for the same rows."""
    rows, chance = vectors[:LOOKED_AT], np.random.default_rng(SEED)
    wanted = max(1, min(CLUSTERS, len(rows) // MEMBERS))
    centres = rows[:1]
    while len(centres) < wanted:
        away = _squared_distances(rows, centres).min(axis=1).astype(np.float64)
        if away.max() < SAME:
            break  # all are where a centre is
        centres = np.vstack([centres, rows[chance.choice(len(rows), p=away / away.sum())]])
    while True:
        centres, sizes = _recentre_clusters(rows, centres)
        if len(sizes) == 1 or sizes.min() >= MEMBERS:
            return centres
        centres = np.delete(centres, sizes.argmin(), axis=0)  # a few that stand apart are no subject


def _recentre_clusters(rows: NDArray[np.float32], centres: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Centres in the middle of what is nearest to them, and how much that is."""
    for _ in range(TURNS):
        nearest = _squared_distances(rows, centres).argmin(axis=1)
        moved = np.array([rows[nearest == n].mean(axis=0) if (nearest == n).any() else each for n, each in enumerate(centres)])
        if np.array_equal(moved, centres):
            break
        centres = moved.astype(np.float32)
    return centres, np.bincount(_squared_distances(rows, centres).argmin(axis=1), minlength=len(centres))


def _squared_distances(rows: NDArray[np.float32], centres: NDArray[np.float32]) -> NDArray[np.float32]:
    """Squares of distances, shape (rows, centres)."""
    found: NDArray[np.float32] = (rows**2).sum(1)[:, None] - 2 * rows @ centres.T + (centres**2).sum(1)
    return np.maximum(found, 0)


def unpack_vectors(column: bytes | None, dimensions: int) -> NDArray[np.float32]:
    """A column of vectors: each is its length, two bytes that mean nothing, and 16-bit floats."""
    rows = np.frombuffer(column or b"", dtype=">f2").reshape(-1, dimensions + 2)
    return rows[:, 2:].astype(np.float32)


def _unpack_sample(sampled: SampledVectors) -> dict[str, NDArray[np.float32]]:
    vectors = unpack_vectors(sampled["vectors"], sampled["dimensions"])
    mean, axes = principal_axes(vectors)
    return {"mean": mean, "axes": axes, "centres": cluster_centres(vectors)}


async def project_memories(
    resources: Resources, read: Read, *, method: Method, dims: Dims, known_at: datetime | None, clusters: bool
) -> bytes:
    """The map, in binary. Its axes are found where none are kept, and anew where there are ten times as many memories as then.

    By UMAP: as a job has laid it out; what is new gets its place first. Raises NotFound where none has.
    """
    async with resources.projecting:
        step = partial(db.project_memories, method=method, dims=dims, known_at=known_at, clusters=clusters)
        placed: ProjectedMemories = await read(step)
        if placed["fitted"] is None or (placed["points"] or 0) >= GROWN * placed["fitted"]:
            await _find_axes(read, replace=placed["fitted"] is not None)
            placed = await read(step)
        if method == "umap" and placed["waiting"] and await _place_new_points(read, dims):
            placed = await read(step)
    if method == "umap" and placed["laid_out"] is None:
        hint = (
            f'POST /api/v1/embeddings/projection with {{"method": "umap", "dims": {dims}}} asks for one; its job says how far it is'
        )
        raise NotFound(f"no map of this namespace was made by umap in {dims} dimensions for the active model", hint=hint)
    return await anyio.to_thread.run_sync(_pack_projection, placed, method, dims)


async def _place_new_points(read: Read, dims: Dims) -> bool:
    """Give new points their places, for a while; whether any got one."""
    until, step, some = time.monotonic() + PATIENCE, partial(db.place_new_points, dims=dims, limit=PLACED), False
    while await read(step):
        some = True
        if time.monotonic() > until:
            break
    return some


async def _find_axes(read: Read, *, replace: bool) -> None:
    """Find the axes and keep them: in other vectors, where one of these was erased meanwhile."""
    for _ in range(AXES_TRIES):
        sampled = await read(partial(db.sample_vectors, most_bytes=MOST_BYTES))
        if sampled is None or not sampled["vectors"]:
            return
        found = await anyio.to_thread.run_sync(_unpack_sample, sampled)
        about: dict[str, Any] = {"model_id": sampled["model_id"], "vectors": sampled["total"], "ids": sampled["ids"], **found}
        if await read(partial(db.store_projection, replace=replace, **about)):
            return
    raise Unavailable("memories are being erased, so no map can be made now", hint="Try again in a moment.")


def _join_equal_clusters(column: bytes, names: list[str]) -> tuple[bytes, list[str]]:
    """Clusters of the same name are one: people would not understand what told them apart. The largest first."""
    known = {name: at for at, name in enumerate(dict.fromkeys(names))}
    of = np.array([known[name] for name in names], dtype=np.int64)[np.frombuffer(column, dtype=CLUSTER["cluster"])]
    order = np.argsort(-np.bincount(of, minlength=len(known)), kind="stable")
    return np.argsort(order)[of].astype(CLUSTER["cluster"]).tobytes(), [list(known)[at] for at in order]


def _pack_projection(placed: ProjectedMemories, method: Method, dims: Dims) -> bytes:
    """Magic, the length of the header in four bytes, the header as JSON, and the columns that it names, one after another."""
    row: dict[str, Any] = dict(placed)
    columns = COLUMNS
    if placed["cluster"] is not None:
        columns = {**COLUMNS, **CLUSTER}
        row["cluster"], row["clusters"] = _join_equal_clusters(placed["cluster"], placed["clusters"] or [])
    about = {
        "method": method,
        "dims": dims,
        "model": row["model"],
        "points": row["points"] or 0,
        "fitted": row[FITTED[method]],
        "fitted_at": row[FITTED[method] + "_at"] and row[FITTED[method] + "_at"].isoformat(),
        **({"added": row["added"], "waiting": row["waiting"] or 0} if method == "umap" else {}),
        "columns": {"id": "16 bytes", **columns},
        "categories": row["categories"] or [],
        "sources": row["sources"] or [],
        "sessions": row["sessions"] or [],
        **({} if placed["cluster"] is None else {"clusters": row["clusters"]}),
    }
    header = json.dumps(about, ensure_ascii=False).encode()
    return b"".join([MAGIC, len(header).to_bytes(4, "big"), header, *(row[name] or b"" for name in ("id", *columns))])
