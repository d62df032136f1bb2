"""Many writers that commit late or not at all, and readers that come and go: each sees every committed change once, all in one order."""

import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import psycopg
import pytest
from psycopg.types.json import Jsonb

from loci.sse import Parser
from tests.factories import OPERATOR
from tests.services import PATIENCE, Api, eventually, new_api, ok

Row = dict[str, Any]
WRITERS, READERS, LINEAGES = 12, 5, 8
ENOUGH = 8  # memories that each writer commits
BREAKS = 4  # times that each reader goes away and comes back, at least


def place(cursor: str) -> int:
    """Where a cursor of one namespace stands in its feed."""
    return int(cursor.rpartition("-")[2])


class Reader:
    """Reads everything from the beginning, with breaks, until it is told how far that is."""

    def __init__(self, api: Api, seed: int) -> None:
        self.api = api
        self.random = random.Random(seed)
        self.seen: list[Row] = []
        self.cursor = "0"
        self.breaks = 0
        self.until: int | None = None

    def run(self) -> None:
        """Come back until all is read."""
        while self.until is None or place(self.cursor) < self.until or self.breaks < BREAKS:
            with self.api.service.client(**{"X-Namespace": self.api.namespace}) as client:
                self.visit(client)
            self.breaks += 1
            time.sleep(self.random.uniform(0, 0.1))

    def visit(self, client: httpx.Client) -> None:
        raise NotImplementedError


class Poller(Reader):
    def visit(self, client: httpx.Client) -> None:
        for _ in range(self.random.randint(1, 10)):
            params = {"after": self.cursor, "limit": self.random.randint(1, 60), "wait": self.random.choice([0, 0, 0.2])}
            page = ok(client.get("/changes", params=params))
            self.seen += page["items"]
            self.cursor = page["next_cursor"]


class Listener(Reader):
    def visit(self, client: httpx.Client) -> None:
        parser, left = Parser(), self.random.randint(1, 300)
        leaves = time.monotonic() + self.random.uniform(0.1, 1)
        timeout = httpx.Timeout(PATIENCE, read=0.5)
        try:
            with client.stream("GET", "/events", headers={"Last-Event-ID": self.cursor}, timeout=timeout) as response:
                assert response.status_code == 200
                for block in response.iter_raw(self.random.choice([None, 7, 1000])):
                    for event in parser.feed(block):
                        self.seen.append(json.loads(event.data))
                        self.cursor = str(event.id)
                        left -= 1
                        if left == 0 or time.monotonic() > leaves:
                            return  # in the middle of what has come already
        except httpx.ReadTimeout:
            self.cursor = parser.last_id or self.cursor


def write(connection: psycopg.Connection[Any], namespace: str, chance: random.Random) -> set[str]:
    """Write memories in transactions that take their time, and sometimes end in nothing; ids of what was committed."""
    committed: set[str] = set()
    while len(committed) < ENOUGH:
        ids = []
        try:
            for number in sorted(chance.sample(range(4 * LINEAGES), chance.randint(1, 4))):  # in one order: no deadlocks
                item = {"content": f"{chance.random()}", "layer": 3}
                item |= {"lineage": f"shared {number}"} if number < LINEAGES else {}
                rows = connection.execute("select id from loci_api.remember(%s, %s)", [namespace, Jsonb([item])]).fetchall()
                ids += [str(row[0]) for row in rows]
                time.sleep(chance.choice([0, 0, 0.005, 0.02]))
            time.sleep(chance.choice([0, 0, 0, 0.01, 0.05, 0.2]))
            if chance.random() < 0.25:
                connection.rollback()
            else:
                connection.commit()
                committed.update(ids)
        except (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure, psycopg.errors.LockNotAvailable):
            connection.rollback()
    return committed


@pytest.fixture
def busy(start_service: Callable[..., Any]) -> Iterator[Api]:
    with new_api(start_service()) as api:
        yield api


@pytest.mark.row("X4")
def test_every_reader_sees_every_committed_change_once_and_all_in_one_order(busy: Api) -> None:
    readers: list[Reader] = [(Poller if n % 2 else Listener)(busy, n) for n in range(READERS)]

    def writer(seed: int) -> set[str]:
        with psycopg.connect(busy.service.database.app_url) as connection:
            connection.execute(
                "select set_config('loci.agent', %s, false), set_config('lock_timeout', '1s', false)", [str(OPERATOR)]
            )
            connection.commit()
            return write(connection, busy.namespace, random.Random(1000 + seed))

    with ThreadPoolExecutor(WRITERS + READERS) as pool:
        reading = [pool.submit(reader.run) for reader in readers]
        committed = set().union(*pool.map(writer, range(WRITERS)))
        last = place(ok(busy.get("/changes", after="latest"))["next_cursor"])
        for reader in readers:
            reader.until = last
        for future in reading:
            future.result(PATIENCE)

    first, *others = [reader.seen for reader in readers]
    positions = [change["position"] for change in first]
    assert positions == sorted(set(positions))
    assert all(seen == first for seen in others)
    created = [change for change in first if (change["kind"], change["action"]) == ("memory", "created")]
    assert len(committed) >= WRITERS * ENOUGH
    assert {change["subject_id"] for change in created} == committed
    assert len(created) == len(committed)
    for lineage in {change["after"]["lineage"] for change in created}:
        versions = [change["after"]["version"] for change in created if change["after"]["lineage"] == lineage]
        assert versions == sorted(versions)
    known: set[str] = set()
    for change in first:
        if change["kind"] == "memory":
            assert change["action"] == "created" or change["subject_id"] in known
            known.add(change["subject_id"])


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the driver's, of killed connections
def test_readers_hear_of_everything_when_the_sequencers_are_killed_again_and_again(busy: Api) -> None:
    stop, killed = threading.Event(), []

    def kill() -> None:
        with busy.service.database.admin() as admin:
            while not stop.wait(0.15):
                killed.extend(
                    admin.execute(
                        """select pg_terminate_backend(pid) from pg_stat_activity
                           where datname = current_database() and pid <> pg_backend_pid() and application_name like 'loci%%'"""
                    )
                )

    listener = Listener(busy, 7)
    with psycopg.connect(busy.service.database.app_url, autocommit=True) as connection, ThreadPoolExecutor(2) as pool:
        connection.execute("select set_config('loci.agent', %s, false)", [str(OPERATOR)])
        killing = pool.submit(kill)
        written: list[str] = []
        while len(written) < 60 or len(killed) < 20:
            number = len(written)
            item = {"content": f"fact {number}", "layer": 3}
            (row,) = connection.execute("select id from loci_api.remember(%s, %s)", [busy.namespace, Jsonb([item])]).fetchall()
            written.append(str(row[0]))
            time.sleep(0.02)
        stop.set()
        killing.result(PATIENCE)
        page = eventually(lambda: answered(busy))
        listener.until = place(page["next_cursor"])
        pool.submit(listener.run).result(PATIENCE)
    assert [c["subject_id"] for c in listener.seen if (c["kind"], c["action"]) == ("memory", "created")] == written


def answered(api: Api) -> Row | None:
    response = api.get("/changes", after="latest")
    return dict(response.json()) if response.status_code == 200 else None
