"""Focal entities, the walk and its deadline, the constellation."""

from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg.types.json import Jsonb

from tests.factories import Row, World, day, stated

NOTHING = {"entities": [], "edges": [], "more": False, "history": None}
MANY = 3000  # constraints, attributes or edges of one entity: more than any page


def entity(world: World, name: str, **fields: Any) -> UUID:
    return world.row("select id from loci_api.upsert_entities(%(ns)s, %(e)s)", e=Jsonb([{"name": name, **fields}]))["id"]


def pin(world: World, id: UUID) -> None:
    world.rows("select * from loci_api.pin_entity(%(ns)s, %(id)s, true)", id=id)


def mentioned(world: World, name: str, times: int, **fields: Any) -> UUID:
    for n in range(times):
        world.write(f"{name} {n} {uuid4()}", entities=[{"name": name, **fields}])
    return world.value("select id from loci_data.entities where namespace_id = %(ns_id)s and name = %(name)s", name=name)


def aspect(world: World, of: str, name: str = "Rules", **fields: Any) -> UUID:
    return world.row("select * from loci_api.upsert_aspect(%(ns)s, %(of)s, %(a)s)", of=of, a=Jsonb({"name": name, **fields}))["id"]


def fact(world: World, under: UUID, content: str, **fields: Any) -> Row:
    return world.row(
        "select * from loci_api.add_attribute(%(ns)s, %(id)s, %(a)s)", id=under, a=Jsonb(stated({"content": content, **fields}))
    )


def rule(world: World, under: UUID, content: str, **fields: Any) -> Row:
    return fact(world, under, content, kind="constraint", **fields)


def change(world: World, attribute: Row, **changes: Any) -> Row:
    return world.row("select * from loci_api.update_attribute(%(ns)s, %(id)s, %(c)s)", id=attribute["id"], c=Jsonb(stated(changes)))


def edge(world: World, source: str, target: str, strength: float = 0.5, type: str = "knows", **fields: Any) -> Row:
    item = {"source": source, "target": target, "type": type, "strength": strength, **fields}
    return world.row("select * from loci_api.observe_edges(%(ns)s, %(e)s)", e=Jsonb([stated(item)]))


def settings(world: World, **changed: Any) -> None:
    world.rows("select * from loci_api.update_namespace(%(ns)s, %(c)s)", c=Jsonb({"settings": changed}))


def focal(
    world: World, query: str | None = None, path: str | None = None, ids: list[UUID] | None = None, key: str | None = None
) -> list[Row]:
    return world.rows(
        "select * from loci.focal_entities(%(ns)s, %(query)s, %(path)s, %(ids)s, %(key)s) order by ordinal",
        query=query,
        path=path,
        ids=ids,
        key=key,
    )


def names(rows: list[Row]) -> list[str]:
    return [row["name"] for row in rows]


def walk(world: World, query: str | None, as_of: datetime | None = None, known_at: datetime | None = None, **more: Any) -> Row:
    given = {"path": None, "ids": None, "key": None, **more}
    return world.row(
        "select * from loci.walk(%(ns)s, %(query)s, %(path)s, %(ids)s, %(key)s, %(as_of)s, %(known_at)s, true)",
        query=query,
        as_of=as_of,
        known_at=known_at,
        **given,
    )


def rules(found: Row) -> list[str]:
    return [item["content"] for item in found["constraints"]]


def facts(found: Row) -> list[str]:
    return [item["content"] for item in found["attributes"]]


# Focal entities


@pytest.mark.row("S3")
def test_a_checkpoint_comes_before_everything_else_in_its_order_and_without_what_is_unknown(world: World) -> None:
    a, b = entity(world, "Apple"), entity(world, "Berry")
    entity(world, "rockbot", type="project")
    rows = focal(world, "Berry", "/home/rockbot", [b, uuid4(), a, b])
    assert [(row["name"], row["source"]) for row in rows] == [("Berry", "checkpoint"), ("Apple", "checkpoint")]


def test_a_checkpoint_of_unknown_entities_leaves_it_to_the_path(world: World) -> None:
    entity(world, "rockbot", type="project")
    assert [(row["name"], row["source"]) for row in focal(world, "x", "/home/rockbot", [uuid4()])] == [("rockbot", "project")]


