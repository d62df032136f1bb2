"""Edge types that have one target at a time: each edge is valid until the next begins."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from itertools import permutations
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from tests.blocking import started
from tests.databases import Database
from tests.factories import OPERATOR, Row, World, act_as, day
from tests.services import PATIENCE
from tests.sql.test_graph import observe


def declare(world: World, single: bool = True) -> None:
    world.rows("select * from loci_api.set_edge_type(%(ns)s, 'lives_in', %(c)s)", c=Jsonb({"single_valued": single}))


def lives(target: str, number: float, **fields: Any) -> Row:
    return {"source": "Alice", "type": "lives_in", "target": target, "observed_at": day(number), **fields}


def at(world: World, moment: datetime | None = None, known_at: datetime | None = None) -> list[str]:
    rows = world.rows(
        "select target from loci.list_edges(%(ns)s, 'Alice', 'lives_in', true, %(m)s, 1000, null, %(k)s)", m=moment, k=known_at
    )
    return [row["target"] for row in rows]


@pytest.mark.row("S7")
def test_a_new_target_ends_the_one_before_it(world: World) -> None:
    declare(world)
    observe(world, lives("Paris", 0))
    known_at = world.now()
    observe(world, lives("Berlin", 100))
    assert [at(world, day(n)) for n in (50, 99, 100, 500)] == [["Paris"], ["Paris"], ["Berlin"], ["Berlin"]]
    assert at(world, day(150), known_at) == ["Paris"]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_in_whatever_order_they_are_observed_each_takes_its_place(world: World, order: tuple[int, ...]) -> None:
    declare(world)
    cities = ["Paris", "Berlin", "Rome"]
    for place in order:
        observe(world, lives(cities[place], 100 * place))
    assert [at(world, day(100 * n + 50)) for n in range(3)] == [[city] for city in cities]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_one_batch_is_as_good_as_three_writes(world: World, order: tuple[int, ...]) -> None:
    declare(world)
    cities = ["Paris", "Berlin", "Rome"]
    observe(world, *(lives(cities[place], 100 * place) for place in order))
    assert [at(world, day(100 * n + 50)) for n in range(3)] == [[city] for city in cities]


def test_an_old_target_observed_again_later_holds_again(world: World) -> None:
    declare(world)
    observe(world, lives("Paris", 0))
    observe(world, lives("Berlin", 100))
    known_at = world.now()
    observe(world, lives("Paris", 200))
    assert (at(world, day(250)), at(world, day(150)), at(world, day(50), known_at)) == (["Paris"], ["Berlin"], ["Paris"])


def test_an_edge_that_is_seen_again_within_its_spell_changes_nothing(world: World) -> None:
    declare(world)
    observe(world, lives("Paris", 0))
    observe(world, lives("Berlin", 100))
    observe(world, lives("Paris", 50), lives("Berlin", 150))
    assert [at(world, day(n)) for n in (75, 200)] == [["Paris"], ["Berlin"]]


def test_a_stated_end_stays(world: World) -> None:
    declare(world)
    observe(world, lives("Paris", 0, valid_to=day(40)))
    observe(world, lives("Berlin", 100))
    observe(world, lives("Paris", 20))
    assert [at(world, day(n)) for n in (30, 60, 150)] == [["Paris"], [], ["Berlin"]]


def test_a_literal_ends_an_entity(world: World) -> None:
    declare(world)
    observe(world, lives("Paris", 0))
    observe(world, {"source": "Alice", "type": "lives_in", "literal": "nowhere", "observed_at": day(100)})
    assert at(world, day(150)) == [None]


def test_other_sources_and_other_types_are_left_alone(world: World) -> None:
    declare(world)
    observe(world, lives("Paris", 0), {**lives("Paris", 0), "source": "Bob"}, {**lives("Paris", 0), "type": "likes"})
    observe(world, lives("Berlin", 100))
    rows = world.rows(
        "select source, type, target from loci.edges_as_of(%(ns)s, %(m)s, null, true) order by source, type, target", m=day(150)
    )
    assert [tuple(row.values()) for row in rows] == [
        ("Alice", "likes", "Paris"),
        ("Alice", "lives_in", "Berlin"),
        ("Bob", "lives_in", "Paris"),
    ]


def test_a_type_that_is_not_declared_has_many_targets(world: World) -> None:
    observe(world, lives("Paris", 0), lives("Berlin", 100))
    assert at(world, day(150)) == ["Paris", "Berlin"]


def test_the_next_observation_orders_edges_from_before_the_declaration(world: World) -> None:
    observe(world, lives("Paris", 0), lives("Berlin", 100))
    declare(world)
    assert at(world, day(150)) == ["Paris", "Berlin"]
    observe(world, lives("Rome", 200))
    assert [at(world, day(n)) for n in (50, 150, 250)] == [["Paris"], ["Berlin"], ["Rome"]]


def test_edges_that_memories_carry_end_each_other_too(world: World) -> None:
    declare(world)
    for n, city in enumerate(("Paris", "Berlin")):
        edge = {"source": "Alice", "type": "lives_in", "target": city}
        world.write(f"Alice moved to {city}", valid_from=day(100 * n), edges=[edge])
    assert [at(world, day(n)) for n in (50, 150)] == [["Paris"], ["Berlin"]]


@given(seen=st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 20)), min_size=1, max_size=8), batch=st.booleans())
def test_at_no_moment_are_there_two_and_at_the_last_there_is_the_newest(
    world: World, seen: list[tuple[str, int]], batch: bool
) -> None:
    declare(world)
    source = uuid4().hex
    items = [{**lives(target, number), "source": source} for target, number in seen]
    if batch:
        observe(world, *items)
    else:
        for item in items:
            observe(world, item)
    overlaps = world.rows(
        """select a.id from loci_data.edges a join loci_data.edges b on b.namespace_id = a.namespace_id and b.source_id = a.source_id and b.id > a.id
           join loci_data.entities s on s.namespace_id = a.namespace_id and s.id = a.source_id
           where a.namespace_id = %(ns_id)s and s.name = %(s)s and coalesce(a.spells, tstzmultirange(tstzrange(a.valid_from, a.valid_to))) && coalesce(b.spells, tstzmultirange(tstzrange(b.valid_from, b.valid_to)))""",
        s=source,
    )
    assert overlaps == []
    latest = max(number for _, number in seen)
    rows = world.rows("select target from loci.list_edges(%(ns)s, %(s)s, 'lives_in', true, %(m)s)", s=source, m=day(30))
    assert len(rows) == 1
    assert rows[0]["target"] in {target for target, number in seen if number == latest}


# Two at once


@pytest.fixture
def two(own_database: Database) -> Iterator[list[psycopg.Connection[Any]]]:
    """Two connections of the service's role."""
    opened = [psycopg.connect(own_database.app_url, row_factory=dict_row) for _ in range(2)]
    yield opened
    for connection in opened:
        connection.close()


