"""Entities that are taken out of the graph: gone now, there in the past, and brought back whole."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import errors
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from tests.blocking import blocked
from tests.databases import Database
from tests.factories import OPERATOR, World, act_as, day, grant, new_world
from tests.services import PATIENCE, eventually
from tests.sql.test_graph import observe
from tests.sql.test_graph_merge import aspect, entities, get, merge, names, state, triples, undo


def remove(world: World, name: str) -> datetime:
    """Remove an entity by name; a moment before that."""
    known = world.now()
    world.row("select * from loci_api.delete_entity(%(ns)s, %(id)s)", id=get(world, name)["id"])
    return known


def furnish(world: World) -> World:
    """Make an entity with something of everything on it."""
    entities(world, {"name": "Robert", "type": "person", "aliases": ["Bob"], "description": "a baker"})
    world.write("Robert bakes", entities=[{"name": "Robert"}, {"name": "Bread"}])
    observe(
        world,
        {"source": "Robert", "type": "bakes", "target": "Bread", "strength": 0.9, "observed_at": day(1)},
        {"source": "Ann", "type": "knows", "target": "Robert"},
        {"source": "Ann", "type": "likes", "target": "Bread"},
        {"source": "Robert", "type": "age", "literal": "40"},
    )
    aspect(world, "Robert", "Taste", "likes rye")
    return world


@pytest.fixture
def baker(world: World) -> World:
    """A world with that entity."""
    return furnish(world)


@pytest.mark.parametrize("ref", ["Robert", "Bob", "id"])
def test_a_removed_entity_is_not_found_by_id_name_or_alias(baker: World, ref: str) -> None:
    robert = get(baker, "Robert")["id"]
    remove(baker, "Robert")
    with pytest.raises(errors.NoDataFound):
        get(baker, robert if ref == "id" else ref)


@pytest.mark.row("S8")
@pytest.mark.parametrize("ref", ["Robert", "Bob", "id"])
def test_a_removed_entity_is_complete_at_an_earlier_moment(baker: World, ref: str) -> None:
    before = get(baker, "Robert")
    edges = triples(baker)
    known = remove(baker, "Robert")
    if ref != "Bob":  # aliases of the past lead nowhere, as with any entity that changed
        assert get(baker, before["id"] if ref == "id" else ref, known_at=known) == before
    assert names(baker, known) == ["Ann", "Bread", "Robert"]
    assert triples(baker, known) == edges
    aspects = baker.rows("select * from loci.list_aspects(%(ns)s, 'Robert', null, %(k)s)", k=known)
    assert [row["attributes"][0]["content"] for row in aspects] == ["likes rye"]
    (picture,) = baker.rows("select entities from loci.constellation(%(ns)s, null, null, %(k)s)", k=known)
    assert "Robert" in {row["name"] for row in picture["entities"]}


def test_it_takes_its_edges_and_attributes_with_it_and_nothing_else(baker: World) -> None:
    remove(baker, "Robert")
    assert names(baker) == ["Ann", "Bread"]
    assert triples(baker) == [("Ann", "likes", "Bread", 1)]
    assert baker.rows("select from loci.aspects where namespace = %(ns)s") == []
    assert baker.value("select array_agg(distinct status) from loci_data.attributes where namespace_id = %(ns_id)s") == ["deleted"]
    assert baker.visible() == ["Robert bakes"]
    assert baker.value("select entities from loci.namespace_stats where namespace = %(ns)s") == 2
    assert baker.rows("select from loci.match_entities(%(ns)s, 'Robert, called Bob')") == []


def test_the_reply_is_the_entity_as_it_was(baker: World) -> None:
    before = get(baker, "Robert")
    assert baker.row("select * from loci_api.delete_entity(%(ns)s, %(id)s)", id=before["id"]) == before


def test_removing_what_is_not_there_says_so(baker: World) -> None:
    robert = get(baker, "Robert")["id"]
    remove(baker, "Robert")
    for unknown in (robert, UUID(int=5)):
        with pytest.raises(errors.NoDataFound, match=str(unknown)), baker.connection.transaction():
            baker.row("select * from loci_api.delete_entity(%(ns)s, %(id)s)", id=unknown)


@pytest.mark.parametrize(
    "statement",
    [
        'select loci_api.update_entity(%(ns)s, %(id)s, \'{"name": "x"}\')',
        "select loci_api.pin_entity(%(ns)s, %(id)s, true)",
        'select loci_api.upsert_aspect(%(ns)s, %(id)s::text, \'{"name": "x"}\')',
        'select loci_api.add_attribute(%(ns)s, %(aspect)s, \'{"content": "x"}\')',
        'select loci_api.update_attribute(%(ns)s, %(attribute)s, \'{"status": "active"}\')',
        "select loci_api.observe_edges(%(ns)s, jsonb_build_array(jsonb_build_object('source', %(id)s, 'type', 'x', 'target', 'Ann')))",
        "select loci_api.merge_entities(%(ns)s, 'Ann', %(id)s::text)",
        'select loci_api.split_entity(%(ns)s, %(id)s::text, \'{"name": "x"}\')',
        "select * from loci.traverse(%(ns)s, array[%(id)s::text])",
    ],
)
def test_nothing_is_written_to_it(baker: World, statement: Any) -> None:
    robert = get(baker, "Robert")["id"]
    under = baker.row("select id, aspect_id from loci_data.attributes where namespace_id = %(ns_id)s")
    remove(baker, "Robert")
    with pytest.raises(errors.NoDataFound):
        baker.rows(statement, id=robert, aspect=under["aspect_id"], attribute=under["id"])


def test_a_checkpoint_that_names_it_passes_it_by(baker: World) -> None:
    robert, ann = get(baker, "Robert")["id"], get(baker, "Ann")["id"]
    remove(baker, "Robert")
    rows = baker.rows("select * from loci.focal_entities(%(ns)s, null, null, %(ids)s)", ids=[robert, ann])
    assert [row["id"] for row in rows] == [ann]


def test_as_known_before_a_walk_and_a_recall_have_its_facts_and_rules(baker: World) -> None:
    robert = get(baker, "Robert")["id"]
    taste = baker.value("select aspect_id from loci_data.attributes where namespace_id = %(ns_id)s")
    rule = Jsonb({"content": "no nuts", "kind": "constraint"})
    baker.rows("select * from loci_api.add_attribute(%(ns)s, %(id)s, %(rule)s)", id=taste, rule=rule)
    known = remove(baker, "Robert")

    def walk(query: str | None, ids: list[UUID] | None, known_at: datetime | None) -> tuple[list[str], list[str]]:
        found = baker.row(
            "select * from loci.walk(%(ns)s, %(q)s, null, %(ids)s, null, null, %(k)s, true)", q=query, ids=ids, k=known_at
        )
        return [row["content"] for row in found["constraints"]], [row["content"] for row in found["attributes"]]

    def recall(known_at: datetime | None) -> list[str]:
        rows = baker.rows(
            "select * from loci_api.recall_walk_arm(%(ns)s, %(ids)s, true, '{}', null, %(k)s)", ids=[robert], k=known_at
        )
        return [rule["content"] for row in rows for rule in row["constraints"] or []]

    assert walk("What does Robert eat?", None, known) == walk(None, [robert], known) == (["no nuts"], ["likes rye"])
    assert recall(known) == ["no nuts"]
    assert walk("What does Robert eat?", None, None) == walk(None, [robert], None) == ([], [])
    assert recall(None) == []


def test_its_name_is_free_for_another(baker: World) -> None:
    old = get(baker, "Robert")["id"]
    known = remove(baker, "Robert")
    (new,) = entities(baker, {"name": "Robert", "type": "tool"})
    assert get(baker, "Robert")["id"] == new != old
    assert get(baker, "Robert", known_at=known)["id"] == old


def test_its_history_shows_the_end(baker: World) -> None:
    robert = get(baker, "Robert")["id"]
    remove(baker, "Robert")
    for ref in ("Robert", str(robert)):
        rows = baker.rows("select * from loci.entity_timeline(%(ns)s, %(ref)s, 100)", ref=ref)
        said = [row["event"] for row in rows if row["kind"] == "entity"]
        assert (said[0], said[-1], said.count("deleted")) == ("created", "deleted", 1)
        assert [row["event"] for row in rows if row["kind"] == "edge"].count("deleted") == 3


def test_names_and_ids_that_were_merged_into_it_lead_nowhere_either(baker: World) -> None:
    (other,) = entities(baker, {"name": "Bobby"})
    made = merge(baker, "Robert", "Bobby")
    remove(baker, "Robert")
    for ref in ("Bobby", other):
        with pytest.raises(errors.NoDataFound), baker.connection.transaction():
            get(baker, ref)
    with pytest.raises(errors.UniqueViolation, match="removed since"):
        undo(baker, made)


def test_an_interrupted_statement_that_mentioned_it_goes_on(world: World) -> None:
    world.write("Robert bakes", lineage="work", entities=[{"name": "Robert"}], valid_from=day(0))
    remove(world, "Robert")
    world.write("on leave", lineage="work", valid_from=day(2), valid_to=day(3))
    assert world.visible(day(4)) == ["Robert bakes"]


def test_memories_are_not_linked_over_it(world: World) -> None:
    world.write("Paul met Quentin", entities=[{"name": "Paul"}, {"name": "Quentin"}])
    world.write("Quentin sails", entities=[{"name": "Quentin"}])
    documents = world.value(
        "select array_agg(doc_id order by doc_id) from loci_data.memories where namespace_id = %(ns_id)s and content like 'Paul%%'"
    )
    statement: Any = "select * from loci_api.memories_sharing_names(%(ns)s, 'Paul', %(d)s)"
    assert len(world.rows(statement, d=documents)) == 2
    remove(world, "Quentin")
    assert len(world.rows(statement, d=documents)) == 1


def test_erasing_the_memories_that_mentioned_it_erases_it(baker: World) -> None:
    robert = get(baker, "Robert")["id"]
    memory = baker.value("select id from loci_data.memories where namespace_id = %(ns_id)s")
    remove(baker, "Robert")
    baker.erase(memory)
    assert baker.rows("select from loci_data.entities where namespace_id = %(ns_id)s and id = %(id)s", id=robert) == []


# Bringing it back


@pytest.fixture
def returned(owned: World) -> Any:
    """A world whose session may turn into the superuser's: bringing back is internal, and undoing calls it."""

    def bring_back(*ids: UUID) -> list[UUID]:
        owned.connection.execute("reset session authorization")
        back = owned.value("select loci_internal.return_entities(%(ns_id)s, %(ids)s, clock_timestamp())", ids=list(ids))
        owned.connection.execute("set session authorization loci_app")
        act_as(owned.connection, OPERATOR)
        return list(back)

    return bring_back


