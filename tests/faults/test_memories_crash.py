"""The database is killed in the middle of everything; what was acknowledged is there, and the service recovers by itself."""

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from db.embedded import DATABASE, EmbeddedServer
from tests.databases import ADMIN_URL, VERSION, Database, data_folder
from tests.services import PATIENCE, Api, eventually, new_api, ok, problem, serve

pytestmark = pytest.mark.skipif(ADMIN_URL is not None, reason="kills the server, so it needs one of its own: the embedded one")
SIZE = 25
HALVES = """
select count(*) from (select from loci_data.memories where namespace_id > 1 group by session_id having count(*) <> %s) s"""
UNINDEXED = """
select (select count(*) from loci_data.memories) - (select count(*) from loci_data.memory_texts),
       (select count(*) from loci_data.memories) - (select sum(documents) from loci_data.corpus_counts),
       (select count(*) from (select doc_id from loci_data.memories except select e >> 23 from loci_data.postings, unnest(entries) e) d),
       (select count(*) from (select e >> 23 from loci_data.postings, unnest(entries) e except select doc_id from loci_data.memories) d)"""


@pytest.fixture
def mortal() -> Iterator[tuple[Api, EmbeddedServer]]:
    """A service that watches over an embedded server of its own."""
    with data_folder(migrated=True) as folder:
        server = EmbeddedServer(folder, VERSION)
        database = Database(DATABASE, server.connection_url("postgres"), server.connection_url("loci_app"))
        with serve(database, server, embedding={"provider": "static"}) as running, new_api(running) as api:
            yield api, server
        server.leave_server()


def kill(server: EmbeddedServer) -> None:
    with psycopg.connect(server.connection_url("postgres")) as connection:
        found = connection.execute("select split_part(pg_read_file('postmaster.pid'), e'\n', 1)::int").fetchone()
    assert found is not None
    os.kill(found[0], signal.SIGKILL)


def started(server: EmbeddedServer) -> str | None:
    """When the server that answers was started; None: none answers."""
    with suppress(psycopg.OperationalError), psycopg.connect(server.connection_url("postgres")) as connection:
        row = connection.execute("select pg_postmaster_start_time()::text").fetchone()
        return None if row is None else str(row[0])
    return None


def ready(api: Api) -> bool:
    return api.client.get("http://loci/readyz").status_code == 200


@pytest.mark.release
def test_everything_acknowledged_survives_a_killed_server_and_nothing_is_half_written(
    mortal: tuple[Api, EmbeddedServer],
) -> None:
    api, server = mortal
    acknowledged: list[str] = []
    statuses: set[int] = set()
    stop = threading.Event()

    def write(_: int) -> None:
        with api.service.client(**{"X-Namespace": api.namespace}) as client:
            while not stop.is_set():
                session = uuid4().hex
                items = [
                    {"content": f"{session} {n}", "session_id": session, "entities": [{"name": f"name {n}"}]} for n in range(SIZE)
                ]
                response = client.post("/memories/batch", json={"items": items, "atomic": True})
                statuses.add(response.status_code)
                if response.status_code == 200:
                    acknowledged.append(session)

    threads = [threading.Thread(target=write, args=(n,), daemon=True) for n in range(4)]
    for thread in threads:
        thread.start()
    eventually(lambda: len(acknowledged) > 10)
    kill(server)
    before = len(acknowledged)
    eventually(lambda: len(acknowledged) > before + 10)
    stop.set()
    for thread in threads:
        thread.join(PATIENCE)

    assert statuses <= {200, 503}
    eventually(lambda: ready(api))
    with psycopg.connect(api.service.database.admin_url) as admin:
        there = {
            row[0] for row in admin.execute("select session_id from loci_data.memories where session_id is not null").fetchall()
        }
        assert set(acknowledged) <= there
        assert admin.execute(HALVES, [SIZE]).fetchone() == (0,)
        assert admin.execute(UNINDEXED).fetchone() == (0, 0, 0, 0)


def test_while_the_database_is_down_the_service_says_so_and_then_recovers(mortal: tuple[Api, EmbeddedServer]) -> None:
    api, server = mortal
    api.write("Alice lives in Oslo")
    before = started(server)
    kill(server)
    response = api.post("/memories", {"content": "lost or kept"})
    assert response.status_code in {201, 503}
    if response.status_code == 503:
        assert response.headers["retry-after"]
        assert response.json()["type"] == "urn:loci:problem:unavailable"
    eventually(lambda: started(server) not in {None, before})
    eventually(lambda: ready(api))  # from then on nothing fails
    assert (
        api.found("Where does Alice live?")[0] == "Alice lives in Oslo"
    )  # the other may have been kept, and everything means a little
    api.write("the dog chased the cat")
    eventually(lambda: "the dog chased the cat" in api.found("puppy", arms=["vector"]))  # the worker is back too


def test_connections_that_the_server_closed_fail_no_request(start_service: Any) -> None:
    ended = """
    select count(*) filter (where pg_terminate_backend(pid, 60000)) from pg_stat_activity
    where datname = current_database() and application_name = 'loci'"""
    service = start_service()
    with new_api(service) as api, service.database.admin() as admin, ThreadPoolExecutor(SIZE) as callers:
        api.write("x")

        def asked(_: int) -> int:
            return api.get("/memories").status_code

        for _ in range(2):  # so many at a time that the pool is full
            assert set(callers.map(asked, range(SIZE))) == {200}
            row = admin.execute(ended).fetchone()
            assert row is not None
            assert row[0] > 2
            eventually(lambda: ready(api))
        assert ok(api.get("/memories"))["items"][0]["content"] == "x"


def test_a_statement_that_was_cancelled_is_a_timeout(start_service: Any) -> None:
    waiting = (
        "select pid from pg_stat_activity where datname = current_database() and usename = 'loci_app' and wait_event_type = 'Lock'"
    )
    service = start_service(worker=False)
    with (
        new_api(service) as api,
        service.database.admin() as admin,
        service.database.admin() as locking,
        ThreadPoolExecutor(1) as pool,
        locking.transaction(),
    ):
        locking.execute("lock table loci_data.memories in access exclusive mode")
        sent = pool.submit(lambda: api.post("/memories", {"content": "y"}))
        (pid,) = eventually(lambda: admin.execute(waiting).fetchone())
        admin.execute("select pg_cancel_backend(%s)", [pid])
        problem(sent.result(), 504, "deadline-exceeded")
