"""Another embedding model while everything goes on: 256, 384, then 1536 dimensions; nobody sees it, whoever is killed."""

import hashlib
import json
import os
import random
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, LiteralString, cast

import numpy as np
import psycopg
import pytest
from psycopg.errors import DeadlockDetected, LockNotAvailable
from psycopg.rows import dict_row

from service.models.reembedding import Reembedding
from tests import forked
from tests.databases import Database, Server
from tests.factories import OPERATOR, act_as
from tests.services import PATIENCE, Api, Service, eventually, new_api, ok

STABLE, BUSY = 40, 120
PAUSE = 0.3  # seconds between a reader's questions: four who ask all the time would keep the commands from their work
BATCHES = 2  # of texts that the endpoint answers before it is told to go on
QUESTIONS = ("Where does Alice live?", "harbour", "what was written last", "fish soup")
LEFT = """
select (select count(*) from loci_data.memories) - (select count(*) from loci_data.memory_vectors where model_id = a.id) as memories_without,
       (select count(*) from loci_data.entities where merged_into is null)
           - (select count(*) from loci_data.entity_vectors where model_id = a.id) as entities_without,
       (select count(*) from loci_data.memory_vectors where model_id <> a.id)
           + (select count(*) from loci_data.entity_vectors where model_id <> a.id) as of_others,
       (select count(*) from loci_data.memory_vectors where vector_dims(embedding) <> a.dimensions) as of_wrong_size,
       (select count(*) from loci_data.embedding_queue) + (select count(*) from loci_data.entity_queue) as waiting,
       (select count(*) from loci_api.vector_indexes(a.id) i where i.valid is distinct from true) as indexes_missing,
       (select count(*) from pg_indexes where schemaname = 'loci_data' and indexname ~ '_hnsw_'
            and indexname !~ ('_hnsw_' || a.id || '$')) as old_indexes
from loci_data.embedding_models a where a.active"""
CLEAN = {
    "memories_without": 0,
    "entities_without": 0,
    "of_others": 0,
    "of_wrong_size": 0,
    "waiting": 0,
    "indexes_missing": 0,
    "old_indexes": 0,
}
# How far a re-embedding is, and what keeps it from going further until it is killed there.
FILLED = "select from loci_data.memory_vectors v join loci_data.embedding_models m on m.id = v.model_id where m.filling having count(*) > 60"
BUILDING = """
select from pg_indexes i join loci_data.embedding_models m on m.filling and i.indexname ~ ('_hnsw_' || m.id || '$') having count(*) >= 3"""
HOLD_INDEXES = "lock table loci_data.memory_vectors_08 in share update exclusive mode"  # all before it are built, this one is not
SWITCHED = """
select from loci_data.embedding_models a join loci_data.embedding_models o on not o.active and not o.filling and o.dropped_at is null
where a.active and a.dimensions = 384"""
HOLD_VECTORS = """
select from loci_data.memory_vectors v join loci_data.embedding_models m on m.id = v.model_id join loci_data.namespaces n on n.id = v.namespace_id
where m.active and n.name = %s limit 1 for update of v"""  # it is not deleted


