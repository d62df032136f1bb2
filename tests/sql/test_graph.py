"""Entities, edges, decay and walks."""

import math
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from tests.factories import World, day, stated


def observe(world: World, *edges: dict[str, Any]) -> list[dict[str, Any]]:
    return world.rows("select * from loci_api.observe_edges(%(ns)s, %(edges)s)", edges=Jsonb([stated(edge) for edge in edges]))


def walk(world: World, start: str, as_of: datetime | None = None, hops: int = 2, limit: int = 100) -> list[dict[str, Any]]:
    return world.rows(
        "select * from loci.traverse(%(ns)s, array[%(start)s], null, 'both', %(hops)s, %(limit)s, null, 0, %(as_of)s, true)",
        start=start,
        hops=hops,
        limit=limit,
        as_of=as_of,
    )


@pytest.mark.row("G8")
@given(confidence=st.floats(0, 1), rate=st.floats(0, 2), days=st.floats(-100, 1000))
def test_confidence_decays_by_the_exponential_of_the_days_since_it_was_observed(
    world: World, confidence: float, rate: float, days: float
) -> None:
    found = world.value(
        "select loci.effective_confidence(%(c)s, %(rate)s, %(then)s, %(now)s)",
        c=confidence,
        rate=rate,
        then=day(0),
        now=day(days),
    )
    elapsed = max((day(days) - day(0)).total_seconds() / 86400, 0)
    assert found == pytest.approx(confidence * math.exp(-min(rate * elapsed, 500)), abs=1e-12)


@pytest.mark.row("G8")
@given(confidence=st.floats(0.11, 1), rate=st.floats(0.001, 2))
def test_an_edge_fades_at_the_moment_when_its_confidence_reaches_the_threshold(
    world: World, confidence: float, rate: float
) -> None:
    found = world.value(
        "select loci.effective_confidence(%(c)s, %(rate)s, %(then)s, loci.fades_at(%(c)s, %(rate)s, %(then)s, 0.1))",
        c=confidence,
        rate=rate,
        then=day(0),
    )
    assert found == pytest.approx(0.1, rel=1e-6)


@pytest.mark.row("G7")
@pytest.mark.parametrize(("moment", "seen"), [(0, []), (1, ["b"]), (100, ["b"]), (231, ["b"]), (232, [])])
def test_a_walk_in_the_past_or_future_sees_what_was_alive_then(world: World, moment: int, seen: list[str]) -> None:
    observe(world, {"source": "a", "type": "t", "target": "b", "observed_at": day(1)})
    assert [row["target"] for row in walk(world, "a", day(moment))] == seen


def test_confidence_at_a_past_moment_rests_on_what_was_observed_until_then(world: World) -> None:
    observe(world, {"source": "a", "type": "t", "target": "b", "observed_at": day(0), "session_id": "s1", "confidence": 0.5})
    observe(world, {"source": "a", "type": "t", "target": "b", "observed_at": day(100), "session_id": "s2"})
    assert walk(world, "a", day(10))[0]["confidence"] == pytest.approx(0.5 * math.exp(-0.1))
    assert walk(world, "a", day(100))[0]["confidence"] == pytest.approx(1.0)


def test_a_walk_gives_each_edge_once_in_breadth_first_order_with_its_path(world: World) -> None:
    observe(world, *({"source": a, "type": "t", "target": b} for a, b in ("ab", "bc", "cd", "da", "ac")))
    rows = walk(world, "a", hops=5)
    assert [row["hop"] for row in rows] == sorted(row["hop"] for row in rows)
    assert sorted(row["source"] + row["target"] for row in rows) == ["ab", "ac", "bc", "cd", "da"]
    assert all(row["path"] for row in rows)


@pytest.mark.parametrize("limit", [1, 3, 10])
def test_a_walk_never_returns_more_than_its_limit_and_says_so(world: World, limit: int) -> None:
    observe(world, *({"source": "hub", "type": "t", "target": f"n{n}"} for n in range(11)))
    rows = walk(world, "hub", limit=limit)
    assert len(rows) == limit
    assert all(row["truncated"] for row in rows)


