"""Forgotten memories show nothing: mentions and edges with no other evidence are out of sight, and come back."""

from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from psycopg.errors import InvalidParameterValue, NoDataFound
from psycopg.types.json import Jsonb

from tests.factories import World, day
from tests.sql.test_graph import observe
from tests.sql.undoing import operation, undo

EDGE = {"source": "Pia", "type": "works_at", "target": "Acme"}


def remember(world: World, content: str, **fields: Any) -> UUID:
    """Write a memory; its id."""
    made: UUID = world.write(content, **fields)["id"]
    return made


def targets(world: World, known_at: datetime | None = None, as_of: datetime | None = None) -> list[str]:
    return [
        row["target"] or row["literal"]
        for row in world.rows(
            "select * from loci.list_edges(%(ns)s, p_faded => true, p_as_of => %(a)s, p_known_at => %(k)s) order by id",
            a=as_of,
            k=known_at,
        )
    ]


def names(world: World, known_at: datetime | None = None) -> list[str]:
    """The entities that are in sight, by every way of reading; they must agree."""
    listed = world.rows("select name from loci.list_entities(%(ns)s, p_known_at => %(k)s)", k=known_at)
    found = world.rows(
        "select name from loci.search_entities(%(ns)s, 'Pia Acme Rex', p_mode => 'name', p_known_at => %(k)s)", k=known_at
    )
    matched = world.rows("select name from loci.match_entities(%(ns)s, 'Pia Acme Rex', p_known_at => %(k)s)", k=known_at)
    ways = [sorted(row["name"] for row in rows) for rows in (listed, found, matched)]
    if known_at is None:
        ways.append(sorted(row["name"] for row in world.rows("select name from loci.entities where namespace = %(ns)s")))
        catalogue = world.rows("select name from loci_api.entity_catalogue(%(ns)s, '{Pia}', 10)")
        ways.append(sorted(row["name"] for row in catalogue))
        for counted in ("loci.list_namespaces(%(ns)s)", "loci.namespace_stats where namespace = %(ns)s"):
            assert world.value("select entities from " + counted) == len(listed)  # type: ignore[arg-type]
    assert all(way == ways[0] for way in ways), ways
    return ways[0]


def mentions(world: World, name: str) -> int:
    return int(world.value("select mentions from loci.get_entity(%(ns)s, %(name)s)", name=name))


def broken(world: World) -> list[Any]:
    return world.rows("select * from loci.verify(%(ns)s) where broken > 0")


@pytest.mark.row("M8")
def test_an_edge_that_only_a_forgotten_memory_shows_is_out_of_sight_until_it_is_restored(world: World) -> None:
    memory = remember(world, "Pia works at Acme", edges=[EDGE])
    edge = world.value("select id from loci.list_edges(%(ns)s)")
    before = world.now()
    world.forget(memory)
    forgotten = world.now()
    assert targets(world) == []
    assert world.rows("select * from loci.edges where namespace = %(ns)s") == []
    assert world.rows("select * from loci.faded_edges where namespace = %(ns)s") == []
    assert world.rows("select * from loci.traverse(%(ns)s, '{Pia}')") == []
    assert [row["event"] for row in world.rows("select * from loci.entity_timeline(%(ns)s, 'Pia')")] == ["created"]
    with pytest.raises(NoDataFound), world.connection.transaction():
        world.rows("select * from loci.get_edge(%(ns)s, %(id)s)", id=edge)
    assert targets(world, before) == ["Acme"]
    assert len(world.rows("select * from loci.get_edge(%(ns)s, %(id)s, p_known_at => %(k)s)", id=edge, k=before)) == 1
    world.forget(memory, False)
    assert (targets(world), targets(world, before), targets(world, forgotten)) == (["Acme"], ["Acme"], [])
    assert broken(world) == []


def test_forgetting_hides_only_its_own_evidence_of_a_shared_edge(world: World) -> None:
    first = remember(world, "one", session_id="s1", edges=[{**EDGE, "confidence": 0.6, "observed_at": str(day(1))}])
    remember(world, "two", session_id="s2", edges=[{**EDGE, "confidence": 0.4, "observed_at": str(day(3))}])

    def figures() -> Any:
        row = world.row("select * from loci.list_edges(%(ns)s, p_faded => true)")
        return row["observations"], row["first_observed_at"], row["valid_from"]

    both = figures()
    world.forget(first)
    alone = figures()
    world.forget(first, False)
    assert (both, alone, figures()) == ((2, day(1), day(1)), (1, day(3), day(3)), both)


