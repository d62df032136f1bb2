"""Jobs are done once, whoever is killed at whatever moment; a job that kills its worker is given up."""

import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.process import BaseProcess
from typing import Any

import psycopg
import pytest

from db.embedded import DATABASE, EmbeddedServer
from tests.blocking import blocked
from tests.databases import ADMIN_URL, VERSION, Database, Server, data_folder
from tests.factories import OPERATOR, act_as
from tests.faults.job_workers import EFFECTS, Jobs, running, two_steps, worker
from tests.faults.test_memories_concurrency import two_sessions
from tests.services import PATIENCE, eventually

JOBS = 50


@pytest.fixture(scope="module")
def witnessed(server: Server) -> Iterator[Database]:
    """A database in which every effect of a job is a row."""
    made = server.clone("jobs")
    with made.admin() as connection:
        connection.execute(EFFECTS)
    yield made
    server.drop(made)


@pytest.fixture
def workers(witnessed: Database) -> Iterator[list[BaseProcess]]:
    """Processes that end with the test."""
    started: list[BaseProcess] = []
    yield started
    for process in started:
        with suppress(ValueError):
            process.kill()
            process.join(PATIENCE)


@pytest.fixture
def asked(witnessed: Database) -> Iterator[Jobs]:
    """A namespace with no jobs, and none elsewhere."""
    jobs = Jobs(witnessed)
    jobs.admin.execute("truncate public.effects")
    jobs.admin.execute("delete from loci_jobs.procrastinate_jobs")  # a worker may have been killed as it gave back a place
    yield jobs
    jobs.admin.execute("select loci_api.delete_namespace(%s)", [jobs.namespace])
    jobs.admin.close()


def done(asked: Jobs) -> bool:
    """Whether no job waits or runs, and the queue is empty."""
    return not {"waiting", "running"} & set(asked.states()) and asked.queued() == 0


@pytest.mark.release
@pytest.mark.row("L6")
def test_workers_that_are_killed_at_any_moment_lose_no_job_and_do_none_twice(
    witnessed: Database, asked: Jobs, workers: list[BaseProcess]
) -> None:
    ids = [asked.ask(turn=f"turn {n % 30}") for n in range(JOBS)]
    chance = random.Random(6)
    killed = 0
    workers += [worker(witnessed), worker(witnessed)]
    until = time.monotonic() + PATIENCE
    while not done(asked) or killed < 3:
        assert time.monotonic() < until, asked.states()
        time.sleep(chance.uniform(0.1, 0.5))
        if killed < 6:
            victim = workers.pop(0)
            victim.kill()
            victim.join()
            killed += 1
            workers.append(worker(witnessed))
    assert asked.states() == {"succeeded": JOBS}
    assert asked.effects() == {(job, step): 1 for job in ids for step in ("memories", "last")}


def test_a_worker_killed_between_its_commit_and_the_queue_hearing_of_it_has_done_the_job(
    witnessed: Database, asked: Jobs, workers: list[BaseProcess]
) -> None:
    job = asked.ask(dies="after")
    workers.append(worker(witnessed))
    workers[0].join(PATIENCE)
    assert workers[0].exitcode == -9
    assert (asked.state(job), asked.queued()) == ("succeeded", 1)
    workers.append(worker(witnessed))
    eventually(lambda: asked.queued() == 0)
    assert (asked.state(job), asked.get(job)["tries"]) == ("succeeded", 1)
    assert asked.effects() == {(job, "memories"): 1, (job, "last"): 1}


@pytest.mark.release
@pytest.mark.row("L6")
def test_a_job_that_kills_every_worker_is_dead_after_its_tries_and_others_go_on(
    witnessed: Database, asked: Jobs, workers: list[BaseProcess]
) -> None:
    poison = asked.ask("poison")
    other = asked.ask()

    def settled() -> bool:
        nonlocal other
        if not workers or workers[-1].exitcode is not None:
            workers.append(worker(witnessed, attempts=3, heartbeat=0.2, lost_after=0.8, backoff=0.5, backoff_limit=5.0))
        if asked.state(other) == "dead":  # it was with the poison each time
            other = asked.ask()
        return asked.state(poison) == "dead" and asked.state(other) == "succeeded"

    eventually(settled)
    found = asked.get(poison)
    assert (found["tries"], found["failures"], found["error"]) == (3, 3, "its worker was lost")
    assert asked.effects()[other, "last"] == 1
    eventually(lambda: asked.queued() == 0)


def test_a_worker_that_wakes_up_after_its_job_was_taken_over_leaves_it_alone(
    witnessed: Database, asked: Jobs, workers: list[BaseProcess]
) -> None:
    job = asked.ask(waits=True)
    workers.append(worker(witnessed, lost_after=3600))  # it takes nothing over itself
    eventually(lambda: (job, "memories") in asked.effects())
    sleeper = workers[0].pid
    assert sleeper is not None
    os.kill(sleeper, signal.SIGSTOP)
    workers.append(worker(witnessed))
    eventually(lambda: asked.get(job)["tries"] > 1 and asked.state(job) == "running")  # a busy machine may make it lose its own
    os.kill(sleeper, signal.SIGCONT)
    asked.admin.execute("insert into public.allowed values (%s)", [job])
    eventually(lambda: asked.state(job) == "succeeded" and asked.queued() == 0)
    found = asked.admin.execute("select step, process from public.effects order by at").fetchall()
    assert [(row["step"], row["process"]) for row in found] == [("memories", sleeper), ("last", workers[1].pid)]
    workers[1].kill()
    workers[1].join(PATIENCE)
    later = asked.ask()
    eventually(lambda: asked.state(later) == "succeeded")


