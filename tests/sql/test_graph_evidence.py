"""What observations do to edges and entities: evidence, reinforcement, aspects, triples of a memory."""

import math
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.factories import Row, World, day, stated
from tests.sql.test_graph import observe

MODES = pytest.mark.parametrize("mode", ["full", "initial", "running_average"])
EDGE = {"source": "a", "type": "t", "target": "b"}


def reinforce(world: World, mode: str) -> None:
    world.rows("select loci_api.update_namespace(%(ns)s, %(c)s)", c=Jsonb({"settings": {"reinforcement": mode}}))


def upsert(world: World, *entities: Row) -> list[Row]:
    return world.rows("select * from loci_api.upsert_entities(%(ns)s, %(e)s)", e=Jsonb([stated(entity) for entity in entities]))


def edge(world: World) -> Row:
    return world.row("select * from loci_data.edges where namespace_id = %(ns_id)s and superseded_at is null")


def entity(world: World, name: str) -> Row:
    return world.row("select * from loci_data.entities where namespace_id = %(ns_id)s and name = %(name)s", name=name)


def counted(world: World, name: str) -> tuple[float, int]:
    row = entity(world, name)
    return round(row["confidence"], 9), row["observations"]


def sessions(world: World, name: str) -> dict[str, int]:
    rows = world.rows(
        "select session_id, observations from loci_data.entity_sessions where namespace_id = %(ns_id)s and entity_id = %(id)s",
        id=entity(world, name)["id"],
    )
    return {row["session_id"]: row["observations"] for row in rows}


# Edges


@pytest.mark.row("G9")
@pytest.mark.parametrize(("mode", "confidence"), [("full", 1.0), ("initial", 0.4), ("running_average", (0.4 * 1 + 0.8) / 2)])
def test_an_edge_seen_in_a_new_conversation_is_restored_by_the_setting(world: World, mode: str, confidence: float) -> None:
    reinforce(world, mode)
    observe(world, {**EDGE, "confidence": 0.4, "session_id": "s1", "observed_at": day(0)})
    (again,) = observe(world, {**EDGE, "confidence": 0.8, "session_id": "s2", "observed_at": day(50)})
    assert again["restored"]
    row = edge(world)
    assert row["confidence"] == pytest.approx(confidence)
    assert (row["observations"], row["first_observed_at"], row["last_observed_at"]) == (2, day(0), day(50))


@pytest.mark.row("G9")
@MODES
def test_an_edge_seen_again_in_the_same_conversation_only_counts(world: World, mode: str) -> None:
    reinforce(world, mode)
    observe(world, {**EDGE, "confidence": 0.4, "session_id": "s1", "observed_at": day(0)})
    (again,) = observe(world, {**EDGE, "confidence": 0.8, "session_id": "s1", "observed_at": day(50)})
    assert not again["restored"]
    row = edge(world)
    assert (row["confidence"], row["observations"], row["last_observed_at"], row["restored_at"]) == (0.4, 2, day(50), day(0))
    assert row["fades_at"] == pytest.approx(day(0) + timedelta(days=math.log(4) / 0.01), abs=timedelta(seconds=1))


@pytest.mark.row("G2")
def test_every_observation_of_an_edge_is_a_row(world: World) -> None:
    memory = world.write("a goes with b")["id"]
    observe(world, {**EDGE, "confidence": 0.4, "session_id": "s1", "observed_at": day(0)})
    observe(world, {**EDGE, "session_id": "s1", "observed_at": day(1)})
    observe(world, {**EDGE, "memory_id": memory, "observed_at": day(2)})
    rows = world.rows(
        """select memory_id, session_id, observed_at, confidence, reinforcement from loci_data.edge_observations
           where namespace_id = %(ns_id)s order by observed_at"""
    )
    assert [tuple(row.values()) for row in rows] == [
        (None, "s1", day(0), 0.4, "full"),
        (None, "s1", day(1), 1.0, "full"),
        (memory, None, day(2), 1.0, "full"),
    ]


