"""Requests end: after their time, and when their client leaves; what they had begun is taken back, in the database too."""

import asyncio
import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from db.pool import OPERATOR, make_pool, open_transaction
from db.time_limits import TimeLimits
from service.http.deadlines import KINDS
from service.http.request_cancellation import Presence
from tests.databases import Database
from tests.services import Api, Service, eventually, new_api, ok, problem

AT_WORK = """select from pg_stat_activity where datname = current_database() and usename = 'loci_app' and pid <> pg_backend_pid()
             and state <> 'idle' and wait_event_type = 'Lock'"""


@contextmanager
def standing_still(service: Service) -> Iterator[Callable[[], int]]:
    """Whatever needs memories waits until the block ends; what is yielded counts who does."""
    with service.database.admin() as watcher, service.database.admin() as locker, locker.transaction(force_rollback=True):
        locker.execute("lock table loci_data.memories in access exclusive mode")
        yield lambda: watcher.execute(AT_WORK).rowcount


@pytest.mark.row("X9")
@pytest.mark.parametrize(
    ("kind", "method", "path", "body"),
    [
        ("read", "GET", "/memories", None),
        ("read", "POST", "/recall", {"query": "what?"}),
        ("write", "POST", "/memories", {"content": "new"}),
        ("batch", "POST", "/memories/batch", {"items": [{"content": "new"}]}),
        ("context", "POST", "/context", {"message": "what?", "session_id": "s"}),
        ("model", "POST", "/retain", {"text": "Alice works at Acme."}),
        ("exports", "GET", "/namespaces/{name}/export", None),
    ],
)
def test_a_request_past_its_deadline_is_cancelled_and_says_so(
    slow: Service, api_of_slow: Api, kind: str, method: str, path: str, body: Any
) -> None:
    deadlines = slow.app.state.loci.settings.deadlines
    before, after = getattr(deadlines, kind), 0.4
    object.__setattr__(deadlines, kind, after)
    try:
        with standing_still(slow) as waiting:
            response = api_of_slow.client.request(method, path.format(name=api_of_slow.namespace), json=body)
            assert "took longer than it may" in problem(response, 504, "deadline-exceeded")["detail"]
            eventually(lambda: waiting() == 0)
    finally:
        object.__setattr__(deadlines, kind, before)
    assert ok(api_of_slow.get("/memories"))["items"] == []


@pytest.fixture(scope="module")
def slow(server: Any) -> Iterator[Service]:
    """A service in which locks are waited for longer than anything."""
    from tests.services import serve

    database = server.clone("slow")
    with serve(database, worker=False, deadlines={"lock": 600}) as running:
        yield running
    server.drop(database)


@pytest.fixture
def api_of_slow(slow: Service) -> Iterator[Api]:
    """A client in a namespace of its own."""
    with new_api(slow) as api:
        yield api


def test_a_statement_that_waits_too_long_for_a_lock_is_given_up(start_service: Callable[..., Service]) -> None:
    service = start_service(worker=False, deadlines={"lock": 0.3})
    with new_api(service) as api, standing_still(service):
        response = api.get("/memories")
        problem(response, 503, "unavailable")
        assert response.headers["retry-after"] == "1"


CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "recall", "arguments": {"query": "what?"}}}
LEAVING = {
    "a read": ("GET", "/api/v1/memories", None),
    "a write": ("POST", "/api/v1/memories", {"content": "of somebody who left"}),
    "a poll": ("GET", "/api/v1/changes?wait=30", None),
    "an export": ("GET", "/api/v1/namespaces/{name}/export", None),
    "a tool": ("POST", "/mcp", CALL),
}


