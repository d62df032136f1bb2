"""What a recall and a write may cost, in things that can be counted: round trips, statements, calls of functions, plans. Never time."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import psycopg
import pytest
from psycopg import Rollback
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.json import Jsonb

from bench.kept import compare
from bench.measure import Figure
from db import memories
from db.jobs import jobs
from db.pool import OPERATOR, JsonObject, Pool, Transaction, make_pool, open_transaction
from service.models.vector_batches import BATCH_TEXTS
from service.operations.feed import Feed
from service.recall.pipeline import recall_memories
from service.recall.question import ARMS, Question
from service.resources import Resources
from service.settings import Settings
from service.worker.worker import Worker
from tests.databases import Database
from tests.factories import World, new_world

TEXTS = [f"Alice keeps apple {number} beside the orchard" for number in range(30)]
MEMORIES = "select content from loci.list_memories(%(namespace)s) order by content"


class Wire:
    """A connection of the client to the server that counts how often the client has waited for an answer, and statements."""

    def __init__(self) -> None:
        self.trips = self.statements = 0
        self._answered = True

    def sent(self, data: bytes) -> None:
        """The client sends; after an answer that begins another round trip."""
        self.trips += self._answered
        self._answered = False
        while len(data) > 4 and not self.broken(data):
            self.statements += data[:1] == b"E"  # Execute
            data = data[1 + int.from_bytes(data[1:5]) :]

    @staticmethod
    def broken(data: bytes) -> bool:
        """Whether this is not a whole message."""
        return len(data) < 1 + int.from_bytes(data[1:5])

    def answered(self, _: bytes) -> None:
        """The server answers."""
        self._answered = True


@asynccontextmanager
async def watched(url: str, folder: Path) -> AsyncIterator[tuple[Pool, Wire]]:
    """A pool of one connection to a database, and what goes over it."""
    wire, known = Wire(), conninfo_to_dict(url)
    host, port = str(known["host"]), int(known.get("port") or 5432)

    async def pump(source: asyncio.StreamReader, target: asyncio.StreamWriter, note: Callable[[bytes], None]) -> None:
        while data := await source.read(1 << 20):
            note(data)
            target.write(data)
        target.close()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opening: Awaitable[Any] = (
            asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}") if host.startswith("/") else asyncio.open_connection(host, port)
        )
        server_reader, server_writer = await opening
        await asyncio.gather(pump(reader, server_writer, wire.sent), pump(server_reader, writer, wire.answered))

    server = await asyncio.start_unix_server(connected, folder / ".s.PGSQL.5432")
    async with server, make_pool(make_conninfo(url, host=str(folder), port=5432, sslmode="disable"), size=1) as pool:
        yield pool, wire


@pytest.fixture(scope="module")
def namespace(own_database: Database) -> str:
    """A namespace with memories that stays."""
    with own_database.app_sessions.borrowed(autocommit=True) as session:
        session.execute("select set_config('loci.agent', '00000000-0000-0000-0000-000000000000', false)")
        world = new_world(session)
        world.remember(*({"content": text} for text in TEXTS))
    return world.name


def open_(pool: Pool, namespace: str, role: str = "reader") -> Any:
    return open_transaction(pool, key_hash=OPERATOR, namespace=namespace, role=role)


@pytest.mark.row("R1")
@pytest.mark.anyio
async def test_a_common_recall_is_one_round_trip(own_database: Database, namespace: str, tmp_path: Path) -> None:
    async with watched(own_database.app_url, tmp_path) as (pool, wire):
        resources = Resources(Settings(_env_file=None), pool)
        question = Question("apple orchard", arms=("lexical", "graph", "hierarchy", "walk"))

        async def read_once(step: Callable[[Transaction], Awaitable[Any]]) -> Any:
            async with open_transaction(pool, key_hash=OPERATOR, namespace=namespace, role="reader", single=True) as tx:
                return await step(tx)

        for _ in range(8):
            trips, statements = wire.trips, wire.statements
            answer = await recall_memories(resources, read_once, question, read_once)
        assert len(answer.results) == 10
        # begin_request, recall_in_one_call
        assert (wire.trips - trips, wire.statements - statements) == (1, 2)


@pytest.mark.row("R1")
@pytest.mark.anyio
async def test_a_recall_in_steps_waits_three_times_and_a_settled_connection_plans_nothing(
    own_database: Database, namespace: str, tmp_path: Path
) -> None:
    async with watched(own_database.app_url, tmp_path) as (pool, wire):
        resources = Resources(Settings(_env_file=None), pool)

        async def read(step: Callable[[Transaction], Awaitable[Any]]) -> Any:
            async with open_(pool, namespace) as tx:
                return await step(tx)

        async def plans() -> int:
            async with open_(pool, namespace) as tx:
                return await tx.value(int, "select sum(custom_plans)::integer from pg_prepared_statements")

        for _ in range(12):
            await recall_memories(resources, read, Question("apple orchard"))
        await plans()
        before, trips, statements = await plans(), wire.trips, wire.statements
        answer = await recall_memories(resources, read, Question("apple orchard"))
        assert len(answer.results) == 10
        # begin, begin_request, recall_arms | expand_recall_hits | get_recall_results, commit
        assert (wire.trips - trips, wire.statements - statements) == (3, 6)
        assert await plans() == before


@pytest.mark.row("R1")
@pytest.mark.anyio
async def test_a_write_of_one_statement_waits_twice(own_database: Database, namespace: str, tmp_path: Path) -> None:
    async with watched(own_database.app_url, tmp_path) as (pool, wire):
        for _ in range(8):
            trips, statements = wire.trips, wire.statements
            async with open_(pool, namespace, "writer") as tx:
                await tx.value(int, "select count(*)::integer from loci.list_memories(%(namespace)s)")
        assert (wire.trips - trips, wire.statements - statements) == (2, 4)


@pytest.mark.row("R1")
@pytest.mark.anyio
async def test_a_memory_is_written_and_committed_in_one_round_trip(own_database: Database, namespace: str, tmp_path: Path) -> None:
    async with watched(own_database.app_url, tmp_path) as (pool, wire):
        for number in range(8):
            trips, statements = wire.trips, wire.statements
            async with open_transaction(pool, key_hash=OPERATOR, namespace=namespace, role="writer", single=True) as tx:
                row = await memories.remember_one(tx, item={"content": f"once more {number}"})
            assert not row["duplicate"]
        # begin_request, remember_one
        assert (wire.trips - trips, wire.statements - statements) == (1, 2)


@pytest.mark.anyio
async def test_a_transaction_within_a_transaction_is_a_savepoint(own_database: Database) -> None:
    write = "select loci_api.remember_one(%(namespace)s, %(item)s::jsonb)"
    async with make_pool(own_database.app_url, size=2) as pool:
        with own_database.app_sessions.borrowed(autocommit=True) as session:
            session.execute("select set_config('loci.agent', '00000000-0000-0000-0000-000000000000', false)")
            name = new_world(session).name

        async def seen() -> list[str]:
            async with open_(pool, name) as other:
                return await other.values(str, MEMORIES)

        async def refused(tx: Transaction) -> None:
            async with tx.savepoint():
                await tx.run(write, item='{"content": "goes"}')
                await tx.run("select 1 / 0")

        async with open_(pool, name, "writer") as tx:
            await tx.run(write, item='{"content": "stays"}')
            with pytest.raises(psycopg.errors.DivisionByZero):
                await refused(tx)
            async with tx.savepoint(undo=True):
                await tx.run(write, item='{"content": "goes too"}')
            async with tx.savepoint():
                await tx.run(write, item='{"content": "stays too"}')
            assert await seen() == []  # nothing is committed before the end
        assert await seen() == ["stays", "stays too"]
        async with open_(pool, name, "writer") as tx:
            await tx.run(write, item='{"content": "rolled back"}')
            raise Rollback
        assert await seen() == ["stays", "stays too"]


@pytest.mark.row("R1")
@pytest.mark.anyio
async def test_the_worker_goes_round_again_only_where_more_can_wait(own_database: Database, namespace: str) -> None:
    with own_database.app_sessions.borrowed(autocommit=True) as session:
        session.execute("select set_config('loci.agent', '00000000-0000-0000-0000-000000000000', false)")
        other = new_world(session).name
    share = BATCH_TEXTS // 2

    def left() -> int:
        with own_database.admin_sessions.borrowed(autocommit=True) as owner:
            row = owner.execute("select count(*)::integer as n from loci_data.name_queue").fetchone()
            assert row is not None
            return int(row["n"])

    async def write(pool: Pool, name: str, count: int) -> None:
        async with open_(pool, name, "writer") as tx:
            items = Jsonb([{"content": f"{count} of them, the number {number}"} for number in range(count)])
            await tx.run("select count(*) from loci_api.remember(%(namespace)s, %(items)s)", items=items)

    async with make_pool(own_database.app_url, size=2) as pool:
        worker = Worker(pool, None)
        while await worker.name_batch():
            pass
        for here, there, again in ((1, 0, False), (BATCH_TEXTS - 1, 0, False), (BATCH_TEXTS, 0, True),
                                   (share - 1, 3, False), (share + 9, 2, True), (share + 10, share + 11, True)):  # fmt: skip
            await write(pool, namespace, here)
            await write(pool, other, there)
            assert await worker.name_batch() is again
            assert (left() > 0) <= again  # what is left is asked for at once
            while await worker.name_batch():
                pass
            assert left() == 0


@pytest.mark.row("R1")
@pytest.mark.anyio
async def test_the_queue_of_jobs_is_looked_at_behind_writes_that_asked_for_one(own_database: Database, namespace: str) -> None:
    runner = Mock()
    async with make_pool(own_database.app_url, size=2) as pool:
        async with open_(pool, namespace, "writer") as tx:
            await tx.value(int, "select count(*)::integer from loci.list_memories(%(namespace)s)")
            assert not tx.outcome.jobs
            await jobs.enqueue_job(tx, kind="tune", turn="tune")
            assert tx.outcome.jobs
            raise Rollback
        worker = Worker(pool, None, runner)
        worker.wake_queues(jobs=False)
        assert runner.look_now.call_count == 0
        worker.wake_queues()
        assert runner.look_now.call_count == 1


def test_a_feed_says_whether_anybody_waits_for_it() -> None:
    feed = Feed("")
    assert not feed.is_awaited()
    with feed.add_waiter():
        assert feed.is_awaited()
    assert not feed.is_awaited()


def calls(session: psycopg.Connection[Any]) -> dict[str, int]:
    """How often each function of ours was called in this transaction."""
    rows = session.execute(
        """select schemaname || '.' || funcname as name, sum(calls)::integer as calls from pg_stat_xact_user_functions
           where schemaname like 'loci%' group by 1"""
    ).fetchall()
    return {row["name"]: row["calls"] for row in rows}


def scans(session: psycopg.Connection[Any], table: str) -> int:
    """How often a table was read by an index or as a whole in this transaction, by its foreign keys, too."""
    row = session.execute(
        "select (seq_scan + coalesce(idx_scan, 0))::integer as n from pg_stat_xact_user_tables where relid = %s::regclass",
        [f"loci_data.{table}"],
    ).fetchone()
    assert row is not None
    return int(row["n"])


def counted(session: psycopg.Connection[Any], work: Callable[[], object]) -> dict[str, int]:
    """Calls of functions by some work, once it has run before."""
    work()
    before = calls(session)
    work()
    return {name: number - before.get(name, 0) for name, number in calls(session).items() if number > before.get(name, 0)}


@pytest.fixture
def tracked(admin: psycopg.Connection[Any]) -> World:
    """A world in whose transaction calls of functions are counted."""
    admin.execute("set local track_functions = 'all'")
    admin.execute("set session authorization loci_app")
    return new_world(admin)


@pytest.mark.row("R1")
def test_settings_and_rights_of_a_recall_are_resolved_once_a_statement(tracked: World) -> None:
    tracked.remember(*({"content": text.lower()} for text in TEXTS))
    documents: list[JsonObject] = tracked.rows("select doc_id from loci.search_text(%(ns)s, 'apple', 20)")
    hits = [row["doc_id"] for row in documents]

    def recall() -> None:
        tracked.rows("select * from loci_api.begin_request(null, %(ns)s, 'reader')")
        tracked.rows("select * from loci_api.recall_arms(%(ns)s, 'apple orchard', null, %(arms)s)", arms=list(ARMS))
        tracked.rows(
            "select * from loci_api.expand_recall_hits(%(ns)s, 'apple orchard', %(d)s::bigint[], %(d)s::bigint[], %(arms)s)",
            d=hits,
            arms=list(ARMS),
        )
        tracked.rows("select * from loci_api.get_recall_results(%(ns)s, %(d)s::bigint[])", d=hits[:10])

    made = counted(tracked.connection, recall)
    assert made["loci_internal.settings"] <= 2  # names of the question, too
    assert made["loci_internal.authorize"] <= 4, " ".join(f"{n}={c}" for n, c in made.items())
    # there are no names, facts, places or links, so nothing looks for them
    asked = {"loci.match_entities", "loci_api.recall_graph_arm", "loci_api.recall_walk_arm", "loci_api.related_memories"}
    assert asked.isdisjoint(made)
    assert "loci_internal.document_frequency" not in made  # part of the plans of those who ask
    assert sum(made.values()) <= 60, made  # one for each of ten results says whom it is about


def test_names_that_lead_nowhere_are_not_followed(tracked: World) -> None:
    ids = [tracked.write(f"I paint the gate of Alderley House, {number}", source="Joanna")["id"] for number in range(3)]
    tracked.row(
        "select loci_api.store_found_names(array_fill(%(ns_id)s, array[3]), %(memories)s, %(names)s)",
        memories=ids,
        names=["Alderley House"] * 3,
    )
    documents = [row["doc_id"] for row in tracked.rows("select doc_id from loci.search_text(%(ns)s, 'gate')")]

    def asked(query: str) -> dict[str, int]:
        def ask() -> None:
            tracked.rows("select * from loci_api.recall_arms(%(ns)s, %(query)s, null, %(arms)s)", query=query, arms=list(ARMS))
            tracked.rows(
                "select * from loci_api.expand_recall_hits(%(ns)s, %(query)s, %(d)s::bigint[], %(d)s::bigint[], %(arms)s)",
                query=query,
                d=documents,
                arms=list(ARMS),
            )

        return counted(tracked.connection, ask)

    by_name = asked("Who owns Alderley House?")
    assert by_name["loci_api.recall_graph_arm"] == by_name["loci_api.memories_sharing_names"] == 1
    assert "loci_internal.search_graph" not in by_name  # it was only read out of texts, and no edge touches it
    assert "loci_api.memories_sharing_names" not in asked("What does Joanna say of Alderley House?")  # she speaks


@pytest.mark.row("R1")
def test_a_write_calls_no_more_functions_than_it_did(tracked: World) -> None:
    texts = iter(TEXTS)
    made = counted(tracked.connection, lambda: tracked.write(next(texts)))
    assert made["loci_internal.index_document"] == 1
    assert made["loci_internal.authorize"] <= 8
    assert sum(made.values()) <= 40, made

    one = "select loci_api.remember_one(%(ns)s, %(item)s::jsonb)"
    made = counted(tracked.connection, lambda: tracked.rows(one, item=json.dumps({"content": next(texts)})))
    assert made["loci_internal.authorize"] == 1
    assert sum(made.values()) <= 21, made  # three of them say whose fact it is


@pytest.mark.row("R1")
def test_a_write_does_not_ask_for_its_namespace_once_a_word(tracked: World) -> None:
    def look_ups(words: int) -> int:
        text = " ".join(f"word{number}" for number in range(words))
        before = scans(tracked.connection, "namespaces")
        tracked.remember({"content": text})
        return scans(tracked.connection, "namespaces") - before

    assert look_ups(200) < 10


def test_memories_that_wait_are_counted_without_looking_for_their_vectors(tracked: World) -> None:
    tracked.rows("select loci_api.register_model('test', 16)")
    tracked.remember(*({"content": text} for text in TEXTS))
    partitions = [f"memory_vectors_{number:02}" for number in range(16)]
    before = sum(scans(tracked.connection, partition) for partition in partitions)
    assert tracked.value("select waiting from loci_api.memories_without_vector(%(ns)s)") == len(TEXTS)
    assert sum(scans(tracked.connection, partition) for partition in partitions) == before


@pytest.mark.anyio
async def test_much_that_is_sent_and_read_late_comes_back_whole_and_in_order(own_database: Database, namespace: str) -> None:
    async with make_pool(own_database.app_url, size=1) as pool:
        for _ in range(2):  # prepared the second time
            async with open_(pool, namespace) as tx:
                asked = [await tx.send(JsonObject, "select %(n)s::integer as n, %(t)s::text as t", n=n, t=f"{n}" * 5000)
                         for n in range(300)]  # fmt: skip
                last = await asked[-1].one()
                assert (last["n"], last["t"]) == (299, "299" * 5000)
                assert [(await each.one())["n"] for each in asked[:-1]] == list(range(299))
                await tx.post("select %(t)s::text", t="nobody reads it" * 100_000)


@pytest.mark.anyio
async def test_a_failed_statement_raises_where_it_is_read_and_leaves_a_working_connection(
    own_database: Database, namespace: str
) -> None:
    async with make_pool(own_database.app_url, size=1) as pool:

        async def read_behind() -> None:
            async with open_(pool, namespace) as tx:
                await tx.post("select 1 / %(n)s::integer", n=0)
                await tx.value(int, "select 1")

        async def read_nothing() -> None:
            async with open_(pool, namespace) as tx:
                await tx.post("select 1 / %(n)s::integer", n=0)

        for work in (read_behind, read_nothing, read_behind):
            with pytest.raises(psycopg.errors.DivisionByZero):
                await work()
        async with open_(pool, namespace) as tx:
            assert await tx.value(int, "select 7") == 7


def test_a_benchmark_names_the_ratios_that_moved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "ratios.json"
    compare([Figure("a", "", ratio=1.0), Figure("b", "", ratio=2.0)], quick=False, file=file)
    compare([Figure("a", "", ratio=1.14), Figure("b", "", ratio=1.6), Figure("c", "", ratio=3.0)], quick=False, file=file)
    said = capsys.readouterr().out
    assert "2.00 before" in said
    assert said.count("before,") == 1
    kept = file.read_text()
    compare([Figure("a", "", ratio=9.0)], quick=True, file=file)
    assert file.read_text() == kept
