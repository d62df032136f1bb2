"""Entities and edges that a model has read out of conversations and episodes, as rows."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg import errors
from psycopg.types.json import Jsonb

from tests.factories import Row, World, day, new_world
from tests.sql.test_dreams_graph_cleanup import configure
from tests.sql.test_graph_merge import entities, get, merge, names, triples
from tests.sql.undoing import observe, operation, state, undo

IN_S1 = [{"session_id": "s1", "at": day(1).isoformat()}]
IN_S2 = [{"session_id": "s2", "at": day(2).isoformat()}]


def entity(key: int, name: str, evidence: Any = IN_S1, **fields: Any) -> Row:
    return {"key": key, "name": name, "evidence": evidence, **fields}


def edge(source: int, target: int | None, evidence: Any = IN_S1, **fields: Any) -> Row:
    return {"source": source, "type": "works_on", "target": target, "confidence": 0.9, "evidence": evidence, **fields}


def extract(world: World, *items: Row) -> list[tuple[str, int, bool, str | None]]:
    """Apply items that have a name as entities and the others as edges: (kind, place, created, guard)."""
    plan = {
        "entities": [item for item in items if "key" in item],
        "edges": [item for item in items if "source" in item],
    }
    rows = world.rows("select * from loci_api.apply_extraction(%(ns)s, %(plan)s)", plan=Jsonb(plan))
    return [(row["kind"], row["place"], row["created"], row["guard"]) for row in rows]


ALICE_AND_ROCKBOT = (entity(0, "Alice", type="person"), entity(1, "RockBot", type="project"), edge(0, 1))


def test_an_extraction_becomes_entities_and_an_edge_with_the_conversation_as_evidence(world: World) -> None:
    assert extract(world, *ALICE_AND_ROCKBOT) == [("entity", 1, True, None), ("entity", 2, True, None), ("edge", 1, True, None)]
    assert [(get(world, name)["name"], get(world, name)["type"]) for name in ("alice", "rockbot")] == [
        ("Alice", "person"),
        ("RockBot", "project"),
    ]
    (row,) = world.rows("select * from loci.list_edges(%(ns)s, p_as_of => %(then)s)", then=day(1))
    assert (row["confidence"], row["first_observed_at"]) == (0.9, day(1))
    (seen,) = world.rows("select session_id, observed_at from loci_data.edge_observations where namespace_id = %(ns_id)s")
    assert seen == {"session_id": "s1", "observed_at": day(1)}


def test_the_same_conversation_counts_and_a_new_one_restores(world: World) -> None:
    extract(world, *ALICE_AND_ROCKBOT)
    extract(world, *ALICE_AND_ROCKBOT)
    one = world.row("select confidence, observations from loci_data.edges where namespace_id = %(ns_id)s")
    assert one == {"confidence": 0.9, "observations": 2}
    extract(world, entity(0, "Alice"), entity(1, "RockBot"), edge(0, 1, IN_S2))
    two = world.row("select confidence, last_observed_at from loci_data.edges where namespace_id = %(ns_id)s")
    assert two == {"confidence": 1.0, "last_observed_at": day(2)}


def test_a_memory_is_evidence_once(world: World) -> None:
    memory = world.write("Alice works on RockBot", layer=3)
    shown = [{"memory_id": str(memory["id"]), "at": day(1).isoformat()}]
    for _ in range(2):
        extract(world, entity(0, "Alice", shown), entity(1, "RockBot", shown), edge(0, 1, shown))
    assert triples(world) == [("Alice", "works_on", "RockBot", 1)]
    assert get(world, "Alice")["mentions"] == 1


def test_a_known_entity_is_used_by_its_id_whatever_it_is_called(world: World) -> None:
    (alice,) = entities(world, {"name": "Alice Liddell", "aliases": ["Alice"]})
    made = {"key": 0, "id": str(alice), "name": "Alice", "evidence": IN_S1}
    assert extract(world, made, entity(1, "RockBot"), edge(0, 1))[0] == ("entity", 1, False, None)
    assert names(world) == ["Alice Liddell", "RockBot"]


@pytest.mark.row("G3")
def test_a_known_name_or_alias_makes_no_second_entity(world: World) -> None:
    entities(world, {"name": "Azure DevOps", "aliases": ["ADO Server"], "type": "tool", "description": "by hand"})
    extract(world, entity(0, "ADO server", type="project", description="by a model"))
    found = get(world, "Azure DevOps")
    assert (found["type"], found["description"]) == ("tool", "by hand")
    assert names(world) == ["Azure DevOps"]


@pytest.mark.row("G3")
@pytest.mark.parametrize(("before", "after"), [("extracted", "tool"), ("unknown", "tool"), ("project", "project")])
def test_a_vaguer_type_gives_way_and_a_stated_one_does_not(world: World, before: str, after: str) -> None:
    entities(world, {"name": "Kestrel", "type": before})
    extract(world, entity(0, "Kestrel", type="tool", description="a web server"))
    assert (get(world, "Kestrel")["type"], get(world, "Kestrel")["description"]) == (after, "a web server")


def test_a_merged_entity_means_the_one_that_it_went_into(world: World) -> None:
    _, robert = entities(world, {"name": "Bobby"}, {"name": "Robert"})
    merge(world, "Bobby", "Robert")
    extract(world, {"key": 0, "id": str(robert), "name": "Robert", "evidence": IN_S1}, entity(1, "RockBot"), edge(0, 1))
    assert triples(world) == [("Bobby", "works_on", "RockBot", 1)]


def test_a_removed_entity_is_refused_with_its_edges_and_not_made_anew(world: World) -> None:
    (robert,) = entities(world, {"name": "Robert"})
    world.row("select * from loci_api.delete_entity(%(ns)s, %(id)s)", id=robert)
    made = {"key": 0, "id": str(robert), "name": "Robert", "evidence": IN_S1}
    assert extract(world, made, entity(1, "RockBot"), edge(0, 1)) == [
        ("entity", 1, False, "gone"),
        ("entity", 2, True, None),
        ("edge", 1, False, "end"),
    ]
    assert names(world) == ["RockBot"]


def test_names_shorter_than_four_characters_are_refused_with_their_edges_unless_they_are_known(world: World) -> None:
    entities(world, {"name": "Ann"})
    found = extract(world, entity(0, "Bob"), entity(1, "Ann"), entity(2, "RockBot"), edge(0, 2), edge(1, 2))
    assert [row[3] for row in found] == ["short", None, None, None, "end"]
    assert names(world) == ["Ann", "RockBot"]
    configure(world, extracted_length=3)
    extract(world, entity(0, "Bob"))
    assert "Bob" in names(world)


def test_an_edge_whose_ends_turn_out_to_be_one_entity_is_refused(world: World) -> None:
    entities(world, {"name": "Azure DevOps", "aliases": ["ADO Server"]})
    found = extract(world, entity(0, "Azure DevOps"), entity(1, "ADO Server"), edge(0, 1))
    assert found[-1] == ("edge", 1, False, "loop")


@pytest.mark.parametrize("gone", ["forgotten", "erased"])
def test_an_extraction_from_a_vanished_memory_is_refused(world: World, gone: str) -> None:
    memory = world.write("Alice works on RockBot", layer=3)
    shown = [{"memory_id": str(memory["id"]), "at": day(1).isoformat()}]
    if gone == "forgotten":
        world.forget(memory["id"])
    else:
        world.erase(memory["id"])
    found = extract(
        world, entity(0, "Alice", shown), entity(1, "RockBot", IN_S1), edge(0, 1, shown), edge(1, None, shown, literal="x")
    )
    assert [row[3] for row in found] == ["gone", None, "end", "gone"]
    assert names(world) == ["RockBot"]


def test_erasing_an_episode_takes_what_was_read_in_it_alone(world: World) -> None:
    memory, other = world.write("Alice works on RockBot", layer=3), world.write("Alice likes tea", layer=3)
    shown, also = ([{"memory_id": str(row["id"]), "at": day(1).isoformat()}] for row in (memory, other))
    extract(
        world,
        entity(0, "Alice", [*shown, *also]),
        entity(1, "RockBot", shown),
        edge(0, 1, shown),
        edge(0, None, also, literal="tea"),
    )
    world.erase(memory["id"])
    assert names(world) == ["Alice"]
    assert triples(world) == [("Alice", "works_on", "tea", 1)]


def test_an_end_that_is_only_referred_to_is_observed_by_the_edge_alone(world: World) -> None:
    (alice,) = entities(world, {"name": "Alice"})
    before = get(world, "Alice")["observations"]
    found = extract(world, {"key": 0, "id": str(alice), "name": "Alice", "evidence": []}, entity(1, "RockBot"), edge(0, 1))
    assert [row[:2] for row in found] == [("entity", 2), ("edge", 1)]
    assert get(world, "Alice")["observations"] == before + 1


def test_a_literal_is_an_edge_too(world: World) -> None:
    extract(world, entity(0, "Alice"), edge(0, None, type="age", literal="42"))
    assert triples(world) == [("Alice", "age", "42", 1)]


def test_undoing_takes_back_exactly_what_was_written(world: World) -> None:
    entities(world, {"name": "Alice", "type": "unknown"})
    observe(
        world,
        {"source": "Alice", "type": "works_on", "target": "Loom", "confidence": 0.5, "session_id": "s0", "observed_at": day(0)},
    )
    before = state(world)
    items = (*ALICE_AND_ROCKBOT, entity(2, "Loom", IN_S2), edge(0, 2, IN_S2))
    _, made = operation(world, lambda: extract(world, *items))
    assert state(world)["edges"] != before["edges"]
    undo(world, made)
    assert state(world) == before


def test_nothing_to_write_writes_nothing(world: World) -> None:
    assert extract(world) == []
    assert names(world) == []


@pytest.mark.parametrize("wrong", [{"type": "Not A Type!"}, {"name": "x" * 256}])
def test_the_database_refuses_an_invalid_extraction_whole(world: World, wrong: Row) -> None:
    with pytest.raises(errors.InvalidParameterValue):
        extract(world, entity(0, "Alice"), entity(1, **{"name": "RockBot", **wrong}))


# Which texts a job reads


def job(world: World, **arguments: Any) -> UUID:
    return world.value("select id from loci_api.enqueue_job(%(ns)s, 'dream', %(a)s)", a=Jsonb(arguments))


def episodes(world: World, id: UUID, limit: int = 100) -> list[str]:
    return [
        row["content"]
        for row in world.rows("select * from loci_api.episodes_to_read(%(ns)s, %(id)s, %(limit)s)", id=id, limit=limit)
    ]


def record(world: World, id: UUID, *contents: str, outcome: str = "applied") -> None:
    """Report the extraction of a job, which was shown these episodes."""
    world.value(
        """select loci_api.record_pass(%(ns)s, %(id)s, 'entities', %(report)s, '{}', array(
           select id from loci_data.memories where namespace_id = %(ns_id)s and content = any (%(contents)s)))""",
        id=id,
        report=Jsonb({"outcome": outcome}),
        contents=list(contents),
    )


def fail(world: World, *contents: str) -> None:
    """Let an answer about these episodes be none."""
    world.value(
        """select loci_api.record_failed_read(%(ns)s, '{}', array(
           select id from loci_data.memories where namespace_id = %(ns_id)s and content = any (%(contents)s)))""",
        contents=list(contents),
    )


def test_a_job_is_shown_the_newest_episodes_that_no_extraction_has_read(world: World) -> None:
    for number in range(3):
        world.write(f"episode {number}", layer=3)
    world.write("a fact", layer=2)
    first = job(world)
    assert episodes(world, first, 2) == ["episode 1", "episode 2"]
    world.write("episode 3", layer=3)
    record(world, first, "episode 1", "episode 2")
    second = job(world)
    assert episodes(world, second, 10) == ["episode 0", "episode 3"]
    record(world, second, "episode 0", "episode 3", outcome="failed")
    assert episodes(world, job(world), 10) == ["episode 0", "episode 3"]


def test_episodes_for_which_an_answer_failed_come_after_the_others_and_fewer_at_a_time(world: World) -> None:
    world.value("select loci_api.update_namespace(%(ns)s, %(s)s)", s=Jsonb({"settings": {"dream_limit": 4}}))
    for number in range(4):
        world.write(f"episode {number}", layer=3)
    it = job(world)
    fail(world, *episodes(world, it))
    assert episodes(world, it) == ["episode 2", "episode 3"]
    fail(world, "episode 2", "episode 3")
    assert episodes(world, it) == ["episode 0", "episode 1"]
    world.write("episode 4", layer=3)
    assert episodes(world, it) == ["episode 4"]
    record(world, it, "episode 4", "episode 0", "episode 1")
    assert episodes(world, job(world)) == ["episode 3"]


def test_an_episode_that_was_forgotten_or_ended_is_not_read(world: World) -> None:
    world.forget(world.write("forgotten", layer=3)["id"])
    world.write("over", layer=3, valid_from=day(0), valid_to=day(1))
    assert episodes(world, job(world)) == []


def test_a_dry_run_and_a_cancelled_job_leave_their_episodes_to_others(world: World) -> None:
    world.write("episode", layer=3)
    dry = job(world, dry_run=True)
    assert episodes(world, dry) == ["episode"]
    record(world, dry, "episode", outcome="planned")
    given_up = job(world)
    assert episodes(world, given_up) == ["episode"]
    world.value("select loci_api.cancel_job(%(ns)s, %(id)s)", id=given_up)
    assert episodes(world, job(world)) == ["episode"]


def test_an_episode_that_is_forgotten_while_a_job_reads_it_is_not_read_again(world: World) -> None:
    memory = world.write("episode", layer=3)
    reading = job(world)
    assert episodes(world, reading) == ["episode"]
    world.forget(memory["id"])
    assert episodes(world, reading) == []


def test_episodes_are_read_by_the_admin_alone_and_by_no_job_that_is_over(world: World) -> None:
    with pytest.raises(errors.ObjectNotInPrerequisiteState):
        episodes(world, uuid4())


# What a reader should know


def test_the_catalogue_begins_with_what_the_texts_name(world: World) -> None:
    for number in range(3):
        world.write(f"fact {number}", entities=[{"name": "Often"}])
    entities(world, {"name": "Azure DevOps", "aliases": ["ADO Server"]}, {"name": "Rare"})
    rows = world.rows("select name, named from loci_api.entity_catalogue(%(ns)s, array['nothing', 'on the ado server'], 2)")
    assert [(row["name"], row["named"]) for row in rows] == [("Azure DevOps", True), ("Often", False)]
    assert world.rows("select name from loci_api.entity_catalogue(%(ns)s, '{}', 0)") == []


def test_the_catalogue_and_the_types_of_edges_are_those_of_the_namespace(world: World, connection: Any) -> None:
    extract(world, *ALICE_AND_ROCKBOT, edge(0, 1, type="likes"))
    assert world.value("select loci_api.edge_types_used(%(ns)s)") == ["likes", "works_on"]
    other = new_world(connection)
    assert other.value("select loci_api.edge_types_used(%(ns)s)") == []
    assert other.rows("select name from loci_api.entity_catalogue(%(ns)s, array['Alice'], 10)") == []


def test_evidence_is_dated_by_what_was_said_when(world: World) -> None:
    extract(world, *ALICE_AND_ROCKBOT)
    assert get(world, "Alice")["first_seen_at"] == day(1)
    assert world.rows("select * from loci.list_edges(%(ns)s, p_as_of => %(then)s)", then=day(1) - timedelta(hours=1)) == []
