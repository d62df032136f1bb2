"""Exports while writers write: each is the namespace at one moment, whole transactions and nothing in between."""

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tests.databases import Server
from tests.services import PATIENCE, Api, Service, eventually, new_api, ok, serve
from tests.transfer.rich import contents

SIZE = 10
EXPORTS = 3


@pytest.fixture
def busy(server: Server) -> Iterator[Api]:
    """A client of a service whose worker works, too."""
    database = server.clone("busy")
    with serve(database, embedding={"provider": "static"}, pool_size=10) as running, new_api(running) as api:
        yield api
    server.drop(database)


@pytest.fixture
def quiet(server: Server) -> Iterator[Service]:
    """A service that only restores: no worker adds anything."""
    database = server.clone("quiet")
    with serve(database, worker=False) as running:
        yield running
    server.drop(database)


@pytest.mark.row("X6")
def test_each_export_holds_whole_transactions_and_restores_to_a_sound_namespace(busy: Api, quiet: Service) -> None:
    top = [busy.write(f"top {n}", layer=0)["id"] for n in range(3)]
    stop, statuses = threading.Event(), Counter[int]()

    def repeat(step: Callable[[Any, int], Any]) -> threading.Thread:
        def work() -> None:
            with busy.service.client(**{"X-Namespace": busy.namespace}) as client:
                number = 0
                while not stop.is_set():
                    statuses[step(client, number).status_code] += 1
                    number += 1

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        return thread

    def batch(client: Any, number: int) -> Any:
        session = uuid4().hex
        items = [
            {"content": f"{session} {n}", "session_id": session, "parent_id": top[(number + n) % 3], "entities": [{"name": f"Name {n}"}],
             "edges": [{"source": f"Name {n}", "type": "seen_in", "literal": session}], **({"lineage": f"line {n}"} if n % 5 == 0 else {})}
            for n in range(SIZE)
        ]  # fmt: skip
        return client.post("/memories/batch", json={"items": items, "atomic": True})

    def move(client: Any, number: int) -> Any:
        return client.patch(f"/memories/{top[2]}", json={"parent_id": None if number % 2 else top[number % 4 // 2]})

    def link(client: Any, number: int) -> Any:
        return client.post(f"/memories/{top[0]}/links", json={"target_id": top[1], "type": "near", "strength": (number % 10) / 10})

    threads = [repeat(step) for step in (batch, batch, move, link)]
    eventually(lambda: busy.size()["memories"] > 5 * SIZE)
    exports = []
    for _ in range(EXPORTS):
        exports.append(busy.get(f"/namespaces/{busy.namespace}/export").content)
        size = busy.size()["memories"]
        eventually(lambda: busy.size()["memories"] > size)  # noqa: B023
    eventually(lambda: statuses[200] + statuses[201] > 50)
    stop.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert set(statuses) <= {200, 201}

    sizes = []
    with quiet.client() as client:
        for number, data in enumerate(exports):
            rows = [json.loads(line) for line in data.splitlines()]
            memories = [row for row in rows if row["kind"] == "memory" and row["session_id"]]
            sessions = Counter(row["session_id"] for row in memories)
            assert set(sessions.values()) == {SIZE}  # whole batches only
            literals = Counter(row["literal"] for row in rows if row["kind"] == "edge" and row["literal"])
            assert literals == sessions
            links = [row for row in rows if row["kind"] == "link" and row["superseded_at"] is None]
            assert len(links) <= 1
            sizes.append(len(memories))
            name = f"copy-{number}"
            ok(client.post(f"/namespaces/{name}/import", content=data))
            with psycopg.connect(quiet.database.app_url) as connection:
                connection.execute("select set_config('loci.agent', '00000000-0000-0000-0000-000000000000', true)")
                assert connection.execute("select name, example from loci.verify(%s) where broken > 0", [name]).fetchall() == []
            assert client.get(f"/namespaces/{name}/export").content.split(b"\n")[1:] == data.split(b"\n")[1:]
            assert contents(quiet.database, name)["memory_closure"]
    assert sizes == sorted(set(sizes))  # each has more than the one before
