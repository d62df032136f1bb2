"""Working memory and conversations under many writers at once, sweepers and killed connections."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.blocking import blocked
from tests.databases import Database
from tests.factories import OPERATOR, grant
from tests.services import PATIENCE, eventually

Connect = Callable[..., psycopg.Connection[Any]]
SAVE = "select key from loci_api.save_working_memory('default', %s, %s, %s, null, %s::text[])"
SAY = "select id from loci_api.add_turns('default', %s, %s)"
LIVE = "select key, value, tags from loci.working_memory where space = %s order by key"


@pytest.fixture
def connect(own_database: Database) -> Iterator[Connect]:
    """Opens connections of the service's role; every statement is a transaction unless told otherwise."""
    with ExitStack() as stack:

        def opened(agent: UUID = OPERATOR, *, autocommit: bool = True) -> psycopg.Connection[Any]:
            connection = psycopg.connect(own_database.app_url, autocommit=True)
            stack.callback(connection.close)
            connection.execute("select set_config('loci.agent', %s, false)", [str(agent)])
            connection.execute("select set_config('loci.space', 'session', false)")  # what its key was made for
            connection.set_autocommit(autocommit)
            return connection

        yield opened


def save(connection: psycopg.Connection[Any], key: str, value: Any, ttl: float = 60) -> bool:
    """Write an entry; False where the space is full or another agent's."""
    try:
        connection.execute(SAVE, [key, Jsonb(value), ttl, [str(value)]]).fetchall()
    except (psycopg.errors.ConfigurationLimitExceeded, psycopg.errors.InsufficientPrivilege):
        return False
    return True


def say(connection: psycopg.Connection[Any], session: str, *contents: str) -> list[int]:
    turns = [{"role": "user", "content": content} for content in contents]
    return [row[0] for row in connection.execute(SAY, [session, Jsonb(turns)]).fetchall()]


def replayed(connection: psycopg.Connection[Any], session: str) -> list[str]:
    rows = connection.execute("select content from loci.list_turns('default', %s, 1000)", [session]).fetchall()
    return [row[0] for row in rows]


def at_once(connections: list[psycopg.Connection[Any]], work: Callable[[psycopg.Connection[Any], int], Any]) -> list[Any]:
    """Do work on every connection at the same moment."""
    gate = threading.Barrier(len(connections))

    def begin(numbered: tuple[int, psycopg.Connection[Any]]) -> Any:
        gate.wait(PATIENCE)
        return work(numbered[1], numbered[0])

    with ThreadPoolExecutor(len(connections)) as pool:
        return list(pool.map(begin, enumerate(connections)))


@pytest.mark.row("W1")
@pytest.mark.parametrize("turn", range(3))
def test_eight_writers_at_49_entries_leave_exactly_fifty(connect: Connect, turn: int) -> None:
    space = f"session/limit{turn}"
    clients = [connect() for _ in range(8)]
    for number in range(49):
        save(clients[0], f"{space}/{number}", number)
    written = at_once(clients, lambda client, number: save(client, f"{space}/new{number}", number))
    assert written.count(True) == 1
    assert len(clients[0].execute(LIVE, [space]).fetchall()) == 50


def test_writers_of_one_key_leave_one_whole_entry_of_the_last(connect: Connect) -> None:
    clients = [connect() for _ in range(8)]

    def work(client: psycopg.Connection[Any], number: int) -> None:
        for turn in range(20):
            assert save(client, "session/same/key", 1000 * number + turn)

    at_once(clients, work)
    ((key, value, tags),) = clients[0].execute(LIVE, ["session/same"]).fetchall()
    assert key == "session/same/key"
    assert value % 1000 == 19
    assert tags == [str(value)]


def test_an_empty_space_goes_to_one_of_the_agents_that_write_it_at_once(connect: Connect, own_database: Database) -> None:
    with own_database.admin() as admin:
        clients = [connect(grant(admin, "default", "writer")) for _ in range(6)]
    written = at_once(clients, lambda client, number: save(client, f"session/claimed/{number}", number))
    assert written.count(True) == 1
    assert len(clients[0].execute(LIVE, ["session/claimed"]).fetchall()) == 1


def test_writers_of_other_spaces_do_not_wait(connect: Connect) -> None:
    slow, quick = connect(autocommit=False), connect()
    assert save(slow, "session/slow/a", 1)
    quick.execute("set lock_timeout = '2s'")
    assert save(quick, "session/quick/a", 1)
    slow.rollback()


