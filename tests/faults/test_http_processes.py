"""Many processes over one database: work is done once whoever dies, migrations take turns, a restart fails no request."""

import asyncio
import os
import re
import signal
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families as parsed

from db.migrate import newest_revision
from service.cli import worker_processes
from tests import forked
from tests.catalogue import PYTHONPATH
from tests.databases import ADMIN_URL, PASSWORD, Database, Server
from tests.services import PATIENCE, eventually, has_model

MEMORIES, BATCH = 200, 10
MIGRATED = (0, f"the schema is at revision {newest_revision()}\n")  # how a migration ends, and all that it says
# Every vector that is committed, and every memory that is taken off the queue of names.
WITNESS = """
create table public.witnessed (kind text, memory_id uuid);
create function public.witness() returns trigger language plpgsql security definer set search_path = '' as $$
begin
    insert into public.witnessed values (tg_argv[0], coalesce(new.memory_id, old.memory_id));
    return null;
end $$;
create trigger witness after insert or update on loci_data.memory_vectors for each row execute function public.witness('vector');
create trigger witness after delete on loci_data.name_queue for each row execute function public.witness('names')"""
TWICE = "select kind, memory_id, count(*) from public.witnessed group by 1, 2 having count(*) > 1"


class Process:
    """A command of `loci` that runs until it is told to end."""

    def __init__(self, database: Database, folder: Path, *arguments: str, **environment: str) -> None:
        self._log = folder / f"{'-'.join(arguments)[:20]}-{len(list(folder.iterdir()))}.log"
        self._log.touch()
        kept = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
        known = {"DATABASE_URL": database.app_url, "PYTHONPATH": PYTHONPATH}
        self.process = forked.start(arguments, {**kept, **known, **environment}, self._log)

    def said(self) -> str:
        """What it has written so far."""
        return self._log.read_text()

    def says(self, words: str) -> None:
        """Wait until it has written something."""

        def there() -> bool:
            assert self.runs(), self.said()
            return words in self.said()

        eventually(there)

    def runs(self) -> bool:
        """Whether it has not ended."""
        return self.process.exitcode is None

    def tell(self, number: signal.Signals) -> None:
        """Send it a signal."""
        assert self.process.pid is not None
        os.kill(self.process.pid, number)

    def ended(self) -> int | None:
        """Wait for its end; its exit code."""
        self.process.join(PATIENCE)
        return self.process.exitcode

    def end(self, number: signal.Signals = signal.SIGTERM) -> int | None:
        """Tell it to end; its exit code."""
        self.tell(number)
        return self.ended()


class Group(Process):
    """`loci serve --workers N`, listening on a port of its choice."""

    def __init__(self, database: Database, folder: Path, workers: int, *arguments: str, **environment: str) -> None:
        super().__init__(database, folder, "serve", "--port", "0", "--workers", str(workers), *arguments, **environment)
        self.says("Loci listens on")
        found = re.search(r"http://127.0.0.1:(\d+)", self.said())
        assert found is not None
        self.port = int(found[1])

    def client(self, **options: Any) -> httpx.Client:
        """A client of its REST interface."""
        url = f"http://127.0.0.1:{self.port}/api/v1"
        return httpx.Client(base_url=url, timeout=PATIENCE, verify=False, **options)  # certificates take 20 ms to read

    def metrics(self) -> dict[tuple[str, tuple[str, ...]], float]:
        """A scrape: values by name and labels."""
        with self.client() as client:
            text = client.get(f"http://127.0.0.1:{self.port}/metrics").text
        return {(s.name, tuple(v for _, v in sorted(s.labels.items()))): s.value for f in parsed(text) for s in f.samples}

    def children(self) -> set[int]:
        """The processes that serve."""
        return {int(key[1][0]) for key, value in self.metrics().items() if key[0] == "loci_process_cpu_seconds" and value > 0}


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Start processes, which end with the test."""
    with ExitStack() as stack:

        def begin(kind: Callable[..., Process], *arguments: Any, **environment: str) -> Process:
            made = kind(*arguments[:1], tmp_path, *arguments[1:], **environment)
            stack.callback(kill, made.process)
            return made

        yield begin


def kill(process: BaseProcess) -> None:
    process.kill()
    process.join()


Migrate = Callable[[Database], Process]


def write_all(group: Group, number: int, threads: int) -> None:
    """Write this thread's share in batches; one whose process died is sent again under its key."""
    with group.client() as client:
        for first in range(number * BATCH, MEMORIES, threads * BATCH):
            items = [{"content": f"Item {n} was seen by Alice Smith in Harbour Town"} for n in range(first, first + BATCH)]

            def sent(items: list[dict[str, str]] = items, first: int = first) -> bool:
                with suppress(httpx.TransportError):
                    answer = client.post("/memories/batch", json={"items": items}, headers={"Idempotency-Key": f"batch-{first}"})
                    return answer.status_code == 200
                return False

            eventually(sent)


