"""Background tasks: one that ends is seen and started again, takes no other with it, and keeps nobody from ending in order."""

import asyncio
import json
import time
from collections.abc import Callable
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, cast

import psycopg
import pytest
from psycopg.types.json import Jsonb

from db.pool import Pool
from db.retries import Backoff
from service import supervision
from service.app import _write_usage_forever
from service.deferred_writes import PrimaryWriteQueue
from service.operations.feed import Feed
from service.supervision import Supervisor
from service.worker import worker
from service.worker.worker import Worker
from tests.factories import OPERATOR, act_as
from tests.services import Api, Service, eventually, new_api, ok


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervision, "RESTARTS", Backoff(0.01, 0.01))


class Failing:
    """A task that ends three times, each time in another way, and then runs on."""

    def __init__(self) -> None:
        self.starts = 0
        self.steady = asyncio.Event()

    async def run(self) -> None:
        self.starts += 1
        if self.starts == 1:
            raise OverflowError("cannot convert float infinity to integer")
        if self.starts == 2:
            raise asyncio.CancelledError
        if self.starts > 3:
            self.steady.set()
            await asyncio.Event().wait()


@pytest.mark.anyio
async def test_a_task_that_ends_is_started_again_and_takes_no_other_with_it(caplog: pytest.LogCaptureFixture) -> None:
    background, failing, others = Supervisor(), Failing(), []

    async def other() -> None:
        others.append("started")
        await asyncio.Event().wait()

    background.start_task("failing", failing.run)
    background.start_task("other", other)
    async with asyncio.timeout(60):
        await failing.steady.wait()
    assert (failing.starts, others) == (4, ["started"])
    assert background.list_failing_tasks() == {"failing": "returned"}
    told = [record.levelname for record in caplog.records if record.name == "service.supervision"]
    assert told == ["ERROR"] * 3
    await background.end_tasks()


@pytest.mark.anyio
async def test_an_error_at_the_end_of_a_task_keeps_none_from_ending(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervision, "RESTARTS", Backoff(3600.0, 3600.0))  # nobody waits for that at the end
    background, ended = Supervisor(), []

    async def stubborn() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("stubborn")
            raise OverflowError

    async def quiet() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("quiet")

    for name, work in (("stubborn", stubborn), ("quiet", quiet)):
        background.start_task(name, work)
    await asyncio.sleep(0)
    async with asyncio.timeout(60):
        await background.end_tasks()
    assert sorted(ended) == ["quiet", "stubborn"]


@pytest.mark.anyio
async def test_a_worker_that_is_told_to_end_while_a_step_takes_no_notice_ends_with_the_step() -> None:
    """Waiting for a connection can swallow a cancellation; the pause after it is a minute."""
    background, begun = Supervisor(), asyncio.Event()

    async def deaf() -> bool:
        begun.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return False

    Worker(None, None)._start_step(background, "deaf", deaf, 3600.0)  # type: ignore[arg-type]
    async with asyncio.timeout(60):
        await begun.wait()
        await background.end_tasks()


@pytest.mark.anyio
async def test_a_task_that_has_run_for_a_while_counts_as_well_again(monkeypatch: pytest.MonkeyPatch) -> None:
    background, failing = Supervisor(), Failing()
    background.start_task("failing", failing.run)
    async with asyncio.timeout(60):
        await failing.steady.wait()
    monkeypatch.setattr(supervision, "SOUND", 0.0)
    assert background.list_failing_tasks() == {}
    await background.end_tasks()