@MODES
@pytest.mark.parametrize("calls", [1, 2])
def test_an_observation_without_a_session_only_counts(world: World, mode: str, calls: int) -> None:
    reinforce(world, mode)
    pair = [{**EDGE, "confidence": 0.3, "observed_at": day(0.1)}, {**EDGE, "confidence": 0.1, "observed_at": day(0.9)}]
    made = observe(world, *pair) if calls == 1 else [observe(world, item)[0] for item in pair]
    assert [row["restored"] for row in made] == [False, False]
    assert (edge(world)["confidence"], edge(world)["observations"], edge(world)["restored_at"]) == (0.3, 2, day(0.1))


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize(("mode", "confidence"), [("full", 1.0), ("initial", 0.3), ("running_average", (0.3 * 1 + 0.5) / 2)])
def test_an_observation_without_a_session_on_another_day_restores(
    world: World, mode: str, confidence: float, order: tuple[int, ...]
) -> None:
    reinforce(world, mode)
    pair = [{**EDGE, "confidence": 0.3, "observed_at": day(0.9)}, {**EDGE, "confidence": 0.5, "observed_at": day(1.1)}]
    for place in order:
        observe(world, pair[place])
    assert (edge(world)["confidence"], edge(world)["restored_at"]) == (pytest.approx(confidence), day(1.1))


def test_a_day_on_which_a_conversation_spoke_of_an_edge_is_no_new_one(world: World) -> None:
    observe(world, {**EDGE, "confidence": 0.3, "session_id": "s1", "observed_at": day(0.2)})
    (again,) = observe(world, {**EDGE, "observed_at": day(0.3)})
    assert (again["restored"], edge(world)["confidence"]) == (False, 0.3)
    (spoken,) = observe(world, {**EDGE, "session_id": "s2", "observed_at": day(0.4)})
    assert (spoken["restored"], edge(world)["confidence"]) == (True, 1.0)


@pytest.mark.parametrize("together", [True, False])
def test_memories_without_a_session_that_say_the_same_on_one_day_are_one_conversation(world: World, together: bool) -> None:
    items = [{"content": text, "edges": [{**EDGE, "confidence": 0.3}]} for text in ("a goes with b", "b goes with a")]
    for part in [items] if together else [[item] for item in items]:
        world.remember(*part)
    assert (edge(world)["confidence"], edge(world)["observations"]) == (0.3, 2)


@pytest.mark.row("G2")
def test_a_memory_is_evidence_of_an_edge_once(world: World) -> None:
    memory = world.write("a goes with b")["id"]
    made = [observe(world, {**EDGE, "confidence": 0.4, "memory_id": memory, "session_id": s})[0] for s in ("s1", "s2")]
    assert [(row["created"], row["restored"]) for row in made] == [(True, False), (False, False)]
    assert (edge(world)["confidence"], edge(world)["observations"]) == (0.4, 1)


@pytest.mark.row("G9")
@pytest.mark.parametrize(("mode", "confidence"), [("full", 1.0), ("initial", 0.9), ("running_average", (0.9 * 1 + 0.4) / 2)])
def test_the_order_in_which_observations_are_told_does_not_matter(world: World, mode: str, confidence: float) -> None:
    reinforce(world, mode)
    observe(world, {**EDGE, "confidence": 0.4, "session_id": "s1", "observed_at": day(50)})
    (late,) = observe(world, {**EDGE, "confidence": 0.9, "session_id": "s0", "observed_at": day(10)})
    row = edge(world)
    assert not late["restored"]
    assert (row["initial_confidence"], row["confidence"]) == (0.9, pytest.approx(confidence))
    assert (row["restored_at"], row["first_observed_at"], row["observations"]) == (day(50), day(10), 2)


def test_items_of_one_batch_count_as_if_they_came_one_after_the_other(world: World) -> None:
    reinforce(world, "running_average")
    items = [{**EDGE, "confidence": c, "session_id": s, "observed_at": day(0)} for c, s in ((0.4, "s1"), (0.6, "s1"), (0.7, "s2"))]
    made = observe(world, *items)
    assert [(row["created"], row["restored"]) for row in made] == [(True, False), (False, False), (False, True)]
    assert edge(world)["confidence"] == pytest.approx((0.4 * 2 + 0.7) / 3)