def test_a_killed_writer_leaves_nothing_and_lets_the_next_one_in(connect: Connect, own_database: Database) -> None:
    killed, other = connect(autocommit=False), connect()
    assert save(killed, "session/killed/a", 1)
    assert say(killed, "killed", "never said")
    with own_database.admin() as admin, ThreadPoolExecutor(1) as pool:
        waiting = blocked(pool, admin, other, lambda: save(other, "session/killed/b", 2))
        admin.execute("select pg_terminate_backend(%s)", [killed.info.backend_pid])
        assert waiting.result(PATIENCE)
    assert [row[0] for row in other.execute(LIVE, ["session/killed"]).fetchall()] == ["session/killed/b"]
    assert replayed(other, "killed") == []


# Expiry and the sweeper


def expire(own_database: Database, space: str) -> None:
    with own_database.admin() as admin:
        admin.execute(
            "update loci_data.working_memory set expires_at = clock_timestamp() - interval '1 second' where space = %s", [space]
        )


def sweep(connection: psycopg.Connection[Any]) -> int:
    return int(connection.execute("select swept from loci_api.sweep_working_memory()").fetchone()[0])  # type: ignore[index]


def forget(database: Database) -> None:
    """All that others have left: some of it would expire meanwhile."""
    with database.admin() as admin:
        admin.execute("delete from loci_data.working_memory")


def test_an_entry_that_is_renewed_while_the_sweeper_looks_at_it_lives(connect: Connect, own_database: Database) -> None:
    writer, sweeper = connect(autocommit=False), connect()
    forget(own_database)
    save(writer, "session/renewed/a", 1)
    writer.commit()
    expire(own_database, "session/renewed")
    save(writer, "session/renewed/a", 2)
    assert sweep(sweeper) == 0
    writer.commit()
    assert sweep(sweeper) == 0
    assert sweeper.execute(LIVE, ["session/renewed"]).fetchall() == [("session/renewed/a", 2, ["2"])]


def renewed_in_time(connection: psycopg.Connection[Any], key: str) -> datetime:
    """Write an entry that lives as shortly as this machine lets it be renewed before, and renew it; when the first would end."""
    for ttl in (0.1 * 2**n for n in range(10)):
        save(connection, key, "short", ttl)
        connection.commit()
        row = connection.execute("select expires_at from loci.working_memory where key = %s", [key]).fetchone()
        if row is None:  # it has ended already
            connection.commit()
            continue
        save(connection, key, "renewed", 60)
        if connection.execute("select where clock_timestamp() < %s", row).rowcount:
            return row[0]
        connection.commit()
    raise AssertionError("no entry lives long enough to be renewed")


@pytest.mark.parametrize("key", ["new", "49"], ids=["another entry", "the same entry by another agent"])
def test_an_entry_that_is_renewed_at_its_last_moment_keeps_its_slot_and_its_owner(
    connect: Connect, own_database: Database, key: str
) -> None:
    space = f"session/last{key}"
    with own_database.admin() as admin:
        owner = grant(admin, "default", "writer")
        other = owner if key == "new" else grant(admin, "default", "writer")
    renewing, writer = connect(owner, autocommit=False), connect(other)
    for number in range(49 if key == "new" else 0):
        save(renewing, f"{space}/{number}", number)
    expires_at = renewed_in_time(renewing, f"{space}/49")
    with own_database.admin() as admin, ThreadPoolExecutor(1) as pool:
        eventually(lambda: admin.execute("select where clock_timestamp() > %s", [expires_at]).rowcount)  # what it replaces expires
        waiting = blocked(pool, admin, writer, lambda: save(writer, f"{space}/{key}", "late"))
        renewing.commit()
        with suppress(psycopg.errors.SerializationFailure):
            assert waiting.result(PATIENCE) is False
    rows = {row[0]: row[1] for row in writer.execute(LIVE, [space]).fetchall()}
    assert rows[f"{space}/49"] == "renewed"
    assert len(rows) == (50 if key == "new" else 1)


def test_an_entry_that_is_written_while_the_sweeper_deletes_it_lives(connect: Connect, own_database: Database) -> None:
    writer, sweeper = connect(), connect(autocommit=False)
    forget(own_database)
    save(writer, "session/swept/a", 1)
    expire(own_database, "session/swept")
    assert sweep(sweeper) == 1
    with own_database.admin() as admin, ThreadPoolExecutor(1) as pool:
        waiting = blocked(pool, admin, writer, lambda: save(writer, "session/swept/a", 2))
        sweeper.commit()
        assert waiting.result(PATIENCE)
    assert writer.execute(LIVE, ["session/swept"]).fetchall() == [("session/swept/a", 2, ["2"])]


