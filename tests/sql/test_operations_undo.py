"""Undoing operations: everything that a call changed is as it was, history keeps both, and undoing can be undone."""

from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg import errors
from psycopg.types.json import Jsonb

from tests.factories import Row, World, act_as, day, grant, stated
from tests.sql.undoing import observe, operation, state, undo

ALICE = {"source": "Alice", "type": "lives_in", "target": "Lisbon"}


def entities(world: World, *items: Row) -> list[UUID]:
    rows = world.rows("select id from loci_api.upsert_entities(%(ns)s, %(e)s)", e=Jsonb([stated(item) for item in items]))
    return [row["id"] for row in rows]


def aspect(world: World, entity: UUID, name: str) -> UUID:
    return world.row("select id from loci_api.upsert_aspect(%(ns)s, %(e)s, %(a)s)", e=str(entity), a=Jsonb({"name": name}))["id"]


def attribute(world: World, aspect: UUID, content: str, **fields: Any) -> Row:
    return world.row(
        "select * from loci_api.add_attribute(%(ns)s, %(a)s, %(f)s)", a=aspect, f=Jsonb(stated({"content": content, **fields}))
    )


def number(world: World, id: UUID) -> Row:
    return world.row("select * from loci_data.operations where namespace_id = %(ns_id)s and id = %(id)s", id=id)


def build(world: World) -> Row:
    """A namespace with something of everything; ids by name."""
    first = world.write(
        "Alice lives in Lisbon", lineage="alice", valid_from=day(0), entities=[{"name": "Alice", "type": "person"}], edges=[ALICE]
    )
    parent, child = world.write("a concept", layer=1), world.write("a detail", layer=2)
    world.change(child["id"], parent_id=parent["id"])
    world.rows("select * from loci_api.link_memories(%(ns)s, %(a)s, %(b)s, 'supports', 0.5)", a=parent["id"], b=first["id"])
    (bob, robert) = entities(world, {"name": "Bob", "type": "person"}, {"name": "Robert"})
    edges = observe(world, {"source": "Bob", "type": "knows", "target": "Alice", "confidence": 0.6, "session_id": "s1"})
    home = aspect(world, bob, "home")
    fact = attribute(world, home, "lives in Porto")
    return {
        "memory": first["id"], "parent": parent["id"], "child": child["id"], "bob": bob, "robert": robert, "edge": edges[0]["id"],
        "aspect": home, "fact": fact["id"],
    }  # fmt: skip


