"""A stage for passes: a namespace that commits, jobs that are begun without a queue, and a scripted model to ask."""

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar
from uuid import UUID

import psycopg
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from db.pool import Pool, make_pool
from service.dreams.passes import Pass, Report, run_pass
from service.jobs.job import Job
from service.resources import Resources
from service.settings import Settings
from tests.databases import Database
from tests.factories import OPERATOR, Row, World, new_world
from tests.llm.scripted import ScriptedModel

T = TypeVar("T")
LOOP = asyncio.new_event_loop()  # one for the process: pools live on it


@cache
def settings(attempts: int = 6) -> Settings:
    """Settings of who does jobs, each of which may be tried so often. To read the environment takes longer than many a pass."""
    return Settings(_env_file=None, jobs={"attempts": attempts})


@cache
def pool_of(database: Database) -> Pool:
    """The pool of a database, until that is dropped."""
    made = make_pool(database.app_url, size=2)
    LOOP.run_until_complete(made.open())
    database.endings.append(lambda: LOOP.run_until_complete(made.close()))
    return made


def with_pool(database: Database, what: Callable[[Pool], Coroutine[Any, Any, T]]) -> T:
    """Run something with a pool: the database's, or in another thread than the main one a pool of its own."""
    if threading.current_thread() is threading.main_thread():
        return LOOP.run_until_complete(what(pool_of(database)))

    async def working() -> T:
        async with make_pool(database.app_url, size=2) as pool:
            return await what(pool)

    return asyncio.run(working())


@contextmanager
def of_the_queue(database: Database) -> Iterator[psycopg.Connection[DictRow]]:
    """A session as the worker of jobs; each statement commits."""
    with database.app_sessions.borrowed(autocommit=True) as queue:
        queue.execute("set role loci_worker")
        queue.execute("set search_path = loci_jobs")
        yield queue


@dataclass
class Stage:
    """A namespace, and what runs passes in it. `heard`: what the model was sent so far, by its namespace's name."""

    world: World
    database: Database
    pool: Pool
    heard: list[str] = field(default_factory=list)

    def job(self, kind: str = "dream", **arguments: Any) -> Job:
        """A job that was made and begun."""
        made = self.world.row("select * from loci_api.enqueue_job(%(ns)s, %(kind)s, %(a)s)", kind=kind, a=Jsonb(arguments))
        with of_the_queue(self.database) as queue:
            (taken,) = queue.execute(
                "update procrastinate_jobs set status = 'doing' where args ->> 'job_id' = %s returning id, attempts",
                [str(made["id"])],
            ).fetchall()
        return Job(**self.world.row("select * from loci_api.start_job(%(q)s, %(n)s)", q=taken["id"], n=taken["attempts"]))

    def work(self, script: Any) -> Resources:
        """What a job is given, with a model that says `script`."""
        return Resources(settings(), self.pool, model=ScriptedModel(script))

    def perform(self, made: Pass[Any], script: Any, *, job: Job | None = None, dry_run: bool = False) -> Report:
        """Run a pass once, as a job of its own; its report."""
        work = self.work(script)
        job = job or self.job(dry_run=dry_run)
        try:
            report = LOOP.run_until_complete(run_pass(work, job, made, dry_run=dry_run))
        finally:
            self.heard += [message["content"] for messages in work.model.heard for message in messages]  # type: ignore[union-attr]
        assert report is not None
        return report

    def handle(self, handler: Any, script: Any, job: Job) -> ScriptedModel:
        """Let the handler of a kind do a job; the model that it asked."""
        work = self.work(script)
        LOOP.run_until_complete(handler(work, job))
        assert isinstance(work.model, ScriptedModel)
        return work.model

    def setting(self, **settings: Any) -> None:
        """Change settings of the namespace."""
        self.world.rows("select * from loci_api.update_namespace(%(ns)s, %(s)s)", s=Jsonb({"settings": settings}))

    def undo(self, operation: str | UUID | None) -> Row:
        """Undo an operation."""
        assert operation is not None
        return self.world.row("select * from loci_api.undo_operation(%(ns)s, %(id)s)", id=operation)

    def jobs(self, kind: str) -> list[Row]:
        """Jobs of a kind, oldest first."""
        return self.world.rows(
            "select id, kind, key, turn, arguments, agent_id, state, tries, failures, due_at, finished_at, error, result from loci_data.jobs where namespace_id = %(ns_id)s and kind = %(kind)s order by id",
            kind=kind,
        )


def shown(heard: str) -> Any:
    """The data of a message to the model."""
    return json.loads(heard)


@contextmanager
def staged(database: Database) -> Iterator[Stage]:
    """A stage in a new namespace."""
    with database.app_sessions.borrowed(autocommit=True) as connection:
        connection.execute("select set_config('loci.agent', %s, false)", [str(OPERATOR)])
        yield Stage(new_world(connection), database, pool_of(database))