@pytest.mark.row("S3")
@pytest.mark.parametrize(
    "path", ["/home/al/rock-bot", "/home/al/Rock_Bot/src", "rock bot", "C:\\work\\rock.bot\\src\\", "/a/rock-bot/b/c/", "rock-bot"]
)
def test_a_path_names_the_project_in_its_last_segments_however_it_is_spelled(world: World, path: str) -> None:
    entity(world, "Rock Bot", type="project")
    entity(world, "home", type="tool")
    assert names(focal(world, path=path)) == ["Rock Bot"]


def test_only_the_last_three_segments_of_a_path_count(world: World) -> None:
    entity(world, "rockbot", type="project")
    assert focal(world, path="/rockbot/a/b/c") == []


def test_projects_whose_name_is_a_segment_come_before_those_that_contain_one_then_the_most_mentioned(world: World) -> None:
    mentioned(world, "rockbot tools", 1, type="project")
    mentioned(world, "old rockbot", 3, type="project")
    mentioned(world, "rockbot", 2, type="project")
    mentioned(world, "rockbot team", 9, type="topic")
    assert names(focal(world, path="/home/rockbot")) == ["rockbot", "old rockbot", "rockbot tools"]


@pytest.mark.row("S3")
def test_a_path_makes_at_most_five_projects_focal(world: World) -> None:
    for n in range(7):
        entity(world, f"rockbot {n}", type="project")
    assert len(focal(world, path="rockbot")) == 5
    settings(world, focal_projects=2)
    assert len(focal(world, path="rockbot")) == 2


def test_signs_of_patterns_are_plain_characters_of_a_path(world: World) -> None:
    entity(world, "rockbot", type="project")
    assert focal(world, path="/home/%%%/r_ckbot") == []


def test_a_query_makes_focal_what_it_names_by_name_or_alias_of_any_type_the_most_mentioned_first(world: World) -> None:
    mentioned(world, "Alice", 1, type="person")
    mentioned(world, "RockBot", 3, type="tool", aliases=["the bot"])
    rows = focal(world, "Did ALICE start the  bot?")
    assert [(row["name"], row["type"], row["source"]) for row in rows] == [
        ("RockBot", "tool", "query"),
        ("Alice", "person", "query"),
    ]


def test_a_query_that_names_nothing_whole_finds_names_that_begin_with_one_of_its_words(world: World) -> None:
    mentioned(world, "Alice Liddell", 1)
    mentioned(world, "Alice Springs", 2)
    entity(world, "Alicent")
    entity(world, "the Liddells")
    assert names(focal(world, "Where did the alice go?")) == ["Alice Springs", "Alice Liddell"]
    entity(world, "Alice")
    assert names(focal(world, "Where did the alice go?")) == ["Alice"]


@pytest.mark.row("S3")
def test_a_query_makes_at_most_twenty_entities_focal(world: World) -> None:
    for n in range(25):
        entity(world, f"thing{n}")
    text = " ".join(f"thing{n}" for n in range(25))
    assert len(focal(world, text)) == 20
    settings(world, focal_entities=3)
    assert len(focal(world, text)) == 3


@pytest.mark.row("S3")
def test_the_session_key_is_a_label_where_nothing_else_is_known(world: World) -> None:
    (row,) = focal(world, "nothing known", "/nowhere", key="s-1")
    assert (row["id"], row["name"], row["source"], row["pinned"]) == (None, "s-1", "session_key", False)
    assert focal(world, "nothing known") == []
    found = walk(world, "nothing known", key="s-1")
    assert (found["source"], found["entity_count"], found["constraints"]) == ("session_key", 0, [])