CALLS: dict[str, Any] = {
    "a new memory": lambda w, _: w.write("something else", entities=[{"name": "Carol"}], edges=[{"source": "Carol", "type": "knows", "target": "Bob"}]),
    "a new version": lambda w, _: w.write("Alice lives in Berlin", lineage="alice"),
    "an interlude": lambda w, _: w.write("Alice lives in Rome", lineage="alice", valid_from=day(10), valid_to=day(20)),
    "a correction": lambda w, i: w.write("Alice lives in Bern", lineage="alice", corrects=i["memory"]),
    "a memory changed": lambda w, i: w.change(i["memory"], tags=["x"], importance=0.9, metadata={"a": 1}, category="work"),
    "validity changed": lambda w, i: w.change(i["memory"], valid_to=day(100)),
    "a memory forgotten": lambda w, i: w.forget(i["memory"]),
    "a memory moved": lambda w, i: w.change(i["child"], parent_id=w.write("another concept", layer=1)["id"]),
    "a memory detached": lambda w, i: w.change(i["child"], parent_id=None),
    "a child written": lambda w, i: w.write("another detail", parent_id=i["parent"]),
    "a link": lambda w, i: w.rows("select * from loci_api.link_memories(%(ns)s, %(a)s, %(b)s, 'about', 0.7)", a=i["child"], b=i["memory"]),
    "a stronger link": lambda w, i: w.rows("select * from loci_api.link_memories(%(ns)s, %(a)s, %(b)s, 'supports', 0.9)", a=i["parent"], b=i["memory"]),
    "a link ended": lambda w, i: w.rows("select * from loci_api.unlink_memories(%(ns)s, %(a)s, %(b)s, 'supports')", a=i["parent"], b=i["memory"]),
    "an entity written": lambda w, _: entities(w, {"name": "Dora", "type": "person"}),
    "an entity described": lambda w, _: entities(w, {"name": "Bob", "aliases": ["Bobby"], "description": "a friend", "metadata": {"k": 1}}),
    "an entity renamed": lambda w, i: w.rows("select * from loci_api.update_entity(%(ns)s, %(id)s, '{\"name\": \"Bobby\"}')", id=i["bob"]),
    "an entity pinned": lambda w, i: w.rows("select * from loci_api.pin_entity(%(ns)s, %(id)s, true)", id=i["bob"]),
    "an entity deleted": lambda w, i: w.rows("select * from loci_api.delete_entity(%(ns)s, %(id)s)", id=i["bob"]),
    "a new edge": lambda w, _: observe(w, {"source": "Bob", "type": "works_on", "target": "Loci", "aspect": "work"}),
    "a literal": lambda w, _: observe(w, {"source": "Bob", "type": "age", "literal": "42"}),
    "an edge observed again": lambda w, _: observe(w, {"source": "Bob", "type": "knows", "target": "Alice", "strength": 0.9, "session_id": "s2", "metadata": {"b": 2}}),
    "an edge observed before": lambda w, _: observe(w, {"source": "Bob", "type": "knows", "target": "Alice", "observed_at": day(3)}),
    "an edge ended": lambda w, _: observe(w, {"source": "Bob", "type": "knows", "target": "Alice", "valid_to": "2100-01-01T00:00:00+00:00"}),
    "an edge deleted": lambda w, i: w.rows("select * from loci_api.delete_edge(%(ns)s, %(id)s)", id=i["edge"]),
    "an aspect": lambda w, i: aspect(w, i["bob"], "work"),
    "an attribute": lambda w, i: attribute(w, i["aspect"], "likes the sea"),
    "an attribute that supersedes": lambda w, i: attribute(w, i["aspect"], "lives in Berlin now"),
    "an attribute changed": lambda w, i: w.rows("select * from loci_api.update_attribute(%(ns)s, %(id)s, '{\"content\": \"lives in Faro\"}')", id=i["fact"]),
    "an attribute deleted": lambda w, i: w.rows("select * from loci_api.update_attribute(%(ns)s, %(id)s, '{\"status\": \"deleted\"}')", id=i["fact"]),
    "a merge": lambda w, _: w.rows("select * from loci_api.merge_entities(%(ns)s, 'Bob', 'Robert')"),
    "a merge that joins edges": lambda w, _: w.rows("select * from loci_api.merge_entities(%(ns)s, 'Alice', 'Bob')"),
    "a split": lambda w, i: w.rows("select * from loci_api.split_entity(%(ns)s, 'Bob', %(s)s)", s=Jsonb({"name": "Bobby", "edge_ids": [str(i["edge"])]})),
    "an edge type": lambda w, _: w.rows("select * from loci_api.set_edge_type(%(ns)s, 'knows', '{\"decay_rate\": 0.5, \"description\": \"x\"}')"),
    "settings": lambda w, _: w.rows("select * from loci_api.update_namespace(%(ns)s, '{\"description\": \"d\", \"settings\": {\"decay_rate\": 0.5}}')"),
}  # fmt: skip