@pytest.fixture
def witnessed(server: Server) -> Iterator[Database]:
    """A database in which nobody else has written."""
    made = server.clone("processes")
    yield made
    server.drop(made)


@pytest.mark.release
def test_work_of_many_processes_is_done_once_also_when_some_are_killed(witnessed: Database, start: Callable[..., Any]) -> None:
    with witnessed.admin() as admin:
        admin.execute(WITNESS)
    group: Group = start(Group, witnessed, 2, LOCI_POOL_SIZE="4")
    workers: list[Process] = [start(Process, witnessed, "worker") for _ in range(2)]
    with ThreadPoolExecutor(4) as pool:
        writing = [pool.submit(write_all, group, n, 4) for n in range(4)]
        with witnessed.admin() as admin:
            eventually(lambda: admin.execute("select count(*) from public.witnessed").fetchone() > (60,))
        victim = min(group.children())
        os.kill(victim, signal.SIGKILL)
        workers[0].process.kill()
        for share in writing:
            share.result(PATIENCE)
    eventually(lambda: has_model(witnessed))  # before, nothing waits for a vector
    with witnessed.admin() as admin:
        waiting = "select (select count(*) from loci_data.embedding_queue) + (select count(*) from loci_data.name_queue) + (select count(*) from loci_data.outbox)"
        eventually(lambda: admin.execute(waiting).fetchone() == (0,))
        assert admin.execute("select count(*) from loci_data.memories").fetchone() == (MEMORIES,)
        assert admin.execute(TWICE).fetchall() == []
        done = admin.execute("select kind, count(*) from public.witnessed group by 1 order by 1").fetchall()
        assert done == [("names", MEMORIES), ("vector", MEMORIES)]
        seen = "select e.canonical_name, count(distinct m.memory_id), count(*) from loci_data.memory_mentions m join loci_data.entities e on e.id = m.entity_id group by 1"
        assert {tuple(row[1:]) for row in admin.execute(seen).fetchall()} == {(MEMORIES, MEMORIES)}
    eventually(lambda: len(group.children()) == 2 and victim not in group.children())
    eventually(lambda: group.metrics()["loci_processes", ()] == 2)
    assert workers[1].end() == 0
    assert group.end() == 0


def test_a_group_that_is_interrupted_ends() -> None:
    async def interrupted() -> None:
        with socket.socket() as listener:
            group = worker_processes.Group(0, listener, {})
            async with group.run_processes(), asyncio.timeout(PATIENCE):
                os.kill(os.getpid(), signal.SIGINT)
                await group.wait_for_end()

    asyncio.run(interrupted())


@pytest.mark.release
def test_a_restart_fails_no_request_and_children_of_a_killed_parent_end_and_free_the_port(
    own_database: Database, start: Callable[..., Any]
) -> None:
    """Each process is restarted in turn; what the parent started later ends with it, too."""
    group: Group = start(
        Group, own_database, 2, "--no-worker", LOCI_EMBEDDING__PROVIDER="none", LOCI_POOL_SIZE="3", LOCI_LOG_LEVEL="INFO"
    )
    before = group.children()
    seen: Counter[int] = Counter()
    stop = threading.Event()

    def ask() -> None:
        with group.client() as client:
            while not stop.wait(0.1):  # all the time would keep the new ones from starting
                seen[client.post("/memories", json={"content": "again and again"}).status_code] += 1
                seen[client.post("/recall", json={"query": "again"}).status_code] += 1

    with ThreadPoolExecutor(3) as pool:
        asking = [pool.submit(ask) for _ in range(3)]
        group.tell(signal.SIGHUP)
        group.says("all 2 processes are new")
        stop.set()
        for each in asking:
            each.result(PATIENCE)
    assert set(seen) <= {200, 201}
    assert seen[201] > 3
    eventually(lambda: len(group.children()) == 2)
    children = group.children()
    assert not children & before
    kill(group.process)
    eventually(lambda: not any(Path(f"/proc/{child}/cmdline").exists() for child in children))
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://127.0.0.1:{group.port}/healthz")