@pytest.mark.row("S2")
def test_pinned_entities_are_always_focal_and_marked(world: World) -> None:
    pin(world, entity(world, "First"))
    pin(world, entity(world, "Second"))
    entity(world, "Alice")
    rows = focal(world, "Alice and First")
    assert sorted((row["name"], row["pinned"], row["source"]) for row in rows) == [
        ("Alice", False, "query"), ("First", True, "query"), ("Second", True, "pinned")]  # fmt: skip
    rows = focal(world, "nobody", key="s")
    assert [(row["name"], row["source"]) for row in rows] == [("Second", "pinned"), ("First", "pinned"), ("s", "session_key")]
    assert walk(world, "Alice")["source"] == "query"
    assert walk(world, None)["source"] is None


@pytest.mark.row("S2")
def test_pinned_entities_are_listed_first_the_last_pinned_before_the_others(world: World) -> None:
    mentioned(world, "Often", 3)
    first, second = entity(world, "First"), entity(world, "Second")
    mentioned(world, "Seldom", 1)
    pin(world, first)
    pin(world, second)
    assert names(world.rows("select * from loci.list_entities(%(ns)s)")) == ["Second", "First", "Often", "Seldom"]


def test_a_merged_entity_is_focal_as_what_it_was_merged_into(world: World) -> None:
    kept, gone = entity(world, "rockbot one", type="project"), entity(world, "rockbot two", type="project")
    pin(world, gone)
    rule(world, aspect(world, "rockbot two"), "never")
    world.rows("select * from loci_api.merge_entities(%(ns)s, %(i)s, %(f)s)", f=str(gone), i=str(kept))
    assert [row["id"] for row in focal(world, ids=[gone, kept])] == [kept]
    assert [row["id"] for row in focal(world, path="/home/rockbot")] == [kept]
    assert [row["id"] for row in focal(world, "no name")] == [kept]
    assert rules(walk(world, None)) == ["never"]
    assert [star["id"] for star in constellation(world)["entities"]] == [str(kept)]


# What a walk collects


@pytest.mark.row("S4")
def test_a_walk_has_all_constraints_of_its_entities_most_important_first_whatever_the_weight_of_their_aspect(world: World) -> None:
    entity(world, "Alice")
    for n in range(15):
        heavy = aspect(world, "Alice", f"heavy {n}", weight=0.9)
        fact(world, heavy, f"fact {n}")
    light = aspect(world, "Alice", "light", weight=0)
    for n in range(100):
        rule(world, light, f"rule {n}", importance=n / 100)
    found = walk(world, "Alice")
    assert rules(found) == [f"rule {n}" for n in reversed(range(100))]
    assert (found["constraints"][0]["entity"], found["constraints"][0]["aspect"]) == ("Alice", "light")
    assert len(found["aspect_ids"]) == 10
    assert light not in found["aspect_ids"]
    assert found["timed_out"] is False


def test_the_aspects_of_a_walk_come_heaviest_first(world: World) -> None:
    for name in ("Alice", "Bob"):
        entity(world, name)
    made = [
        (weight, aspect(world, name, f"side {weight}", weight=weight)) for weight in (0.2, 0.9, 0.4) for name in ("Alice", "Bob")
    ]
    assert walk(world, "Alice and Bob")["aspect_ids"] == [made_id for _, made_id in sorted(made, reverse=True)]


def test_constraints_of_many_entities_are_one_list_by_importance_and_none_is_lost_between_pages(world: World) -> None:
    for name, share in (("Apple", 0), ("Berry", 0.001)):
        entity(world, name)
        under = aspect(world, name)
        fill(world, under, "constraint", 600, share)
    found = walk(world, "Apple and Berry")
    importances = [item["importance"] for item in found["constraints"]]
    assert len({item["id"] for item in found["constraints"]}) == len(importances) == 1200
    assert importances == sorted(importances, reverse=True)


@pytest.mark.row("S4")
def test_a_walk_takes_the_heaviest_aspects_and_their_most_important_attributes(world: World) -> None:
    entity(world, "Alice")
    settings(world, walk_aspects=2, walk_attributes=3)
    for n in range(4):
        under = aspect(world, "Alice", f"aspect {n}", weight=n / 10)
        for m in range(5):
            fact(world, under, f"{n}.{m}", importance=m / 10)
    found = walk(world, "Alice")
    assert facts(found) == ["3.4", "3.3", "3.2", "2.4", "2.3", "2.2"]


