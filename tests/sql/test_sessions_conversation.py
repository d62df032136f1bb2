"""Conversations: turns in order, replay, search, and the log that passes consume."""

from datetime import UTC, datetime
from typing import Any

import pytest
from psycopg import errors
from psycopg.types.json import Jsonb

from tests.factories import Row, World, act_as, grant

MIB = 1024 * 1024


def say(world: World, *contents: str, session: str = "s1", **fields: Any) -> list[Row]:
    """Append turns, user and assistant by turns."""
    turns = [{"role": ("user", "assistant")[n % 2], "content": content, **fields} for n, content in enumerate(contents)]
    return world.rows("select * from loci_api.add_turns(%(ns)s, %(session)s, %(turns)s)", session=session, turns=Jsonb(turns))


def replayed(world: World, session: str = "s1", limit: int | None = None, cursor: int | None = None) -> list[str]:
    rows = world.rows(
        "select content from loci.list_turns(%(ns)s, %(session)s, %(limit)s::integer, %(cursor)s::bigint)",
        session=session, limit=limit, cursor=cursor,
    )  # fmt: skip
    return [row["content"] for row in rows]


def found(world: World, query: str, session: str | None = None, limit: int = 10) -> list[str]:
    rows = world.rows(
        "select content from loci.search_turns(%(ns)s, %(query)s, %(session)s, %(limit)s)",
        query=query,
        session=session,
        limit=limit,
    )
    return [row["content"] for row in rows]


def log(world: World, limit: int = 1000, cursor: int | None = None) -> list[Row]:
    return world.rows("select * from loci.conversation_log(%(ns)s, %(limit)s, %(cursor)s::bigint)", limit=limit, cursor=cursor)


def clear(world: World, *ids: int) -> Row:
    return world.row("select * from loci_api.clear_conversation_log(%(ns)s, %(ids)s::bigint[])", ids=list(ids))


def numbered(count: int, start: int = 0) -> list[str]:
    return [f"turn {n}" for n in range(start, start + count)]


# Turns


@pytest.mark.row("W3")
def test_a_turn_is_read_back_as_it_was_said(world: World) -> None:
    said = say(world, "Hello", metadata={"tool": None}, said_at="2024-05-01T12:00:00+02:00")
    assert world.rows("select * from loci.list_turns(%(ns)s, 's1')") == said
    assert (said[0]["session_id"], said[0]["role"], said[0]["content"], said[0]["metadata"]) == (
        "s1",
        "user",
        "Hello",
        {"tool": None},
    )
    assert said[0]["said_at"] == datetime(2024, 5, 1, 10, tzinfo=UTC)


def test_a_turn_is_said_now_unless_it_says_when(world: World) -> None:
    before = world.now()
    (said,) = say(world, "Hello")
    assert before <= said["said_at"] <= world.now()


@pytest.mark.row("W3")
def test_the_last_turns_are_replayed_oldest_first(world: World) -> None:
    say(world, *numbered(25))
    say(world, "elsewhere", session="s2")
    assert replayed(world) == numbered(20, 5)
    assert replayed(world, limit=3) == numbered(3, 22)
    assert replayed(world, "s2") == ["elsewhere"]
    assert replayed(world, "nobody") == []
    world.rows('select loci_api.update_namespace(%(ns)s, \'{"settings": {"replayed_turns": 4}}\')')
    assert replayed(world) == numbered(4, 21)


@pytest.mark.parametrize("limit", [1, 4, 100])
def test_pages_go_back_to_the_first_turn(world: World, limit: int) -> None:
    say(world, *numbered(9))
    say(world, "between", session="s2")
    say(world, *numbered(3, 9))
    seen: list[Row] = []
    while page := world.rows(
        "select * from loci.list_turns(%(ns)s, 's1', %(limit)s, %(cursor)s)", limit=limit, cursor=seen[0]["id"] if seen else None
    ):
        seen = page + seen
    assert [row["content"] for row in seen] == numbered(12)