# Entities


@pytest.mark.row("G1")
@pytest.mark.parametrize(("mode", "confidence"), [("full", 1.0), ("initial", 0.4), ("running_average", (0.4 * 1 + 0.8) / 2)])
def test_an_entity_seen_in_a_new_conversation_is_restored_by_the_setting(world: World, mode: str, confidence: float) -> None:
    reinforce(world, mode)
    upsert(world, {"name": "Zeus", "confidence": 0.4, "session_id": "s1"})
    upsert(world, {"name": "Zeus", "confidence": 0.8, "session_id": "s2"})
    assert counted(world, "Zeus") == (pytest.approx(confidence), 2)
    assert entity(world, "Zeus")["initial_confidence"] == 0.4


@MODES
def test_an_entity_seen_again_in_the_same_conversation_only_counts(world: World, mode: str) -> None:
    reinforce(world, mode)
    for confidence in (0.4, 0.8, None):
        upsert(world, {"name": "Zeus", "session_id": "s1"} | ({} if confidence is None else {"confidence": confidence}))
    assert counted(world, "Zeus") == (0.4, 3)
    assert sessions(world, "Zeus") == {"s1": 3}


def test_a_new_entity_of_which_nothing_is_stated_begins_in_the_middle(world: World) -> None:
    upsert(world, {"name": "Zeus"})
    assert counted(world, "Zeus") == (0.5, 1)


def test_items_of_one_call_without_session_or_memory_are_one_conversation(world: World) -> None:
    upsert(world, *[{"name": "Zeus"}] * 3)
    assert counted(world, "Zeus") == (0.5, 3)
    upsert(world, *[{"name": "zeus"}] * 2)
    assert counted(world, "Zeus") == (1.0, 5)


def test_a_running_average_takes_an_unstated_observation_for_certain(world: World) -> None:
    reinforce(world, "running_average")
    for session in ("s1", "s2", "s2", "s3"):
        upsert(world, {"name": "Zeus", "session_id": session})
    first = (0.5 * 1 + 1.0) / 2
    assert counted(world, "Zeus") == (pytest.approx((first * 3 + 1.0) / 4), 4)


@pytest.mark.row("G9")
@MODES
def test_conversations_in_one_call_and_in_one_call_each_give_the_same(world: World, mode: str) -> None:
    reinforce(world, mode)
    seen = [("s1", 0.3), ("s1", 0.9), ("s2", 0.6), ("s3", None)]
    items = [{"session_id": s} | ({} if c is None else {"confidence": c}) for s, c in seen]
    upsert(world, *({"name": "at once", **item} for item in items))
    for item in items:
        upsert(world, {"name": "one by one", **item})
    assert counted(world, "at once") == counted(world, "one by one")


def test_an_edge_is_an_observation_of_its_ends_in_its_conversation(world: World) -> None:
    observe(world, {**EDGE, "session_id": "s1"})
    observe(world, {"source": "a", "type": "t", "target": "c", "session_id": "s1"})
    assert (counted(world, "a"), counted(world, "b"), counted(world, "c")) == ((0.5, 2), (0.5, 1), (0.5, 1))
    observe(world, {"source": "a", "type": "t", "literal": "x", "session_id": "s2"})
    assert counted(world, "a") == (1.0, 3)
    assert sessions(world, "a") == {"s1": 2, "s2": 1}


def test_ends_that_are_named_by_id_are_observed_too(world: World) -> None:
    upsert(world, {"name": "a", "session_id": "s1"}, {"name": "b", "session_id": "s1"})
    a, b = (str(entity(world, name)["id"]) for name in "ab")
    observe(world, {"source": a, "type": "t", "target": b.upper(), "session_id": "s2"})
    assert (counted(world, "a"), counted(world, "b")) == ((1.0, 2), (1.0, 2))


