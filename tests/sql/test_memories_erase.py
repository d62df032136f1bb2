"""Erasing: physical, complete, with a receipt, and nothing else is touched."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors, sql
from psycopg.types.json import Jsonb

from tests.catalogue import TABLES
from tests.factories import OPERATOR, World, act_as, day, grant, new_world
from tests.sql.test_graph import observe

APART = {
    "agents",
    "api_keys",
    "browser_sessions",
    "cells",
    "embedding_models",
    "namespaces",
    "rate_buckets",
    "service_locks",
}  # not of a namespace, or not by its number
RECORD = {"operations", "operation_counts", "outbox", "changes"}  # what the erasure itself leaves; no part of its receipt
EDGE = """select observations, confidence, initial_confidence, first_observed_at, last_observed_at, restored_at, valid_from, valid_to, fades_at, superseded_at
          from loci_data.edges where namespace_id = %(ns_id)s and type = %(type)s"""


def ids(rows: Iterable[dict[str, Any]]) -> list[UUID]:
    return [row["id"] for row in rows]


def broken(world: World) -> list[dict[str, Any]]:
    return [row for row in world.rows("select * from loci.verify(%(ns)s)") if row["broken"]]


def count_rows(world: World) -> dict[str, int]:
    """Rows of every table of the namespace, as the superuser sees them."""
    counted = sql.SQL(" union all ").join(
        sql.SQL("select {name} as name, count(*) as n from {table} where namespace_id = {ns}").format(
            name=sql.Literal(name), table=sql.Identifier("loci_data", name), ns=sql.Literal(world.id)
        )
        for name in TABLES
        if name not in APART | RECORD
    )
    world.connection.execute("reset session authorization")
    rows = world.connection.execute(counted).fetchall()
    world.connection.execute("set session authorization loci_app")
    return {row["name"]: row["n"] for row in rows}


def as_owner(world: World, statement: Any, **parameters: Any) -> None:
    """Write what no function writes yet."""
    world.connection.execute("reset session authorization")
    world.connection.execute(statement, {"ns_id": world.id, **parameters})
    world.connection.execute("set session authorization loci_app")


def entity(world: World, name: str) -> dict[str, Any] | None:
    rows = world.rows("select * from loci_data.entities where namespace_id = %(ns_id)s and name = %(name)s", name=name)
    return rows[0] if rows else None


def pin(world: World, name: str) -> None:
    found = entity(world, name)
    assert found is not None
    world.rows("select * from loci_api.pin_entity(%(ns)s, %(id)s, true)", id=found["id"])


def add_attribute(world: World, entity_name: str, memory: UUID, content: str = "secret", status: str = "active") -> UUID:
    aspect, attribute = uuid4(), uuid4()
    named = entity(world, entity_name)
    assert named is not None
    as_owner(
        world,
        "insert into loci_data.aspects (namespace_id, id, entity_id, name, canonical_name) values (%(ns_id)s, %(a)s, %(e)s, %(n)s, %(n)s)",
        a=aspect,
        e=named["id"],
        n=f"aspect {aspect}",
    )
    as_owner(
        world,
        """insert into loci_data.attributes (namespace_id, id, aspect_id, content, memory_id, status)
           values (%(ns_id)s, %(i)s, %(a)s, %(c)s, %(m)s, %(s)s)""",
        i=attribute,
        a=aspect,
        c=content,
        m=memory,
        s=status,
    )
    return attribute


# The receipt


@pytest.mark.row("M8")
def test_the_receipt_is_what_every_table_has_lost(owned: World) -> None:
    owned.rows("select loci_api.register_model('test', 3)")
    gone = owned.write(
        "first",
        lineage="l",
        session_id="s",
        tags=["t"],
        entities=[{"name": "Own Corp", "aliases": ["OC"]}, {"name": "Shared"}],
        edges=[{"source": "Own Corp", "type": "says", "literal": "x"}, {"source": "Shared", "type": "sees", "target": "Kept"}],
    )
    owned.write("second", lineage="l", embedding=[1.0, 0.0, 0.0])
    owned.change(gone["id"], tags=["u"])
    after = owned.write("after", session_id="s", embedding=[1.0, 0.0, 0.0], entities=[{"name": "Shared"}, {"name": "Kept"}])
    top = owned.write("top")
    child = owned.write("child", parent_id=gone["id"])
    owned.change(gone["id"], parent_id=str(top["id"]))
    owned.rows("select * from loci_api.link_memories(%(ns)s, %(a)s, %(b)s, 'x')", a=gone["id"], b=child["id"])
    owned.rows(
        "select loci_api.store_found_names(array[%(ns_id)s, %(ns_id)s], array[%(g)s, %(g)s]::uuid[], array['Lone Phrase', 'Own Corp'])",
        g=gone["id"],
    )
    add_attribute(owned, "Own Corp", gone["id"])
    add_attribute(owned, "Kept", gone["id"])
    observe(owned, {"source": "Shared", "type": "sees", "target": "Kept", "memory_id": after["id"], "session_id": "z"})
    owned.rows("select * from loci_api.claim_idempotency_key(%(ns)s, 'key', 'hash')")
    owned.rows("select loci_api.store_idempotent_reply(%(ns)s, 'key', 201::smallint, %(r)s)", r=Jsonb({"id": str(gone["id"])}))

    before = count_rows(owned)
    receipt = owned.erase(gone["id"])
    lost = {name: before[name] - n for name, n in count_rows(owned).items()}
    net = {name: receipt["deleted"].get(name, 0) - receipt["added"].get(name, 0) for name in lost}
    assert net == lost
    assert receipt["erased"] == lost["memories"] == 2
    assert receipt["deleted"].keys() >= {
        *("memories", "memory_beliefs", "memory_texts", "memory_vectors", "memory_placements", "memory_closure", "memory_links"),
        *("memory_mentions", "name_candidates", "name_queue", "embedding_queue", "lineages", "postings"),
        *("edges", "edge_observations", "entities", "entity_names", "aspects", "attributes"),
    }  # fmt: skip
    assert receipt["added"] == {"corpus_counts": 1}
    assert receipt["changed"].keys() >= {"entities", "edges", "idempotency_keys", "vector_means"}
    assert broken(owned) == []


def test_a_memory_without_a_lineage_of_its_own_takes_none_with_it(owned: World) -> None:
    receipt = owned.erase(owned.write("alone")["id"])
    assert "lineages" not in receipt["deleted"] | receipt["added"]
    assert count_rows(owned)["lineages"] == 0


def test_thousands_go_in_one_call(world: World) -> None:
    # 50 lineages of two versions each: a version costs five times what a memory of its own does
    lineages = [{"lineage": f"l{n % 50}"} for n in range(100)]
    items = [{"content": f"one of many {n}"} | (lineages[n] if n < len(lineages) else {}) for n in range(2500)]
    outcomes = world.remember(*items)
    world.write("kept")
    receipt = world.erase(*ids(outcomes[50:]))
    assert (receipt["erased"], receipt["deleted"]["lineages"]) == (2500, 50)
    assert world.visible() == ["kept"]
    assert broken(world) == []


# Versions


def test_by_default_every_version_goes_and_the_name_starts_anew(world: World) -> None:
    first = world.write("one", lineage="l", category="secret/place", tags=["secret"])
    second = world.write("two", lineage="l")
    assert world.erase(second["id"])["erased"] == 2
    with pytest.raises(errors.NoDataFound), world.connection.transaction():
        world.history("l")
    anew = world.write("three", lineage="l")
    assert (anew["version"], anew["category"], anew["tags"], anew["superseded"]) == (1, "general", [], None)
    assert world.value("select lineage_id from loci_data.memories where id = %(id)s", id=anew["id"]) != first["id"]


def test_the_first_version_alone_may_go_and_its_node_stays_where_it_is(world: World) -> None:
    top, other = world.write("top", layer=1), world.write("other")
    first = world.write("one", lineage="l", parent_id=top["id"], layer=1)
    child = world.write("child", parent_id=first["id"])
    second, third = world.write("two", lineage="l"), world.write("three", lineage="l")
    world.rows("select * from loci_api.link_memories(%(ns)s, %(a)s, %(b)s, 'x')", a=first["id"], b=other["id"])
    world.erase(first["id"], versions="this")

    assert [row["version"] for row in world.history("l")] == [2, 3]
    assert world.get(third["id"])["parent_id"] == top["id"]
    assert world.get(child["id"])["parent_id"] == third["id"]
    under = world.rows("select (memory).id from loci.subtree(%(ns)s, %(id)s)", id=top["id"])
    assert set(ids(under)) == {third["id"], child["id"]}
    for start in (other, third):
        (link,) = world.rows("select * from loci.list_links(%(ns)s, %(id)s)", id=start["id"])
        assert (link["source_id"], link["target_id"]) == (second["id"], other["id"])
    assert broken(world) == []
    assert world.write("four", lineage="l")["version"] == 4


def test_a_parent_of_which_no_version_is_valid_is_shown_by_one_that_is_left(world: World) -> None:
    first = world.write("one", lineage="l")
    child = world.write("child", parent_id=first["id"])
    second = world.write("two", lineage="l")
    world.forget(second["id"])
    world.erase(first["id"], versions="this")
    assert world.get(child["id"])["parent_id"] == second["id"]
    parents = "select parent_id from loci.{} where namespace = %(ns)s and id = %(id)s"
    assert world.value(parents.format("current_memories"), id=child["id"]) == second["id"]  # type: ignore[arg-type]
    assert world.value(parents.format("memory_versions"), id=child["id"]) == second["id"]  # type: ignore[arg-type]


def test_the_current_version_alone_may_go_and_none_takes_its_place(world: World) -> None:
    world.write("one", lineage="l", valid_from=day(1))
    current = world.write("two", lineage="l", valid_from=day(2))
    world.erase(current["id"], versions="this")
    assert world.visible() == []
    assert world.visible(as_of=day(1.5)) == ["one"]
    assert world.write("three", lineage="l")["version"] == 3


def test_the_last_version_takes_its_node_with_it(world: World) -> None:
    versions = [world.write(f"v{n}", lineage="l") for n in range(3)]
    child = world.write("child", parent_id=versions[0]["id"])
    for version in versions:
        assert world.erase(version["id"], versions="this")["erased"] == 1
    assert world.get(child["id"])["parent_id"] is None
    assert world.write("anew", lineage="l")["version"] == 1
    assert broken(world) == []


# The hierarchy


@pytest.fixture
def chain(world: World) -> tuple[World, list[UUID]]:
    """Six memories, each under the one before, and a leaf beside each."""
    found: list[UUID] = []
    for n in range(6):
        found.append(world.write(f"node {n}", **({"parent_id": found[-1]} if found else {}))["id"])
        world.write(f"leaf {n}", parent_id=found[-1])
    return world, found


def test_children_of_an_erased_memory_become_tops_of_their_trees(chain: tuple[World, list[UUID]]) -> None:
    world, nodes = chain
    world.erase(nodes[2])
    above = world.rows("select (memory).content from loci.ancestors(%(ns)s, %(id)s) order by depth", id=nodes[5])
    assert [row["content"] for row in above] == ["node 4", "node 3"]
    below = world.rows("select (memory).content from loci.subtree(%(ns)s, %(id)s)", id=nodes[0])
    assert sorted(row["content"] for row in below) == ["leaf 0", "leaf 1", "node 1"]
    assert broken(world) == []


def test_a_subtree_goes_with_its_root_and_leaves_what_has_moved_away(chain: tuple[World, list[UUID]]) -> None:
    world, nodes = chain
    world.change(nodes[4], parent_id=str(nodes[0]))
    assert world.erase(nodes[1], subtree=True)["erased"] == 6
    assert sorted(world.visible()) == ["leaf 0", "leaf 4", "leaf 5", "node 0", "node 4", "node 5"]
    assert broken(world) == []


def test_a_deleted_placement_takes_the_paths_over_it_along(owned: World) -> None:
    nodes: list[UUID] = []
    for n in range(5):
        nodes.append(owned.write(f"node {n}", **({"parent_id": nodes[-1]} if nodes else {}))["id"])
    as_owner(owned, "delete from loci_data.memory_placements where node_id = any (%(nodes)s)", nodes=[nodes[2], nodes[3]])
    assert broken(owned) == []
    assert owned.value("select count(*) from loci_data.memory_closure where namespace_id = %(ns_id)s") == 2


def test_paths_of_the_past_that_went_over_an_erased_memory_go_too(chain: tuple[World, list[UUID]]) -> None:
    world, nodes = chain
    world.change(nodes[3], parent_id=None)
    world.change(nodes[1], parent_id=str(nodes[5]))
    world.erase(nodes[2], nodes[4])
    assert broken(world) == []


# What memories mention, and what they show


@pytest.mark.row("M9")
@pytest.mark.parametrize(
    ("pinned", "shared", "stays"),
    [(False, False, False), (True, False, True), (False, True, True), (True, True, True)],
    ids=["alone", "pinned", "shared", "both"],
)
def test_an_entity_goes_with_its_last_mention_unless_it_is_pinned(world: World, pinned: bool, shared: bool, stays: bool) -> None:
    hera = {"source": "Hera", "type": "knows"}
    world.write("told", edges=[{**hera, "target": "Ares"}])
    gone = world.write("one", entities=[{"name": "Zeus", "aliases": ["Jupiter"]}], edges=[{**hera, "target": "Zeus"}])
    if shared:
        world.write("two", entities=[{"name": "Zeus"}])
    if pinned:
        pin(world, "Zeus")
    world.erase(gone["id"])
    found = entity(world, "Zeus")
    assert (found and found["mentions"]) == (int(shared) if stays else None)
    assert (
        world.value("select count(*) from loci_data.entity_names where namespace_id = %(ns_id)s and canonical_name = 'jupiter'")
        == stays
    )
    targets = world.rows(
        """select t.name from loci_data.edges e join loci_data.entities t on t.namespace_id = e.namespace_id and t.id = e.target_id
           where e.namespace_id = %(ns_id)s order by 1"""
    )
    assert [row["name"] for row in targets] == ["Ares"]
    assert entity(world, "Hera") is not None


def state_fact(world: World, name: str, memory: UUID | None) -> None:
    aspect = world.row('select * from loci_api.upsert_aspect(%(ns)s, %(name)s, \'{"name": "rules"}\')', name=name)["id"]
    fact = Jsonb({"content": "two signatures"} | ({} if memory is None else {"memory_id": str(memory)}))
    world.rows("select * from loci_api.add_attribute(%(ns)s, %(a)s, %(f)s)", a=aspect, f=fact)


def state_by_hand(world: World, what: str) -> None:
    """Something about Quill Bank that no memory says."""
    bank = {"name": "Quill Bank"}
    if what in {"itself", "in a conversation"}:
        item = bank if what == "itself" else {**bank, "session_id": "s"}
        world.rows("select * from loci_api.upsert_entities(%(ns)s, %(e)s)", e=Jsonb([item]))
    elif what == "an edge":
        observe(world, {"source": "Quill Bank", "type": "owned_by", "target": "Holding Nine"})
    elif what == "an edge to it":
        observe(world, {"source": "Holding Nine", "type": "owns", "target": "Quill Bank"})
    elif what == "an aspect":
        world.rows("select * from loci_api.upsert_aspect(%(ns)s, 'Quill Bank', '{\"name\": \"rules\"}')")
    else:
        state_fact(world, "Quill Bank", None)


@pytest.mark.parametrize("erase", [True, False], ids=["erasing", "forgetting"])
@pytest.mark.parametrize("before", [True, False], ids=["before", "since"])
@pytest.mark.parametrize("what", ["itself", "in a conversation", "an edge", "an edge to it", "an aspect", "a fact"])
def test_statements_by_hand_keep_an_entity_whose_only_memory_goes(world: World, what: str, before: bool, erase: bool) -> None:
    if before and what in {"an aspect", "a fact"}:
        state_by_hand(world, "itself")
    if before:
        state_by_hand(world, what)
    note = world.write("called Quill Bank today", layer=3, entities=[{"name": "Quill Bank"}])["id"]
    if not before:
        state_by_hand(world, what)
    kept = world.rows("select type from loci.list_edges(%(ns)s)")
    (world.erase if erase else world.forget)(note)
    found = entity(world, "Quill Bank")
    assert found is not None
    assert (found["mentions"], found["hidden"]) == (0, False)
    assert world.rows("select type from loci.list_edges(%(ns)s)") == kept
    assert len(world.rows("select * from loci.list_aspects(%(ns)s, 'Quill Bank')")) == (what in {"an aspect", "a fact"})
    assert broken(world) == []


@pytest.mark.parametrize("erase", [True, False], ids=["erasing", "forgetting"])
def test_an_entity_known_from_one_memory_goes_with_it(world: World, erase: bool) -> None:
    edge = {"source": "Zork", "type": "sells_to", "target": "Blorb", "aspect": "business"}
    note = world.write("Zork sells to Blorb", entities=[{"name": "Zork"}], edges=[edge])["id"]
    state_fact(world, "Zork", note)
    (world.erase if erase else world.forget)(note)
    assert world.rows("select from loci.list_entities(%(ns)s)") == []
    if not erase:
        world.forget(note, forget=False)
        assert len(world.rows("select from loci.list_entities(%(ns)s)")) == 2


@pytest.mark.parametrize("erase", [True, False], ids=["erasing", "forgetting"])
def test_evidence_of_a_memory_for_two_merged_entities_is_taken_from_the_kept_one(world: World, erase: bool) -> None:
    note = world.write("x", entities=[{"name": "A"}, {"name": "B"}])["id"]
    world.rows("select * from loci_api.merge_entities(%(ns)s, 'A', 'B')")
    (world.erase if erase else world.forget)(note)
    assert world.rows("select from loci.list_entities(%(ns)s)") == []
    if not erase:
        world.forget(note, forget=False)
        assert (entity(world, "A") or {})["observations"] == 2


@pytest.mark.parametrize(("what", "alone"), [(None, True), ("itself", False), ("an edge", False), ("a fact", False)])
def test_dependents_say_whether_an_entity_falls_with_its_memory(world: World, what: str | None, alone: bool) -> None:
    note = world.write("called Quill Bank today", entities=[{"name": "Quill Bank"}])["id"]
    if what:
        state_by_hand(world, what)
    rows = world.rows("select * from loci.list_dependents(%(ns)s, %(id)s)", id=note)
    assert [(row["kind"], row["alone"]) for row in rows] == [("entity", alone)]


@pytest.mark.row("M9")
def test_a_counter_that_was_too_low_stops_at_nothing(owned: World) -> None:
    memories = [owned.write(f"m{n}", entities=[{"name": "Zeus"}]) for n in range(2)]
    pin(owned, "Zeus")
    as_owner(owned, "update loci_data.entities set mentions = 1 where namespace_id = %(ns_id)s")
    owned.erase(*ids(memories))
    found = entity(owned, "Zeus")
    assert found is not None
    assert found["mentions"] == 0


@pytest.mark.row("M9")
def test_an_edge_goes_with_its_last_evidence_and_no_sooner(world: World) -> None:
    memories = [world.write(f"m{n}", edges=[{"source": "a", "type": "t", "literal": "x"}]) for n in range(2)]
    pin(world, "a")
    world.erase(memories[0]["id"])
    assert world.row(EDGE, type="t")["observations"] == 1
    world.erase(memories[1]["id"])
    assert world.rows(EDGE, type="t") == []


@pytest.mark.parametrize(
    ("mode", "gone"), [("full", 1), ("full", 2), ("initial", 1), ("initial", 2), ("running_average", 1)]
)  # 1 is the newest, 2 is older and of the conversation of the first
def test_an_edge_is_what_it_would_be_had_the_erased_memory_never_shown_it(world: World, mode: str, gone: int) -> None:
    world.rows("select * from loci_api.update_namespace(%(ns)s, %(c)s)", c=Jsonb({"settings": {"reinforcement": mode}}))
    memories = [world.write(f"m{n}") for n in range(3)]
    seen = [(0, "s0", 0.4, 1), (2, "s0", 0.9, 3), (1, "s1", 0.8, 9)]
    for kind in ("with", "without"):
        for n, session, confidence, at in seen:
            if kind == "with" or n != gone:
                observe(
                    world,
                    {"source": "a", "type": kind, "target": "b", "memory_id": memories[n]["id"], "session_id": session,
                     "confidence": confidence, "observed_at": day(at)},
                )  # fmt: skip
    world.erase(memories[gone]["id"])
    assert world.row(EDGE, type="with") == world.row(EDGE, type="without")


def test_the_next_observation_of_a_conversation_stands_for_it_when_the_first_is_erased(world: World) -> None:
    memories = [world.write(f"m{n}") for n in range(3)]
    for n, session, at in ((0, "s0", 1), (1, "s1", 5), (2, "s1", 8)):
        observe(world, {"source": "a", "type": "t", "target": "b", "memory_id": memories[n]["id"], "session_id": session,
                        "confidence": 0.5, "observed_at": day(at)})  # fmt: skip
    world.erase(memories[1]["id"])
    edge = world.row(EDGE, type="t")
    assert (edge["observations"], edge["confidence"], edge["restored_at"]) == (2, 1.0, day(8))


def test_edges_that_never_had_a_memory_as_evidence_stay(world: World) -> None:
    observe(world, {"source": "a", "type": "t", "target": "b"})
    world.erase(world.write("x", entities=[{"name": "c"}])["id"])
    assert world.row(EDGE, type="t")["observations"] == 1


@pytest.mark.row("M9")
@pytest.mark.parametrize("status", ["active", "superseded", "deleted"])
def test_a_fact_that_rests_on_an_erased_memory_goes_with_it(owned: World, status: str) -> None:
    gone, kept = owned.write("x"), owned.write("y", entities=[{"name": "Zeus"}])
    add_attribute(owned, "Zeus", gone["id"], status=status)
    other = add_attribute(owned, "Zeus", kept["id"], content="other")
    owned.erase(gone["id"])
    rows = owned.rows("select id, status from loci_data.attributes where namespace_id = %(ns_id)s")
    assert rows == [{"id": other, "status": "active"}]


# Neighbours


@pytest.fixture
def session(world: World) -> tuple[World, list[UUID]]:
    """Six turns of a conversation with vectors, and one of another."""
    world.rows("select loci_api.register_model('test', 3)")
    turns = [world.write(f"turn {n}", session_id="s", layer=3, embedding=[1.0, 0.0, 0.0])["id"] for n in range(6)]
    return world, [*turns, world.write("elsewhere", session_id="t", embedding=[1.0, 0.0, 0.0])["id"]]


def without_vector(world: World, turns: list[UUID]) -> list[int]:
    """Numbers of the turns that have no vector; they must wait for one."""
    rows = world.rows("select memory_id as id from loci_data.memory_vectors where namespace_id = %(ns_id)s")
    queue = world.rows("select memory_id as id from loci_data.embedding_queue where namespace_id = %(ns_id)s and error is null")
    missing = [n for n, id in enumerate(turns) if id not in set(ids(rows))]  # noqa: A001
    left = set(ids(world.rows("select id from loci_data.memories where namespace_id = %(ns_id)s")))
    assert set(ids(queue)) == {turns[n] for n in missing} & left
    return missing


def test_vectors_of_other_turns_stay_as_they_are(session: tuple[World, list[UUID]]) -> None:
    world, turns = session
    before = world.rows("select * from loci_data.memory_vectors where namespace_id = %(ns_id)s order by memory_id")
    world.erase(turns[1])
    assert without_vector(world, turns) == [1]
    after = world.rows("select * from loci_data.memory_vectors where namespace_id = %(ns_id)s order by memory_id")
    assert after == [row for row in before if row["memory_id"] != turns[1]]


def test_the_mean_of_the_vectors_knows_nothing_of_an_erased_one(session: tuple[World, list[UUID]]) -> None:
    world, turns = session
    world.write("aside", embedding=[0.0, 1.0, 0.0])
    mean = "select vectors, mean::real[] as mean from loci_data.vector_means where namespace_id = %(ns_id)s"
    world.erase(turns[0])
    assert world.row(mean) == {"vectors": 7, "mean": pytest.approx([6 / 7, 1 / 7, 0])}
    world.erase(
        *turns[1:], *ids(world.rows("select id from loci_data.memories where namespace_id = %(ns_id)s and content = 'aside'"))
    )
    assert world.rows(mean) == []


# Who may, and what is wrong


def test_an_unknown_memory_is_named_and_nothing_is_erased(world: World) -> None:
    kept, unknown = world.write("kept")["id"], uuid4()
    with pytest.raises(errors.NoDataFound) as caught, world.connection.transaction():
        world.erase(kept, unknown, uuid4())
    assert str(unknown) in str(caught.value)
    assert caught.value.diag.column_name == "ids[1]"
    assert world.visible() == ["kept"]


def test_a_memory_of_another_namespace_is_unknown(world: World) -> None:
    secret = world.write("kept")["id"]
    other = new_world(world.connection)
    with pytest.raises(errors.NoDataFound), world.connection.transaction():
        other.erase(secret)
    assert world.visible() == ["kept"]


@pytest.mark.parametrize("role", [None, "reader", "writer", "admin"])
def test_a_writer_may_erase(owned: World, role: str | None) -> None:
    memory = owned.write("x")["id"]
    connection: psycopg.Connection[Any] = owned.connection
    connection.execute("reset session authorization")
    agent = grant(connection, owned.name if role else "default", role or "admin")
    connection.execute("set session authorization loci_app")
    act_as(connection, agent)
    if role in {"writer", "admin"}:
        assert owned.erase(memory)["erased"] == 1
    else:
        with pytest.raises(errors.InsufficientPrivilege), connection.transaction():
            owned.erase(memory)
        act_as(connection, OPERATOR)
        assert owned.visible() == ["x"]


@pytest.mark.parametrize("wrong", [{"versions": "some"}, {"versions": None}, {"versions": "this", "subtree": True}], ids=str)
def test_a_wrong_extent_is_refused(world: World, wrong: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidParameterValue):
        world.erase(world.write("x")["id"], **wrong)


def test_entries_of_an_erased_memory_are_erased_with_it(world: World) -> None:
    raw, made, other = (world.write(content)["id"] for content in ("met Bob, likes tea", "Bob likes tea", "Carol likes tea"))
    world.rows("select * from loci_api.link_memories(%(ns)s, %(made)s, %(raw)s, 'expands', 1)", made=made, raw=raw)
    world.rows("select * from loci_api.link_memories(%(ns)s, %(other)s, %(raw)s, 'related_to', 1)", other=other, raw=raw)
    world.rows("select * from loci_api.erase_memories(%(ns)s, array[%(raw)s]::uuid[])", raw=raw)
    left = world.rows("select id from loci_data.memories where namespace_id = %(ns_id)s")
    assert ids(left) == [other]


# Turns of conversation that say the same


def say(world: World, *contents: str, session: str = "s") -> list[int]:
    """Add turns; their numbers."""
    turns = Jsonb([{"role": "user", "content": content} for content in contents])
    return [
        row["id"] for row in world.rows("select id from loci_api.add_turns(%(ns)s, %(s)s, %(t)s) order by id", s=session, t=turns)
    ]


def erase(world: World, *ids: UUID, with_turns: bool = False) -> dict[str, Any]:
    return world.row("select * from loci_api.erase_memories(%(ns)s, %(ids)s, 'all', false, %(t)s)", ids=list(ids), t=with_turns)


TOLD = "Hi, I am Marta: I am living in Oslo, and work as a nurse."


@pytest.mark.parametrize("beside", [0, 25])  # few are one question, many are looked for by their rarest words
def test_the_receipt_names_the_turns_that_hold_all_words_of_what_is_erased(world: World, beside: int) -> None:
    first, _, _, fourth = say(world, TOLD, "Marta lives in Bergen.", "Oslo is a town.", "in Oslo i LIVE")
    (other,) = say(world, "We live near Oslo!", session="other")
    written = [world.write("I live in Oslo")["id"], *(world.write(f"thing {n} is of no use")["id"] for n in range(beside))]
    receipt = erase(world, *written)
    named = [{"session_id": "s", "id": first}, {"session_id": "s", "id": fourth}, {"session_id": "other", "id": other}]
    assert (receipt["turns"], receipt["turns_found"]) == (named, 3)
    assert "conversation_turns" not in receipt["deleted"]
    assert len(world.rows("select from loci.list_turns(%(ns)s, 's')")) == 4


def test_words_of_every_version_of_a_lineage_are_searched(world: World) -> None:
    named = say(world, "I lived in Lisbon", "I moved to Porto")
    world.write("Lisbon", lineage="home")
    receipt = erase(world, world.write("Porto", lineage="home")["id"])
    assert [turn["id"] for turn in receipt["turns"]] == named


def test_a_text_without_telling_words_names_no_turn(world: World) -> None:
    say(world, "it is what it is")
    assert erase(world, world.write("It is!")["id"])["turns"] == []


def test_erasing_with_turns_takes_turns_and_quotations_of_them(world: World) -> None:
    said = say(world, TOLD)
    claim = "select * from loci_api.claim_idempotency_key(%(ns)s, 'k', '\\x00')"
    world.rows(claim)
    world.rows("select loci_api.store_idempotent_reply(%(ns)s, 'k', 201::smallint, %(r)s)", r=Jsonb({"items": [{"content": TOLD}]}))
    receipt = erase(world, world.write("I live in Oslo")["id"], with_turns=True)
    assert ([turn["id"] for turn in receipt["turns"]], receipt["deleted"]["conversation_turns"]) == (said, 1)
    assert world.rows("select * from loci.list_turns(%(ns)s, 's')") == []
    kept = world.row(claim)
    assert (kept["status"], "Oslo" in str(kept["response"])) == (410, False)


def test_a_dry_run_names_turns_and_erases_none(world: World) -> None:
    say(world, TOLD)
    written = world.write("I live in Oslo")["id"]
    seen = world.row("select * from loci_api.preview_erasure(%(ns)s, %(ids)s, p_with_turns => true)", ids=[written])
    assert (seen["turns_found"], seen["deleted"]["conversation_turns"]) == (1, 1)
    assert len(world.rows("select from loci.list_turns(%(ns)s, 's')")) == 1