@pytest.mark.row("X5")
@pytest.mark.parametrize("call", CALLS)
def test_undoing_gives_back_what_stood_before_and_undoing_that_what_stood_after(world: World, call: str) -> None:
    ids = build(world)
    at = world.now()
    before, before_then = state(world), state(world, as_of=at)
    _, done = operation(world, lambda: CALLS[call](world, ids))
    later = world.now()
    after, believed = state(world), state(world, as_of=later, known_at=later)
    if call not in {"an aspect", "settings"}:
        assert after != before
    undone = undo(world, done)
    assert (state(world), state(world, as_of=at)) == (before, before_then)
    assert (number(world, done)["undone_by"], number(world, undone["operation_id"])["undoes"]) == (undone["operation_id"], done)
    again = undo(world, undone["operation_id"])
    assert state(world) == after
    assert number(world, done)["undone_by"] is None
    assert number(world, undone["operation_id"])["undone_by"] == again["operation_id"]
    undo(world, again["operation_id"])
    assert (state(world), state(world, as_of=at)) == (before, before_then)
    assert number(world, done)["undone_by"] == undone["operation_id"]
    remembered = state(world, as_of=later, known_at=later)
    if call in {"an entity renamed", "an edge type"}:  # names of ends and rates of decay are present ones
        del remembered["edges"], believed["edges"]
    assert remembered == believed


def test_an_operation_is_undone_once(world: World) -> None:
    _, done = operation(world, lambda: world.write("once"))
    undone = undo(world, done)["operation_id"]
    with pytest.raises(errors.UniqueViolation, match=f"undone already, by operation {undone}"), world.connection.transaction():
        undo(world, done)


def test_an_undo_that_others_have_overtaken_cannot_be_undone(world: World) -> None:
    _, done = operation(world, lambda: world.write("once"))
    first = undo(world, done)["operation_id"]
    again = undo(world, first)["operation_id"]
    undo(world, done)
    for old in (first, again):
        with pytest.raises(errors.UniqueViolation, match="operation"), world.connection.transaction():
            undo(world, old)


@pytest.mark.row("X5")
def test_a_conflict_names_what_was_changed_and_the_operation_that_changed_it(world: World) -> None:
    row, done = operation(world, lambda: world.write("first"))
    _, later = operation(world, lambda: world.change(row["id"], tags=["x"]))
    with (
        pytest.raises(errors.UniqueViolation, match=f"memory {row['id']} was changed since, by operation {later}"),
        world.connection.transaction(),
    ):
        undo(world, done)
    undo(world, later)
    undo(world, done)
    assert world.visible() == []


def test_a_later_version_keeps_an_earlier_one_from_being_undone(world: World) -> None:
    _, first = operation(world, lambda: world.write("one", lineage="l"))
    _, second = operation(world, lambda: world.write("two", lineage="l"))
    with pytest.raises(errors.UniqueViolation, match=str(second)), world.connection.transaction():
        undo(world, first)


def test_changes_of_different_fields_do_not_stand_in_each_others_way(world: World) -> None:
    row = world.write("one")
    _, first = operation(world, lambda: world.change(row["id"], tags=["x"]))
    _, second = operation(world, lambda: world.change(row["id"], importance=0.9))
    undo(world, first)
    assert (world.get(row["id"])["tags"], world.get(row["id"])["importance"]) == ([], 0.9)
    undo(world, second)
    assert world.get(row["id"])["importance"] == 0.5


def test_a_place_that_was_taken_since_is_a_conflict_and_nothing_is_half_undone(world: World) -> None:
    row = world.write("one", lineage="l")
    other = world.write("other")
    _, done = operation(world, lambda: (world.forget(row["id"]), world.change(other["id"], tags=["x"])))
    world.write("two", lineage="l")
    with pytest.raises((errors.UniqueViolation, errors.ExclusionViolation)), world.connection.transaction():
        undo(world, done)
    assert world.get(other["id"])["tags"] == ["x"]


def test_later_observations_of_others_stay_when_an_operation_is_undone(world: World) -> None:
    _, first = operation(world, lambda: observe(world, {**ALICE, "confidence": 0.4, "session_id": "a"}))
    operation(world, lambda: observe(world, {**ALICE, "confidence": 0.9, "session_id": "b"}))
    undone = undo(world, first)
    (edge,) = state(world)["edges"]
    assert (edge["source"], edge["target"], edge["observations"]) == ("Alice", "Lisbon", 1)
    assert [entity["name"] for entity in state(world)["entities"]] == ["Alice", "Lisbon"]
    assert undone["skipped"] == [{"kind": "entity", "count": 2, "reason": "something else rests on them by now"}]
    undo(world, undone["operation_id"])
    assert [edge["observations"] for edge in state(world)["edges"]] == [2]