@pytest.mark.release
@pytest.mark.skipif(ADMIN_URL is not None, reason="kills the server, so it needs one of its own: the embedded one")
def test_a_database_that_crashes_loses_no_job_and_the_worker_comes_back_by_itself() -> None:
    with data_folder(migrated=True) as folder:
        server = EmbeddedServer(folder, VERSION)
        with psycopg.connect(server.connection_url("postgres"), autocommit=True) as admin:
            admin.execute("alter system set fsync = off")  # survives a crash of processes, not a cut of power
            admin.execute("select pg_reload_conf()")
        asked = Jobs(Database(DATABASE, server.connection_url("postgres"), server.connection_url("loci_app")))
        asked.admin.execute(EFFECTS)
        ids = [asked.ask() for _ in range(30)]
        with (
            running(asked.database, {"enrich": two_steps}),
            psycopg.connect(server.connection_url("postgres"), autocommit=True) as witness,
        ):
            eventually(lambda: asked.states().get("succeeded", 0) > 3)
            os.kill(asked.admin.info.backend_pid, signal.SIGKILL)
            with pytest.raises(psycopg.OperationalError):
                asked.states()
            eventually(lambda: ended(witness))  # the server ends all sessions, and lets nobody in before it has recovered
            eventually(lambda: connected(asked))
            eventually(lambda: done(asked))
        assert asked.states() == {"succeeded": len(ids)}
        assert asked.effects() == {(job, step): 1 for job in ids for step in ("memories", "last")}
        asked.admin.close()
        server.leave_server()


def ended(session: psycopg.Connection[Any]) -> bool:
    """Whether the server has ended this session."""
    try:
        session.execute("select")
    except psycopg.OperationalError:
        return True
    return False


def connected(asked: Jobs) -> bool:
    """Whether the database lets the test in again."""
    try:
        asked.connect()
    except psycopg.OperationalError:
        return False
    return True


class Taken:
    """A job that a worker has begun, whose end a test says."""

    def __init__(self, asked: Jobs) -> None:
        self.asked, self.id = asked, asked.ask()
        asked.admin.execute("set search_path = loci_jobs")
        take = """select t.id from procrastinate_register_worker_v1() w
                  cross join lateral procrastinate_fetch_job_v2(array['loci'], w.worker_id) t"""
        (self.place,) = (row["id"] for row in asked.admin.execute(take))

    def put_off(self) -> None:
        """It is to be tried again in an hour."""
        self.asked.admin.execute("select procrastinate_retry_job_v2(%s, now() + interval '1 hour', null, null, null)", [self.place])

    def fail(self) -> None:
        """It is dead."""
        self.asked.admin.execute("select procrastinate_finish_job_v1(%s, 'failed', false)", [self.place])

    def ask(self, connection: psycopg.Connection[Any], function: str) -> Any:
        """Retry it or cancel it; what that says."""
        with connection.transaction():
            act_as(connection, OPERATOR)
            statement = {
                "retry": "select loci_api.retry_job(%s, %s) as said",
                "cancel": "select loci_api.cancel_job(%s, %s) as said",
            }
            row = connection.execute(statement[function], [self.asked.namespace, self.id]).fetchone()
        return row and row["said"]


def test_a_job_that_is_put_off_at_the_moment_at_which_it_is_retried_is_due_now(witnessed: Database, asked: Jobs) -> None:
    job = Taken(asked)
    with two_sessions(witnessed) as (_, other, watcher, pool):
        with asked.admin.transaction():
            job.put_off()
            retrying = blocked(pool, watcher, other, lambda: job.ask(other, "retry"))
        retrying.result(PATIENCE)
        places = watcher.execute("select status, scheduled_at from loci_jobs.procrastinate_jobs").fetchall()
    assert (places, asked.get(job.id)["due_at"]) == ([("todo", None)], None)


def test_the_second_of_concurrent_retries_of_a_dead_job_begins_again(witnessed: Database, asked: Jobs) -> None:
    job = Taken(asked)
    job.fail()
    with two_sessions(witnessed) as (one, other, watcher, pool):
        with one.transaction():
            job.ask(one, "retry")
            retrying = blocked(pool, watcher, other, lambda: job.ask(other, "retry"))
        with pytest.raises(psycopg.errors.SerializationFailure, match="being retried by another request"):
            retrying.result(PATIENCE)
        job.ask(other, "retry")
    assert (asked.state(job.id), asked.queued()) == ("waiting", 1)


def test_a_job_that_dies_and_is_retried_at_the_moment_at_which_it_is_cancelled_is_cancelled(
    witnessed: Database, asked: Jobs
) -> None:
    job = Taken(asked)
    with two_sessions(witnessed) as (_, other, watcher, pool):
        with asked.admin.transaction():
            job.fail()
            job.ask(asked.admin, "retry")
            cancelling = blocked(pool, watcher, other, lambda: job.ask(other, "cancel"))
        assert cancelling.result(PATIENCE) == "cancelled"
    assert (asked.state(job.id), asked.queued()) == ("cancelled", 0)