def test_a_background_task_that_ends_is_seen_and_streams_go_on(start_service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    service = start_service()
    feed: Feed = service.app.state.loci.feed
    look, failures = feed._look_again_and_again, [OverflowError("cannot convert float infinity to integer")]

    async def fails_once(glance: Any) -> None:
        if failures:
            raise failures.pop()
        await look(glance)

    monkeypatch.setattr(feed, "_look_again_and_again", fails_once)
    with new_api(service) as api:
        assert ok(api.client.get("http://loci/readyz"))["status"] == "ready"
        with api.client.stream("GET", "/events", params={"after": "latest", "kind": "memory"}) as events:
            blocks = events.iter_text()
            assert "id: " in next(blocks)
            eventually(lambda: not failures)
            body = eventually(lambda: degraded(api))
            assert [check["detail"] for check in body["checks"] if not check["ok"]] == ["streams ended: OverflowError"]
            assert 'loci_task_ends_total{task="streams"}' in api.client.get("http://loci/metrics").text
            api.write("heard")
            heard = next(text for text in blocks if "data: " in text)
            assert json.loads(heard.partition("data: ")[2])["content"] == "heard"


def degraded(api: Any) -> Any:
    body = ok(api.client.get("http://loci/readyz"))
    return body if body["status"] == "degraded" else None


def settled(api: Api) -> bool:
    row = ok(api.get(f"/namespaces/{api.namespace}"))
    return bool(row["pending_embeddings"] == row["pending_names"] == 0)


def test_a_worker_works_at_writes_of_another_process(
    start_service: Callable[..., Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    for every in ("TIDY_EVERY", "FOLLOW_EVERY"):
        monkeypatch.setattr(worker, every, 3600.0)
    running = start_service(embedding={"provider": "static"})
    with new_api(running) as api, psycopg.connect(running.database.app_url, autocommit=True) as other:
        for n in range(1, 4):  # the first is found by what the request before has woken
            item = {"content": f"Alice lives in house {n}"}
            with other.transaction():
                act_as(other, OPERATOR)
                other.execute("select * from loci_api.remember(%s, %s)", [api.namespace, Jsonb([item])])
            eventually(lambda n=n: len(ok(api.get("/changes", kind="memory"))["items"]) == n)
            eventually(lambda: settled(api))


@pytest.mark.parametrize(
    ("awaited", "quiet", "pause"), [(False, 0.0, "LOOK_EVERY"), (True, 99.0, "LOOK_EVERY"), (False, 99.0, "LOOK_SELDOM")]
)
def test_a_worker_looks_seldom_where_nothing_comes_and_nobody_waits_for_changes(
    awaited: bool, quiet: float, pause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle = Worker(cast("Pool", None), None, awaited=lambda: awaited)
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + quiet)
    assert idle.look_pause() == getattr(worker, pause)


class Slow:
    """What a task writes to, which takes its time."""

    def __init__(self) -> None:
        self.begun, self.go = asyncio.Event(), asyncio.Event()
        self.written: list[Any] = []

    async def write(self, *what: Any) -> None:
        self.begun.set()
        await self.go.wait()
        self.written += what or ["uses"]

    async def give_back(self, *, everything: bool) -> None:
        self.written.append(("tokens", everything))


@pytest.mark.anyio
async def test_uses_of_keys_that_are_being_written_as_the_service_ends_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.app.WRITE_SECONDS", 0.01)
    slow = Slow()
    state = SimpleNamespace(uses=SimpleNamespace(write_counts=slow.write), limiter=slow)
    accounts = asyncio.create_task(_write_usage_forever(state))  # type: ignore[arg-type]
    await slow.begun.wait()
    accounts.cancel()
    assert await asyncio.wait({accounts}, timeout=0.1) == (set(), {accounts})
    slow.go.set()
    await asyncio.wait({accounts})
    assert (accounts.cancelled(), slow.written) == (True, ["uses", ("tokens", False)])


@pytest.mark.anyio
async def test_notes_that_are_being_written_as_the_service_ends_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow()
    notes = PrimaryWriteQueue(None)  # type: ignore[arg-type]
    monkeypatch.setattr(notes, "_send_notes", lambda several: slow.write(*(each.note for each in several)))
    running = asyncio.create_task(notes.write_until_end())
    notes.add_notes(None, None, ["first"])  # type: ignore[arg-type, list-item]
    await slow.begun.wait()
    last = asyncio.create_task(notes.write_waiting_notes())
    assert await asyncio.wait({last}, timeout=0.1) == (set(), {last})
    slow.go.set()
    assert (await last, slow.written) == (True, ["first"])
    running.cancel()
