"""Jobs over a running service, and workers whose handlers are a test's own."""

import asyncio
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from db.errors import NeedsModel
from db.jobs import jobs
from db.jobs.queue import QueueError
from db.pool import JsonObject, make_pool
from service.jobs import runner
from service.jobs.job import Job, Postponed
from service.llm.model import ModelError
from service.llm.prompts import BadPrompt
from service.resources import Resources
from service.settings import Settings
from tests.databases import Database
from tests.faults.job_workers import EFFECTS, Jobs, running, two_steps
from tests.services import PATIENCE, Api, Service, eventually, new_api, ok, problem


@pytest.fixture
def asked(own_database: Database) -> Iterator[Jobs]:
    """A namespace in a database whose jobs nobody else works."""
    made = Jobs(own_database)
    yield made
    made.admin.execute("select loci_api.delete_namespace(%s)", [made.namespace])
    made.admin.close()


class Held:
    """A handler that stops where the test wants it to."""

    def __init__(self) -> None:
        self.begun, self.go, self.ended = threading.Event(), threading.Event(), threading.Event()
        self.tries = 0

    async def __call__(self, work: Resources, job: Job) -> None:
        self.tries += 1
        try:
            self.begun.set()
            while not self.go.is_set():  # noqa: ASYNC110 (the event is of another thread)
                await asyncio.sleep(0.01)
            async with job.hold_alone(work, "effect") as tx:
                await jobs.finish_job(tx, id=job.id)
        finally:
            self.ended.set()


def test_a_job_that_is_asked_for_is_done(start_service: Callable[..., Service]) -> None:
    with new_api(start_service(llm={"endpoint": "http://127.0.0.1:9/v1"})) as api:
        job = ok(api.post("/dream", {"passes": ["memories"]}), 202)["job_id"]
        found = eventually(lambda: (shown := ok(api.get(f"/jobs/{job}")))["state"] == "succeeded" and shown)
        assert (found["kind"], found["tries"], found["failures"]) == ("dream", 1, 0)
        assert [(report["pass"], report["outcome"]) for report in found["passes"]] == [("memories", "unchanged")]
        assert found["calls"] == {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0, "cost": 0, "took_ms": 0}
        assert [shown["id"] for shown in ok(api.get("/jobs", state="succeeded"))["items"]] == [job]
        counted = 'loci_job_tries_total{kind="dream",outcome="succeeded"}'  # after its commit
        eventually(lambda: counted in api.client.get("http://loci/metrics").text)
        problem(api.post(f"/jobs/{job}/retry"), 409, "conflict")
        problem(api.post(f"/jobs/{job}/cancel"), 409, "conflict")


def test_a_job_that_does_not_exist_is_not_found(api: Api) -> None:
    for path in ("", "/retry", "/cancel"):
        response = api.client.request("POST" if path else "GET", f"/jobs/{uuid4()}{path}")
        assert "does not exist" in problem(response, 404, "not-found")["detail"]


@pytest.mark.row("L6")
def test_a_failure_is_tried_again_and_a_job_that_nobody_knows_is_dead(asked: Jobs) -> None:
    async def shaky(work: Resources, job: Job) -> None:
        if job.tries < 3:
            raise RuntimeError("not yet")
        async with job.hold_alone(work, "effect") as tx:
            await jobs.finish_job(tx, id=job.id, result={"tries": job.tries})

    shaken, unknown = asked.ask(), asked.ask("sing")
    with running(asked.database, {"enrich": shaky}):
        eventually(lambda: not {"waiting", "running"} & set(asked.states()))
    found = asked.get(shaken)
    assert (found["state"], found["failures"], found["result"]) == ("succeeded", 2, {"tries": 3})
    assert (asked.state(unknown), asked.get(unknown)["error"]) == ("dead", "no worker here does jobs of the kind sing")
    assert asked.queued() == 0