def test_an_edge_that_the_same_memory_shows_again_is_not_counted_again(world: World) -> None:
    item = {"content": "Alice works on Loci", "edges": [{"source": "Alice", "type": "works_on", "target": "Loci"}]}
    world.remember(item)
    world.remember(item)
    assert world.value("select observations from loci_data.edges where namespace_id = %(ns_id)s") == 1
    assert world.rows("select mentions from loci_data.entities where namespace_id = %(ns_id)s") == [{"mentions": 1}] * 2


def test_an_alias_leads_to_its_entity(world: World) -> None:
    world.rows("select * from loci_api.upsert_entities(%(ns)s, %(e)s)", e=Jsonb([{"name": "Azure DevOps", "aliases": ["ADO"]}]))
    (again,) = world.rows("select * from loci_api.upsert_entities(%(ns)s, %(e)s)", e=Jsonb([{"name": "ado", "type": "tool"}]))
    assert (again["name"], again["created"]) == ("Azure DevOps", False)


@pytest.mark.row("G5")
def test_the_longest_name_at_a_place_wins_and_places_are_in_order(world: World) -> None:
    names = [{"name": name} for name in ("Azure", "Azure DevOps", "Alice")]
    world.rows("select * from loci_api.upsert_entities(%(ns)s, %(e)s)", e=Jsonb(names))
    rows = world.rows("select * from loci.match_entities(%(ns)s, 'ALICE runs azure devops')")
    assert [(row["name"], row["matched"], row["position"]) for row in rows][:2] == [
        ("Alice", "ALICE", 1),
        ("Azure DevOps", "azure devops", 12),
    ]


@pytest.mark.parametrize(
    ("edge", "line"),
    [
        (("Alice", "works_on", "RockBot", None, 0.9), "Alice --works_on--> RockBot (confidence=0.90)"),
        (("Alice", "age", None, "42", 1.0), 'Alice --age--> "42" (confidence=1.00)'),
        (("Al\nice", "t", "B\r\nob", None, 0.123), "Al ice --t--> B ob (confidence=0.12)"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_an_edge_is_one_line_whatever_its_names_hold(world: World, edge: tuple[Any, ...], line: str) -> None:
    found = world.value("select loci.triple(%(s)s, %(t)s, %(o)s, %(l)s, %(c)s)", **dict(zip("stolc", edge, strict=True)))
    assert found == line


@pytest.mark.row("R3")
def test_memories_of_far_and_common_entities_are_found_where_a_filter_leaves_no_others(world: World) -> None:
    items = [{"content": f"n{n}", "entities": [{"name": "Hera"}, {"name": "Leda"}]} for n in range(600)]
    items += [{"content": f"io{n}", "category": "far", "entities": [{"name": "Io"}]} for n in range(5)]
    world.rows("select * from loci_api.remember(%(ns)s, %(items)s)", items=Jsonb(items))
    observe(
        world,
        {"source": "Zeus", "type": "loves", "target": "Hera"},
        {"source": "Zeus", "type": "loves", "target": "Leda"},
        {"source": "Zeus", "type": "knows", "target": "Io", "confidence": 0.11},
    )
    found = world.rows("select * from loci_api.recall_graph_arm(%(ns)s, 'Zeus', 10)")
    assert len(found) == 10
    assert all(row["path"]["path"][:2] == ["Zeus", "--loves-->"] for row in found)
    filtered = world.rows("select * from loci_api.recall_graph_arm(%(ns)s, 'Zeus', 10, '{\"category\": \"far\"}')")
    assert len(filtered) == 5
    assert [step["type"] for step in filtered[0]["path"]["decay"]] == ["knows"]


def test_a_fresh_memory_is_around_the_entities_that_its_words_name(world: World) -> None:
    world.write("The first contract", entities=[{"name": "Acme Works", "type": "project", "aliases": ["The Works"]}])
    told = [world.write(text)["id"] for text in ("A review for Acme Works on Friday", "Dinner beside the works", "Acme Worksheet")]
    forgotten = world.write("A forgotten review for Acme Works")["id"]
    world.forget(forgotten)
    arm = "select id, score, path -> 'path' as path from loci_api.recall_graph_arm(%(ns)s, 'What of Acme Works?')"
    waiting = {row["id"]: (row["score"], row["path"]) for row in world.rows(arm)}
    assert set(told) & set(waiting) == set(told[:2])
    assert forgotten not in waiting
    assert len({score for score, _ in waiting.values()}) == 1
    assert waiting[told[0]][1] == ["Acme Works"]
