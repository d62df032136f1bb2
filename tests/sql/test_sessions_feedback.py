"""What use says about aspects: injections, hits, ends of sessions, decay."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.errors import InvalidParameterValue, NoDataFound
from psycopg.rows import dict_row

from tests.databases import Database
from tests.factories import OPERATOR, Row, World, act_as, grant, new_world
from tests.sql.test_facts_walk import as_owner, aspect, entity, fact, settings

UNUSED = 14  # days after which an aspect that nothing confirms is stale


@pytest.fixture
def world(owned: World) -> World:
    """A world that can be written past the service."""
    return owned


def known(world: World, name: str = "Diet", weight: float = 0.5, **fields: Any) -> tuple[UUID, UUID]:
    """An aspect of Alice with one attribute, and the memory behind it."""
    entity(world, "Alice")
    memory = world.write(f"about {name} {uuid4()}")["id"]
    under = aspect(world, "Alice", name, weight=weight)
    fact(world, under, "a fact", memory_id=memory, **fields)
    return under, memory


def inject(world: World, session: str, *ids: UUID) -> list[UUID]:
    rows = world.rows("select memory_id from loci_api.record_injections(%(ns)s, %(s)s, %(ids)s)", s=session, ids=list(ids))
    return [row["memory_id"] for row in rows]


def hit(world: World, session: str, *ids: UUID) -> list[UUID]:
    rows = world.rows("select memory_id from loci_api.record_hits(%(ns)s, %(s)s, %(ids)s)", s=session, ids=list(ids))
    return [row["memory_id"] for row in rows]


def end(world: World, session: str) -> Row:
    return world.row("select * from loci_api.end_session(%(ns)s, %(s)s)", s=session)


def weight(world: World, id: UUID) -> float:
    return world.value(
        "select round(weight::numeric, 6)::float from loci_data.aspects where namespace_id = %(ns_id)s and id = %(id)s", id=id
    )


def events(world: World) -> list[tuple[Any, ...]]:
    rows = world.rows(
        "select *, round(change::numeric, 6)::float as rounded from loci.feedback where namespace = %(ns)s order by id"
    )
    return [(row["session_id"], row["kind"], row["aspects"], row["confirmations"], row["rounded"]) for row in rows]


def age(world: World, days: float) -> None:
    """Let all aspects be as old as this, and confirmed as long ago."""
    as_owner(
        world,
        """update loci_data.aspects set created_at = created_at - %(d)s * interval '1 day', confirmed_at = confirmed_at - %(d)s * interval '1 day'
           where namespace_id = %(ns_id)s""",
        d=days,
    )


# Injections and hits


def test_a_memory_is_new_to_a_session_once(world: World) -> None:
    a, b = (world.write(text)["id"] for text in "ab")
    assert inject(world, "s", a, a) == [a]
    assert inject(world, "s", a, b) == [b]
    assert sorted(inject(world, "other", a, b)) == sorted([a, b])


def test_an_absent_memory_cannot_be_injected(world: World) -> None:
    with pytest.raises(NoDataFound) as raised:
        inject(world, "s", world.write("a")["id"], uuid4())
    assert raised.value.diag.column_name == "injected[1]"


@pytest.mark.parametrize(
    "call",
    [
        "loci_api.record_injections(%(ns)s, %(s)s, '{}')",
        "loci_api.record_hits(%(ns)s, %(s)s, '{}')",
        "loci_api.end_session(%(ns)s, %(s)s)",
    ],
)
@pytest.mark.parametrize("session", [None, "", "x" * 256])
def test_a_session_without_a_name_is_refused(world: World, call: Any, session: str | None) -> None:
    with pytest.raises(InvalidParameterValue) as raised:
        world.rows("select * from " + call, s=session)
    assert raised.value.diag.column_name == "session_id"


@pytest.mark.row("S6")
def test_only_what_was_injected_into_the_session_before_is_hit(world: World) -> None:
    a, b = (world.write(text)["id"] for text in "ab")
    assert hit(world, "s", a) == []
    inject(world, "s", a)
    assert hit(world, "other", a) == []
    assert hit(world, "s", a, b, uuid4()) == [a]
    hit(world, "s", a)
    row = world.row(
        "select hits, injected_at < last_hit_at as later from loci_data.injections where namespace_id = %(ns_id)s and session_id = 's'"
    )
    assert row == {"hits": 2, "later": True}


def test_a_recall_counts_what_it_found_by_words_if_it_was_injected(world: World) -> None:
    a, b = (world.write(text)["id"] for text in "ab")
    inject(world, "s", a)
    documents = [row["doc_id"] for row in world.rows("select doc_id from loci_data.memories where namespace_id = %(ns_id)s")]
    note = "select loci_api.record_recall_hits(%(ns)s, %(s)s, %(d)s)"
    assert world.value(note, s="s", d=documents) == 1
    assert world.value(note, s="none", d=documents) == 0
    assert end(world, "s")["hit"] == 1
    assert world.value(note, s="s", d=documents) == 0
    assert b is not None


def test_a_readers_recall_notes_nothing_and_is_not_refused(world: World) -> None:
    a = world.write("a")["id"]
    inject(world, "s", a)
    world.connection.execute("reset session authorization")
    agent = grant(world.connection, world.name, "reader")
    world.connection.execute("set session authorization loci_app")
    document = world.value("select doc_id from loci_data.memories where namespace_id = %(ns_id)s")
    act_as(world.connection, agent)
    assert world.value("select loci_api.record_recall_hits(%(ns)s, 's', array[%(d)s]::bigint[])", d=document) == 0
    act_as(world.connection, OPERATOR)
    assert world.value("select hits from loci_data.injections where namespace_id = %(ns_id)s") == 0


def test_an_erased_memory_is_in_no_session(world: World) -> None:
    a = world.write("a")["id"]
    inject(world, "s", a)
    receipt = world.erase(a)
    assert receipt["deleted"]["injections"] == 1
    assert end(world, "s")["injected"] == 0


# The end of a session


@pytest.mark.row("S6")
def test_a_shown_memory_that_is_found_again_raises_its_aspect(world: World) -> None:
    used, memory = known(world)
    unused, other = known(world, "Work")
    inject(world, "s", memory, other)
    hit(world, "s", memory)
    row = end(world, "s")
    assert (row["ended"], row["injected"], row["hit"], row["confirmed"], row["decayed"], row["sessions"]) == (True, 2, 1, 1, 0, 1)
    assert (weight(world, used), weight(world, unused)) == (0.52, 0.5)
    confirmed = world.rows("select id from loci_data.aspects where namespace_id = %(ns_id)s and confirmed_at is not null")
    assert [row["id"] for row in confirmed] == [used]
    assert events(world) == [("s", "confirmation", 1, 1, 0.02)]


def test_a_memory_confirms_its_aspect_once_however_often_it_was_hit_and_however_many_attributes_it_has(world: World) -> None:
    under, memory = known(world)
    fact(world, under, "another", memory_id=memory)
    inject(world, "s", memory)
    for _ in range(3):
        hit(world, "s", memory)
    end(world, "s")
    assert weight(world, under) == 0.52


def test_each_memory_confirms_for_itself(world: World) -> None:
    under, first = known(world)
    second = world.write("second")["id"]
    fact(world, under, "another", memory_id=second)
    elsewhere = aspect(world, "Alice", "Elsewhere")
    fact(world, elsewhere, "the same", memory_id=second)
    inject(world, "s", first, second)
    hit(world, "s", first, second)
    end(world, "s")
    assert (weight(world, under), weight(world, elsewhere)) == (0.54, 0.52)
    assert events(world) == [("s", "confirmation", 2, 3, 0.06)]


@pytest.mark.parametrize("status", ["superseded", "deleted"])
def test_an_attribute_that_is_not_active_confirms_nothing(world: World, status: str) -> None:
    under, memory = known(world)
    as_owner(world, "update loci_data.attributes set status = %(s)s where namespace_id = %(ns_id)s", s=status)
    inject(world, "s", memory)
    hit(world, "s", memory)
    assert end(world, "s")["confirmed"] == 0
    assert (weight(world, under), events(world)) == (0.5, [])


@pytest.mark.parametrize(("before", "after"), [(0.99, 1.0), (1.0, 1.0), (0.0, 0.1), (0.5, 0.52)])
def test_a_confirmed_weight_ends_between_floor_and_ceiling(world: World, before: float, after: float) -> None:
    under, memory = known(world, weight=before)
    inject(world, "s", memory)
    hit(world, "s", memory)
    end(world, "s")
    assert weight(world, under) == after


def test_ending_twice_changes_nothing_more(world: World) -> None:
    under, memory = known(world)
    inject(world, "s", memory)
    hit(world, "s", memory)
    first = end(world, "s")
    again = end(world, "s")
    assert again == {**first, "ended": False, "injected": 0, "hit": 0, "confirmed": 0}
    assert (weight(world, under), len(events(world))) == (0.52, 1)


def test_a_session_to_which_nothing_was_shown_ends_once_and_counts(world: World) -> None:
    assert [end(world, "s")["sessions"], end(world, "s")["sessions"], end(world, "t")["sessions"]] == [1, 1, 2]


def test_a_session_that_goes_on_after_its_end_begins_anew(world: World) -> None:
    under, memory = known(world)
    inject(world, "s", memory)
    hit(world, "s", memory)
    end(world, "s")
    assert hit(world, "s", memory) == []
    assert inject(world, "s", memory) == [memory]
    assert end(world, "s")["hit"] == 0
    assert weight(world, under) == 0.52
    inject(world, "s", memory)
    hit(world, "s", memory)
    assert end(world, "s")["sessions"] == 3
    assert weight(world, under) == 0.54


# Decay


def sessions(world: World, count: int) -> list[int]:
    """End so many new sessions; how many aspects decayed at each."""
    return [end(world, str(uuid4()))["decayed"] for _ in range(count)]


@pytest.mark.row("S6")
def test_unconfirmed_aspects_lose_weight_at_every_tenth_session(world: World) -> None:
    under, _ = known(world)
    age(world, UNUSED + 1)
    assert sessions(world, 20) == [*[0] * 9, 1] * 2
    assert weight(world, under) == 0.49
    assert [event[1:] for event in events(world)] == [("decay", 1, 0, -0.005)] * 2


def test_the_count_is_each_agents_own(world: World) -> None:
    known(world)
    age(world, UNUSED + 1)
    sessions(world, 9)
    world.connection.execute("reset session authorization")
    other = grant(world.connection, world.name, "writer")
    world.connection.execute("set session authorization loci_app")
    act_as(world.connection, other)
    assert sessions(world, 9) == [0] * 9
    assert sessions(world, 1) == [1]


@pytest.mark.row("S6")
@pytest.mark.parametrize(("days", "decayed"), [(UNUSED - 1, 0), (UNUSED + 1, 1)])
def test_an_aspect_is_stale_after_fourteen_days(world: World, days: int, decayed: int) -> None:
    known(world)
    age(world, days)
    assert sessions(world, 10)[-1] == decayed


def test_a_recently_confirmed_aspect_does_not_decay(world: World) -> None:
    under, memory = known(world)
    age(world, 100)
    inject(world, "s", memory)
    hit(world, "s", memory)
    end(world, "s")
    assert sessions(world, 9)[-1] == 0
    assert weight(world, under) == 0.52
    age(world, UNUSED + 1)
    assert sessions(world, 10)[-1] == 1


def test_the_tenth_session_confirms_first_and_lets_only_the_others_decay(world: World) -> None:
    used, memory = known(world)
    unused, _ = known(world, "Work")
    age(world, UNUSED + 1)
    sessions(world, 9)
    inject(world, "s", memory)
    hit(world, "s", memory)
    row = end(world, "s")
    assert (row["confirmed"], row["decayed"]) == (1, 1)
    assert (weight(world, used), weight(world, unused)) == (0.52, 0.495)


@pytest.mark.parametrize(("before", "after"), [(0.103, 0.1), (0.1, 0.1), (0.05, 0.05)])
def test_decay_stops_at_the_floor(world: World, before: float, after: float) -> None:
    under, _ = known(world, weight=before)
    age(world, UNUSED + 1)
    sessions(world, 10)
    assert weight(world, under) == after


@pytest.mark.row("G13")
def test_every_number_of_the_loop_is_a_setting(world: World) -> None:
    settings(
        world,
        feedback_delta=0.2,
        aspect_weight_max=0.6,
        aspect_weight_min=0.3,
        aspect_stale_days=1,
        aspect_decay=0.15,
        aspect_decay_sessions=2,
    )
    used, memory = known(world)
    unused, _ = known(world, "Work")
    age(world, 2)
    sessions(world, 1)
    inject(world, "s", memory)
    hit(world, "s", memory)
    end(world, "s")
    assert (weight(world, used), weight(world, unused)) == (0.6, 0.35)
    sessions(world, 2)
    assert weight(world, unused) == 0.3


STEPS = st.lists(
    st.tuples(st.sampled_from(["inject", "hit", "end", "age"]), st.sampled_from("stu"), st.integers(0, 3)), min_size=5, max_size=60
)


@pytest.mark.row("S6")
@given(steps=STEPS, delta=st.floats(0, 2), decay=st.floats(0, 2), start=st.floats(0.1, 1))
def test_weights_stay_between_floor_and_ceiling_whatever_the_order_of_things(
    world: World, steps: list[tuple[str, str, int]], delta: float, decay: float, start: float
) -> None:
    """And a confirmation that is reported is one that happened: the events add up to what the weights have become."""
    world = new_world(world.connection)
    settings(world, feedback_delta=delta, aspect_decay=decay, aspect_decay_sessions=1, aspect_stale_days=1)
    made = [known(world, f"aspect {n}", start) for n in range(4)]
    for action, session, n in steps:
        match action:
            case "inject":
                inject(world, session, made[n][1])
            case "hit":
                hit(world, session, made[n][1])
            case "end":
                end(world, session)
            case _:
                age(world, 2)
    weights = [weight(world, under) for under, _ in made]
    assert all(0.1 <= w <= 1.0 for w in weights)
    changed = sum(event[-1] for event in events(world))
    assert changed == pytest.approx(sum(weights) - 4 * start, abs=1e-4)


# Telemetry


@pytest.mark.row("S6")
def test_feedback_is_listed_newest_first_page_by_page_and_by_session(world: World) -> None:
    _, memory = known(world)
    for session in ("a", "b", "c"):
        inject(world, session, memory)
        hit(world, session, memory)
        end(world, session)
    listing = "select session_id, agent_id, cursor from loci.list_feedback(%(ns)s, %(s)s, %(n)s, %(c)s)"
    first = world.rows(listing, s=None, n=2, c=None)
    assert [row["session_id"] for row in first] == ["c", "b"]
    assert first[0]["agent_id"] == OPERATOR
    assert [row["session_id"] for row in world.rows(listing, s=None, n=2, c=first[-1]["cursor"])] == ["a"]
    assert [row["session_id"] for row in world.rows(listing, s="b", n=2, c=None)] == ["b"]


@pytest.mark.parametrize(("limit", "cursor", "field"), [(0, None, "limit"), (1002, None, "limit"), (10, "x", "cursor")])
def test_a_wrong_page_is_refused_by_field(world: World, limit: int, cursor: str | None, field: str) -> None:
    with pytest.raises(InvalidParameterValue) as raised:
        world.rows("select * from loci.list_feedback(%(ns)s, null, %(n)s, %(c)s)", n=limit, c=cursor)
    assert raised.value.diag.column_name == field


# Two at once


@pytest.fixture
def committed(own_database: Database) -> Iterator[tuple[Database, World]]:
    with psycopg.connect(own_database.app_url, row_factory=dict_row) as connection:
        made = new_world(connection)
        yield own_database, made


def at_once(database: Database, world: World, statement: Any, parameters: list[Row]) -> list[list[Row]]:
    """Run a statement with each of these parameters, all at the same time, each in a transaction of its own."""

    def run(given: Row) -> list[Row]:
        with psycopg.connect(database.app_url, row_factory=dict_row) as connection:
            act_as(connection, OPERATOR)
            return World(connection, world.name, world.id).rows(statement, **given)

    with ThreadPoolExecutor(len(parameters)) as pool:
        return list(pool.map(run, parameters))


def commit(world: World) -> None:
    world.connection.commit()
    act_as(world.connection, OPERATOR)


def test_two_ends_of_a_session_at_once_apply_once(committed: tuple[Database, World]) -> None:
    database, world = committed
    under, memory = known(world)
    inject(world, "s", memory)
    hit(world, "s", memory)
    commit(world)
    rows = at_once(database, world, "select * from loci_api.end_session(%(ns)s, 's')", [{}] * 6)
    assert sorted(row[0]["ended"] for row in rows) == [*[False] * 5, True]
    assert {row[0]["sessions"] for row in rows} == {1}
    assert weight(world, under) == 0.52
    assert len(events(world)) == 1


def test_a_memory_injected_by_many_at_once_is_new_to_one_of_them(committed: tuple[Database, World]) -> None:
    database, world = committed
    ids = [world.write(str(n))["id"] for n in range(20)]
    commit(world)
    statement = "select memory_id from loci_api.record_injections(%(ns)s, 's', %(ids)s)"
    orders = [{"ids": ids if n % 2 else ids[::-1]} for n in range(6)]
    new = [row["memory_id"] for rows in at_once(database, world, statement, orders) for row in rows]
    assert sorted(new) == sorted(ids)


def test_ends_of_many_sessions_at_once_all_count_and_wait_for_each_other_in_no_circle(committed: tuple[Database, World]) -> None:
    database, world = committed
    settings(world, aspect_decay_sessions=2, aspect_stale_days=0)
    made = [known(world, f"aspect {n}") for n in range(8)]
    for n in range(6):
        ids = [memory for _, memory in made[n : n + 3]]
        inject(world, f"s{n}", *ids)
        hit(world, f"s{n}", *ids)
    commit(world)
    rows = at_once(database, world, "select * from loci_api.end_session(%(ns)s, %(s)s)", [{"s": f"s{n}"} for n in range(6)])
    assert sorted(row[0]["sessions"] for row in rows) == [1, 2, 3, 4, 5, 6]
    assert all(row[0]["confirmed"] == 3 for row in rows)
    assert sum(event[3] for event in events(world)) == 18


def test_a_memory_that_is_shown_again_at_that_moment_is_hit(committed: tuple[Database, World]) -> None:
    """Showing a memory neither changes its row nor holds a lock on it."""
    database, world = committed
    memory = world.write("a")["id"]
    inject(world, "s", memory)
    documents = [world.value("select doc_id from loci_data.memories where id = %(id)s", id=memory)]
    commit(world)
    assert inject(world, "s", memory) == []
    ((noted,),) = at_once(database, world, "select loci_api.record_recall_hits(%(ns)s, 's', %(d)s) as hits", [{"d": documents}])
    assert noted["hits"] == 1
    commit(world)
    assert end(world, "s")["hit"] == 1
    assert inject(world, "s", memory) == [memory]  # it begins anew
    again = end(world, "s")
    assert (again["injected"], again["hit"]) == (1, 0)