def test_a_restored_entity_is_as_it_was_before_its_removal(owned: World, returned: Any) -> None:
    furnish(owned)
    robert, before = get(owned, "Robert")["id"], state(owned)
    remove(owned, "Robert")
    between = owned.now()
    assert returned(robert) == [robert]
    assert state(owned) == before
    assert owned.value("select status from loci_data.attributes where namespace_id = %(ns_id)s") == "active"
    assert names(owned, between) == ["Ann", "Bread"]
    assert triples(owned, between) == [("Ann", "likes", "Bread", 1)]


def test_observations_are_told_once_however_often_an_edge_went_and_came_back(owned: World, returned: Any) -> None:
    furnish(owned)
    robert = get(owned, "Robert")["id"]
    statement: Any = "select id from loci.entity_timeline(%(ns)s, 'Robert', 100) where event = 'observed'"
    seen = len(owned.rows(statement))
    for _ in range(2):
        remove(owned, "Robert")
        returned(robert)
    assert len(owned.rows(statement)) == seen


def test_edges_between_two_removed_entities_come_back_with_the_second(owned: World, returned: Any) -> None:
    furnish(owned)
    before = state(owned)
    ids = [get(owned, name)["id"] for name in ("Robert", "Ann")]
    remove(owned, "Robert")
    remove(owned, "Ann")
    returned(ids[0])
    assert [edge[:3] for edge in triples(owned)] == [("Robert", "age", "40"), ("Robert", "bakes", "Bread")]
    returned(ids[1])
    assert state(owned) == before


