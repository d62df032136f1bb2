"""Decay, and changes of it that go through the edges in batches."""

import math
from datetime import datetime, timedelta
from typing import Any

import pytest
from psycopg.errors import InvalidParameterValue
from psycopg.types.json import Jsonb

from tests.factories import Row, World, day
from tests.sql.test_graph import observe, walk

AGES = {"fresh": 10, "old": 100, "older": 300, "oldest": 500}  # targets, and days since each was observed
WAYS = 12  # of reading edges


def age(world: World, type_: str = "t", **fields: Any) -> datetime:
    """An edge from a to each of AGES, observed as long ago; the moment that they count from."""
    now = world.now()
    edges = (
        {"source": "a", "type": type_, "target": name, "observed_at": now - timedelta(days=days), **fields}
        for name, days in AGES.items()
    )
    observe(world, *edges)
    for name in AGES:  # what a walk and a constellation see of an entity
        aspect = world.row('select * from loci_api.upsert_aspect(%(ns)s, %(name)s, \'{"name": "size"}\')', name=name)["id"]
        world.rows('select * from loci_api.add_attribute(%(ns)s, %(aspect)s, \'{"content": "small"}\')', aspect=aspect)
    world.rows("select * from loci_api.upsert_aspect(%(ns)s, 'a', '{\"name\": \"size\"}')")
    return now


def set_rate(world: World, rate: float | None, type_: str = "t") -> Row:
    return world.row("select * from loci_api.set_edge_type(%(ns)s, %(type)s, %(c)s)", type=type_, c=Jsonb({"decay_rate": rate}))


def set_settings(world: World, **settings: Any) -> bool:
    changed: bool = world.value("select loci_api.update_namespace(%(ns)s, %(c)s)", c=Jsonb({"settings": settings}))
    return changed


def batch(world: World, type_: str | None = "t", limit: int = 1) -> Row:
    return world.row("select * from loci_api.recalculate_decay_batch(%(ns)s, %(type)s, %(limit)s)", type=type_, limit=limit)


def finish(world: World, type_: str | None = "t", limit: int = 1) -> Row:
    while not (row := batch(world, type_, limit))["done"]:
        pass
    return row


def alive(world: World) -> list[set[str]]:
    """Targets that each way of reading finds alive."""
    ways = [
        "select target from loci.list_edges(%(ns)s)",
        "select target from loci.list_edges(%(ns)s, 'a', p_type => 't')",
        "select target from loci.list_edges(%(ns)s, p_faded => true) where not faded",
        "select target from loci.list_edges(%(ns)s, p_faded => true) where fades_at is null or fades_at > now()",
        "select target from loci.traverse(%(ns)s, array['a'])",
        "select target from loci.traverse(%(ns)s, array['a'], p_min_confidence => %(least)s)",
        "select target from loci.neighbors(%(ns)s, 'a')",
        "select target from loci.edges_as_of(%(ns)s, clock_timestamp())",
        "select target from loci.edges where namespace = %(ns)s",
        """select e.name from loci.walk(%(ns)s, p_checkpoint => array(select id from loci.entities where namespace = %(ns)s and name = 'a'),
                                        p_attributes => true) w
           cross join lateral json_array_elements(w.attributes) t join loci.entities e on e.id = (t ->> 'entity_id')::uuid""",
        """select n ->> 'name' from loci.constellation(%(ns)s) c cross join lateral json_array_elements(c.edges) e
           join lateral json_array_elements(c.entities) n on n ->> 'id' = e ->> 'target_id'""",
        "select name from unnest(%(all)s::text[]) name where name not in (select target from loci.faded_edges where namespace = %(ns)s)",
    ]
    least = world.value("select (settings ->> 'edge_threshold')::float from loci.list_namespaces(%(ns)s)")
    return [{next(iter(row.values())) for row in world.rows(way, all=list(AGES), least=least)} for way in ways]  # type: ignore[arg-type]


def in_step(world: World) -> bool:
    """Whether every stored moment is the one that the rates in force give."""
    stale = world.value(
        """select count(*) from loci_data.edges e join loci_data.namespaces n on n.id = e.namespace_id
           left join loci_data.edge_types t on t.namespace_id = e.namespace_id and t.type = e.type
           cross join lateral (select loci.default_settings() || n.settings) s(s)
           where e.namespace_id = %(ns_id)s and e.fades_at <> loci.fades_at(
               e.confidence, coalesce(t.decay_rate, (s ->> 'decay_rate')::float), e.last_observed_at, (s ->> 'edge_threshold')::float)"""
    )
    return bool(stale == 0)