@pytest.mark.row("M8")
def test_erasing_takes_its_own_from_the_past_and_leaves_what_a_forgotten_memory_had_shown(world: World) -> None:
    erased = remember(
        world, "one", edges=[{**EDGE, "valid_from": str(day(0)), "valid_to": str(day(9)), "observed_at": str(day(20))}]
    )
    forgotten = remember(world, "two", edges=[{**EDGE, "valid_from": str(day(5)), "observed_at": str(day(21))}])
    edge = world.value("select edge_id from loci.edge_spells where namespace = %(ns)s limit 1")
    both = world.now()
    world.forget(forgotten)
    alone = world.now()
    world.erase(erased)
    shown = [[targets(world, known, day(at)) for at in (1, 6, 12)] for known in (both, alone, None)]
    assert shown == [[[], ["Acme"], ["Acme"]], [[], [], []], [[], [], []]]
    spells = world.rows("select valid_from, valid_to from loci.edge_spells where namespace = %(ns)s and edge_id = %(id)s", id=edge)
    assert spells == [{"valid_from": day(5), "valid_to": None}]
    world.forget(forgotten, False)
    assert (targets(world, as_of=day(6)), targets(world, alone, day(6)), broken(world)) == (["Acme"], [], [])


def test_an_edge_ended_by_a_forgotten_memory_goes_on_and_ends_again(world: World) -> None:
    world.rows("select * from loci_api.set_edge_type(%(ns)s, 'lives_in', '{\"single_valued\": true}')")
    observe(world, {"source": "Pia", "type": "lives_in", "target": "Rome", "observed_at": str(day(1))})
    memory = remember(
        world, "Pia moved", edges=[{"source": "Pia", "type": "lives_in", "target": "Oslo", "observed_at": str(day(9))}]
    )
    decided = "select id, status from loci.list_supersessions(%(ns)s)"
    (made,) = world.rows(decided)
    assert (targets(world), made["status"]) == (["Oslo"], "applied")
    world.forget(memory)
    assert (targets(world), world.rows(decided)) == (["Rome"], [{"id": made["id"], "status": "dismissed"}])
    world.forget(memory, False)
    assert (targets(world), world.rows(decided)) == (["Oslo"], [made])
    _, made_by = operation(world, lambda: world.forget(memory))
    undo(world, made_by)
    assert (targets(world), world.rows(decided), broken(world)) == (["Oslo"], [made], [])


def test_an_edge_is_back_when_somebody_else_says_so(world: World) -> None:
    memory = remember(world, "one", session_id="s", edges=[{**EDGE, "confidence": 0.5, "observed_at": str(day(1))}])
    world.forget(memory)
    observe(world, {**EDGE, "session_id": "s", "confidence": 0.9, "observed_at": str(day(2))})
    row = world.row("select * from loci.list_edges(%(ns)s, p_as_of => %(at)s)", at=day(2))
    assert (row["confidence"], row["observations"], row["valid_from"]) == (0.9, 1, day(2))
    assert broken(world) == []


@pytest.mark.row("M8")
def test_entities_that_only_a_forgotten_memory_shows_are_out_of_sight_until_it_is_restored(world: World) -> None:
    before_all = world.now()
    memory = remember(world, "Pia works at Acme", entities=[{"name": "Rex"}], edges=[EDGE])
    world.rows("select * from loci_api.upsert_entities(%(ns)s, %(e)s)", e=Jsonb([{"name": "Acme"}]))
    before = world.now()
    world.forget(memory)
    forgotten = world.now()
    assert (names(world), names(world, before), names(world, before_all)) == (["Acme"], ["Acme", "Pia", "Rex"], [])
    for name in ("Pia", "Rex"):
        with pytest.raises(NoDataFound), world.connection.transaction():
            mentions(world, name)
    assert world.row("select entities::text as e, edges::text as g from loci.constellation(%(ns)s)") == {"e": "[]", "g": "[]"}
    assert world.value("select edges from loci.list_namespaces(%(ns)s)") == 0
    world.forget(memory, False)
    assert (names(world), names(world, forgotten), names(world, before)) == (
        ["Acme", "Pia", "Rex"],
        ["Acme"],
        ["Acme", "Pia", "Rex"],
    )
    counted = world.rows("select name, mentions, observations from loci.list_entities(%(ns)s) order by name")
    assert [tuple(row.values()) for row in counted] == [("Acme", 1, 2), ("Pia", 1, 1), ("Rex", 1, 1)]
    assert (world.value("select edges from loci.list_namespaces(%(ns)s)"), broken(world)) == (1, [])


SAYING = {
    "an edge": lambda world, _: observe(world, {"source": "Pia", "type": "likes", "target": "Rex"}),
    "a memory": lambda world, _: remember(world, "Pia again", entities=[{"name": "Pia"}]),
    "a description": lambda world, pia: world.rows(
        'select * from loci_api.update_entity(%(ns)s, %(id)s, \'{"description": "x"}\')', id=pia
    ),
    "a pin": lambda world, pia: world.rows("select * from loci_api.pin_entity(%(ns)s, %(id)s, true)", id=pia),
    "an aspect": lambda world, _: world.rows("select * from loci_api.upsert_aspect(%(ns)s, 'Pia', '{\"name\": \"x\"}')"),
}