FOR_THE_OPERATOR = {
    "no such model": ModelError("no such model", final=True),
    "no model at all": NeedsModel(),
    "a prompt that cannot be read": BadPrompt("the prompt cannot be read"),
}


@pytest.mark.parametrize("why", FOR_THE_OPERATOR)
def test_a_refusal_for_the_operator_ends_no_job_and_it_goes_on_with_other_settings(asked: Jobs, why: str) -> None:
    async def refused(work: Resources, job: Job) -> None:
        if work.settings.llm.model != "mended":
            raise FOR_THE_OPERATOR[why]
        async with job.hold_alone(work, "effect") as tx:
            await jobs.finish_job(tx, id=job.id)

    job = asked.ask()
    with running(asked.database, {"enrich": refused}, attempts=1):
        eventually(lambda: asked.get(job)["postponed"])
    found = asked.get(job)
    assert (found["state"], found["failures"], found["error"]) == ("waiting", 0, str(FOR_THE_OPERATOR[why]))
    assert found["due_at"] > found["started_at"]
    (reason,) = asked.admin.execute("select * from loci_api.refused_jobs()").fetchall()
    assert reason == {"reason": str(FOR_THE_OPERATOR[why]), "jobs": 1}
    with running(asked.database, {"enrich": refused}, llm={"model": "mended"}):
        eventually(lambda: asked.state(job) == "succeeded")
    assert asked.admin.execute("select * from loci_api.refused_jobs()").fetchall() == []


def test_a_worker_with_the_same_settings_leaves_a_refused_job_waiting_and_a_retry_does_not(asked: Jobs) -> None:
    seen = []

    async def refused(work: Resources, job: Job) -> None:
        seen.append(job.id)
        raise ModelError("no such model", final=True)

    job, other = asked.ask(), None
    for _ in range(2):
        with running(asked.database, {"enrich": refused, "sing": refused}):
            other = asked.ask("sing")
            eventually(lambda other=other: asked.get(other)["postponed"])
    assert seen.count(job) == 1
    asked.admin.execute("select loci_api.retry_job(%s, %s)", [asked.namespace, job])
    with running(asked.database, {"enrich": refused}):
        eventually(lambda: seen.count(job) == 2)


@pytest.mark.row("L6")
def test_a_job_that_always_fails_is_dead_and_says_why_without_quoting_the_database(asked: Jobs) -> None:
    async def writes(work: Resources, job: Job) -> None:
        async with job.hold_alone(work, "effect") as tx:
            await tx.rows(JsonObject, "select 'a secret thought'::integer")

    job = asked.ask()
    with running(asked.database, {"enrich": writes}, attempts=2):
        eventually(lambda: asked.state(job) == "dead")
    found = asked.get(job)
    assert (found["tries"], found["failures"]) == (2, 2)
    assert found["error"].startswith("InvalidTextRepresentation: 22P02")
    assert "secret" not in found["error"]


def test_a_busy_job_is_put_off_and_in_the_end_skipped(asked: Jobs) -> None:
    async def busy(work: Resources, job: Job) -> None:
        raise Postponed("the agent is at work")

    job = asked.ask()
    with running(asked.database, {"enrich": busy}, busy_tries=2):
        eventually(lambda: asked.state(job) == "skipped")
    found = asked.get(job)
    assert (found["tries"], found["failures"], found["postponed"], found["error"]) == (3, 0, 3, "the agent is at work")


def test_a_job_that_is_put_off_holds_up_none_of_its_turn(asked: Jobs) -> None:
    async def scheduled_is_busy(work: Resources, job: Job) -> None:
        if job.arguments.get("scheduled"):
            raise Postponed("the agent is at work")

    first = asked.ask(turn="dream", scheduled=True)
    with running(asked.database, {"enrich": scheduled_is_busy}, busy_backoff=600):
        eventually(lambda: asked.get(first)["postponed"] == 1)
        second = asked.ask(turn="dream")
        eventually(lambda: asked.state(second) == "succeeded")
    assert asked.state(first) == "waiting"