@pytest.mark.row("G1")
def test_a_memory_is_an_observation_of_an_entity_once_and_mentions_it(world: World) -> None:
    memory = world.write("a goes with b")["id"]
    for _ in range(2):
        observe(world, {**EDGE, "memory_id": memory})
    assert (counted(world, "a"), entity(world, "a")["mentions"]) == ((0.5, 1), 1)
    observe(world, {**EDGE, "memory_id": world.write("a and b again")["id"]})
    assert (counted(world, "a"), entity(world, "a")["mentions"]) == ((1.0, 2), 2)


def test_a_mention_that_was_found_in_the_text_before_does_not_hide_the_observation(world: World) -> None:
    upsert(world, {"name": "Alice Liddell"})
    memory = world.write("x met Alice Liddell")["id"]
    noted = "select loci_api.store_found_names(array[%(ns_id)s], array[%(m)s]::uuid[], array['Alice Liddell'])"
    assert world.value(noted, m=memory) == 1
    assert counted(world, "Alice Liddell") == (0.5, 1)
    observe(world, {"source": "Alice Liddell", "type": "t", "literal": "x", "memory_id": memory})
    assert (counted(world, "Alice Liddell"), entity(world, "Alice Liddell")["mentions"]) == ((1.0, 2), 1)


def test_a_confidence_set_by_hand_stays(world: World) -> None:
    reinforce(world, "initial")
    upsert(world, {"name": "Zeus", "session_id": "s1"})
    world.rows("select * from loci_api.update_entity(%(ns)s, %(id)s, '{\"confidence\": 0.9}')", id=entity(world, "Zeus")["id"])
    assert counted(world, "Zeus") == (0.9, 1)
    upsert(world, {"name": "Zeus", "session_id": "s2"})
    assert counted(world, "Zeus") == (0.9, 2)


def test_an_observation_that_says_nothing_new_leaves_what_was_believed(world: World) -> None:
    upsert(world, {"name": "Zeus", "type": "god", "aliases": ["Jove"], "metadata": {"k": 1}})
    upsert(world, {"name": "jove", "type": "unknown", "aliases": ["JOVE"], "metadata": {"k": 1}})
    assert world.rows("select * from loci_data.entity_beliefs where namespace_id = %(ns_id)s") == []
    assert entity(world, "Zeus")["aliases"] == ["Jove"]


# Triples of a memory

TRIPLE = {
    "content": "Alice works on Loci",
    "session_id": "s1",
    "entities": [{"name": "Alice"}],
    "edges": [{"source": "Alice", "type": "works_on", "target": "Loci"}, {"source": "Alice", "type": "likes", "literal": "tea"}],
}


def graph(world: World) -> dict[str, Any]:
    """Everything that the graph counts, but for ids and times."""
    return {
        "entities": world.rows(
            "select name, confidence, mentions, observations from loci_data.entities where namespace_id = %(ns_id)s order by name"
        ),
        "edges": world.rows(
            "select type, confidence, observations from loci_data.edges where namespace_id = %(ns_id)s order by type"
        ),
        "evidence": world.value("select count(*) from loci_data.edge_observations where namespace_id = %(ns_id)s"),
        "mentions": world.value("select count(*) from loci_data.memory_mentions where namespace_id = %(ns_id)s"),
        "sessions": world.rows(
            "select session_id, observations from loci_data.entity_sessions where namespace_id = %(ns_id)s order by 1, 2"
        ),
    }


@pytest.mark.row("G4")
def test_a_memory_brings_both_entities_the_edge_and_the_mentions(world: World) -> None:
    world.remember(TRIPLE)
    assert graph(world) == {
        "entities": [{"name": name, "confidence": 0.5, "mentions": 1, "observations": 1} for name in ("Alice", "Loci")],
        "edges": [{"type": name, "confidence": 1.0, "observations": 1} for name in ("likes", "works_on")],
        "evidence": 2,
        "mentions": 2,
        "sessions": [{"session_id": "s1", "observations": 1}] * 2,
    }