def test_a_merge_can_be_undone_after_what_was_observed_before_it_was(world: World) -> None:
    entities(world, {"name": "Rob"}, {"name": "Robert"})
    _, first = operation(world, lambda: observe(world, {"source": "Rob", "type": "knows", "target": "Eve", "session_id": "a"}))
    operation(world, lambda: observe(world, {"source": "Rob", "type": "knows", "target": "Eve", "session_id": "b"}))
    _, merged = operation(world, lambda: world.rows("select * from loci_api.merge_entities(%(ns)s, 'Robert', 'Rob')"))
    undo(world, first)
    assert [(edge["source"], edge["observations"]) for edge in state(world)["edges"]] == [("Robert", 1)]
    undo(world, merged)
    assert [(edge["source"], edge["observations"]) for edge in state(world)["edges"]] == [("Rob", 1)]


def test_history_tells_what_was_believed_before_between_and_after(world: World) -> None:
    world.write("Berlin", lineage="l", valid_from=day(0))
    before = world.now()
    _, done = operation(world, lambda: world.write("Porto", lineage="l", valid_from=day(1)))
    between = world.now()
    undo(world, done)
    after = world.now()
    assert [world.visible(day(5), moment) for moment in (before, between, after)] == [["Berlin"], ["Porto"], ["Berlin"]]


def test_entities_found_in_texts_go_with_the_operation_that_found_them(world: World) -> None:
    memory = world.write("Zorblax met Quuxim")
    found = lambda: world.rows(  # noqa: E731
        "select loci_api.store_found_names(array[%(ns_id)s], array[%(m)s]::uuid[], array['Zorblax'], array[%(ns_id)s], array[%(m)s]::uuid[])",
        m=memory["id"],
    )
    world.write("Zorblax again")
    other = world.row("select id from loci.list_memories(%(ns)s) where content = 'Zorblax again'")["id"]
    world.rows(
        "select loci_api.store_found_names(array[%(ns_id)s], array[%(m)s]::uuid[], array['Zorblax'], array[%(ns_id)s], array[%(m)s]::uuid[])",
        m=other,
    )
    _, done = operation(world, found)
    assert [entity["name"] for entity in state(world)["entities"]] == ["Zorblax"]
    undone = undo(world, done)
    assert state(world)["entities"] == []
    undo(world, undone["operation_id"])
    assert [entity["name"] for entity in state(world)["entities"]] == ["Zorblax"]


def test_an_undo_leaves_out_memories_erased_since_and_restores_no_erasure(world: World) -> None:
    rows, done = operation(world, lambda: world.remember({"content": "one"}, {"content": "two"}))
    _, erased = operation(world, lambda: world.erase(rows[0]["id"]))
    with pytest.raises(errors.UniqueViolation, match="for good"), world.connection.transaction():
        undo(world, erased)
    assert undo(world, done)["undone"] == {"memory": 1}
    assert world.visible() == []


def test_only_writers_undo_and_only_admins_undo_settings(owned: World) -> None:
    world = owned
    _, done = operation(world, lambda: world.write("one"))
    _, changed = operation(world, lambda: world.rows('select loci_api.update_namespace(%(ns)s, \'{"settings": {"max_hops": 3}}\')'))
    world.connection.execute("reset session authorization")
    reader, writer = (grant(world.connection, world.name, role) for role in ("reader", "writer"))
    world.connection.execute("set session authorization loci_app")
    for agent, noted in ((reader, done), (writer, changed), (uuid4(), done)):
        act_as(world.connection, agent)
        with pytest.raises(errors.InsufficientPrivilege), world.connection.transaction():
            undo(world, noted)
    act_as(world.connection, writer)
    undo(world, done)