def test_a_running_job_that_is_cancelled_stops_and_has_changed_nothing(asked: Jobs) -> None:
    held = Held()
    job = asked.ask()
    with running(asked.database, {"enrich": held}):
        assert held.begun.wait(PATIENCE)
        row = asked.admin.execute("select loci_api.cancel_job(%s, %s) as state", [asked.namespace, job]).fetchone()
        assert row == {"state": "running"}
        assert held.ended.wait(PATIENCE)
        eventually(lambda: asked.state(job) == "cancelled")
    assert (held.tries, asked.queued()) == (1, 0)


@pytest.mark.row("X9")
def test_notices_of_a_stranger_stop_no_job_and_no_worker(asked: Jobs) -> None:
    held = Held()
    job = asked.ask()
    with running(asked.database, {"enrich": held}), asked.database.admin() as stranger:  # any login may notify
        assert held.begun.wait(PATIENCE)
        (place,) = stranger.execute("select id from loci_jobs.procrastinate_jobs").fetchone()  # type: ignore[misc]
        rubbish = [
            "",
            "no json",
            "{",
            "[1e400]",
            '{"type": "abort_job_requested"}',
            f'{{"type":"abort_job_requested","job_id":{place}}}',
        ]
        for channel in ("procrastinate_queue_v1#loci", "procrastinate_any_queue_v1", "loci_jobs"):
            for payload in [*rubbish, *(f"flood {number}" for number in range(1000))]:
                stranger.execute("select pg_notify(%s, %s)", [channel, payload])
        later = asked.ask()
        eventually(lambda: held.tries == 2)  # it goes on taking jobs
        assert not held.ended.is_set()
        held.go.set()
        eventually(lambda: asked.state(job) == asked.state(later) == "succeeded")
    assert (asked.get(job)["tries"], asked.get(job)["failures"]) == (1, 0)


def test_a_job_that_is_cancelled_in_its_transaction_has_changed_nothing(asked: Jobs) -> None:
    asked.admin.execute(EFFECTS)
    begun = threading.Event()

    async def half(work: Resources, job: Job) -> None:
        async with job.hold_alone(work, "effect") as tx:
            await tx.row(JsonObject, "insert into public.effects (job, step) values (%(job)s, 'half') returning job", job=job.id)
            await jobs.finish_job(tx, id=job.id)
            begun.set()
            await asyncio.sleep(60)

    job = asked.ask()
    with running(asked.database, {"enrich": half}):
        assert begun.wait(PATIENCE)
        asked.admin.execute("select loci_api.cancel_job(%s, %s)", [asked.namespace, job])
        eventually(lambda: asked.state(job) == "cancelled")
    assert (job, "half") not in asked.effects()


def test_a_job_that_was_finished_when_it_was_cancelled_has_succeeded(asked: Jobs) -> None:
    committed, ended = threading.Event(), threading.Event()

    async def slow_to_end(work: Resources, job: Job) -> None:
        async with job.hold_alone(work, "effect") as tx:
            await jobs.finish_job(tx, id=job.id)
        committed.set()
        try:
            await asyncio.sleep(30)
        finally:
            ended.set()

    job = asked.ask()
    with running(asked.database, {"enrich": slow_to_end}):
        assert committed.wait(PATIENCE)
        with pytest.raises(psycopg.errors.UniqueViolation, match="is over: succeeded"):
            asked.admin.execute("select loci_api.cancel_job(%s, %s)", [asked.namespace, job])
        asked.admin.execute("set search_path = loci_jobs")
        asked.admin.execute("update procrastinate_jobs set abort_requested = true")
        asked.admin.execute("reset search_path")
        assert ended.wait(PATIENCE)
        eventually(lambda: asked.queued() == 0)
    assert asked.state(job) == "succeeded"


