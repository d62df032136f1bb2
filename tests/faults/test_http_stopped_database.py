"""The database stands still: it neither answers nor goes away. Callers hear of it in time, and all goes on when it does."""

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import psycopg
import pytest

from db.embedded import DATABASE, EmbeddedServer
from tests.databases import ADMIN_URL, VERSION, Database, data_folder
from tests.services import Service, eventually, ok, problem, serve

pytestmark = pytest.mark.skipif(ADMIN_URL is not None, reason="stops the server, so it needs one of its own: the embedded one")
DEADLINE = 3.0  # of every kind that is asked for here
MARGIN = 9.0  # for a slow machine; a driver that takes a statement back from a server that says nothing needs ten seconds
SECONDS_TO_SAY = 2.0  # in which /readyz answers on a machine that does nothing else
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "recall", "arguments": {"query": "what?"}}}
ASKED = {
    "a read": ("GET", "/memories", None),
    "a recall": ("POST", "/recall", {"query": "what?"}),
    "a write": ("POST", "/memories", {"content": "new"}),
    "a batch": ("POST", "/memories/batch", {"items": [{"content": "new"}]}),
    "a context": ("POST", "/context", {"message": "what?", "session_id": "s"}),
    "a tool": ("POST", "http://loci/mcp", CALL),
}


@pytest.fixture(scope="module")
def stoppable() -> Iterator[tuple[Service, int]]:
    """A service over a server of its own, and the number of that server's first process."""
    deadlines = dict.fromkeys(("read", "write", "batch", "context", "model"), DEADLINE)
    with data_folder(migrated=True) as folder:
        server = EmbeddedServer(folder, VERSION)
        database = Database(DATABASE, server.connection_url("postgres"), server.connection_url("loci_app"))
        with psycopg.connect(server.connection_url("postgres")) as connection:
            found = connection.execute("select split_part(pg_read_file('postmaster.pid'), e'\n', 1)::int").fetchone()
        assert found is not None
        with serve(database, worker=False, pool_size=8, deadlines=deadlines, limits={"wait": 60}) as running:
            yield running, found[0]
        server.leave_server()


@contextmanager
def standing_still(first: int) -> Iterator[None]:
    """All processes of a server are stopped until the block ends."""
    os.kill(first, signal.SIGSTOP)  # it starts no others from here on
    stopped = [int(pid) for pid in Path(f"/proc/{first}/task/{first}/children").read_text().split()]
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in [*stopped, first]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def timed(client: httpx.Client, method: str, path: str, body: object = None) -> tuple[httpx.Response, float]:
    began = time.monotonic()
    accepted = {"accept": "application/json, text/event-stream"} if body is CALL else {}
    return client.request(method, path, json=body, headers=accepted), time.monotonic() - began


def test_readiness_is_told_within_two_seconds_however_many_ask(stoppable: tuple[Service, int]) -> None:
    service, first = stoppable
    with service.client() as client:
        assert client.get("http://loci/readyz").status_code == 200
        with standing_still(first), ThreadPoolExecutor(10) as many:
            for _ in range(2):  # while the first look is under way, and once more
                for response, took in many.map(lambda _: timed(client, "GET", "http://loci/readyz"), range(10)):
                    assert response.status_code == 503
                    assert took < SECONDS_TO_SAY + MARGIN
                    assert "did not answer" in response.text
            assert client.get("http://loci/healthz").status_code == 200
        eventually(lambda: client.get("http://loci/readyz").status_code == 200)


@pytest.mark.parametrize("known", [True, False], ids=["a known key", "a key to look up"])
def test_every_request_is_answered_within_its_deadline(stoppable: tuple[Service, int], *, known: bool) -> None:
    service, first = stoppable
    with service.client() as client:
        key = ok(client.post("/keys", json={"role": "writer"}), 201)["key"]
        with service.client(Authorization=f"Bearer {key}") as keyed:
            if known:
                ok(keyed.get("/memories"))
            with standing_still(first), ThreadPoolExecutor(len(ASKED)) as many:
                for response, took in many.map(lambda kind: timed(keyed, *ASKED[kind]), ASKED):
                    problem(response, 504, "deadline-exceeded")
                    assert took < DEADLINE + MARGIN
            eventually(lambda: keyed.get("/memories").status_code == 200)
        eventually(lambda: client.get("http://loci/readyz").status_code == 200)
    assert ok(service.client().get("/memories"))["items"] == []  # what was begun was taken back