# Worked figures


@pytest.mark.row("G8")
def test_at_the_default_rate_confidence_halves_in_69_days(world: World) -> None:
    observe(world, {"source": "a", "type": "t", "target": "b", "observed_at": day(0)})
    assert walk(world, "a", day(69.3147))[0]["confidence"] == pytest.approx(0.5, abs=1e-6)


@pytest.mark.row("G8")
@pytest.mark.parametrize(("moment", "seen"), [(219.7, True), (219.8, False)])
def test_a_confidence_of_nine_tenths_falls_below_a_tenth_after_219_days(world: World, moment: float, seen: bool) -> None:
    assert math.log(9) / 0.01 == pytest.approx(219.72, abs=0.01)
    observe(world, {"source": "a", "type": "t", "target": "b", "confidence": 0.9, "observed_at": day(0)})
    assert bool(walk(world, "a", day(moment))) == seen
    assert bool(world.rows("select id from loci.edges_as_of(%(ns)s, %(at)s)", at=day(moment))) == seen


@pytest.mark.row("G8")
def test_a_faded_edge_is_kept_shown_on_request_and_brought_back_by_an_observation(world: World) -> None:
    now = age(world)
    assert alive(world) == [{"fresh", "old"}] * WAYS
    rows = world.rows("select target, faded, confidence from loci.list_edges(%(ns)s, p_faded => true)")
    assert {row["target"]: row["faded"] for row in rows} == {"fresh": False, "old": False, "older": True, "oldest": True}
    assert {row["target"]: row["confidence"] for row in rows} == pytest.approx(
        {n: math.exp(-0.01 * d) for n, d in AGES.items()},
        rel=1e-4,  # they fade meanwhile
    )
    faded = world.rows("select target, confidence from loci.faded_edges where namespace = %(ns)s order by 1")
    assert [row["target"] for row in faded] == ["older", "oldest"]
    observe(world, {"source": "a", "type": "t", "target": "oldest", "observed_at": now, "session_id": "new"})
    assert alive(world) == [{"fresh", "old", "oldest"}] * WAYS


@pytest.mark.parametrize(
    ("rate", "seen"),
    [(0, set(AGES)), (1e-9, set(AGES)), (0.005, {"fresh", "old", "older"}), (0.1, {"fresh"}), (1e9, set())],
)
def test_any_rate_from_nothing_to_a_billion_is_a_rate(world: World, rate: float, seen: set[str]) -> None:
    age(world)
    set_rate(world, rate)
    assert alive(world) == [seen] * WAYS
    finish(world)
    assert alive(world) == [seen] * WAYS
    assert in_step(world)


@pytest.mark.parametrize("rate", [-1, "fast", "Infinity", 1e10])
def test_an_invalid_rate_is_refused_and_changes_nothing(world: World, rate: Any) -> None:
    with pytest.raises(InvalidParameterValue) as raised, world.connection.transaction():
        set_rate(world, rate)
    assert raised.value.diag.column_name == "decay_rate"
    assert world.value("select decay_rate from loci.get_edge_type(%(ns)s, 't')") == 0.01


# Changes


