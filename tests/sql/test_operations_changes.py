"""The change feed in SQL: every committed change once, in an order in which nothing stands before what it rests on."""

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.types.json import Jsonb

from service.operations.routes.feed import CHANGE_KINDS
from tests.blocking import blocked
from tests.databases import Database
from tests.factories import OPERATOR, World
from tests.services import PATIENCE, eventually

ROUNDS = 15  # of each who writes, erases, deletes or sequences at once
Connect = Callable[..., psycopg.Connection[Any]]
KINDS = """
select distinct convert_from(split_part(encode(t.tgargs, 'escape'), '\\000', 1)::bytea, 'utf8') as kind from pg_trigger t
where t.tgname like 'zz\\_%'"""


# What is listed


def listed(world: World, after: str = "0", kinds: list[str] | None = None, limit: int = 1000) -> list[dict[str, Any]]:
    world.rows("select * from loci_api.sequence_changes(100000)")
    return world.rows(
        "select * from loci.list_changes(array[%(ns)s], %(after)s, %(kinds)s::text[], %(limit)s)",
        after=after,
        kinds=kinds,
        limit=limit,
    )


def test_changes_are_listed_in_the_order_in_which_they_were_written(world: World) -> None:
    world.remember(*({"content": f"fact {n}"} for n in range(50)))
    world.write("city 1", lineage="city")
    world.write("city 2", lineage="city")
    found = [row["content"] for row in listed(world, kinds=["memory"]) if row["action"] == "created"]
    assert found == [*(f"fact {n}" for n in range(50)), "city 1", "city 2"]


def test_the_view_shows_what_the_function_lists(world: World) -> None:
    world.write("one", entities=[{"name": "Alice"}])
    world.rows("select * from loci_api.add_turns(%(ns)s, 's', %(t)s)", t=Jsonb([{"role": "user", "content": "hello"}]))
    rows = listed(world)
    columns = (
        "position",
        "kind",
        "action",
        "subject_id",
        "operation_id",
        "content",
        "before",
        "after",
        "changed_at",
        "agent_id",
        "via",
    )
    shown = world.rows("select * from loci.changes where namespace = %(ns)s order by position")
    assert [[row[name] for name in columns] for row in shown] == [[row[name] for name in columns] for row in rows]
    assert {"one", "hello"} <= {row["content"] for row in rows}


def test_every_kind_that_a_trigger_notes_can_be_asked_for(admin: psycopg.Connection[Any]) -> None:
    noted = {row["kind"] for row in admin.execute(KINDS).fetchall()} - {""}  # type: ignore[call-overload]
    kinds = admin.execute("select loci_internal.change_kinds() as kinds").fetchone()
    assert len(noted) > 10
    assert noted <= set(kinds["kinds"])  # type: ignore[index]
    assert list(CHANGE_KINDS) == kinds["kinds"]  # type: ignore[index]


def test_a_page_ends_where_it_grows_too_large_and_says_that_there_is_more(world: World) -> None:
    text = " ".join(["a" * 99] * 10_000)  # words: a run so long would be cut first
    memory = world.write(text)["id"]
    for number in range(5):
        world.forget(memory, number % 2 == 0)
    seen: list[dict[str, Any]] = []
    pages = 0
    while page := listed(world, after=seen[-1]["cursor"] if seen else "0", kinds=["memory"]):
        seen += page
        pages += 1
        assert sum(len(row["content"]) for row in page) <= 5_000_000
        assert {row["more"] for row in page} == {len(seen) < 6}
    assert ([row["content"] for row in seen], pages) == ([text] * 6, 2)
    assert [row["after"]["status"] for row in seen] == ["active", "forgotten"] * 3


def test_bounds_asked_before_a_list_bound_what_it_has_read(world: World) -> None:
    world.write("one")
    rows = listed(world)
    bounds = world.row("select * from loci_api.feed_bounds(array[%(ns)s])")
    assert (bounds["place"], bounds["last_cursor"], bounds["namespace_ids"]) == (0, rows[-1]["cursor"], [world.id])