@pytest.mark.parametrize(
    ("turn", "field", "expected"),
    [
        ({"content": "x"}, "turns[1].role", "missing"),
        ({"role": "", "content": "x"}, "turns[1].role", "1 to 64"),
        ({"role": "r" * 65, "content": "x"}, "turns[1].role", "1 to 64"),
        ({"role": 5, "content": "x"}, "turns[1].role", "not 5"),
        ({"role": "user"}, "turns[1].content", "missing"),
        ({"role": "user", "content": " \n\t"}, "turns[1].content", "blank"),
        ({"role": "user", "content": "é" * (MIB // 2 + 1)}, "turns[1].content", "1 MiB"),
        ({"role": "user", "content": "x", "metadata": []}, "turns[1].metadata", "object"),
        ({"role": "user", "content": "x", "said_at": "soon"}, "turns[1].said_at", "time"),
        ({"role": "user", "content": "x", "said_at": "infinity"}, "turns[1].said_at", "finite"),
        ("hello", "turns[1].role", "missing"),
    ],
)
def test_a_wrong_turn_is_refused_by_field_and_nothing_of_its_batch_is_said(
    world: World, turn: Any, field: str, expected: str
) -> None:
    with pytest.raises(errors.InvalidParameterValue) as raised, world.connection.transaction():
        world.rows(
            "select * from loci_api.add_turns(%(ns)s, 's1', %(turns)s)", turns=Jsonb([{"role": "user", "content": "right"}, turn])
        )
    assert raised.value.diag.column_name == field
    assert expected in str(raised.value)
    assert replayed(world) == []


def test_an_overtaken_writer_adds_no_turns(world: World) -> None:
    def add(last: int) -> list[Row]:
        statement = "select * from loci_api.add_turns(%(ns)s, 's1', %(turns)s, %(last)s::bigint)"
        return world.rows(statement, turns=Jsonb([{"role": "user", "content": f"after {last}"}]), last=last)

    (first,) = add(0)
    assert add(0) == add(first["id"] - 1) == add(first["id"] + 1) == []
    (second,) = add(first["id"])
    assert add(first["id"]) == []
    assert replayed(world) == ["after 0", f"after {first['id']}"]
    assert second["id"] > first["id"]


@pytest.mark.parametrize("turns", [None, {}, [], [{"role": "user", "content": "x"}] * 1001])
def test_turns_are_one_to_a_thousand(world: World, turns: Any) -> None:
    with pytest.raises(errors.InvalidParameterValue) as raised:
        world.rows("select * from loci_api.add_turns(%(ns)s, 's1', %(turns)s)", turns=Jsonb(turns))
    assert raised.value.diag.column_name == "turns"


@pytest.mark.parametrize("session", ["", "s" * 256, None])
def test_a_session_has_a_name(world: World, session: str | None) -> None:
    with pytest.raises(errors.InvalidParameterValue) as raised:
        say(world, "x", session=session)  # type: ignore[arg-type]
    assert raised.value.diag.column_name == "session_id"


@pytest.mark.parametrize("limit", [0, 1002])
def test_a_limit_that_makes_no_sense_is_refused(world: World, limit: int) -> None:
    with pytest.raises(errors.InvalidParameterValue):
        replayed(world, limit=limit)


def test_a_deleted_conversation_is_gone_from_the_log_too(world: World) -> None:
    say(world, *numbered(3))
    say(world, "other", session="s2")
    assert world.row("select * from loci_api.delete_turns(%(ns)s, 's1')") == {"deleted": 3}
    assert world.row("select * from loci_api.delete_turns(%(ns)s, 's1')") == {"deleted": 0}
    assert (replayed(world), found(world, "turn"), [row["content"] for row in log(world)]) == ([], [], ["other"])


def test_turns_outlive_the_end_of_their_session(world: World) -> None:
    say(world, "Hello")
    world.rows("select * from loci_api.end_session(%(ns)s, 's1')")
    assert replayed(world) == ["Hello"]


def test_a_reader_reads_and_does_not_speak(owned: World) -> None:
    say(owned, "Hello")
    owned.connection.execute("reset session authorization")
    reader = grant(owned.connection, owned.name, "reader")
    owned.connection.execute("set session authorization loci_app")
    act_as(owned.connection, reader)
    assert replayed(owned) == found(owned, "hello") == ["Hello"]
    for statement in ("add_turns(%(ns)s, 's1', '[]')", "delete_turns(%(ns)s, 's1')", "clear_conversation_log(%(ns)s, '{}')"):
        with pytest.raises(errors.InsufficientPrivilege), owned.connection.transaction():
            owned.rows(f"select * from loci_api.{statement}")  # type: ignore[arg-type]


# Search


def test_turns_are_found_by_their_words_in_one_session_or_in_all(world: World) -> None:
    say(world, "We talked about apples", "and about the weather")
    say(world, "Which apple pie do you like, apple or more apple?", session="s2")
    assert found(world, "apples") == ["Which apple pie do you like, apple or more apple?", "We talked about apples"]
    assert found(world, "apples", "s1") == ["We talked about apples"]
    assert found(world, "apples", limit=1) == ["Which apple pie do you like, apple or more apple?"]
    assert found(world, "apples", "s3") == found(world, "the and") == found(world, "") == []


def test_turns_without_spaces_are_found_by_pairs_of_characters(world: World) -> None:
    say(world, "明日は京都へ行きます", "東京タワーは高い", "コーヒーをください")
    assert found(world, "京都へ") == ["明日は京都へ行きます", "東京タワーは高い"]  # which share a character
    assert found(world, "コーヒー") == ["コーヒーをください"]
    assert found(world, "猫") == []


def test_a_name_in_an_address_of_mail_finds_a_turn(world: World) -> None:
    say(world, "Write to ines@example.org", "The site is example.org")
    assert found(world, "What of ines?") == ["Write to ines@example.org"]
    assert found(world, "ines@example.org") == ["Write to ines@example.org", "The site is example.org"]


def test_a_search_reads_the_newest_turns_and_no_more(world: World) -> None:
    world.rows('select loci_api.update_namespace(%(ns)s, \'{"settings": {"searched_turns": 2}}\')')
    say(world, "apple one")
    say(world, "apple two", "apple three", session="s2")
    assert sorted(found(world, "apple")) == ["apple three", "apple two"]
    assert found(world, "apple", "s1") == ["apple one"]


def test_a_long_turn_is_taken(world: World) -> None:
    long = " ".join(map(str, range(150_000)))
    assert replayed(world) == []
    say(world, long)
    assert replayed(world) == found(world, "149") == [long]


# The log


@pytest.mark.row("W3")
def test_every_turn_is_in_the_log_until_a_pass_clears_exactly_that(world: World) -> None:
    said = say(world, *numbered(3)) + say(world, "other", session="s2")
    assert [row["id"] for row in log(world)] == [row["id"] for row in said]
    assert [row["content"] for row in log(world, 2)] == numbered(2)
    assert [row["content"] for row in log(world, 2, said[1]["id"])] == ["turn 2", "other"]
    assert clear(world, said[0]["id"], said[3]["id"], 0) == {"cleared": 2, "deleted": 0}
    assert [row["content"] for row in log(world)] == ["turn 1", "turn 2"]
    assert clear(world, said[0]["id"]) == {"cleared": 0, "deleted": 0}
    assert replayed(world) == numbered(3)


def test_cleared_turns_stay_as_long_as_they_are_replayed(world: World) -> None:
    said = say(world, *numbered(25))
    assert clear(world, *(row["id"] for row in said)) == {"cleared": 25, "deleted": 5}
    assert replayed(world, limit=100) == numbered(20, 5)
    say(world, *numbered(2, 25))
    assert replayed(world, limit=100) == numbered(20, 7)
    assert [row["content"] for row in log(world)] == numbered(2, 25)


def test_turns_in_the_log_stay_though_they_are_old(world: World) -> None:
    said = say(world, *numbered(25))
    clear(world, *(row["id"] for row in said[1:3]))
    assert replayed(world, limit=100) == ["turn 0", *numbered(22, 3)]
    say(world, *numbered(30, 25))
    assert [row["content"] for row in log(world)] == ["turn 0", *numbered(52, 3)]


@pytest.mark.parametrize("kept", [0, 1])
def test_a_namespace_that_replays_nothing_keeps_what_waits_for_passes(world: World, kept: int) -> None:
    world.connection.execute(
        "select loci_api.update_namespace(%s, %s)", [world.name, Jsonb({"settings": {"replayed_turns": kept}})]
    )
    said = say(world, *numbered(3))
    assert replayed(world) == numbered(kept, 3 - kept)
    assert clear(world, *(row["id"] for row in said)) == {"cleared": 3, "deleted": 3 - kept}
    assert len(replayed(world, limit=100)) == kept


def test_a_pass_of_another_namespace_clears_nothing_here(world: World) -> None:
    (said,) = say(world, "Hello")
    world.connection.execute("select loci_api.create_namespace('elsewhere')")
    other = world.row("select * from loci_api.clear_conversation_log('elsewhere', array[%(id)s])", id=said["id"])
    assert other == {"cleared": 0, "deleted": 0}
    assert len(log(world)) == 1


# Sessions


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_pages_of_conversations_visit_each_once(world: World, limit: int) -> None:
    for session, count in (("b", 2), ("a/x", 1), ("Ü", 3)):
        say(world, *numbered(count), session=session)
    clear(world, log(world)[0]["id"])
    seen: list[Row] = []
    while page := world.rows(
        "select * from loci.list_conversations(%(ns)s, %(limit)s, %(cursor)s)",
        limit=limit, cursor=seen[-1]["session_id"] if seen else None,
    ):  # fmt: skip
        seen += page
    assert [(row["session_id"], row["turns"], row["logged"]) for row in seen] == [("a/x", 1, 1), ("b", 2, 1), ("Ü", 3, 3)]
    assert all(row["first_said_at"] <= row["last_said_at"] for row in seen)


def test_a_conversation_survives_an_export_and_is_found_again(owned: World) -> None:
    said = say(owned, "about apples", metadata={"a": 1})
    page = owned.row("select lines from loci_api.export_page(%(ns)s, 'conversation_turn', null, 10)")
    owned.rows("select * from loci_api.delete_turns(%(ns)s, 's1')")
    restored = owned.row(
        "select * from loci_api.restore_rows(%(ns)s, 'conversation_turn', %(lines)s::jsonb)", lines=f"[{page['lines']}]"
    )
    assert restored["written"] == 1
    assert owned.rows("select * from loci.list_turns(%(ns)s, 's1')") == said
    assert found(owned, "apple") == ["about apples"]