def test_writers_and_sweepers_at_once_lose_nothing_that_lives(connect: Connect) -> None:
    clients = [connect() for _ in range(6)]
    stop = threading.Event()

    def work(client: psycopg.Connection[Any], number: int) -> None:
        if number < 2:
            while not stop.is_set():
                sweep(client)
            return
        try:
            for turn in range(60):
                save(client, f"session/busy{number}/short{turn % 7}", turn, 0.001)
                save(client, f"session/busy{number}/long{turn % 5}", turn)
        finally:
            if number == 2:
                stop.set()

    at_once(clients, work)
    for number in range(2, 6):
        rows = clients[0].execute(LIVE, [f"session/busy{number}"]).fetchall()
        assert [(key.rsplit("/", 1)[1], value) for key, value, _ in rows if "long" in key] == [
            (f"long{n}", 55 + n) for n in range(5)
        ]


# Turns


@pytest.mark.row("W3")
def test_a_turn_is_never_seen_before_an_earlier_one_of_its_session(connect: Connect, own_database: Database) -> None:
    first, second, reader = connect(autocommit=False), connect(), connect()
    (earlier,) = say(first, "order", "first")
    with own_database.admin() as admin, ThreadPoolExecutor(1) as pool:
        waiting = blocked(pool, admin, second, lambda: say(second, "order", "second"))
        assert replayed(reader, "order") == []
        first.commit()
        (later,) = waiting.result(PATIENCE)
    assert earlier < later
    assert replayed(reader, "order") == ["first", "second"]


def test_a_reader_during_many_writes_sees_a_beginning_of_what_was_said(connect: Connect) -> None:
    clients = [connect() for _ in range(6)]
    seen: list[list[str]] = []
    spoken = threading.Semaphore(0)

    def work(client: psycopg.Connection[Any], number: int) -> None:
        if number == 0:
            while not spoken.acquire(blocking=False):
                seen.append(replayed(client, "crowd"))
            return
        for turn in range(20):
            say(client, "crowd", f"{number}.{turn}a", f"{number}.{turn}b")
        spoken.release()

    at_once(clients, work)
    said = replayed(clients[0], "crowd")
    assert len(said) == 5 * 20 * 2
    assert all(said[: len(read)] == read for read in seen)
    assert all(said[n][:-1] == said[n + 1][:-1] for n in range(0, len(said), 2))


def test_sessions_do_not_wait_for_each_other_and_a_pass_misses_no_turn_that_came_late(connect: Connect) -> None:
    slow, quick, dream = connect(autocommit=False), connect(), connect()
    quick.execute("set lock_timeout = '2s'")
    (low,) = say(slow, "slow", "drawn first, committed last")
    (high,) = say(quick, "quick", "drawn last, committed first")
    assert low < high

    def log() -> list[int]:
        rows = dream.execute("select id from loci.conversation_log('default') where session_id in ('slow', 'quick')").fetchall()
        return [row[0] for row in rows]

    read = log()
    slow.commit()
    dream.execute("select * from loci_api.clear_conversation_log('default', %s)", [read]).fetchall()
    assert (read, log()) == ([high], [low])


def test_passes_that_clear_the_same_turns_in_any_order_clear_each_once(connect: Connect) -> None:
    clients = [connect() for _ in range(4)]
    ids = [turn for n in range(8) for turn in say(clients[0], f"cleared {n}", *(f"turn {m}" for m in range(30)))]

    def work(client: psycopg.Connection[Any], number: int) -> tuple[int, int]:
        order = ids if number % 2 else ids[::-1]
        cleared = deleted = 0
        for start in range(0, len(order), 40):
            row = client.execute(
                "select * from loci_api.clear_conversation_log('default', %s)", [order[start : start + 80]]
            ).fetchone()
            assert row is not None
            cleared, deleted = cleared + row[0], deleted + row[1]
            say(client, "cleared 3", "meanwhile")
        return cleared, deleted

    counts = at_once(clients, work)
    assert sum(count[0] for count in counts) == len(ids)
    left = [len(replayed(clients[0], f"cleared {n}")) for n in range(8)]
    assert left == [20, 20, 20, 24, 20, 20, 20, 20]