@pytest.mark.row("G13", "S4")
def test_the_bounds_of_a_walk_are_those_of_the_seed_by_default(world: World) -> None:
    entity(world, "Alice")
    for n in range(12):
        fill(world, aspect(world, "Alice", f"aspect {n}"), "attribute", 25)
    for n in range(40):
        edge(world, "Alice", f"friend {n}")
    found = walk(world, "Alice")
    assert (len(found["aspect_ids"]), len(found["attributes"]), found["entity_count"]) == (10, 200, 31)


def test_memories_behind_attributes_and_constraints_come_best_first_and_once(world: World) -> None:
    a, b, c = (world.write(text)["id"] for text in ("a", "b", "c"))
    entity(world, "Alice")
    work = aspect(world, "Alice", "Work", weight=0.5)
    fact(world, work, "x", memory_id=a, importance=0.2)
    fact(world, work, "y", memory_id=b, importance=0.8)
    fact(world, work, "z", memory_id=a, importance=0.3)
    rule(world, work, "never", memory_id=c, importance=0.5)
    assert walk(world, "Alice")["memory_ids"] == [c, b, a]


def test_a_rule_holds_as_long_as_the_memory_that_it_rests_on(world: World) -> None:
    past = world.write("no longer true", valid_from=day(0), valid_to=day(1))["id"]
    entity(world, "Alice")
    rule(world, aspect(world, "Alice"), "never", memory_id=past)
    assert rules(walk(world, "Alice")) == []
    found = walk(world, "Alice", as_of=day(0.5))
    assert (found["memory_ids"], rules(found)) == ([past], ["never"])


def test_facts_of_an_erased_memory_do_not_surface(world: World) -> None:
    world.write("keeps her", entities=[{"name": "Alice"}])
    gone = world.write("gone")["id"]
    under = aspect(world, "Alice")
    rule(world, under, "secret", memory_id=gone)
    fact(world, under, "secret", memory_id=gone)
    world.erase(gone)
    found = walk(world, "Alice")
    assert (rules(found), facts(found)) == ([], [])


# One hop


@pytest.mark.row("S4")
def test_a_walk_goes_one_hop_out_over_strong_living_edges_and_collects_the_same_there(world: World) -> None:
    edge(world, "Alice", "RockBot", 0.9)
    edge(world, "RockBot", "RabbitMQ", 0.9)
    edge(world, "Bob", "Alice", 0.9)
    edge(world, "Alice", "Weak", 0.29)
    edge(world, "Alice", "Edge of it", 0.3)
    edge(world, "Alice", "Faded", 0.9, observed_at=day(0))
    edge(world, "Alice", "Ended", 0.9, valid_from=day(0), valid_to=day(1))
    world.rows("select * from loci_api.delete_edge(%(ns)s, %(id)s)", id=edge(world, "Alice", "Deleted", 0.9)["id"])
    for name in ("RockBot", "RabbitMQ", "Bob", "Weak", "Edge of it", "Faded", "Ended", "Deleted"):
        under = aspect(world, name)
        rule(world, under, f"rule of {name}")
        fact(world, under, f"fact of {name}")
    found = walk(world, "Alice")
    assert sorted(rules(found)) == ["rule of Edge of it", "rule of RockBot"]
    assert facts(found) == ["fact of RockBot", "fact of Edge of it"]
    assert found["entity_count"] == 3


def test_the_strongest_edges_of_all_focal_entities_together_are_followed(world: World) -> None:
    settings(world, walk_edges=3)
    for n in range(4):
        edge(world, "Apple", f"a{n}", 0.9 - n / 10)
        edge(world, "Berry", f"b{n}", 0.85 - n / 10)
    for name in ("a0", "a1", "a2", "b0", "b1"):
        rule(world, aspect(world, name), name)
    assert sorted(rules(walk(world, "Apple Berry"))) == ["a0", "a1", "b0"]