WRONG: list[tuple[str, str, Any]] = [
    ("22023", "limit", {"limit": 0}),
    ("22023", "limit", {"limit": 1001}),
    ("22023", "kind", {"kinds": ["memory", "nothing"]}),
    ("22023", "kind", {"kinds": []}),
    ("22023", "after", {"after": "-1"}),
    ("22023", "after", {"after": "7"}),
    ("24000", "after", {"after": "0123456789ab-1"}),
]


@pytest.mark.parametrize(("state", "field", "asked"), WRONG, ids=str)
def test_an_impossible_question_is_an_error_that_names_the_field(
    world: World, state: str, field: str, asked: dict[str, Any]
) -> None:
    with pytest.raises(psycopg.Error) as raised:
        listed(world, **asked)
    assert (raised.value.sqlstate, raised.value.diag.column_name) == (state, field)


# The sequencer


class Feed:
    """Writers and sequencers over one database, each on a connection of its own."""

    def __init__(self, connect: Connect) -> None:
        self.connect = connect
        self.name = f"feed-{uuid4().hex[:12]}"
        self.main = connect()
        self.id = self.create(self.name)
        self.sequence()
        self.start = self.position()

    def create(self, name: str) -> int:
        return int(self.main.execute("select loci_api.create_namespace(%s)", [name]).fetchone()[0])  # type: ignore[index]

    def write(self, connection: psycopg.Connection[Any], content: str, lineage: str | None = None, name: str | None = None) -> None:
        item = {"content": content, "layer": 3, **({"lineage": lineage} if lineage else {})}
        connection.execute("select id from loci_api.remember(%s, %s)", [name or self.name, Jsonb([item])]).fetchall()

    def sequence(self, limit: int = 10_000, connection: psycopg.Connection[Any] | None = None) -> int:
        return int((connection or self.main).execute("select moved from loci_api.sequence_changes(%s)", [limit]).fetchone()[0])  # type: ignore[index]

    def position(self) -> int:
        row = self.main.execute("select max(position) from loci.changes where namespace = %s", [self.name]).fetchone()
        return int(row[0] or 0)  # type: ignore[index]

    def created(self) -> list[str]:
        """Contents of memories, in the order in which the feed says that they were created."""
        rows = self.main.execute(
            "select content from loci.changes where namespace = %s and position > %s and kind = 'memory' and action = 'created' order by position",
            [self.name, self.start],
        )
        return [row[0] for row in rows.fetchall()]


@pytest.fixture
def connect(own_database: Database) -> Iterator[Connect]:
    """Opens connections of the service's role; every statement is a transaction unless told otherwise."""
    with ExitStack() as stack:

        def opened(agent: UUID = OPERATOR, *, autocommit: bool = True) -> psycopg.Connection[Any]:
            connection = psycopg.connect(own_database.app_url, autocommit=True)
            stack.callback(ended, connection)
            connection.execute("select set_config('loci.agent', %s, false)", [str(agent)])
            connection.set_autocommit(autocommit)
            return connection

        yield opened


def ended(connection: psycopg.Connection[Any]) -> None:
    """Close it once the server has let go of what it held: the server hears of a mere close later, and the next test counts."""
    with suppress(psycopg.Error):  # the server may have ended it
        connection.rollback()
    connection.close()


@pytest.fixture
def feed(connect: Connect) -> Feed:
    return Feed(connect)


@pytest.mark.row("X4")
def test_a_transaction_that_stays_open_holds_up_nobody_and_is_not_passed_over(feed: Feed, connect: Connect) -> None:
    slow = connect(autocommit=False)
    feed.write(slow, "begun first, committed last")
    for number in range(3):
        feed.write(feed.main, f"meanwhile {number}")
        feed.sequence()
        assert feed.created() == [f"meanwhile {n}" for n in range(number + 1)]
    before = feed.position()
    slow.commit()
    assert feed.sequence() == 1
    assert feed.created()[-1] == "begun first, committed last"
    assert feed.position() > before


def test_a_change_that_waited_for_another_comes_after_it(feed: Feed, connect: Connect) -> None:
    first, second = connect(autocommit=False), connect()
    feed.write(feed.main, "v1", "city")
    feed.write(first, "v2", "city")
    with ThreadPoolExecutor(1) as pool:
        waiting = blocked(pool, feed.main, second, lambda: feed.write(second, "v3", "city"))
        feed.sequence()
        first.commit()
        waiting.result(PATIENCE)
    feed.sequence()
    assert feed.created() == ["v1", "v2", "v3"]