def test_a_name_that_was_taken_is_not_given_back(owned: World, returned: Any) -> None:
    furnish(owned)
    robert = get(owned, "Robert")["id"]
    remove(owned, "Robert")
    entities(owned, {"name": "robert"})
    with pytest.raises(errors.UniqueViolation, match="exists by now"):
        returned(robert)


def test_an_edge_that_was_taken_back_before_stays_so(owned: World, returned: Any) -> None:
    furnish(owned)
    robert = get(owned, "Robert")["id"]
    edge = owned.value("select id from loci_data.edges where namespace_id = %(ns_id)s and type = 'bakes'")
    owned.row("select * from loci_api.delete_edge(%(ns)s, %(id)s)", id=edge)
    remove(owned, "Robert")
    returned(robert)
    assert "bakes" not in [edge[1] for edge in triples(owned)]


def test_a_fact_whose_memory_was_forgotten_meanwhile_stays_away(owned: World, returned: Any) -> None:
    furnish(owned)
    robert = get(owned, "Robert")["id"]
    memory = owned.write("he likes oats")["id"]
    under = owned.value("select aspect_id from loci_data.attributes where namespace_id = %(ns_id)s")
    fact = Jsonb({"content": "likes oats", "memory_id": str(memory)})
    owned.rows("select * from loci_api.add_attribute(%(ns)s, %(id)s, %(a)s)", id=under, a=fact)
    remove(owned, "Robert")
    owned.forget(memory)
    returned(robert)
    (row,) = owned.rows("select attributes from loci.list_aspects(%(ns)s, 'Robert')")
    assert [fact["content"] for fact in row["attributes"]] == ["likes rye"]