@pytest.mark.row("S4")
def test_each_entity_is_visited_once_in_a_circle_and_by_two_edges(world: World) -> None:
    edge(world, "Alice", "Bob", type="knows")
    edge(world, "Alice", "Bob", type="likes")
    edge(world, "Bob", "Alice")
    edge(world, "Alice", "Alice")
    rule(world, aspect(world, "Alice"), "a")
    rule(world, aspect(world, "Bob"), "b")
    found = walk(world, "Alice and Bob")
    assert (sorted(rules(found)), found["entity_count"]) == (["a", "b"], 2)
    assert sorted(rules(walk(world, "Alice"))) == ["a", "b"]


# Two times


def test_a_walk_as_of_a_moment_has_what_held_then_over_edges_that_held_then(world: World) -> None:
    edge(world, "Alice", "Bob", 0.9, valid_from=day(10), valid_to=day(20), observed_at=day(10))
    rule(world, aspect(world, "Bob"), "of Bob", valid_from=day(0))
    under = aspect(world, "Alice")
    old = rule(world, under, "old", valid_from=day(0))
    change(world, old, content="new", valid_from=day(15))
    fact(world, under, "on holiday", valid_from=day(12), valid_to=day(13))
    assert sorted(rules(walk(world, "Alice", day(12)))) == ["of Bob", "old"]
    assert facts(walk(world, "Alice", day(12))) == ["on holiday"]
    assert sorted(rules(walk(world, "Alice", day(16)))) == ["new", "of Bob"]
    assert rules(walk(world, "Alice")) == ["new"]


def test_a_walk_as_known_at_a_moment_has_what_was_believed_then(world: World) -> None:
    entity(world, "Alice")
    under = aspect(world, "Alice")
    old = rule(world, under, "old", valid_from=day(0), importance=0.2)
    then = world.now()
    change(world, old, importance=0.9)
    change(world, old, status="deleted")
    rule(world, under, "new", valid_from=day(0))
    edge(world, "Alice", "Bob", 0.9)
    rule(world, aspect(world, "Bob"), "of Bob")
    found = walk(world, "Alice", known_at=then)
    assert [(item["content"], item["importance"]) for item in found["constraints"]] == [("old", 0.2)]
    assert found["entity_count"] == 1
    assert sorted(rules(walk(world, "Alice"))) == ["new", "of Bob"]


def test_a_deleted_or_superseded_fact_does_not_hide_what_holds(world: World) -> None:
    entity(world, "Alice")
    under = aspect(world, "Alice")
    for kind in ("attribute", "constraint"):
        kept = fact(world, under, f"kept {kind}", kind=kind, importance=0.1)
        for n in range(60):
            change(world, fact(world, under, f"{kind} {n}", kind=kind, importance=0.9), status=("deleted", "superseded")[n % 2])
        assert kept["status"] == "active"
    found = walk(world, "Alice")
    assert (rules(found), facts(found)) == (["kept constraint"], ["kept attribute"])


@pytest.mark.parametrize("moment", ["infinity", "-infinity"])
def test_a_walk_at_no_moment_is_refused(world: World, moment: str) -> None:
    with pytest.raises(Exception, match="finite"):
        world.rows("select * from loci.walk(%(ns)s, 'x', p_as_of => %(m)s::timestamptz)", m=moment)


# The deadline


def fill(world: World, under: UUID, kind: str, count: int, share: float = 0, status: str = "active") -> None:
    """Attributes past the service, as many as it takes."""
    as_owner(
        world,
        """insert into loci_data.attributes (namespace_id, id, aspect_id, entity_id, kind, content, importance, status, valid_from)
           select %(ns_id)s, gen_random_uuid(), a.id, a.entity_id, %(kind)s, 'number ' || n, least(1, n %% 100 / 100.0 + %(share)s), %(status)s, now() - interval '1 day'
           from loci_data.aspects a cross join generate_series(1, %(count)s) n where a.namespace_id = %(ns_id)s and a.id = %(under)s""",
        under=under,
        kind=kind,
        count=count,
        share=share,
        status=status,
    )


def as_owner(world: World, statement: Any, **parameters: Any) -> None:
    world.connection.execute("reset session authorization")
    world.connection.execute(statement, {"ns_id": world.id, **parameters})
    world.connection.execute("set session authorization loci_app")


@pytest.fixture
def world(owned: World) -> World:
    """A world that can be written past the service."""
    return owned