class Endpoint(ThreadingHTTPServer):
    """An OpenAI-compatible endpoint for any number of dimensions; the same text has the same vector."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.go_on = threading.Event()  # until then batches are answered as long as there are few
        self.batches = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if len(body["input"]) > 1:
            self.server.batches += 1
            if self.server.batches > BATCHES:
                self.server.go_on.wait(PATIENCE)
        found = []
        for place, text in enumerate(body["input"]):
            seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
            vector = np.random.default_rng(seed).normal(size=body.get("dimensions", 384))
            found.append({"index": place, "embedding": vector.round(5).tolist()})
        payload = json.dumps({"data": found}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(payload)))
        self.end_headers()
        with suppress(BrokenPipeError):  # who asked was killed
            self.wfile.write(payload)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    server = Endpoint()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


class Command:
    """`loci reembed` as a process of its own."""

    def __init__(self, database: Database, endpoint: Endpoint, folder: Path, *arguments: str) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "LOCI_"))}
        addresses = {"DATABASE_URL": database.app_url, "LOCI_MIGRATION_URL": database.admin_url}
        self._out, self._err = (folder / f"{len(list(folder.iterdir()))}.{name}" for name in ("out", "err"))
        self._out.touch()
        self.process = forked.start(
            ["reembed", "--json", *arguments],
            {**kept, **addresses, "LOCI_EMBEDDING__ENDPOINT": endpoint.url},
            self._out,
            self._err,
        )

    def report(self) -> dict[str, Any]:
        self.process.join(PATIENCE)
        assert self.process.exitcode == 0, self._err.read_text()
        return json.loads(self._out.read_text())

    def killed(self, admin: psycopg.Connection[Any], when: LiteralString) -> None:
        """Kill it once it has come so far."""

        def there() -> bool:
            assert self.process.exitcode is None, self._err.read_text()
            return admin.execute(when).rowcount > 0

        eventually(there)
        self.end()

    def end(self) -> None:
        self.process.kill()
        self.process.join()


class Watch:
    """Readers that ask by meaning alone, and a writer, until told to stop; what they saw that must not be."""

    def __init__(self, stable: Api, busy: Api, others: list[Service]) -> None:
        self.wrong: list[str] = []
        self.asked = self.written = 0
        self._stop = threading.Event()
        asked = [(service, api.namespace) for service in (stable.service, *others) for api in (stable, busy)]
        self._threads = [
            *(threading.Thread(target=self._read, args=(*pair, STABLE if pair[1] == stable.namespace else 10)) for pair in asked),
            threading.Thread(target=self._write, args=(busy.service, busy.namespace)),
        ]

    def __enter__(self) -> "Watch":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(PATIENCE)

    def _read(self, service: Service, namespace: str, least: int) -> None:
        with service.client(**{"X-Namespace": namespace}) as client:
            while not self._stop.wait(PAUSE):
                body = {"query": random.choice(QUESTIONS), "arms": ["vector"], "k": max(least, 10), "log": False}
                reply = client.post("/recall", json=body)
                self.asked += 1
                if reply.status_code != 200:
                    self.wrong.append(reply.text)
                elif len(reply.json()["results"]) != least or reply.json()["skipped"]:
                    self.wrong.append(f"{len(reply.json()['results'])} of {least}: {reply.json()['skipped']}")
                found = client.post("/entities/search", json={"query": "harbour town", "mode": "semantic", "k": 3})
                if found.status_code != 200 or not found.json()["entities"]:
                    self.wrong.append(found.text)

    def _write(self, service: Service, namespace: str) -> None:
        ids: list[str] = []
        with service.client(**{"X-Namespace": namespace}) as client:
            while not self._stop.wait(0.1):
                number = self.written = self.written + 1
                item = {
                    "content": f"Written meanwhile: {number} boats in the harbour",
                    "entities": [{"name": f"Boat {number % 7}"}],
                }
                replies = [client.post("/memories", json=item)]
                ids.append(replies[0].json()["id"])
                if number % 3 == 0:
                    replies.append(client.patch(f"/memories/{ids[-2]}", json={"tags": [f"tag{number}"]}))
                if number % 5 == 0:
                    replies.append(client.delete(f"/memories/{ids.pop(0)}"))
                if number % 7 == 0:
                    replies.append(
                        client.post("/retain", json={"content": f"Bob has moved to pier {number}. He sails boat {number}."})
                    )
                self.wrong += [reply.text for reply in replies if reply.status_code >= 300]


def settled(api: Api) -> bool:
    row = ok(api.get(f"/namespaces/{api.namespace}"))
    return row["pending_embeddings"] == 0 and row["pending_names"] == 0


@pytest.mark.release
@pytest.mark.row("L1")
def test_nobody_sees_the_model_change_and_a_killed_process_is_gone_on_with(
    start_service: Callable[..., Service], server: Any, endpoint: Endpoint, tmp_path: Path
) -> None:
    database = server.clone("reembed")
    with ExitStack() as stack:
        asked = {"provider": "static", "endpoint": endpoint.url, "query_timeout": PATIENCE}
        patient = {"wait": PATIENCE}  # for one's share of the connections, however long others take
        services = [start_service(database, embedding=asked, limits=patient) for _ in range(2)]
        stable, busy = (stack.enter_context(new_api(services[0])) for _ in range(2))
        items = [{"content": f"Alice {n} lives in Harbour Town, house {n}"} for n in range(BUSY)]
        ok(stable.post("/memories/batch", {"items": [{**item, "entities": [{"name": "Harbour Town"}]} for item in items[:STABLE]]}))
        ok(busy.post("/memories/batch", {"items": [{**item, "entities": [{"name": "Harbour Town"}]} for item in items]}))
        eventually(lambda: settled(stable) and settled(busy))
        admin = stack.enter_context(database.admin())

        def command(dimensions: int) -> Command:
            made = Command(
                database, endpoint, tmp_path, "--model", "openai/any", "--dimensions", str(dimensions), "--parallel", "1"
            )
            stack.callback(made.end)
            return made

        watch = stack.enter_context(Watch(stable, busy, services[1:]))
        command(384).killed(admin, FILLED)
        endpoint.go_on.set()
        with database.admin() as holder, holder.transaction():
            holder.execute(HOLD_INDEXES)
            command(384).killed(admin, BUILDING)
        with database.admin() as holder, holder.transaction():
            holder.execute(HOLD_VECTORS, [stable.namespace])
            holder.execute("select")  # else the driver's open portal keeps a snapshot, for which indexes wait
            command(384).killed(admin, SWITCHED)
        assert command(384).report()["changed"] is False  # what was left to do was to drop the old one
        two = [command(1536), command(1536)]
        reports = [made.report() for made in two]
        assert sum(report["vectors"] for report in reports) >= BUSY + STABLE
        seen = (watch.asked, watch.written)
        eventually(lambda: watch.asked > seen[0] + 20 and watch.written > seen[1] + 5)
        watch.__exit__()
        assert watch.wrong[:3] == []
        eventually(lambda: settled(stable) and settled(busy))
        with admin.cursor(row_factory=dict_row) as cursor:
            eventually(lambda: cursor.execute(LEFT).fetchone()["waiting"] == 0)  # entities wait, too
            assert cursor.execute(LEFT).fetchone() == CLEAN
        assert admin.execute("select name from loci.embedding_models where state = 'active'").fetchone() == ("openai/any-1536",)


def test_a_model_that_is_registered_ends_no_transaction_that_writes_entities_and_then_memories(server: Server) -> None:
    database = server.clone("registering")

    def register() -> Any:
        with psycopg.connect(database.app_url) as worker:
            act_as(worker, OPERATOR)
            return worker.execute("select loci_api.register_model('test', 3)").fetchone()

    locked = "select from pg_locks where relation = 'loci_data.memories'::regclass and mode = 'ShareRowExclusiveLock' and granted and database = (select oid from pg_database where datname = current_database())"
    with database.admin() as writer, database.admin() as admin, ThreadPoolExecutor(1) as pool:
        writer.autocommit = False
        writer.execute("lock table loci_data.entities in row exclusive mode")  # as writing an entity does
        registered = pool.submit(register)
        eventually(lambda: admin.execute(locked).fetchone() is not None)  # it has the one, and wants the other
        writer.execute("lock table loci_data.memories in row exclusive mode")
        writer.commit()
        assert registered.result(PATIENCE) is not None
    server.drop(database)


@pytest.mark.anyio
async def test_a_reembedding_begins_once_writers_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[Exception | int] = [LockNotAvailable(), DeadlockDetected(), 7]

    async def begin(*_: object, **__: object) -> int:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    @asynccontextmanager
    async def transaction(_: str) -> AsyncIterator[Any]:
        yield None

    monkeypatch.setattr("db.models.reembedding.begin_reembedding", begin)
    told: list[str] = []
    beginning = Reembedding(transaction, cast("Any", None), {"name": "m"}, told=lambda what, *_: told.append(what))
    assert await beginning.begin_filling() == 7
    assert told == ["waiting for writers"] * 2