def test_restoring_an_entity_that_was_never_removed_does_nothing(owned: World, returned: Any) -> None:
    furnish(owned)
    before = state(owned)
    assert returned(get(owned, "Robert")["id"]) == []
    assert state(owned) == before


@pytest.fixture
def sessions(own_database: Database) -> Iterator[tuple[World, World, psycopg.Connection[Any]]]:
    """A world with Robert in it, seen from two sessions of loci_app, and a session of the superuser."""
    connect = partial(psycopg.connect, own_database.app_url, row_factory=dict_row)
    with connect() as first, connect() as second, own_database.admin() as admin:
        world = new_world(first)
        entities(world, {"name": "Robert"})
        first.commit()
        act_as(first, OPERATOR)
        yield world, World(second, world.name, world.id), admin


def test_a_reader_removes_nothing(sessions: tuple[World, World, psycopg.Connection[Any]]) -> None:
    world, other, admin = sessions
    act_as(other.connection, grant(admin, world.name, "reader"))
    with pytest.raises(errors.InsufficientPrivilege):
        other.row("select * from loci_api.delete_entity(%(ns)s, %(id)s)", id=get(world, "Robert")["id"])


def test_a_writer_that_waited_for_the_removal_is_sent_back(sessions: tuple[World, World, psycopg.Connection[Any]]) -> None:
    world, other, admin = sessions
    robert = get(world, "Robert")["id"]
    act_as(other.connection, OPERATOR)
    remove(world, "Robert")
    waiting = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    with ThreadPoolExecutor() as pool:
        writing = pool.submit(observe, other, {"source": "Robert", "type": "x", "target": "Ann"})
        eventually(lambda: admin.execute(waiting).fetchall())
        world.connection.commit()
        with pytest.raises(errors.SerializationFailure, match="removed"):
            writing.result()
    other.connection.rollback()
    act_as(other.connection, OPERATOR)
    observe(other, {"source": "Robert", "type": "x", "target": "Ann"})
    assert get(other, "Robert")["id"] != robert


def test_a_removal_that_waited_while_the_entity_was_merged_begins_again_with_the_one_that_it_went_into(
    sessions: tuple[World, World, psycopg.Connection[Any]],
) -> None:
    world, other, admin = sessions
    (bob,) = entities(world, {"name": "Bob"})
    world.connection.commit()
    act_as(world.connection, OPERATOR)

    def remove_bob() -> Any:
        act_as(other.connection, OPERATOR)
        return other.row("select name from loci_api.delete_entity(%(ns)s, %(id)s)", id=bob)["name"]

    merge(world, "Robert", "Bob")
    with ThreadPoolExecutor(1) as pool:
        removing = blocked(pool, admin, other.connection, remove_bob)
        world.connection.commit()
        with pytest.raises(errors.SerializationFailure, match="was merged into another"):
            removing.result(PATIENCE)
    other.connection.rollback()
    assert remove_bob() == "Robert"