def test_a_rolled_back_change_is_never_seen(feed: Feed, connect: Connect) -> None:
    other = connect(autocommit=False)
    feed.write(other, "never")
    feed.sequence()
    other.rollback()
    feed.write(feed.main, "kept")
    feed.sequence()
    assert feed.created() == ["kept"]


def test_two_sequencers_give_each_change_one_position(feed: Feed, connect: Connect) -> None:
    one, two = connect(autocommit=False), connect()
    for number in range(5):
        feed.write(feed.main, f"a{number}")
    with ThreadPoolExecutor(1) as pool:
        assert feed.sequence(3, one) == 3
        waiting = blocked(pool, feed.main, two, lambda: feed.sequence(connection=two))
        feed.write(feed.main, "b")
        assert feed.created() == []  # positions are seen from the commit on
        one.commit()
        assert waiting.result(PATIENCE) == 3
    assert feed.created() == ["a0", "a1", "a2", "a3", "a4", "b"]


def test_a_sequencer_that_is_killed_leaves_everything_to_the_next(feed: Feed, connect: Connect, own_database: Database) -> None:
    killed = connect(autocommit=False)
    feed.write(feed.main, "one")
    feed.write(feed.main, "two")
    assert feed.sequence(1, killed) == 1
    with own_database.admin() as admin:
        admin.execute("select pg_terminate_backend(%s)", [killed.info.backend_pid])
    eventually(lambda: feed.sequence() == 2)
    assert feed.created() == ["one", "two"]


def test_a_transaction_larger_than_a_batch_comes_in_parts_and_in_order(feed: Feed, connect: Connect) -> None:
    writer = connect(autocommit=False)
    for number in range(10):
        feed.write(writer, f"fact {number}")
    writer.commit()
    assert [feed.sequence(4) for _ in range(4)] == [4, 4, 2, 0]
    assert feed.created() == [f"fact {number}" for number in range(10)]
    counts = feed.main.execute(
        """select sum(c.count), count(distinct o.operation_id) from loci_data.operation_counts c
           join (select distinct operation_id from loci_data.changes where namespace_id = %s and position > %s) o using (operation_id)
           where c.namespace_id = %s""",
        [feed.id, feed.start, feed.id],
    ).fetchone()
    assert counts == (10, 1)


def test_a_reader_finds_its_own_writes_behind_more_than_a_batch(owned: World) -> None:
    definition = owned.value("select pg_get_functiondef('loci_api.sequence_changes(integer)'::regprocedure)")
    assert "DEFAULT 10000" in definition
    owned.connection.execute("reset session authorization")
    owned.connection.execute(definition.replace("DEFAULT 10000", "DEFAULT 3"))
    owned.connection.execute("set session authorization loci_app")
    owned.remember(*({"content": f"fact {n}"} for n in range(10)))
    owned.rows("select loci_api.sequence_changes_of(array[%(ns)s])")
    created = "select content from loci.list_changes(array[%(ns)s], '0', '{memory}')"
    assert [row["content"] for row in owned.rows(created)] == [f"fact {n}" for n in range(10)]


def test_an_erasure_holds_up_its_own_namespace_alone_and_nothing_of_it_slips_past(feed: Feed, connect: Connect) -> None:
    other = f"{feed.name}-other"
    feed.create(other)
    feed.sequence()
    feed.write(feed.main, "purple elephants", "secret")
    eraser = connect(autocommit=False)
    eraser.execute(
        "select * from loci_api.erase_memories(%s, (select array_agg(id) from loci.current_memories where namespace = %s))",
        [feed.name, feed.name],
    ).fetchall()
    feed.main.execute("set lock_timeout = '2s'")
    feed.write(feed.main, "elsewhere", name=other)
    assert feed.sequence() == 1
    assert feed.created() == []
    eraser.commit()
    assert feed.sequence() > 0
    assert feed.created() == [None]
    left = feed.main.execute(
        "select before, after from loci_data.changes where namespace_id = %s and position > %s", [feed.id, feed.start]
    )
    assert "secret" not in json.dumps(left.fetchall())