def committed_world(connection: psycopg.Connection[Any]) -> str:
    act_as(connection, OPERATOR)
    name = f"two-{uuid4().hex[:12]}"
    connection.execute("select loci_api.create_namespace(%s, null, 'english')", [name])
    connection.execute("select * from loci_api.set_edge_type(%s, 'lives_in', '{\"single_valued\": true}')", [name])
    connection.execute('select * from loci_api.upsert_entities(%s, \'[{"name": "Alice"}]\')', [name])
    connection.commit()
    return name


def race(database: Database, two: list[psycopg.Connection[Any]], first: Any, second: Any) -> None:
    """The first writes; the second writes, and waits if it must; the first commits, then the second."""
    for connection in two:
        act_as(connection, OPERATOR)
    first(two[0])
    with database.admin() as watcher, ThreadPoolExecutor(1) as pool:
        writing = started(pool, watcher, two[1], lambda: (second(two[1]), two[1].commit()))
        two[0].commit()
        writing.result(PATIENCE)


@pytest.mark.parametrize("by_id", [False, True])
def test_two_agents_who_observe_two_targets_at_once_leave_one(
    own_database: Database, two: list[psycopg.Connection[Any]], by_id: bool
) -> None:
    name = committed_world(two[0])
    act_as(two[0], OPERATOR)
    source = str(two[0].execute("select id from loci.get_entity(%s, 'Alice')", [name]).fetchone()["id"]) if by_id else "Alice"
    two[0].commit()

    def see(connection: psycopg.Connection[Any], target: str) -> None:
        edge = {"source": source, "type": "lives_in", "target": target}
        connection.execute("select * from loci_api.observe_edges(%s, %s)", [name, Jsonb([edge])]).fetchall()

    race(own_database, two, lambda connection: see(connection, "Paris"), lambda connection: see(connection, "Berlin"))
    act_as(two[0], OPERATOR)
    rows = two[0].execute("select target from loci.list_edges(%s, 'Alice', 'lives_in')", [name]).fetchall()
    assert len(rows) == 1


def test_two_agents_who_write_contradicting_facts_at_once_leave_one_active(
    own_database: Database, two: list[psycopg.Connection[Any]]
) -> None:
    name = committed_world(two[0])
    act_as(two[0], OPERATOR)
    aspect = two[0].execute("select id from loci_api.upsert_aspect(%s, 'Alice', '{\"name\": \"home\"}')", [name]).fetchone()["id"]
    two[0].commit()

    def add(connection: psycopg.Connection[Any], city: str) -> None:
        fact = {"content": f"Alice lives in {city}"}
        connection.execute("select * from loci_api.add_attribute(%s, %s, %s)", [name, aspect, Jsonb(fact)]).fetchall()

    race(own_database, two, lambda connection: add(connection, "Paris"), lambda connection: add(connection, "Berlin"))
    act_as(two[0], OPERATOR)
    (row,) = two[0].execute("select attributes from loci.list_aspects(%s, 'Alice')", [name]).fetchall()
    assert len(row["attributes"]) == 1
