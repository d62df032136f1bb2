"""What a context is made of: what a session has seen, first contexts, inventories of working memory, turns."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg.errors import InsufficientPrivilege, InvalidParameterValue
from psycopg.types.json import Jsonb

from tests.factories import Row, World, act_as, day, grant
from tests.sql.test_facts_walk import as_owner, edge, settings

FIRST = 5  # setting context_first


@pytest.fixture
def world(owned: World) -> World:
    """A world that can be written past the service."""
    return owned


def begin(world: World, session: str = "s") -> int:
    return world.value("select loci_api.begin_context(%(ns)s, %(s)s)", s=session)


def note(world: World, session: str, *ids: UUID) -> list[UUID]:
    rows = world.rows("select memory_id from loci_api.record_context(%(ns)s, %(s)s, %(ids)s)", s=session, ids=list(ids))
    return [row["memory_id"] for row in rows]


def end(world: World, session: str = "s") -> Row:
    return world.row("select * from loci_api.end_session(%(ns)s, %(s)s)", s=session)


def parts(world: World, session: str | None = "s", documents: list[int] | None = None, **fields: Any) -> Row:
    given = {"message": None, "space": None, "sections": None, "as_of": None, "known_at": None, **fields}
    return world.row(
        """select * from loci.context_parts(%(ns)s, %(message)s, %(s)s, %(space)s, %(documents)s::bigint[], %(sections)s::text[],
           %(as_of)s, %(known_at)s)""",
        s=session,
        documents=documents or [],
        **given,
    )


def contents(found: Row) -> list[str]:
    return [memory["content"] for memory in found["memories"]]


def save(world: World, key: str, **fields: Any) -> None:
    given = {"ttl": None, "category": None, "tags": None, **fields}
    world.rows(
        "select * from loci_api.save_working_memory(%(ns)s, %(key)s, '1', %(ttl)s, %(category)s, %(tags)s)", key=key, **given
    )


def keys(rows: list[Row] | None) -> list[str] | None:
    return None if rows is None else [row["key"] for row in rows]


# What a session has seen


def test_contexts_of_a_session_are_counted_until_it_ends(world: World) -> None:
    assert [begin(world), begin(world), begin(world, "other")] == [1, 2, 1]
    end(world)
    assert [begin(world), begin(world)] == [1, 2]


def test_an_end_without_anything_injected_begins_the_session_anew_as_well(world: World) -> None:
    begin(world)
    end(world)
    begin(world)
    assert not end(world)["ended"]
    assert begin(world) == 1


@pytest.mark.parametrize("session", [None, "", "x" * 256])
def test_a_session_without_a_name_is_refused(world: World, session: str | None) -> None:
    with pytest.raises(InvalidParameterValue) as raised:
        begin(world, session)  # type: ignore[arg-type]
    assert raised.value.diag.column_name == "session_id"


def test_a_noted_memory_is_new_to_the_session_once(world: World) -> None:
    a, b = (world.write(text)["id"] for text in "ab")
    assert note(world, "s", a) == [a]
    assert note(world, "s", b, a) == [b]
    assert sorted(note(world, "other", a, b)) == sorted([a, b])


def test_a_memory_deleted_by_then_is_left_out(world: World) -> None:
    a, b = (world.write(text)["id"] for text in "ab")
    world.erase(a)
    assert note(world, "s", a, uuid4(), b) == [b]


def test_a_reader_begins_and_notes_nothing(world: World) -> None:
    world.connection.execute("reset session authorization")
    reader = grant(world.connection, world.name, "reader")
    world.connection.execute("set session authorization loci_app")
    act_as(world.connection, reader)
    assert parts(world, None)["first"]
    for call in (lambda: begin(world), lambda: note(world, "s")):
        with pytest.raises(InsufficientPrivilege), world.connection.transaction():
            call()


def test_memories_shown_before_are_held_back_in_the_order_of_the_ranking(world: World) -> None:
    rows = [world.write(text) for text in "abcd"]
    documents = [row["cursor"] for row in reversed(rows)]
    begin(world)
    assert contents(parts(world, documents=documents)) == ["d", "c", "b", "a"]
    note(world, "s", rows[1]["id"], rows[3]["id"])
    found = parts(world, documents=documents)
    assert (contents(found), found["held_back"]) == (["c", "a"], 2)
    assert parts(world, "other", documents)["held_back"] == 0
    assert parts(world, None, documents)["held_back"] == 0
    end(world)
    assert parts(world, documents=documents)["held_back"] == 0


def test_a_new_version_is_new_to_the_session(world: World) -> None:
    old = world.write("lives in Oslo", lineage="city")
    note(world, "s", old["id"])
    new = world.write("lives in Rome", lineage="city")
    assert contents(parts(world, documents=[new["cursor"]])) == ["lives in Rome"]


# The first context


def test_the_first_context_falls_back_to_the_most_important_and_newest(world: World) -> None:
    for n in range(FIRST):
        world.write(f"plain {n}")
    world.write("vital", importance=0.9)
    world.write("trifle", importance=0.1)
    begin(world)
    found = parts(world)
    assert (found["first"], found["fallback"]) == (True, True)
    assert contents(found) == ["vital", "plain 4", "plain 3", "plain 2", "plain 1"]
    begin(world)
    found = parts(world)
    assert (found["first"], found["fallback"], contents(found)) == (False, False, [])


def test_a_first_context_that_found_something_does_not_fall_back(world: World) -> None:
    world.write("vital", importance=0.9)
    found = parts(world, documents=[world.write("found")["cursor"]])
    assert (found["first"], found["fallback"], contents(found)) == (True, False, ["found"])


def test_a_fallback_holds_back_what_the_session_was_shown(world: World) -> None:
    note(world, "s", world.write("seen")["id"])
    world.write("unseen")
    found = parts(world)
    assert (contents(found), found["held_back"]) == (["unseen"], 1)


def test_a_fallback_shows_what_is_visible_and_nothing_else(world: World) -> None:
    world.write("old", lineage="x", importance=1.0)
    world.write("new", lineage="x", importance=0.5)
    world.write("past", valid_from=day(0), valid_to=day(1), importance=1.0)
    world.write("future", valid_from=world.now() + timedelta(days=1), importance=1.0)
    world.write("until", valid_to=world.now() + timedelta(days=1), importance=0.6)
    world.forget(world.write("forgotten", importance=1.0)["id"])
    assert contents(parts(world)) == ["until", "new"]
    assert contents(parts(world, as_of=day(0.5))) == ["past"]
    assert contents(parts(world, known_at=day(0))) == []


def test_how_many_a_fallback_shows_is_a_setting(world: World) -> None:
    for n in range(3):
        world.write(f"plain {n}")
    settings(world, context_first=2)
    assert contents(parts(world)) == ["plain 2", "plain 1"]
    settings(world, context_first=0)
    assert contents(parts(world)) == []


# The graph


def test_a_message_brings_the_edges_around_what_it_names(world: World) -> None:
    edge(world, "Alice", "RockBot", type="works_on", confidence=0.9)
    found = parts(world, message="How is Alice?")["graph"]
    assert [entity["name"] for entity in found["entities"]] == ["Alice"]
    assert found["rendered"] == "Related knowledge graph connections:\n- Alice --works_on--> RockBot (confidence=0.90)"
    assert parts(world)["graph"] is None


# Working memory


def shelve(world: World) -> None:
    for key in ("session/s/draft", "session/sx/no", "patrol/heartbeat/alerts", "patrol/heartbeat/briefing", "patrol/news/today"):
        save(world, key)
    for key in (
        "subagent/t1/paper-index",
        "subagent/t1/paper-1",
        "subagent/t2/index",
        "subagent/t2/a/b-index",
        "agent/x/own",
        "plan",
    ):
        save(world, key)


SPACES = [
    (None, "s", "session/s", ["agent/operator/plan", "session/s/draft"], True),
    ("session/sx", "s", "session/sx", ["session/sx/no", "session/s/draft"], True),
    ("agent/x", "s", "agent/x", ["agent/x/own", "session/s/draft"], True),
    ("agent/x", None, "agent/x", ["agent/x/own"], True),
    ("session/s", "s", "session/s", ["session/s/draft"], True),
    ("patrol/heartbeat", "s", "patrol/heartbeat", ["patrol/heartbeat/briefing", "patrol/heartbeat/alerts"], False),
    ("subagent/t1", "s", "subagent/t1", ["subagent/t1/paper-1", "subagent/t1/paper-index"], False),
    (None, None, "agent/operator", ["agent/operator/plan"], True),
    (None, "a/b", "agent/operator", ["agent/operator/plan"], True),
]


@pytest.mark.parametrize(("space", "session", "own", "held", "others"), SPACES)
def test_an_inventory_has_the_space_the_session_and_where_plain_keys_go_but_of_a_patrol_its_own_alone(
    world: World, space: str | None, session: str | None, own: str, held: list[str], others: bool
) -> None:
    shelve(world)
    found = parts(world, session, space=space)
    assert (found["space"], keys(found["working_memory"])) == (own, held)
    assert keys(found["patrol"]) == (
        ["patrol/news/today", "patrol/heartbeat/briefing", "patrol/heartbeat/alerts"] if others else None
    )
    assert keys(found["subagents"]) == (["subagent/t2/a/b-index", "subagent/t1/paper-index"] if others else None)


def test_an_entry_shows_all_but_its_value(world: World) -> None:
    save(world, "session/s/inbox", ttl=60, category="email", tags=["a", "b"])
    [entry] = parts(world)["working_memory"]
    assert 0 < entry.pop("expires_in") <= 60
    assert {key: entry[key] for key in ("key", "space", "category", "tags")} == {
        "key": "session/s/inbox",
        "space": "session/s",
        "category": "email",
        "tags": ["a", "b"],
    }
    assert set(entry) == {"key", "space", "category", "tags", "stored_at", "expires_at"}


def test_an_expired_entry_is_not_seen(world: World) -> None:
    shelve(world)
    as_owner(world, "update loci_data.working_memory set expires_at = clock_timestamp() where namespace_id = %(ns_id)s")
    found = parts(world)
    assert [found[name] for name in ("working_memory", "patrol", "subagents")] == [[], [], []]


def test_an_inventory_shows_the_newest_and_one_more_than_its_setting(world: World) -> None:
    for n in range(5):
        save(world, f"patrol/p/{n}")
    settings(world, context_keys=2)
    assert keys(parts(world)["patrol"]) == ["patrol/p/4", "patrol/p/3", "patrol/p/2"]


@pytest.mark.parametrize("space", ["", "x", "a/b/c", "/a", "a/", "a/" + "b" * 600])
def test_a_space_has_two_segments(world: World, space: str) -> None:
    with pytest.raises(InvalidParameterValue) as raised:
        parts(world, space=space)
    assert raised.value.diag.column_name == "space"


# Turns and sections


def test_the_last_turns_of_the_session_come_oldest_first(world: World) -> None:
    turns = [{"role": "user", "content": f"turn {n}"} for n in range(5)]
    world.rows("select * from loci_api.add_turns(%(ns)s, 's', %(t)s)", t=Jsonb(turns))
    settings(world, replayed_turns=3)
    assert [turn["content"] for turn in parts(world)["turns"]] == ["turn 2", "turn 3", "turn 4"]
    assert parts(world, "other")["turns"] is None
    assert parts(world, None)["turns"] is None


@pytest.mark.parametrize("section", ["memories", "graph", "working_memory", "patrol", "subagents", "turns"])
def test_only_the_sections_asked_for_are_gathered(world: World, section: str) -> None:
    edge(world, "Alice", "Bob")
    world.write("Alice")
    shelve(world)
    world.rows('select * from loci_api.add_turns(%(ns)s, \'s\', \'[{"role": "user", "content": "x"}]\')')
    found = parts(world, message="Alice", sections=[section])
    listed = {name for name in ("memories", "graph", "working_memory", "patrol", "subagents", "turns") if found[name]}
    assert listed == {section}