@pytest.mark.row("S4")
def test_past_its_deadline_a_walk_gives_what_it_has_most_important_first_and_says_so(world: World) -> None:
    entity(world, "Alice")
    fill(world, aspect(world, "Alice"), "constraint", MANY)
    settings(world, walk_ms=0)
    found = walk(world, "Alice")
    assert found["timed_out"] is True
    assert 0 < len(found["constraints"]) < MANY
    assert min(item["importance"] for item in found["constraints"]) >= 0.98
    settings(world, walk_ms=60_000)
    found = walk(world, "Alice")
    assert (found["timed_out"], len(found["constraints"])) == (False, MANY)


def rows_read(world: World, table: str) -> int:
    """Rows of a table that index scans of this transaction have fetched. What runs next is planned anew, as in a new session."""
    world.connection.execute("discard plans")
    return world.value(
        "select sum(pg_stat_get_xact_tuples_fetched(i.indexrelid))::integer from pg_index i where i.indrelid = %(t)s::regclass",
        t=f"loci_data.{table}",
    )


@pytest.mark.parametrize("kind", ["constraint", "attribute"])
def test_rows_that_no_longer_hold_are_not_read_to_the_end_past_the_deadline(world: World, kind: str) -> None:
    entity(world, "Alice")
    fill(world, aspect(world, "Alice"), kind, MANY, status="deleted")
    as_owner(world, "analyze loci_data.attributes")
    settings(world, walk_ms=0)
    before = rows_read(world, "attributes")
    found = walk(world, "Alice")
    assert (found["timed_out"], found["constraints"], found["attributes"]) == (True, [], [])
    assert 0 < rows_read(world, "attributes") - before < 100


def test_a_hub_of_faded_edges_is_not_read_to_its_end_past_the_deadline(world: World) -> None:
    faded = [{"source": "Hub", "type": "t", "target": f"n{n}", "strength": 0.9, "observed_at": day(0)} for n in range(500)]
    world.rows("select * from loci_api.observe_edges(%(ns)s, %(e)s)", e=Jsonb([stated(item) for item in faded]))
    edge(world, "Hub", "Alive", 0.4)
    rule(world, aspect(world, "Alive"), "of the living")
    assert rules(walk(world, "Hub")) == ["of the living"]
    as_owner(world, "analyze loci_data.edges")
    settings(world, walk_ms=0)
    before = rows_read(world, "edges")
    found = walk(world, "Hub")
    assert (found["timed_out"], found["entity_count"]) == (True, 1)
    assert 0 < rows_read(world, "edges") - before < 100


def test_pinned_entities_without_number_are_left_at_the_deadline(world: World) -> None:
    as_owner(
        world,
        """insert into loci_data.entities (namespace_id, id, name, canonical_name, pinned, pinned_at, first_seen_at, created_at, updated_at)
           select %(ns_id)s, gen_random_uuid(), 'Pin ' || n, 'pin ' || n, true, now(), now(), now(), now() from generate_series(1, 200) n""",
    )
    rule(world, aspect(world, "Pin 7"), "of seven")
    assert rules(walk(world, "Pin 7")) == ["of seven"]
    settings(world, walk_ms=0)
    found = walk(world, "Pin 7")
    assert (found["timed_out"], rules(found)) == (True, ["of seven"])
    assert (found["focal"][0]["name"], len(found["focal"])) == ("Pin 7", 200)


# Attributes know their entity


def test_an_attribute_follows_its_aspect_to_another_entity(world: World) -> None:
    entity(world, "Alice")
    bob = entity(world, "Bob")
    under = aspect(world, "Alice")
    rule(world, under, "never")
    as_owner(
        world, "update loci_data.aspects set entity_id = %(bob)s where namespace_id = %(ns_id)s and id = %(a)s", bob=bob, a=under
    )
    assert (rules(walk(world, "Alice")), rules(walk(world, "Bob"))) == ([], ["never"])
    other = aspect(world, "Alice", "Other")
    as_owner(world, "update loci_data.attributes set aspect_id = %(o)s where namespace_id = %(ns_id)s", o=other)
    assert (rules(walk(world, "Alice")), rules(walk(world, "Bob"))) == (["never"], [])