def test_more_connections_than_the_server_takes_are_refused_in_one_line(own_database: Database, start: Callable[..., Any]) -> None:
    group = start(
        Process, own_database, "serve", "--port", "0", "--workers", "50", LOCI_POOL_SIZE="20", LOCI_EMBEDDING__PROVIDER="none"
    )
    assert group.ended() == 1
    assert re.fullmatch(r"error: up to 1700 connections to the database may be opened, and it allows \d+: lower .*\n", group.said())


@pytest.fixture
def migrate(start: Callable[..., Any]) -> Migrate:
    """Start a migration."""

    def begin(database: Database) -> Process:
        asked = {"LOCI_MIGRATION_URL": database.admin_url, **({"LOCI_APP_PASSWORD": PASSWORD} if ADMIN_URL else {})}
        made: Process = start(Process, database, "migrate", **asked)
        return made

    return begin


@pytest.mark.release
def test_migrations_of_one_empty_database_take_turns(server: Server, migrate: Migrate) -> None:
    database = server.empty(f"{server.run}_race_{os.getpid()}")
    try:
        racing = [migrate(database) for _ in range(2)]
        assert [(process.ended(), process.said()) for process in racing] == [MIGRATED] * 2
        with database.app() as connection:
            assert connection.execute("select version_num from public.loci_version").fetchall() == [(newest_revision(),)]
    finally:
        server.drop(database)


def test_a_migration_and_the_requests_that_run_meanwhile_are_no_deadlock_of_each_other(
    start_service: Callable[..., Any], migrate: Migrate
) -> None:
    service = start_service(embedding={"provider": "static"}, limits={"wait": PATIENCE})  # a deadlock has its victim: others wait
    stop = threading.Event()
    seen: Counter[int] = Counter()

    def ask() -> None:
        with service.client() as client:
            while not stop.wait(0.01):
                seen[
                    client.post("/memories", json={"content": "Alice knows Bob", "entities": [{"name": "Alice"}]}).status_code
                ] += 1
                seen[client.post("/recall", json={"query": "whom does Alice know?"}).status_code] += 1

    with ThreadPoolExecutor(3) as pool:
        asking = [pool.submit(ask) for _ in range(3)]
        racing = [migrate(service.database) for _ in range(2)]
        ended = [(process.ended(), process.said()) for process in racing]
        stop.set()
        for each in asking:
            each.result(PATIENCE)
    assert ended == [MIGRATED] * 2
    assert set(seen) == {200, 201}


def test_a_migration_waits_for_a_table_that_is_held_and_does_not_hold_up_readers_meanwhile(
    server: Server, migrate: Migrate
) -> None:
    database = server.clone("held")
    try:
        with database.admin() as holder, database.app() as reader:
            holder.execute("begin")
            holder.execute("select from loci_data.memories limit 1")
            process = migrate(database)
            behind = "select from pg_stat_activity where %s = any (pg_blocking_pids(pid))"
            with database.admin() as watcher:
                eventually(lambda: not process.runs() or watcher.execute(behind, [holder.info.backend_pid]).rowcount)
            assert process.runs(), process.said()
            reader.execute("select set_config('loci.agent', '00000000-0000-0000-0000-000000000000', true)")
            assert reader.execute("select count(*) from loci_data.memories").fetchone() == (0,)
            reader.rollback()
            holder.execute("rollback")
            assert (process.ended(), process.said()) == MIGRATED
    finally:
        server.drop(database)