@pytest.mark.row("X9")
@pytest.mark.parametrize("kind", LEAVING)
def test_the_work_of_a_client_that_leaves_is_cancelled(slow: Service, api_of_slow: Api, kind: str) -> None:
    ok(api_of_slow.get("/memories"))
    method, path, given = LEAVING[kind]
    body = b"" if given is None else json.dumps(given).encode()
    head = (
        f"{method} {path.format(name=api_of_slow.namespace)} HTTP/1.1\r\nHost: localhost\r\nX-Namespace: {api_of_slow.namespace}\r\n"
        "content-type: application/json\r\naccept: application/json, text/event-stream\r\nmcp-protocol-version: 2025-06-18\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    pool = slow.app.state.loci.pool
    with slow.database.admin() as admin:  # then the sequencer needs nothing of what is locked
        eventually(lambda: admin.execute("select count(*) from loci_data.outbox").fetchone() == (0,))
    with (
        standing_still(slow) as waiting,
        slow.database.admin() as locker,
        locker.transaction(force_rollback=True),
        socket.socket(socket.AF_UNIX) as sent,
    ):
        locker.execute("lock table loci_data.changes in access exclusive mode")
        sent.connect(str(slow.socket))
        sent.sendall(head.encode() + body)
        eventually(lambda: waiting() == 1)
        sent.close()
        eventually(lambda: waiting() == 0)
    eventually(lambda: pool.get_stats()["pool_available"] == pool.get_stats()["pool_size"])  # and all are clean
    assert ok(api_of_slow.get("/memories"))["items"] == []


def test_clients_that_leave_are_no_errors_of_the_service(
    start_service: Callable[..., Service], caplog: pytest.LogCaptureFixture
) -> None:
    service = start_service(worker=False)
    asked = (
        b"POST /api/v1/namespaces/left/import HTTP/1.1\r\nHost: localhost\r\ncontent-length: 100\r\n\r\n{",
        b"POST /api/v1/memories HTTP/1.1\r\nHost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\ncontent-type: application/json\r\naccept: */*\r\ncontent-length: 100\r\n\r\n{",
    )
    caplog.set_level("DEBUG", "service.requests")
    for request in asked:
        with socket.socket(socket.AF_UNIX) as sent:
            sent.connect(str(service.socket))
            sent.sendall(request)
            time.sleep(0.05)
    eventually(lambda: len([r for r in caplog.records if r.name == "service.requests"]) >= len(asked))
    assert all(" 499 in " in r.getMessage() for r in caplog.records if r.name == "service.requests")
    assert [r.getMessage() for r in caplog.records if r.levelname in {"WARNING", "ERROR"}] == []


@pytest.mark.anyio
async def test_the_database_keeps_the_deadline_of_a_process_that_stands_still(database: Database) -> None:
    pool = make_pool(database.app_url, size=1)
    async with pool:
        limits = TimeLimits(deadline=30, lock=10, idle=20)
        async with open_transaction(pool, key_hash=OPERATOR, namespace=None, role=None, within=limits) as tx:
            shown = [
                await tx.value(str, "select current_setting(%(name)s)", name=name)
                for name in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
            ]
            version = tx.connection.info.server_version
            whole = await tx.value(str, "select current_setting('transaction_timeout', true)")
        assert shown == ["30s", "10s", "20s"]
        assert whole == ("35s" if version >= 170_000 else None)
        async with open_transaction(pool, key_hash=OPERATOR, namespace=None, role=None) as tx:
            assert await tx.value(str, "select current_setting('statement_timeout')") == "0"  # nothing is left behind


def test_every_route_that_is_named_is_one(service: Service) -> None:
    routes = {operation["operationId"] for path in service.app.openapi()["paths"].values() for operation in path.values()}
    assert set(KINDS) - {"mcp"} <= routes


@pytest.mark.anyio
async def test_a_deadline_counts_from_the_arrival_without_the_wait_for_the_body() -> None:
    told: list[float] = []
    began = time.monotonic()
    parts = iter([(0.3, b"a", True), (0.3, b"b", False)])

    async def receive() -> Any:
        for seconds, body, more in parts:
            await asyncio.sleep(seconds)
            return {"type": "http.request", "body": body, "more_body": more}
        return await asyncio.sleep(60)

    async def answer_late() -> None:
        told.append(time.monotonic() - began)

    presence = Presence(receive, {b"content-length": b"2"})
    presence.answer_late = answer_late
    presence.arm_deadline(60)  # as long as nobody knows of which kind it is
    await asyncio.sleep(0.2)  # admission
    assert (await presence.receive_message())["more_body"]
    assert not (await presence.receive_message())["more_body"]
    presence.arm_deadline(0.5)
    with pytest.raises(asyncio.CancelledError):
        await asyncio.sleep(60)
    current = asyncio.current_task()
    assert current is not None
    current.uncancel()
    await presence.wait_for_late_reply()
    presence.end_request()
    assert 1.05 < told[0] < 1.3 + 5  # 0.2 of admission and 0.3 of work, behind 0.6 for the body
