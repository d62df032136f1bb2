"""Figures that somebody has to go and get before a scrape: of the pool, of the process, and of the database."""

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import get_args

import psycopg

from db.metrics import DatabaseMetrics, read_metrics
from db.migrate import newest_revision
from db.pool import Pool
from loci.models.jobs import JobKind
from service.observability import metrics
from service.observability.process_memory import Allocator

log = logging.getLogger(__name__)
LOOK_SECONDS = 2.0  # seconds between looks at the pool and the process, for scrapes that another process answers
FIGURES_CACHE_SECONDS = 5.0  # seconds for which the database's figures are good enough
SCRAPE_WAIT_SECONDS = 0.5  # seconds that a scrape waits for them
DATABASE_TIMEOUT_SECONDS = 3  # seconds after which the database counts as away
KINDS: tuple[str, ...] = get_args(JobKind)
POOL_STATES = {"pool_size": "size", "pool_available": "available", "requests_waiting": "requests_waiting"}


class Monitor:
    """Keeps the gauges of this process. A scrape asks the database at most every few seconds, and never waits long for it."""

    def __init__(self, url: str, pool: Pool, alive: float = 30.0, beside: Callable[[], None] | None = None) -> None:
        self._url = url
        self._beside = beside  # notes more
        self._alive = alive  # seconds that a worker of jobs counts as living after a sign of life
        self._pool = pool
        self._allocator = Allocator()
        self._asking: asyncio.Task[None] | None = None
        self._asked = 0.0

    async def note_until_end(self) -> None:
        """Note what this process uses, and give back what it does not use any more, until cancelled."""
        while True:
            self.note_usage()
            if self._allocator.wants_trim():
                await asyncio.to_thread(self._allocator.trim_free_memory)
            await asyncio.sleep(LOOK_SECONDS)

    def note_usage(self) -> None:
        """Note what this process and its pool use."""
        metrics.note_process()
        stats = self._pool.get_stats()
        for name, state in POOL_STATES.items():
            metrics.POOL.labels(state).set(stats.get(name, 0))
        if self._beside is not None:
            self._beside()

    async def scrape_metrics(self) -> bytes:
        """The metrics as text. Figures that the database does not say in time stay as they were."""
        self.note_usage()
        if self._asking is None and time.monotonic() - self._asked > FIGURES_CACHE_SECONDS:
            self._asking = asyncio.create_task(self._ask_database())
        if self._asking is not None:
            await asyncio.wait({self._asking}, timeout=SCRAPE_WAIT_SECONDS)
        return await asyncio.to_thread(metrics.format_metrics)

    async def close(self) -> None:
        """End a question to the database that is under way."""
        if self._asking is not None:
            self._asking.cancel()
            with suppress(asyncio.CancelledError):
                await self._asking

    async def _ask_database(self) -> None:
        started = time.monotonic()
        try:
            async with asyncio.timeout(DATABASE_TIMEOUT_SECONDS + 1):
                found = await read_metrics(self._url, within=DATABASE_TIMEOUT_SECONDS, alive=self._alive)
        except (psycopg.Error, TimeoutError, OSError) as error:
            metrics.DATABASE_UP.set(0)
            log.debug("no figures from the database: %s", type(error).__name__)
        except Exception:
            metrics.DATABASE_UP.set(0)
            log.exception("no figures from the database")
        else:
            metrics.DATABASE_UP.set(1)
            metrics.DATABASE_SECONDS.set(time.monotonic() - started)
            set_gauges(found)
        finally:
            self._asked = time.monotonic()
            self._asking = None


def set_gauges(found: DatabaseMetrics) -> None:
    """Put the database's figures into their gauges."""
    for queue in found.queues:
        metrics.QUEUE.labels(queue.name).set(queue.waiting)
        metrics.REFUSED.labels(queue.name).set(queue.refused)
        age = (found.now - queue.oldest).total_seconds() if queue.oldest else 0.0
        metrics.QUEUE_SECONDS.labels(queue.name).set(max(age, 0.0))
    kinds = {**dict.fromkeys(KINDS), **{jobs.kind: jobs for jobs in found.jobs.kinds}}
    for kind, jobs in kinds.items():
        for state in ("waiting", "running", "dead"):
            metrics.JOBS.labels(kind, state).set(getattr(jobs, state) if jobs else 0)
        age = (found.now - jobs.oldest).total_seconds() if jobs and jobs.oldest else 0.0
        metrics.JOBS_SECONDS.labels(kind).set(max(age, 0.0))
    metrics.JOB_WORKERS.set(found.jobs.workers)
    metrics.CELL.labels(str(found.links[0].cell) if found.links else "none").set(1)
    metrics.CELL_MOVES.set(found.links[0].moves if found.links else 0)
    for link in found.links:
        if link.other is not None:
            metrics.CELL_FOLLOWED.labels(str(link.other)).set(link.followed)
            metrics.CELL_BEHIND.labels(str(link.other)).set(link.behind_bytes or 0)
    metrics.INVALID_INDEXES.set(found.invalid_indexes)
    metrics.CONNECTIONS.set(found.connections)
    metrics.CONNECTIONS_MAX.set(found.connections_max)
    metrics.SCHEMA.labels(newest_revision() or "none").set(found.revision.ok)
