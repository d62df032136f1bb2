"""A context begins with what is known of the one who asks: of the user that is named, else of the agent's own party."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from psycopg.errors import InsufficientPrivilege

from tests.factories import OPERATOR, Row, World, act_as, day, grant
from tests.sql.test_facts_walk import settings
from tests.sql.test_sessions_context import begin, contents, end, note


@pytest.fixture
def world(owned: World) -> World:
    """A world that can be written past the service."""
    return owned


def parts(world: World, user: str | None = None, **fields: Any) -> Row:
    given = {
        "s": None,
        "space": None,
        "documents": [],
        "sections": None,
        "as_of": None,
        "known_at": None,
        "repeat": False,
        **fields,
    }
    return world.row(
        """select * from loci.context_parts(%(ns)s, null, %(s)s, %(space)s, %(documents)s::bigint[], %(sections)s::text[],
           %(as_of)s, %(known_at)s, %(repeat)s, p_user => %(user)s)""",
        user=user,
        **given,
    )


def profile(world: World, user: str | None = None, **fields: Any) -> list[str]:
    return [memory["content"] for memory in parts(world, user, **fields)["profile"] or []]


def agent(world: World) -> UUID:
    world.connection.execute("reset session authorization")
    made = grant(world.connection, world.name, "writer")
    world.connection.execute("set session authorization loci_app")
    return made


# Whose profile


def test_each_of_two_users_of_an_agent_gets_her_own(world: World) -> None:
    world.write("I live in Oslo", source="Rosa")
    world.write("I live in Rome", source="Ann")
    world.write("Lives on the third floor", about="Ann")
    world.write("The office is in Kiel")
    assert profile(world, "rosa") == ["I live in Oslo"]
    assert profile(world, "Ann") == ["Lives on the third floor", "I live in Rome"]
    assert profile(world, "Bob") == []


@pytest.mark.row("W4")
def test_without_a_user_each_agent_gets_what_it_heard_itself(world: World) -> None:
    world.write("I live in Oslo")
    world.write("The user likes tea", source="user")
    act_as(world.connection, agent(world))
    world.write("My dog is called Bo")
    assert profile(world) == ["My dog is called Bo"]
    act_as(world.connection, OPERATOR)
    assert profile(world) == profile(world, "user") == ["The user likes tea", "I live in Oslo"]


def test_a_key_that_is_bound_to_a_user_gets_hers_and_no_other(world: World) -> None:
    world.write("I live in Oslo", source="Rosa")
    world.write("I live in Rome", source="Ann")
    world.connection.execute("select set_config('loci.user', 'Rosa', true)")
    assert profile(world) == profile(world, "ROSA") == ["I live in Oslo"]
    for sections in (None, ["turns"]):
        with pytest.raises(InsufficientPrivilege) as raised, world.connection.transaction():
            parts(world, "Ann", sections=sections)
        assert raised.value.diag.column_name == "user"


def test_a_user_has_what_is_about_any_of_her_names(world: World) -> None:
    world.rows("""select * from loci_api.upsert_entities(%(ns)s, '[{"name": "Rosa Moreno", "aliases": ["Rosie"]}]')""")
    world.write("Rosie plays chess", entities=[{"name": "Rosa Moreno"}])
    world.write("Rosie, the bus is late", entities=[{"name": "Rosa Moreno"}])
    world.write("Bob met Rosie", entities=[{"name": "Rosa Moreno"}])
    world.write("Lives in Braga", about="Rosa Moreno")
    world.write("I am left-handed", source="rosie")
    expected = ["I am left-handed", "Lives in Braga", "Rosie plays chess"]
    assert profile(world, "Rosie") == profile(world, "rosa  moreno") == expected


NAMES = [
    "ROSA",
    " rosa  m\t",
    "O\u2019Brien",
    "\u0130pek",
    "Jo\u0308rg",
    "Jean\u2013Luc",
    "\u039f\u03b4\u03c5\u03c3\u03c3\u03b5\u03cd\u03c2",
    "羅莎",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_the_same_however_it_is_spelled(world: World, name: str) -> None:
    world.write("I live in Oslo", source=name)
    world.write("Lives in Braga", about=name)
    spelled = world.value("select loci.canonical_name(%(name)s)", name=name)
    assert profile(world, spelled) == profile(world, name) == ["Lives in Braga", "I live in Oslo"]


# What is in it


def test_it_holds_facts_and_neither_episodes_nor_files_nor_what_an_assistant_said(world: World) -> None:
    world.write("I went to Oslo", source="Rosa", layer=3)
    world.write("Rosa likes tea, I think", source="assistant", about="Rosa")
    world.write("I keep my notes here", source="Rosa", lineage="/memories/me.md", metadata={"path": "/memories/me.md"})
    world.write("My city", source="Rosa", layer=1)
    world.write("We sail", source="Rosa")
    assert profile(world, "Rosa") == ["We sail", "My city"]


def test_the_most_important_come_first_then_the_most_confirmed_then_the_newest(world: World) -> None:
    for text in ("I sail", "I ski", "I sing"):
        world.write(text, source="Rosa")
    world.write("I have a nut allergy", source="Rosa", importance=0.9)
    world.write("I sail", source="Rosa")
    assert profile(world, "Rosa") == ["I have a nut allergy", "I sail", "I sing", "I ski"]


def test_how_many_it_holds_is_a_setting(world: World) -> None:
    for number in range(12):
        world.write(f"I own boat {number}", source="Rosa")
    assert len(profile(world, "Rosa")) == 10
    settings(world, context_profile=2)
    assert profile(world, "Rosa") == ["I own boat 11", "I own boat 10"]
    settings(world, context_profile=0)
    assert parts(world, "Rosa")["profile"] is None


def test_it_is_what_held_and_was_believed_at_the_moment_that_is_asked_for(world: World) -> None:
    world.write("I live in Oslo", source="Rosa", lineage="city", valid_from=day(0))
    world.write("I live in Rome", source="Rosa", lineage="city", valid_from=day(10))
    world.write("I will move", source="Rosa", valid_from=world.now() + timedelta(days=1))
    before = world.now()
    gone = world.write("I smoke", source="Rosa")
    assert profile(world, "Rosa") == ["I smoke", "I live in Rome"]
    world.forget(gone["id"])
    assert profile(world, "Rosa") == ["I live in Rome"]
    assert profile(world, "Rosa", as_of=day(5)) == ["I live in Oslo"]
    assert profile(world, "Rosa", known_at=gone["recorded_at"]) == ["I smoke", "I live in Rome"]
    assert profile(world, "Rosa", known_at=before) == ["I live in Rome"]


# Beside the other sections


def test_memories_of_the_profile_are_not_repeated(world: World) -> None:
    mine, other = world.write("I live in Oslo", source="Rosa"), world.write("Oslo is cold")
    found = parts(world, "Rosa", s="s", documents=[mine["cursor"], other["cursor"]])
    assert ([memory["content"] for memory in found["profile"]], contents(found)) == (["I live in Oslo"], ["Oslo is cold"])
    fallback = parts(world, "Rosa", s="s")
    assert (fallback["fallback"], contents(fallback)) == (True, ["Oslo is cold"])
    assert contents(parts(world, "Rosa", documents=[mine["cursor"]], sections=["memories"])) == ["I live in Oslo"]


def test_a_session_is_shown_each_of_it_once_until_it_ends(world: World) -> None:
    mine = world.write("I live in Oslo", source="Rosa")
    begin(world)
    note(world, "s", mine["id"])
    found = parts(world, "Rosa", s="s", documents=[mine["cursor"]])
    assert (found["profile"], contents(found), found["held_back"]) == ([], [], 1)
    again = parts(world, "Rosa", s="s", repeat=True)
    assert ([memory["content"] for memory in again["profile"]], again["held_back"]) == (["I live in Oslo"], 0)
    assert profile(world, "Rosa", s="other") == ["I live in Oslo"]
    end(world)
    assert profile(world, "Rosa", s="s") == ["I live in Oslo"]


@pytest.mark.parametrize("space", ["patrol/heartbeat", "subagent/t1"])
def test_patrols_and_subagents_get_none(world: World, space: str) -> None:
    mine = world.write("I live in Oslo", source="Rosa")
    found = parts(world, "Rosa", space=space, documents=[mine["cursor"]])
    assert (found["profile"], contents(found)) == (None, ["I live in Oslo"])


def test_it_comes_only_where_it_is_asked_for(world: World) -> None:
    world.write("I live in Oslo", source="Rosa")
    assert profile(world, "Rosa", sections=["profile"]) == ["I live in Oslo"]
    assert parts(world, "Rosa", sections=["memories"])["profile"] is None
