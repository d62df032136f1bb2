"""Dreams in a namespace that commits: what was said, jobs that are done without a queue, and a scripted model."""

from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from service.dreams.dream import run_dream
from service.jobs.job import Job
from service.resources import Resources
from tests.databases import Database
from tests.dreams.stage import of_the_queue, settings, with_pool
from tests.factories import OPERATOR, Row, World, new_world, stated
from tests.llm.scripted import ScriptedModel


@dataclass
class Sleeper:
    """A namespace whose dreams are run in this process."""

    world: World
    database: Database

    def say(self, *contents: str, role: str = "user", session: str = "s1", said_at: datetime | None = None) -> list[int]:
        """Append turns of one speaker; their numbers."""
        turns = [stated({"role": role, "content": content, **({"said_at": said_at} if said_at else {})}) for content in contents]
        rows = self.world.rows("select id from loci_api.add_turns(%(ns)s, %(s)s, %(t)s) order by id", s=session, t=Jsonb(turns))
        return [row["id"] for row in rows]

    def logged(self) -> list[str]:
        """What the log of conversations still holds."""
        return [row["content"] for row in self.world.rows("select content from loci.conversation_log(%(ns)s) order by id")]

    def job(self, **arguments: Any) -> Job:
        """A dream that was asked for and begun."""
        made = self.world.row("select * from loci_api.enqueue_job(%(ns)s, 'dream', %(a)s)", a=Jsonb(arguments))
        return self.begun(made["id"])

    def begun(self, id: UUID) -> Job:
        """A job that a worker has taken off the queue."""
        with of_the_queue(self.database) as queue:
            (taken,) = queue.execute(
                """update procrastinate_jobs set status = 'doing' where args ->> 'job_id' = %s returning id, attempts""", [str(id)]
            ).fetchall()
        return Job(
            **self.world.row(
                "select * from loci_api.start_job(%(queue_id)s, %(attempt)s)", queue_id=taken["id"], attempt=taken["attempts"]
            )
        )

    def ended(self, job: Job, status: str) -> None:
        """The queue says what became of a job, as its worker does: in a connection of the worker's role."""
        with of_the_queue(self.database) as queue:
            queue.execute(
                "update procrastinate_jobs set status = %s::procrastinate_job_status where args ->> 'job_id' = %s",
                [status, str(job.id)],
            )

    def dream(self, script: Any, job: Job | None = None, *, attempts: int = 6, **arguments: Any) -> ScriptedModel:
        """Do a job, once; the model that it asked. Raises what the dream raises."""
        job = job or self.job(**arguments)
        model = ScriptedModel(script)
        self.run(lambda work: run_dream(work, job), model, attempts)
        return model

    def run(self, what: Callable[[Resources], Coroutine[Any, Any, Any]], model: ScriptedModel | None, attempts: int = 6) -> Any:
        """Do something with what a job is given."""
        return with_pool(self.database, lambda pool: what(Resources(settings(attempts), pool, model=model)))

    def reports(self, name: str | None = None) -> list[Row]:
        """Reports, newest first."""
        return self.world.rows("select * from loci.list_passes(%(ns)s, 1000, null, %(name)s)", name=name)

    def state(self, id: UUID) -> Row:
        """A job."""
        return self.world.row(
            "select id, kind, key, turn, arguments, agent_id, state, tries, failures, due_at, finished_at, error, result from loci_data.jobs where namespace_id = %(ns_id)s and id = %(id)s",
            id=id,
        )

    def setting(self, **settings: Any) -> None:
        """Change settings."""
        self.world.rows("select loci_api.update_namespace(%(ns)s, %(s)s)", s=Jsonb({"settings": settings}))

    def preferences(self) -> list[Row]:
        """Inferred preferences that hold, oldest first."""
        found = self.world.rows("""select * from loci.list_memories(%(ns)s, '{"category": "user-preferences"}', 1000)""")
        return found[::-1]

    def undo(self, operation: str | UUID) -> Row:
        """Undo an operation."""
        return self.world.row("select * from loci_api.undo_operation(%(ns)s, %(id)s)", id=operation)


@contextmanager
def new_sleeper(database: Database) -> Iterator[Sleeper]:
    """A new namespace to dream in, acted in as the operator; each statement commits."""
    with database.app_sessions.borrowed(autocommit=True) as connection:
        connection.execute("select set_config('loci.agent', %s, false)", [str(OPERATOR)])
        world = new_world(connection)
        connection.execute("select set_config('loci.agent', %s, false)", [str(OPERATOR)])
        yield Sleeper(world, database)


def preference(content: str, *turns: int, strength: str = "minor", **more: Any) -> Row:
    """A preference as a model says it."""
    return {"content": content, "strength": strength, "turns": list(turns), "existing": None, "sensitive": False, **more}


def preferences(*given: Row) -> Row:
    """An answer of a model."""
    return {"preferences": list(given)}