# The constellation


def constellation(world: World, **more: Any) -> Row:
    given = {"limit": None, "as_of": None, "known_at": None, **more}
    return world.row("select * from loci.constellation(%(ns)s, %(limit)s, %(as_of)s, %(known_at)s)", **given)


@pytest.mark.row("X7")
def test_the_constellation_holds_what_is_mentioned_pinned_or_has_an_aspect_pinned_first_then_by_mentions(world: World) -> None:
    entity(world, "Unseen")
    mentioned(world, "Often", 3)
    mentioned(world, "Once", 1)
    pin(world, entity(world, "First"))
    pin(world, entity(world, "Second"))
    entity(world, "Aspected")
    aspect(world, "Aspected")
    found = constellation(world)
    assert names(found["entities"]) == ["Second", "First", "Often", "Once", "Aspected"]
    assert found["more"] is False
    found = constellation(world, limit=3)
    assert (names(found["entities"]), found["more"]) == (["Second", "First", "Often"], True)


def test_the_constellation_shows_aspects_with_what_holds_and_living_edges_between_its_entities(world: World) -> None:
    for name in ("Alice", "Bob", "Carol"):
        mentioned(world, name, 1)
    under = aspect(world, "Alice", "Diet", weight=0.7)
    fact(world, under, "likes tea", importance=0.2)
    rule(world, under, "no peanuts", importance=0.9)
    change(world, fact(world, under, "gone"), status="deleted")
    edge(world, "Alice", "Bob", 0.1)
    edge(world, "Bob", "Carol", observed_at=day(0))
    edge(world, "Alice", "Nobody")
    found = constellation(world)
    alice = next(star for star in found["entities"] if star["name"] == "Alice")
    (diet,) = alice["aspects"]
    assert (diet["name"], diet["weight"]) == ("Diet", 0.7)
    assert [(item["kind"], item["content"]) for item in diet["attributes"]] == [
        ("constraint", "no peanuts"),
        ("attribute", "likes tea"),
    ]
    by_id = {star["id"]: star["name"] for star in found["entities"]}
    assert [(by_id[line["source_id"]], by_id[line["target_id"]], line["strength"]) for line in found["edges"]] == [
        ("Alice", "Bob", 0.1),
        ("Alice", "Nobody", 0.5),
    ]


@pytest.mark.row("X7")
def test_the_constellation_of_a_moment_has_what_held_and_was_known_then(world: World) -> None:
    mentioned(world, "Alice", 1)
    before = world.now()
    mentioned(world, "Bob", 1)
    edge(world, "Alice", "Bob")
    rule(world, aspect(world, "Alice"), "never")
    then = constellation(world, known_at=before)
    assert (names(then["entities"]), then["edges"], then["entities"][0]["aspects"]) == (["Alice"], [], [])
    assert constellation(world, as_of=day(0))["entities"] == []


@pytest.mark.row("X7")
def test_a_graph_that_is_made_of_edges_is_a_constellation(world: World) -> None:
    edge(world, "Pia", "Bob")
    before = world.now()
    world.rows("select * from loci_api.upsert_entities(%(ns)s, %(e)s)", e=Jsonb([{"name": "Alone"}]))
    found = constellation(world)
    assert ({star["name"] for star in found["entities"]}, len(found["edges"])) == ({"Pia", "Bob"}, 1)
    assert constellation(world, as_of=day(4)) == constellation(world, known_at=day(4)) == NOTHING
    world.rows("select * from loci_api.delete_edge(%(ns)s, %(id)s::uuid)", id=found["edges"][0]["id"])
    assert constellation(world)["entities"] == []
    assert len(constellation(world, known_at=before)["entities"]) == 2


def test_an_empty_constellation_is_empty(world: World) -> None:
    assert constellation(world) == NOTHING


@pytest.mark.parametrize("limit", [0, -1, 10_001])
def test_a_constellation_of_a_wrong_size_is_refused(world: World, limit: int) -> None:
    with pytest.raises(Exception, match="limit must be"):
        constellation(world, limit=limit)