@pytest.mark.parametrize("saying", SAYING.values(), ids=SAYING.keys())
def test_an_entity_is_back_when_anybody_says_something_of_it(world: World, saying: Any) -> None:
    memory = remember(world, "Pia", entities=[{"name": "Pia"}])
    known = world.value("select id from loci.get_entity(%(ns)s, 'Pia')")
    world.forget(memory)
    hidden = world.now()
    saying(world, known)
    assert world.value("select id from loci.get_entity(%(ns)s, 'Pia')") == known
    assert ("Pia" in names(world), names(world, hidden)) == (True, [])


def test_statements_beside_a_forgotten_memory_keep_its_entities_visible(world: World) -> None:
    memory = remember(world, "Pia works at Acme", entities=[{"name": "Rex"}], edges=[EDGE])
    rex = world.value("select id from loci.get_entity(%(ns)s, 'Rex')")
    world.rows("select * from loci_api.pin_entity(%(ns)s, %(id)s, true)", id=rex)
    world.rows("select * from loci_api.upsert_aspect(%(ns)s, 'Acme', '{\"name\": \"x\"}')")
    world.forget(memory)
    assert names(world) == ["Acme", "Rex"]


@pytest.mark.row("M8")
def test_a_forgotten_memory_is_no_mention(world: World) -> None:
    memories = [remember(world, f"m{n}", entities=[{"name": "Pia"}]) for n in range(2)]
    world.forget(memories[0])
    assert mentions(world, "Pia") == 1
    world.forget(memories[0])  # again
    assert mentions(world, "Pia") == 1
    timeline = world.rows("select * from loci.entity_timeline(%(ns)s, 'Pia') where kind = 'memory'")
    assert [row["id"] for row in timeline] == [memories[1]]
    world.rows("select * from loci_api.upsert_entities(%(ns)s, %(e)s)", e=Jsonb([{"name": "Pia Berg"}]))
    world.rows("select * from loci_api.merge_entities(%(ns)s, 'Pia Berg', 'Pia')")
    assert mentions(world, "Pia Berg") == 1
    world.forget(memories[0], False)
    assert mentions(world, "Pia Berg") == 2


def test_an_entity_that_a_forgotten_memory_mentions_stays_when_another_is_erased(world: World) -> None:
    memories = [remember(world, f"m{n}", entities=[{"name": "Pia"}]) for n in range(2)]
    world.forget(memories[0])
    world.erase(memories[1])
    assert names(world) == []
    world.forget(memories[0], False)
    assert mentions(world, "Pia") == 1
    world.forget(memories[0])
    world.erase(memories[0])
    with pytest.raises(NoDataFound):
        mentions(world, "Pia")


def test_undoing_a_write_and_undoing_that_takes_and_gives_back_what_it_showed(world: World) -> None:
    _, made = operation(world, lambda: remember(world, "Pia works at Acme", edges=[EDGE]))
    undone = undo(world, made)
    assert targets(world) == []
    undo(world, undone["operation_id"])
    assert (targets(world), mentions(world, "Pia"), broken(world)) == (["Acme"], 1, [])


def test_a_forgotten_memory_is_no_evidence_of_a_new_edge(world: World) -> None:
    memory = remember(world, "Pia works at Acme")
    world.forget(memory)
    with pytest.raises(InvalidParameterValue, match=f"memory_id must not be .*: {memory} is forgotten"):
        observe(world, {**EDGE, "memory_id": str(memory)})


def test_edges_of_memories_forgotten_together_end_at_one_moment_and_come_back(owned: World) -> None:
    for n in range(7):
        remember(owned, f"Pia works at Acme, says {n}", edges=[EDGE])
    remember(owned, "Rex met Pia", edges=[{"source": "Rex", "type": "met", "target": "Pia"}])
    edge = owned.value("select id from loci.list_edges(%(ns)s) where type = 'works_at'")
    seen = owned.row("select observations, valid_from from loci.list_edges(%(ns)s) where id = %(e)s", e=edge)
    beliefs = "select count(*) from loci_data.edge_beliefs where namespace_id = %(ns_id)s and edge_id = %(e)s"
    before, known = owned.now(), owned.as_owner(beliefs, e=edge)[0]["count"]
    turn = """update loci_data.memories set status = %(s)s, updated_at = clock_timestamp()
              where namespace_id = %(ns_id)s and content like 'Pia%%' returning id"""
    assert len(owned.as_owner(turn, s="forgotten")) == 7
    assert (targets(owned), targets(owned, known_at=before)) == (["Pia"], ["Acme", "Pia"])
    assert (names(owned), mentions(owned, "Pia")) == (["Pia", "Rex"], 1)
    assert owned.as_owner(beliefs, e=edge) == [{"count": known + 1}]
    assert broken(owned) == []
    assert len(owned.as_owner(turn, s="active")) == 7
    assert owned.row("select observations, valid_from from loci.list_edges(%(ns)s) where id = %(e)s", e=edge) == seen
    assert (names(owned), mentions(owned, "Pia")) == (["Acme", "Pia", "Rex"], 8)
    assert broken(owned) == []