def test_a_worker_that_is_stopped_gives_its_jobs_back_at_once_and_they_lose_no_try(
    asked: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "GRACE", 0.1)
    first, second = Held(), Held()
    job = asked.ask()
    with running(asked.database, {"enrich": first}):
        assert first.begun.wait(PATIENCE)
    assert first.ended.is_set()
    found = asked.get(job)
    assert (found["state"], found["tries"], found["failures"], found["error"]) == ("waiting", 1, 0, None)
    second.go.set()
    with running(asked.database, {"enrich": second}):
        eventually(lambda: asked.state(job) == "succeeded")
    assert asked.get(job)["failures"] == 0


def test_the_worker_of_a_job_whose_namespace_is_deleted_stops_quietly(asked: Jobs, caplog: pytest.LogCaptureFixture) -> None:
    held = Held()
    gone = Jobs(asked.database)
    gone.ask()
    with running(asked.database, {"enrich": held}), caplog.at_level(logging.INFO):
        assert held.begun.wait(PATIENCE)
        gone.admin.execute("select loci_api.delete_namespace(%s)", [gone.namespace])
        assert held.ended.wait(PATIENCE)
        eventually(lambda: asked.queued() == 0)
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING] == []
    gone.admin.close()


def test_a_lost_connection_of_the_queue_is_made_again_and_what_ended_meanwhile_has_ended(asked: Jobs) -> None:
    held = Held()
    asked.admin.execute(EFFECTS)
    job = asked.ask()
    with running(asked.database, {"enrich": held, "dream": two_steps}):
        assert held.begun.wait(PATIENCE)
        asked.admin.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'loci-jobs' and datname = current_database()"
        )
        held.go.set()
        eventually(lambda: asked.state(job) == "succeeded")
        later = asked.ask("dream")
        eventually(lambda: asked.state(later) == "succeeded")
        eventually(lambda: asked.queued() == 0)
    assert held.tries == 1


def test_a_try_is_one_line_of_the_log_and_the_library_says_nothing(asked: Jobs, caplog: pytest.LogCaptureFixture) -> None:
    held = Held()
    held.go.set()
    with caplog.at_level(logging.INFO), running(asked.database, {"enrich": held}):
        job = asked.ask()
        eventually(lambda: asked.queued() == 0 and asked.state(job) == "succeeded")
    lines: list[Any] = [record for record in caplog.records if str(job) in record.getMessage()]
    assert [line.name for line in lines] == ["service.jobs.runner"]
    assert lines[0].fields["namespace"] == asked.namespace
    assert not [record for record in caplog.records if record.name.startswith("procrastinate.worker")]


class Deaf(runner.Runner):
    """Loses its first cancellation, as a library may, and then the queue."""

    async def _run_once(self) -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        raise QueueError


@pytest.mark.anyio
async def test_a_runner_ends_when_told_also_where_something_below_does_not_pass_it_on() -> None:
    work = Resources(Settings(_env_file=None), make_pool("postgresql:///nowhere"))
    running = asyncio.create_task(Deaf("postgresql:///nowhere", work, {}).work_until_end())
    await asyncio.sleep(0)
    running.cancel()
    await asyncio.wait({running}, timeout=PATIENCE)
    assert running.cancelled()


@pytest.mark.anyio
async def test_a_runner_that_is_told_to_end_while_it_opens_its_queue_leaves_nothing_running() -> None:
    others = asyncio.all_tasks()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://nobody@127.0.0.1:{silent.getsockname()[1]}/nothing"
        running = asyncio.create_task(runner.Runner(url, Resources(Settings(_env_file=None), make_pool(url)), {}).work_until_end())
        await asyncio.to_thread(silent.accept)
        running.cancel()
        await asyncio.wait({running})
        if left := asyncio.all_tasks() - others:
            _, left = await asyncio.wait(left, timeout=10)
        assert left == set()