def test_a_reader_of_all_namespaces_goes_on_without_one_that_stays_locked(feed: Feed, connect: Connect) -> None:
    other, deleter = f"{feed.name}-other", connect(autocommit=False)
    feed.create(other)
    feed.sequence()
    feed.write(feed.main, "theirs", name=other)
    deleter.execute("select loci_api.delete_namespace(%s)", [other]).fetchall()
    feed.write(feed.main, "mine")
    feed.main.execute("set lock_timeout = '50ms'")
    feed.main.execute("select loci_api.sequence_changes_of('{*}')")
    assert feed.created() == ["mine"]
    with pytest.raises(psycopg.errors.LockNotAvailable):
        feed.main.execute("select loci_api.sequence_changes_of(array[%s])", [other])


def waiting_changes(own_database: Database) -> int:
    """How many changes have no position yet, in any namespace."""
    with own_database.admin() as admin:
        return int(admin.execute("select count(*) from loci_data.outbox").fetchone()[0])  # type: ignore[index]


def test_a_namespace_is_deleted_while_its_changes_get_their_positions(feed: Feed, connect: Connect, own_database: Database) -> None:
    sequencer, deleter = connect(autocommit=False), connect()
    for number in range(5):
        feed.write(feed.main, f"fact {number}")
    assert feed.sequence(2, sequencer) == 2
    with ThreadPoolExecutor(1) as pool:
        waiting = blocked(pool, feed.main, deleter, lambda: deleter.execute("select loci_api.delete_namespace(%s)", [feed.name]))
        sequencer.commit()
        waiting.result(PATIENCE)
    assert waiting_changes(own_database) == 0


def test_the_feed_goes_on_while_a_namespace_is_being_deleted(feed: Feed, connect: Connect) -> None:
    other = f"{feed.name}-other"
    feed.create(other)
    feed.write(feed.main, "doomed", name=other)
    deleter = connect(autocommit=False)
    deleter.execute("select loci_api.delete_namespace(%s)", [other])
    feed.main.execute("set lock_timeout = '2s'")
    feed.write(feed.main, "alive")
    assert feed.sequence() == 1
    assert feed.created() == ["alive"]
    deleter.commit()
    assert feed.sequence() == 0


def test_writers_deletions_erasures_and_sequencers_at_once_end_in_no_deadlock(connect: Connect, own_database: Database) -> None:
    feeds = [Feed(connect) for _ in range(3)]
    stop = threading.Event()
    failures: list[str] = []
    rounds: Counter[Callable[[], None]] = Counter()

    def repeat(work: Callable[[psycopg.Connection[Any], int], None]) -> Callable[[], None]:
        def loop() -> None:
            connection = connect()
            while not stop.is_set():
                try:
                    work(connection, rounds[loop])
                except psycopg.Error as error:
                    failures.append(f"{error.sqlstate} {error}")
                rounds[loop] += 1

        return loop

    def erase(connection: psycopg.Connection[Any], number: int) -> None:
        feed = feeds[number % 3]
        ids = "select array_agg(id) from (select id from loci.current_memories where namespace = %s order by id limit 3) m"
        with suppress(psycopg.errors.NoDataFound, psycopg.errors.SerializationFailure):
            connection.execute(f"select * from loci_api.erase_memories(%s, coalesce(({ids}), '{{}}'))", [feed.name, feed.name]).fetchall()  # type: ignore[arg-type]  # fmt: skip

    def doomed(connection: psycopg.Connection[Any], number: int) -> None:
        name = f"doomed-{uuid4().hex[:12]}"
        connection.execute("select loci_api.create_namespace(%s)", [name])
        feeds[0].write(connection, "x", name=name)
        connection.execute("select loci_api.delete_namespace(%s)", [name])

    def sequence(connection: psycopg.Connection[Any], number: int) -> None:
        feeds[0].sequence(1 + number % 20, connection)

    works = [
        *[repeat(lambda c, n: feeds[n % 3].write(c, f"fact {n} {threading.get_ident()}", f"l{n % 5}")) for _ in range(3)],
        *[repeat(sequence) for _ in range(2)],
        repeat(erase),
        repeat(doomed),
    ]
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    erased = "select count(distinct namespace_id) from loci_data.changes where kind = 'memory' and action = 'erased' and namespace_id = any (%s)"
    everywhere = [[feed.id for feed in feeds]]
    eventually(
        lambda: (
            failures
            or (
                min(rounds[work] for work in works) >= ROUNDS
                and feeds[0].main.execute(erased, everywhere).fetchone() == (len(feeds),)
            )
        )
    )
    stop.set()
    for thread in threads:
        thread.join(PATIENCE)
    while feeds[0].sequence():
        pass
    assert failures == []
    assert all(None in feed.created() for feed in feeds)  # something was erased everywhere
    assert waiting_changes(own_database) == 0