def test_a_grant_is_taken_back_and_given_again(owned: World) -> None:
    world = owned
    world.connection.execute("reset session authorization")
    roles = lambda: world.rows("select role from loci_data.grants where namespace_id = %(ns_id)s and agent_id = %(a)s", a=agent)  # noqa: E731
    agent, given = operation(world, lambda: grant(world.connection, world.name, "reader"))
    _, raised = operation(
        world, lambda: world.connection.execute("update loci_data.grants set role = 'writer' where agent_id = %s", [agent])
    )
    _, taken = operation(world, lambda: world.connection.execute("delete from loci_data.grants where agent_id = %s", [agent]))
    undo(world, taken)
    assert roles() == [{"role": "writer"}]
    undo(world, raised)
    assert roles() == [{"role": "reader"}]
    again = undo(world, given)
    assert roles() == []
    undo(world, again["operation_id"])
    assert roles() == [{"role": "reader"}]


def test_settings_that_others_changed_stay_when_another_is_undone(world: World) -> None:
    change = lambda settings: world.rows("select loci_api.update_namespace(%(ns)s, %(c)s)", c=Jsonb({"settings": settings}))  # noqa: E731
    _, first = operation(world, lambda: change({"max_hops": 3}))
    operation(world, lambda: change({"change_days": 20}))
    undo(world, first)
    settings = world.value("select settings from loci_data.namespaces where id = %(ns_id)s")
    assert settings == {"change_days": 20}


def test_an_operation_that_was_undone_while_it_ran_writes_nothing_more(world: World) -> None:
    _, done = operation(world, lambda: world.write("first half"))
    undo(world, done)
    world.connection.execute("select set_config('loci.operation', %s, true)", [str(done)])
    with pytest.raises(errors.UniqueViolation, match="undone while it ran"), world.connection.transaction():
        world.write("second half")


def test_changes_already_in_the_feed_are_undone_like_waiting_ones(world: World) -> None:
    row, done = operation(world, lambda: world.write("one", lineage="l", tags=["a"]))
    world.rows("select * from loci_api.sequence_changes()")
    world.connection.execute("select set_config('loci.operation', %s, true)", [str(done)])
    world.change(row["id"], tags=["b"])
    undone = undo(world, done)
    assert world.visible() == []
    undo(world, undone["operation_id"])
    assert world.get(row["id"])["tags"] == ["b"]


def test_an_edge_whose_end_was_removed_since_does_not_come_back_without_it(world: World) -> None:
    rows = observe(world, ALICE)
    _, retracted = operation(world, lambda: world.rows("select * from loci_api.delete_edge(%(ns)s, %(id)s)", id=rows[0]["id"]))
    _, removed = operation(
        world, lambda: world.rows("select * from loci_api.delete_entity(%(ns)s, %(id)s)", id=rows[0]["target_id"])
    )
    with pytest.raises(errors.UniqueViolation, match=f"edge {rows[0]['id']}"), world.connection.transaction():
        undo(world, retracted)
    undo(world, removed)
    undo(world, retracted)
    assert [edge["target"] for edge in state(world)["edges"]] == ["Lisbon"]


def open_versions(world: World, lineage: str) -> list[str]:
    rows = world.rows("select content from loci.history(%(ns)s, %(l)s) where valid_to is null", l=lineage)
    return [row["content"] for row in rows]


@pytest.mark.row("M2")
def test_history_shows_one_open_version_after_a_version_was_undone(world: World) -> None:
    tea = world.write("tea", lineage="l")["id"]
    coffee, made = operation(world, lambda: world.write("coffee", lineage="l"))
    undone = undo(world, made)
    assert open_versions(world, "l") == ["tea"]
    with pytest.raises(errors.IntegrityError), world.connection.transaction():
        world.forget(coffee["id"], forget=False)
    undo(world, undone["operation_id"])
    assert (open_versions(world, "l"), world.visible()) == (["coffee"], ["coffee"])
    undo(world, undo(world, made)["operation_id"])
    undo(world, made)
    world.forget(tea)
    world.forget(coffee["id"], forget=False)
    assert world.visible() == ["coffee"]
