"""A map by UMAP is made by a job: it lays out at most 20,000 memories, and puts the others between those they are nearest to.

The layout works in a thread, a second at a time. In between the job says how far it is, and hears that it was cancelled.
"""

import time
from collections.abc import Iterator
from functools import partial
from typing import Any
from uuid import UUID

import anyio
import numpy as np

from db.jobs import jobs
from db.models import projection as db
from db.models.projection import SampledVectors
from db.pool import JsonObject, Transaction
from service.jobs.job import Job
from service.models.projection import unpack_vectors
from service.models.umap_layout import Floats, Layout, Progress, placed_between
from service.resources import Resources

LAID_OUT_MEMORIES = 20_000
MOST_BYTES = 64 * 1024 * 1024  # of their vectors; twice that in memory
PAGE_MEMORIES = 2000  # of those that are put between them
REPORT_SECONDS = 1.0  # seconds of work between two reports


async def request_layout(tx: Transaction, *, dims: int) -> JsonObject:
    """Make the job: (job_id, created)."""
    made = await jobs.enqueue_job(
        tx, kind="project", arguments={"method": "umap", "dims": dims}, key=f"umap {dims}", turn="project"
    )
    return {"job_id": made["id"], "created": made["created"]}


async def run_layout(resources: Resources, job: Job) -> None:
    """Lay the map out that the job says, and keep it in place of the one before; its result says how many stand on it."""
    dims: int = job.arguments["dims"]
    said: JsonObject = {"method": "umap", "dims": dims, "memories": 0, "added": 0}
    async with resources.transaction("project", job.namespace, "reader") as tx:
        sampled = await db.sample_vectors(tx, most_bytes=MOST_BYTES, most=LAID_OUT_MEMORIES)
    if sampled is None:
        async with job.hold_alone(resources, "project") as tx:
            await jobs.finish_job(tx, id=job.id, result=said)
        return
    layout = Layout(unpack_vectors(sampled["vectors"], sampled["dimensions"]), dims)
    steps = layout.run_steps()
    while (progress := await anyio.to_thread.run_sync(_work_a_while, steps)) is not None:
        await _report_progress(resources, job, {**progress._asdict()})
    said["memories"] = len(layout.positions)
    async with job.hold_alone(resources, "project") as tx:
        await db.store_layout(
            tx, model_id=sampled["model_id"], ids=_unpack_ids(sampled["ids"]), positions=layout.positions, dims=dims, added=False
        )
        if sampled["total"] <= said["memories"]:
            await jobs.finish_job(tx, id=job.id, result=said)
            return
    said["added"] = await _add_others(resources, job, sampled, layout)
    async with job.hold_alone(resources, "project") as tx:
        await jobs.finish_job(tx, id=job.id, result=said)


def _work_a_while(steps: Iterator[Progress]) -> Progress | None:
    """Work for a while; None at the end."""
    until = time.monotonic() + REPORT_SECONDS
    for progress in steps:
        if time.monotonic() > until:
            return progress
    return None


async def _add_others(resources: Resources, job: Job, sampled: SampledVectors, layout: Layout) -> int:
    """Put those that took no part between those they are nearest to, a page at a time; how many."""
    others, done, after = sampled["total"] - len(layout.positions), 0, None
    about: dict[str, Any] = {"model_id": sampled["model_id"], "dims": layout.dims}
    while True:
        async with resources.transaction("project", job.namespace, "reader") as tx:
            page = await db.unplaced_vectors(tx, **about, after=after, limit=PAGE_MEMORIES)
        ids = _unpack_ids(page["ids"])
        if not ids:
            return done
        vectors = unpack_vectors(page["vectors"], sampled["dimensions"])
        positions: Floats = await anyio.to_thread.run_sync(partial(placed_between, vectors, layout.rows, layout.positions))
        async with job.hold_alone(resources, "project") as tx:
            await db.store_layout(tx, **about, ids=ids, positions=positions, added=True)
        done, after = done + len(ids), ids[-1]
        await _report_progress(resources, job, {"stage": "others", "done": done, "of": max(done, others)})


async def _report_progress(resources: Resources, job: Job, progress: JsonObject) -> None:
    async with job.hold_alone(resources, "project") as tx:
        await jobs.report_progress(tx, id=job.id, tries=job.tries, progress=progress)


def _unpack_ids(column: bytes | None) -> list[UUID]:
    return [UUID(bytes=row.tobytes()) for row in np.frombuffer(column or b"", dtype="V16")]