@pytest.mark.row("G4")
def test_a_memory_that_is_written_again_counts_nothing_twice(world: World) -> None:
    (first,) = world.remember(TRIPLE)
    before = graph(world)
    (again,) = world.remember({**TRIPLE, "session_id": "s2"})
    assert (again["id"], again["duplicate"]) == (first["id"], True)
    assert graph(world) == before


@pytest.mark.row("G4")
def test_triples_join_a_larger_transaction_and_go_with_it(world: World) -> None:
    before = graph(world)
    with world.connection.transaction(force_rollback=True):
        world.remember(TRIPLE)
        observe(world, {**EDGE, "session_id": "s1"})
        assert len(graph(world)["edges"]) == 3
    assert graph(world) == before


@pytest.mark.row("G4")
@pytest.mark.parametrize(
    ("bad", "field"),
    [
        ({"source": "Alice", "type": "t", "target": "x" * 256}, "edges[2].target"),
        ({"source": "Alice", "type": "t", "target": "x", "confidence": 2}, "edges[2].confidence"),
        ({"source": "Alice", "type": "t", "target": "x", "aspect": "  "}, "edges[2].aspect"),
    ],
)
def test_a_failure_in_the_middle_leaves_nothing_of_a_memory(world: World, bad: Row, field: str) -> None:
    before = graph(world)
    with pytest.raises(psycopg.errors.InvalidParameterValue) as raised, world.connection.transaction():
        world.remember({**TRIPLE, "edges": [*TRIPLE["edges"], bad]})  # type: ignore[misc]
    assert raised.value.diag.column_name == field
    assert graph(world) == before
    assert world.value("select count(*) from loci_data.memories where namespace_id = %(ns_id)s") == 0


# Erasing


def test_an_erased_memory_takes_its_part_of_a_session_along(world: World) -> None:
    upsert(world, {"name": "Loci"})
    world.rows("select * from loci_api.pin_entity(%(ns)s, %(id)s, true)", id=entity(world, "Loci")["id"])
    (first,) = world.remember(TRIPLE)
    (second,) = world.remember({**TRIPLE, "content": "Alice works on Loci still"})
    assert (counted(world, "Loci"), sessions(world, "Loci")) == ((1.0, 3), {"s1": 2})
    world.erase(first["id"])
    assert (counted(world, "Loci"), sessions(world, "Loci")) == ((1.0, 2), {"s1": 1})
    world.erase(second["id"])
    assert (counted(world, "Loci"), sessions(world, "Loci")) == ((0.5, 1), {})


# Aspects


def shown(world: World) -> list[tuple[str, str | None]]:
    rows = world.rows("select type, aspect from loci.list_edges(%(ns)s) order by type")
    assert [
        (row["type"], row["aspect"])
        for row in world.rows("select type, aspect from loci.edges where namespace = %(ns)s order by type")
    ] == [(row["type"], row["aspect"]) for row in rows]
    return [(row["type"], row["aspect"]) for row in rows]


@pytest.mark.row("G2")
def test_an_edge_carries_the_aspect_that_it_names(world: World) -> None:
    upsert(world, {"name": "a"})
    made = world.value("select id from loci_api.upsert_aspect(%(ns)s, 'a', '{\"name\": \"Work\"}')")
    observe(world, {**EDGE, "type": "1", "aspect": "work"}, {**EDGE, "type": "2", "aspect": "Home life"}, {**EDGE, "type": "3"})
    assert shown(world) == [("1", "Work"), ("2", "Home life"), ("3", None)]
    assert world.value("select aspect_id from loci_data.edges where namespace_id = %(ns_id)s and type = '1'") == made
    observe(world, {**EDGE, "type": "2"}, {**EDGE, "type": "3", "aspect": "HOME  life"})
    assert shown(world) == [("1", "Work"), ("2", "Home life"), ("3", "Home life")]
    assert world.value("select count(*) from loci_data.aspects where namespace_id = %(ns_id)s") == 2


def test_an_edge_of_a_memory_carries_its_aspect(world: World) -> None:
    world.remember({"content": "x", "edges": [{**EDGE, "aspect": "work"}]})
    assert shown(world) == [("t", "work")]