@pytest.mark.row("G10")
@pytest.mark.parametrize("limit", [1, 2, 3, 4, 100])
def test_readers_are_right_at_every_step_of_a_change(world: World, limit: int) -> None:
    age(world)
    assert set_rate(world, 0.001)["decaying"]
    steps = 0
    while True:
        assert alive(world) == [set(AGES)] * WAYS
        row = batch(world, limit=limit)
        steps += 1
        if row["done"]:
            break
    assert alive(world) == [set(AGES)] * WAYS
    assert in_step(world)
    assert (row["edges"], row["faded"], row["revived"], steps) == (4, 0, 2, 4 // limit + 1)


@pytest.mark.row("G10")
def test_a_change_says_how_many_edges_faded_and_how_many_came_back(world: World) -> None:
    age(world)
    set_rate(world, 0.1)
    assert (row := finish(world))["faded"] == 1
    assert row["revived"] == 0
    set_rate(world, None)
    assert (row := finish(world))["revived"] == 1
    assert row["faded"] == 0
    assert not set_rate(world, None)["decaying"]


def test_a_change_in_the_middle_of_a_change_begins_again(world: World) -> None:
    age(world)
    set_rate(world, 0.1)
    batch(world, limit=2)
    set_rate(world, 0.0001)
    assert alive(world) == [set(AGES)] * WAYS
    batch(world, limit=3)
    set_rate(world, 0.1)
    assert alive(world) == [{"fresh"}] * WAYS
    assert finish(world)["edges"] == 4
    assert in_step(world)
    assert alive(world) == [{"fresh"}] * WAYS


def test_a_change_of_one_type_leaves_the_others(world: World) -> None:
    now = age(world)
    observe(world, {"source": "a", "type": "u", "target": "else", "observed_at": now - timedelta(days=100)})
    set_rate(world, 0.1)
    assert finish(world)["edges"] == 4
    assert [row["target"] for row in world.rows("select target from loci.edges where namespace = %(ns)s order by 1")] == [
        "else",
        "fresh",
    ]
    assert in_step(world)


@pytest.mark.parametrize(
    ("settings", "seen"),
    [
        ({"edge_threshold": 0.5}, {"fresh"}),
        ({"edge_threshold": 0.001}, set(AGES)),
        ({"edge_threshold": 0}, set(AGES)),
        ({"decay_rate": 0.1}, {"fresh"}),
    ],
)
def test_a_change_of_the_namespaces_settings_is_in_force_at_once(world: World, settings: Row, seen: set[str]) -> None:
    age(world)
    assert set_settings(world, **settings)
    assert alive(world) == [seen] * WAYS
    finish(world, None)
    assert alive(world) == [seen] * WAYS
    assert in_step(world)
    assert not set_settings(world, **settings)
    assert not set_settings(world, max_hops=3)


def test_the_past_is_read_with_the_rate_of_now(world: World) -> None:
    observe(world, {"source": "a", "type": "t", "target": "b", "observed_at": day(0), "session_id": "s1"})
    observe(world, {"source": "a", "type": "t", "target": "b", "observed_at": day(300), "session_id": "s2"})
    set_rate(world, 0.1)
    for _ in range(2):
        assert walk(world, "a", day(10))[0]["confidence"] == pytest.approx(math.exp(-1))
        assert walk(world, "a", day(30)) == []
        finish(world)


def test_edges_observed_during_a_change_go_by_the_new_rate(world: World) -> None:
    now = age(world)
    set_rate(world, 0.1)
    batch(world, limit=2)
    observe(world, {"source": "a", "type": "t", "target": "new", "observed_at": now - timedelta(days=30)})
    observe(world, {"source": "a", "type": "t", "target": "fresh", "observed_at": now, "session_id": "s"})
    finish(world)
    assert in_step(world)
    assert alive(world)[:9] == [{"fresh"}] * 9


@pytest.mark.row("G10")
def test_recalculating_on_demand_repairs_what_is_out_of_step(owned: World) -> None:
    world = owned
    age(world)
    world.connection.execute("reset session authorization")
    world.connection.execute("update loci_data.edges set fades_at = '2000-01-01' where namespace_id = %s", [world.id])
    world.connection.execute("set session authorization loci_app")
    assert not in_step(world)
    world.rows("select loci_api.begin_decay_change(%(ns)s)")
    assert finish(world, None)["revived"] == 2
    assert in_step(world)


def test_without_a_change_there_is_nothing_to_do(world: World) -> None:
    age(world)
    assert batch(world) == {"edges": 0, "faded": 0, "revived": 0, "faded_now": 0, "done": True}


@pytest.mark.parametrize("limit", [0, -1, 100_001])
def test_a_batch_has_a_sensible_size(world: World, limit: int) -> None:
    with pytest.raises(InvalidParameterValue) as raised:
        batch(world, limit=limit)
    assert raised.value.diag.column_name == "limit"


def test_an_edge_that_was_taken_back_is_read_in_the_past_with_the_rate_of_now(world: World) -> None:
    age(world)
    [edge] = [row["id"] for row in world.rows("select id, target from loci.list_edges(%(ns)s)") if row["target"] == "old"]
    world.rows("select * from loci_api.delete_edge(%(ns)s, %(id)s)", id=edge)
    set_rate(world, 0.1)
    row = finish(world)
    assert (row["faded"], row["revived"]) == (0, 0)
    assert in_step(world)
