"""Workers of jobs for tests: in a thread with handlers of the test's own, or in processes that can be killed."""

import asyncio
import multiprocessing
import os
import random
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from db import dreams
from db.jobs import jobs
from db.pool import make_pool
from service.jobs.job import Job
from service.jobs.runner import Handler, Runner
from service.resources import Resources
from service.settings import Settings
from tests.databases import Database
from tests.factories import OPERATOR, new_world
from tests.services import PATIENCE

QUICK = {"heartbeat": 0.3, "lost_after": 1.0, "backoff": 0.05, "backoff_limit": 0.1, "busy_backoff": 0.05, "attempts": 100}
EFFECTS = """
create table if not exists public.effects (job uuid, step text, process integer, at timestamptz default clock_timestamp());
create table if not exists public.allowed (job uuid);
grant insert, select on public.effects, public.allowed to loci_app"""


class Jobs:
    """A namespace whose jobs a test makes and watches, in transactions that commit."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.connect()
        with psycopg.connect(database.app_url, row_factory=dict_row) as connection:
            self.namespace = new_world(connection).name

    def connect(self) -> None:
        """Look at the database as its owner, who acts as the operator."""
        self.admin = psycopg.connect(self.database.admin_url, autocommit=True, row_factory=dict_row)
        self.admin.execute("select set_config('loci.agent', %s, false)", [str(OPERATOR)])

    def ask(self, kind: str = "enrich", *, key: str | None = None, turn: str | None = None, **arguments: Any) -> UUID:
        """Ask for a job of any kind."""
        row = self.admin.execute(
            "select a.id from loci_data.namespaces n, loci_internal.insert_job(n.id, %s, %s, %s, %s) a where n.name = %s",
            [kind, Jsonb(arguments), key, turn, self.namespace],
        ).fetchone()
        assert row is not None
        return row["id"]

    def get(self, job: UUID) -> dict[str, Any]:
        """How a job stands."""
        row = self.admin.execute("select * from loci.get_job(%s, %s)", [self.namespace, job]).fetchone()
        assert row is not None
        return row

    def state(self, job: UUID) -> str:
        """Its state."""
        return str(self.get(job)["state"])

    def states(self) -> dict[str, int]:
        """How many jobs are in which state."""
        rows = self.admin.execute(
            "select state, count(*) as n from loci.jobs where namespace = %s group by state", [self.namespace]
        )
        return {row["state"]: row["n"] for row in rows}

    def effects(self) -> dict[tuple[UUID, str], int]:
        """How often each step of each job was done."""
        rows = self.admin.execute("select job, step, count(*) as n from public.effects group by job, step")
        return {(row["job"], row["step"]): row["n"] for row in rows}

    def queued(self) -> int:
        """Places in the queue."""
        row = self.admin.execute("select count(*) as n from loci_jobs.procrastinate_jobs").fetchone()
        assert row is not None
        return int(row["n"])


@contextmanager
def running(
    database: Database, handlers: dict[str, Handler], *, llm: dict[str, Any] | None = None, **settings: Any
) -> Iterator[None]:
    """Run jobs in a thread of this process until the block ends. `settings` of jobs; `llm`: those of the model."""
    loop = asyncio.new_event_loop()
    task: list[asyncio.Task[None]] = []
    started = threading.Event()

    async def work() -> None:
        async with make_pool(database.app_url, size=6) as pool:
            asked = Settings(_env_file=None, jobs={**QUICK, **settings}, llm=llm or {})
            task.append(asyncio.create_task(Runner(database.app_url, Resources(asked, pool), handlers).work_until_end()))
            started.set()
            await asyncio.wait(task)

    thread = threading.Thread(target=loop.run_until_complete, args=(work(),), daemon=True)
    thread.start()
    assert started.wait(PATIENCE)
    try:
        yield
    finally:
        loop.call_soon_threadsafe(task[0].cancel)
        thread.join(PATIENCE)
        assert not thread.is_alive()
        loop.close()


async def effect(work: Resources, job: Job, step: str) -> None:
    """Do a step of a job once, and remember with it that it is done."""
    async with work.transaction("look", job.namespace, "admin") as tx:
        if (await dreams.last_pass(tx, name=step, job_id=job.id))["done"]:
            return
    await asyncio.sleep(random.uniform(0, 0.1))  # a model thinks
    async with job.hold_alone(work, "effect") as tx:
        await tx.post("insert into public.effects (job, step, process) values (%(job)s, %(step)s, %(process)s)",
                      job=job.id, step=step, process=os.getpid())  # fmt: skip
        await dreams.record_pass(tx, job_id=job.id, name=step, turns=[], episodes=[], report={"outcome": "applied"})


async def allowed(work: Resources, job: Job) -> bool:
    """Whether the test lets a job go on that waits for it."""
    async with work.transaction("look", job.namespace, "admin") as tx:
        return bool(await tx.rows(dict, "select from public.allowed where job = %(job)s", job=job.id))


async def two_steps(work: Resources, job: Job) -> None:
    """Two effects, each in a transaction of its own; the second one ends the job."""
    await effect(work, job, "memories")
    while job.arguments.get("waits") and not await allowed(work, job):  # noqa: ASYNC110 (the test says so in a row)
        await asyncio.sleep(0.02)
    async with job.hold_alone(work, "effect") as tx:
        await tx.post("insert into public.effects (job, step, process) values (%(job)s, 'last', %(process)s)",
                      job=job.id, process=os.getpid())  # fmt: skip
        await asyncio.sleep(random.uniform(0, 0.05))
        await jobs.finish_job(tx, id=job.id)
    if job.arguments.get("dies") == "after" and job.tries == 1:  # before the queue knows
        os.kill(os.getpid(), signal.SIGKILL)


async def poison(work: Resources, job: Job) -> None:
    """Kill the worker."""
    del work, job
    os.kill(os.getpid(), signal.SIGKILL)


def work_alone(url: str, settings: dict[str, Any]) -> None:
    """What a worker's process does until it is killed."""

    async def work() -> None:
        async with make_pool(url, size=6) as pool:
            asked = Settings(_env_file=None, jobs={**QUICK, **settings})
            await Runner(url, Resources(asked, pool), {"enrich": two_steps, "poison": poison}).work_until_end()

    asyncio.run(work())


_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["tests.faults.job_workers"])


def worker(database: Database, **settings: Any) -> BaseProcess:
    """Start a process that runs jobs."""
    process = _processes.Process(target=work_alone, args=(database.app_url, settings), daemon=True)
    process.start()
    return process
