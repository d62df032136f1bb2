"""Vectors, their mean and their map while others write and erase: what is kept is of what is there, and of what it says."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from tests.blocking import blocked
from tests.databases import Database
from tests.factories import OPERATOR, World, new_world
from tests.faults.test_memories_concurrency import two_sessions
from tests.services import PATIENCE

Two = tuple[World, World, psycopg.Connection[Any], Any]
MEAN = "select mean::real[] as mean from loci_data.vector_means where namespace_id = %(ns_id)s"
AXES = "select count(*) from loci_data.projections where namespace_id = %(ns_id)s"
POINTS = "select memory_id as id, x, y, added from loci_data.map_points where namespace_id = %(ns_id)s order by memory_id"


@pytest.fixture
def two(own_database: Database) -> Iterator[Two]:
    """A namespace in two sessions, with a model of three dimensions; they do one statement a transaction, unless they begin one."""
    with two_sessions(own_database) as (one, other, watcher, pool):
        with one.transaction():
            made = new_world(one)
            made.rows("select loci_api.register_model('test', 3)")
        for session in (one, other):
            session.execute("select set_config('loci.agent', %s, false)", [str(OPERATOR)])
        yield made, replace(made, connection=other), watcher, pool


def written(world: World, *vectors: list[float]) -> list[Any]:
    return [row["id"] for row in world.remember(*({"content": f"says {v}", "embedding": v} for v in vectors))]


def claim(world: World) -> list[Any]:
    """What waits for a vector here; what waits elsewhere is left alone."""
    return [row for row in world.rows("select * from loci_api.claim_memories_to_embed(1000)") if row["namespace_id"] == world.id]


def stored(world: World, claimed: list[Any]) -> int:
    return world.value(  # type: ignore[no-any-return]
        "select loci_api.store_memory_vectors(%(m)s, %(n)s, %(ids)s, %(texts)s, %(v)s::halfvec[])",
        m=claimed[0]["model_id"],
        n=[row["namespace_id"] for row in claimed],
        ids=[row["memory_id"] for row in claimed],
        texts=[row["text"] for row in claimed],
        v=["[1,0,0]"] * len(claimed),
    )


def say(owner: psycopg.Connection[Any], memory: Any, source: str) -> None:
    """Let somebody else have said it, as a reading does that finds the words of an assistant with a person."""
    owner.execute("update loci_data.memories set source = %s where id = %s", [source, memory])


def test_a_mean_counted_in_another_transaction_keeps_nothing_of_what_is_erased(two: Two) -> None:
    one, other, watcher, pool = two
    gone, _ = written(one, [1, 0, 0], [0, 1, 0])
    with one.connection.transaction():
        written(one, [0, 0, 1])  # counts it anew: the namespace is small
        erasing = blocked(pool, watcher, other.connection, lambda: other.erase(gone))
    erasing.result(PATIENCE)
    assert one.value(MEAN) == pytest.approx([0, 0.5, 0.5])


def test_the_first_mean_is_not_made_of_what_is_being_erased(two: Two, own_database: Database) -> None:
    one, other, _, _ = two
    gone, _ = written(one, [1, 0, 0], [0, 1, 0])
    with own_database.admin() as owner:  # as an earlier erasure has left it that took one of more than 5,000
        owner.execute("delete from loci_data.vector_means where namespace_id = %s", [one.id])
    with one.connection.transaction():
        one.erase(gone)
        written(other, [0, 0, 1])
    assert one.rows(MEAN) == []
    written(other, [0, 0, 2])
    assert one.value(MEAN) == pytest.approx([0, 1 / 3, 1])


def keep(world: World, sampled: Any) -> bool:
    return world.value(  # type: ignore[no-any-return]
        """select loci_api.store_projection(%(ns)s, %(m)s, %(total)s, %(ids)s, '[0,0,0]', array_fill('[1,0,0]'::vector, array[3]),
           array['[0,0,0]'::vector], false)""",
        m=sampled["model_id"],
        total=sampled["total"],
        ids=sampled["ids"],
    )


def test_axes_found_in_what_is_being_erased_are_not_kept(two: Two) -> None:
    one, other, watcher, pool = two
    gone, _ = written(one, [1, 0, 0], [0, 1, 0])
    with one.connection.transaction():
        one.erase(gone)
        sampled = other.row("select * from loci_api.sample_vectors(%(ns)s, 1000)")
        assert sampled["total"] == 2
        keeping = blocked(pool, watcher, other.connection, lambda: keep(other, sampled))
    assert keeping.result(PATIENCE) is False
    assert one.value(AXES) == 0
    assert keep(other, other.row("select * from loci_api.sample_vectors(%(ns)s, 1000)"))
    assert one.value(AXES) == 1


def lay_out(world: World, ids: list[Any], x: float) -> None:
    """The map as a job lays it out: all stand at one place."""
    world.rows(
        """select loci_api.store_layout(%(ns)s, (select id from loci_data.embedding_models where active), 2, %(ids)s, %(x)s, %(x)s,
           %(z)s::real[], false)""",
        ids=ids,
        x=[x] * len(ids),
        z=[None] * len(ids),
    )


PLACE = "select loci_api.place_new_points(%(ns)s, 2, 50)"


def test_a_new_memory_gets_no_place_on_a_map_that_another_replaces(two: Two) -> None:
    one, other, watcher, pool = two
    first, second = written(one, [1, 0, 0], [0, 1, 0])
    lay_out(one, [first], 1)
    with one.connection.transaction():
        lay_out(one, [first], 5)
        placing = blocked(pool, watcher, other.connection, lambda: other.value(PLACE))
    assert placing.result(PATIENCE) == 0
    assert [(row["id"], row["x"], row["added"]) for row in one.rows(POINTS)] == [(first, 5, False)]
    assert other.value(PLACE) == 1
    assert {row["id"]: row["x"] for row in one.rows(POINTS)} == {first: 5, second: 5}


def test_a_map_that_others_are_placed_on_is_replaced_with_their_places(two: Two) -> None:
    one, other, watcher, pool = two
    first, second = written(one, [1, 0, 0], [0, 1, 0])
    lay_out(one, [first], 1)
    with one.connection.transaction():
        assert one.value(PLACE) == 1
        laying = blocked(pool, watcher, other.connection, lambda: lay_out(other, [first, second], 5))
    laying.result(PATIENCE)
    assert [(row["x"], row["added"]) for row in one.rows(POINTS)] == [(5, False)] * 2


@pytest.mark.parametrize("changed", ["before", "during"])
def test_a_memory_that_changed_since_it_was_claimed_waits_for_a_vector_of_what_it_says(
    two: Two, own_database: Database, changed: str
) -> None:
    one, other, _, _ = two
    kept, memory = one.write("coffee")["id"], one.write("tea", source="assistant")["id"]
    with own_database.admin() as owner, one.connection.transaction():
        claimed = claim(one)
        assert {row["memory_id"] for row in claimed} == {kept, memory}
        owner.execute("begin")
        say(owner, memory, "Bob")
        if changed == "before":
            owner.execute("commit")
        other.write("water")
        assert stored(one, claimed) == 1
        owner.execute("commit")
    with one.connection.transaction():
        claimed = claim(one)
        assert [row["text"] for row in claimed] == ["water", "Bob: tea"]  # behind the others
        assert stored(one, claimed) == 2
    assert claim(one) == []


def test_a_memory_whose_vector_is_being_stored_changes_after_that_and_waits_anew(two: Two, own_database: Database) -> None:
    one, _, watcher, pool = two
    memory = one.write("tea", source="assistant")["id"]
    with own_database.admin() as owner:
        with one.connection.transaction():
            assert stored(one, claim(one)) == 1
            changing = blocked(pool, watcher, owner, lambda: say(owner, memory, "Bob"))
        changing.result(PATIENCE)
    assert [row["text"] for row in claim(one)] == ["Bob: tea"]