def test_looking_at_the_feeds_says_which_have_grown_since(feed: Feed) -> None:
    look = "select place, namespace_ids from loci_api.grown_feeds(%s)"

    def looked(place: int) -> tuple[int, list[int]]:
        row = feed.main.execute(look, [place]).fetchone()
        assert row is not None
        return row

    place, _ = looked(0)
    assert looked(place) == (place, [])
    feed.write(feed.main, "one")
    feed.sequence()
    grown, namespaces = looked(place)
    assert (grown > place, namespaces) == (True, [feed.id])
    assert looked(grown) == (grown, [])


# What positions and cursors tell


def test_positions_count_the_changes_of_their_namespace_and_of_no_other(feed: Feed, connect: Connect) -> None:
    other = Feed(connect)
    for number in range(3):
        feed.write(feed.main, f"here {number}")
        other.write(feed.main, f"there {number}")
        other.write(feed.main, f"there too {number}")
        feed.sequence()
    position, cursors = "select position from loci.changes where namespace = %s order by position", set()
    for one in (feed, other):
        found = [row[0] for row in feed.main.execute(position, [one.name]).fetchall()]
        assert found == list(range(1, len(found) + 1))
        rows = feed.main.execute("select position, cursor from loci.list_changes(array[%s])", [one.name]).fetchall()
        cursors |= {(cursor.partition("-")[0], one.name) for _, cursor in rows}
        assert all(int(cursor.partition("-")[2]) == position for position, cursor in rows)
    assert len(cursors) == 2  # what a feed is called in cursors is always the same, and drawn by lot


def test_a_cursor_leads_on_over_several_namespaces_in_the_order_of_all(feed: Feed, connect: Connect) -> None:
    other = Feed(connect)
    for number in range(3):
        for one in (feed, other):
            one.write(feed.main, f"{number}")
            one.sequence()
    read = "select namespace, content, cursor from loci.list_changes(%s, %s, '{memory}', %s)"
    names, seen, cursor = [feed.name, other.name], [], "0"
    while page := feed.main.execute(read, [names, cursor, 2]).fetchall():
        seen += [row[:2] for row in page]
        cursor = page[-1][2]
    assert seen == [(name, str(number)) for number in range(3) for name in names]


def test_a_cursor_asks_nothing_of_a_namespace_that_its_holder_may_not_read(feed: Feed, connect: Connect) -> None:
    stranger = Feed(connect)
    stranger.write(feed.main, "theirs")
    stranger.sequence()
    (cursor,) = feed.main.execute("select cursor from loci.list_changes(array[%s])", [stranger.name]).fetchone()  # type: ignore[misc]
    made = "select agent_id from loci_api.create_key(%s, 'reader', 'k', %s, %s)"
    (agent,) = feed.main.execute(made, [feed.name, uuid4(), uuid4().bytes * 2]).fetchone()  # type: ignore[misc]
    reader = connect(agent)
    told = set()
    for asked in (cursor, cursor[:13] + "999", "0123456789ab-1"):
        with pytest.raises(psycopg.errors.InvalidCursorState) as raised:
            reader.execute("select * from loci.list_changes(array[%s], %s)", [feed.name, asked])
        told.add(str(raised.value))
    assert len(told) == 1


def test_nobody_but_the_owner_is_shown_the_order_over_all_namespaces(feed: Feed) -> None:
    for column in ("place", "xmin", "*"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            feed.main.execute(f"select {column} from loci_data.changes")  # type: ignore[arg-type]
    for relation in ("feeds", "service_locks", "namespace_locks", "turn_locks", "change_places", "outbox"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            feed.main.execute(f"select * from loci_data.{relation}")  # type: ignore[arg-type]
