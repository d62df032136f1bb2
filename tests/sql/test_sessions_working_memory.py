"""Working memory: paths, spaces, time to live, limits, search."""

from math import log
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg import errors
from psycopg.types.json import Jsonb

from tests.factories import OPERATOR, Row, World, act_as, grant, new_world

MIB = 1024 * 1024


def save(world: World, key: str, value: Any = "x", **options: Any) -> Row:
    given: Row = {"ttl": None, "category": None, "tags": None, "space": None, **options}
    return world.row(
        "select * from loci_api.save_working_memory(%(ns)s, %(key)s, %(value)s, %(ttl)s::double precision, %(category)s, %(tags)s::text[], %(space)s)",
        key=key, value=Jsonb(value), **given,
    )  # fmt: skip


def get(world: World, key: str, space: str | None = None) -> Any:
    return world.value("select value from loci.get_working_memory(%(ns)s, %(key)s, %(space)s)", key=key, space=space)


def listed(world: World, prefix: str | None = None, space: str | None = None) -> list[str]:
    rows = world.rows(
        "select key from loci.list_working_memory(%(ns)s, %(prefix)s, 1000, null, %(space)s)", prefix=prefix, space=space
    )
    return [row["key"] for row in rows]


def found(world: World, query: str | None = None, **options: Any) -> list[str]:
    given: Row = {"category": None, "tags": None, "prefix": None, "limit": 10, "space": None, **options}
    rows = world.rows(
        "select key from loci.search_working_memory(%(ns)s, %(query)s, %(category)s, %(tags)s::text[], %(prefix)s, %(limit)s, %(space)s)",
        query=query, **given,
    )  # fmt: skip
    return [row["key"] for row in rows]


def delete(world: World, key: str, space: str | None = None) -> Row:
    return world.row("select * from loci_api.delete_working_memory(%(ns)s, %(key)s, %(space)s)", key=key, space=space)


def move_clock(world: World, seconds: float) -> None:
    """Let time pass for what is stored: everything was written, and expires, so much earlier."""
    world.connection.execute("reset session authorization")
    world.rows(
        """update loci_data.working_memory set stored_at = stored_at - %(by)s * interval '1 second',
           expires_at = expires_at - %(by)s * interval '1 second' where namespace_id = %(ns_id)s returning key""",
        by=seconds,
    )
    world.connection.execute("set session authorization loci_app")


def agents(world: World, count: int = 2, role: str = "writer") -> list[Any]:
    world.connection.execute("reset session authorization")
    made = [grant(world.connection, world.name, role) for _ in range(count)]
    world.connection.execute("set session authorization loci_app")
    return made


def act_with_key(world: World, agent: Any, space: str | None = None, home: World | None = None) -> None:
    """Act for an agent whose key was made for a space, at its home or by the operator, as loci_api.begin_request says it."""
    act_as(world.connection, agent)
    world.rows(
        "select set_config('loci.space', %(space)s, true), set_config('loci.space_namespace', %(home)s, true)",
        space=space or "",
        home=str(home.id) if home else "",
    )


def refuses(world: World, key: str, space: str | None = None) -> str:
    """What is said to who may neither write an entry nor delete it; a write and a deletion are told the same."""
    said = set()
    for work in (save, delete):
        with pytest.raises(errors.InsufficientPrivilege) as raised, world.connection.transaction():
            work(world, key, space=space)
        said.add(raised.value.diag.message_primary)
    (message,) = said
    return str(message)


# Keys


@pytest.mark.row("W2")
def test_an_entry_is_read_back_as_it_was_written(world: World) -> None:
    value = {"steps": [1, 2.5, None, True], "ü": "é\n"}
    written = save(world, "session/abc/plan", value, ttl=60, category="work/now", tags=["a", "b c"])
    read = world.row("select * from loci.get_working_memory(%(ns)s, 'session/abc/plan')")
    assert read == {**written, "value": value}
    assert (written["key"], written["space"]) == ("session/abc/plan", "session/abc")
    assert (written["category"], written["tags"]) == ("work/now", ["a", "b c"])
    assert (written["expires_at"] - written["stored_at"]).total_seconds() == 60


@pytest.mark.parametrize("value", [None, False, 0, "", [], {}, "text", 1.5])
def test_any_json_is_a_value(world: World, value: Any) -> None:
    save(world, "plan", value)
    assert get(world, "plan") == value


@pytest.mark.row("W1")
def test_a_plain_key_stands_under_the_callers_own_space(owned: World) -> None:
    assert save(owned, "plan")["key"] == "agent/operator/plan"
    (agent,) = agents(owned, 1)
    act_as(owned.connection, agent)
    assert save(owned, "plan", "mine")["key"] == f"agent/{agent}/plan"
    assert get(owned, "plan") == "mine"
    assert get(owned, "agent/operator/plan") == "x"


def test_a_plain_key_stands_under_the_declared_space(world: World) -> None:
    assert save(world, "plan", space="session/abc")["key"] == "session/abc/plan"
    assert get(world, "plan", space="session/abc") == "x"
    assert get(world, "session/abc/plan", space="session/other") == "x"


def test_a_space_may_have_an_entry_of_its_own_name(world: World) -> None:
    assert save(world, "session/abc", space="session/abc")["space"] == "session/abc"
    assert listed(world, "session/abc") == ["session/abc"]


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("", "empty"),
        ("/", "segments"),
        ("/a/b", "segments"),
        ("a/b/", "segments"),
        ("a//b", "segments"),
        ("a/../b", "."),
        ("./a", "."),
        ("..", "."),
        ("a/b\tc", "control"),
        ("a/\x7f", "control"),
        ("a/" + "b" * 511, "512"),
        ("b" * 500, "512"),
    ],
)
def test_a_key_that_is_no_path_is_refused(world: World, key: str, expected: str) -> None:
    with pytest.raises(errors.InvalidParameterValue) as raised:
        save(world, key, space=None if "/" in key else "s/" + "p" * 20)
    assert raised.value.diag.column_name == "key"
    assert expected in str(raised.value)


@pytest.mark.parametrize("key", ["a/" + "b" * 510, "ä/ö/ü", "a b/c d/…", "a/...", "a/%_\\'"])
def test_a_path_may_be_long_and_in_any_script(world: World, key: str) -> None:
    save(world, key)
    assert listed(world, key) == [key]
    assert get(world, key) == "x"


@pytest.mark.parametrize("space", ["", "abc", "a/b/c", "/a", "a/", "a//b", "a/..", "a/\n", "a/" + "b" * 254])
def test_a_declared_space_has_two_segments(world: World, space: str) -> None:
    with pytest.raises(errors.InvalidParameterValue) as raised:
        save(world, "plan", space=space)
    assert raised.value.diag.column_name == "space"


# Spaces


@pytest.mark.row("W1")
def test_nothing_outside_a_declared_space_is_written_or_deleted(world: World) -> None:
    save(world, "session/b/plan")
    for work in (save, delete):
        with pytest.raises(errors.InsufficientPrivilege) as raised, world.connection.transaction():
            work(world, "session/b/plan", space="session/a")
        assert "session/a" in str(raised.value)
        assert "session/b" in str(raised.value)
    with pytest.raises(errors.InsufficientPrivilege):
        save(world, "session/ab", space="session/a")


@pytest.mark.row("W1")
@pytest.mark.parametrize("key", ["patrol/heartbeat/findings", "session/abc/plan", "agent/operator/plan"])
def test_a_writer_whose_key_was_made_for_no_space_writes_and_deletes_under_its_id_alone(owned: World, key: str) -> None:
    (agent,) = agents(owned, 1)
    save(owned, key)
    act_as(owned.connection, agent)
    assert f"writes go to agent/{agent}" in refuses(owned, key)
    assert f"writes go to agent/{agent}" in refuses(owned, "patrol/free/findings")
    assert "is outside" in refuses(owned, "findings", space="patrol/free")
    assert get(owned, key) == "x"
    assert save(owned, "plan")["space"] == f"agent/{agent}"


@pytest.mark.row("W1")
def test_a_key_that_was_made_for_a_space_writes_there_and_nowhere_else(owned: World) -> None:
    patrol, other = agents(owned)
    act_with_key(owned, other)
    save(owned, "plan")
    act_with_key(owned, patrol, "patrol/heartbeat")
    assert save(owned, "findings")["key"] == "patrol/heartbeat/findings"
    assert save(owned, "patrol/heartbeat/a/b", space="patrol/heartbeat")["space"] == "patrol/heartbeat"
    for key, space in (("patrol/other/a", None), (f"agent/{patrol}/a", None), ("a", "patrol/other"), ("a", f"agent/{patrol}")):
        refuses(owned, key, space)
    refuses(owned, f"agent/{other}/plan")
    assert (listed(owned), listed(owned, "agent")) == (
        ["patrol/heartbeat/a/b", "patrol/heartbeat/findings"],
        [f"agent/{other}/plan"],
    )
    assert delete(owned, "findings")["deleted"]


def test_a_key_of_one_segment_writes_in_the_spaces_under_it_that_no_other_agent_holds(owned: World) -> None:
    first, second = agents(owned)
    act_with_key(owned, first, "session")
    assert save(owned, "plan", space="session/abc", ttl=60)["key"] == "session/abc/plan"
    assert save(owned, "plan")["key"] == f"session/{first}/plan"
    act_with_key(owned, second, "session")
    for key, space in (("session/abc/plan", None), ("session/abc/other", None), ("other", "session/abc")):
        with pytest.raises(errors.InsufficientPrivilege, match="another agent"), owned.connection.transaction():
            save(owned, key, space=space)
    with pytest.raises(errors.InsufficientPrivilege, match="another agent"), owned.connection.transaction():
        delete(owned, "session/abc/plan")
    refuses(owned, "patrol/heartbeat/findings")
    assert get(owned, "session/abc/plan") == "x"
    move_clock(owned, 61)
    act_with_key(owned, second, "session")
    assert save(owned, "session/abc/other")["space"] == "session/abc"


def test_a_space_that_a_key_was_made_for_is_its_own_also_where_another_holds_it(owned: World) -> None:
    settler, patrol = agents(owned)
    act_with_key(owned, settler, "patrol")
    save(owned, "patrol/heartbeat/findings")
    act_with_key(owned, patrol, "patrol/heartbeat")
    assert save(owned, "findings", "mine")
    assert (get(owned, "findings"), delete(owned, "findings")["deleted"]) == ("mine", True)


@pytest.mark.row("W1")
def test_a_space_counts_at_the_home_of_the_agent_and_elsewhere_it_is_somebody_elses(owned: World) -> None:
    (guest,) = agents(owned, 1)
    home = new_world(owned.connection)
    act_with_key(owned, guest, "patrol/heartbeat", home)
    refuses(owned, "patrol/heartbeat/findings")
    assert save(owned, "plan")["space"] == f"agent/{guest}"
    owned.connection.execute("reset session authorization")
    owned.connection.execute("update loci_data.grants set role = 'admin' where agent_id = %s", [guest])
    owned.connection.execute("set session authorization loci_app")
    refuses(owned, "patrol/heartbeat/findings")


def test_an_admin_writes_anywhere_and_the_space_keeps_its_owner(owned: World) -> None:
    (agent,) = agents(owned, 1)
    (admin,) = agents(owned, 1, "admin")
    act_with_key(owned, agent, "session")
    save(owned, "session/abc/plan")
    for unbound in (OPERATOR, admin):
        act_with_key(owned, unbound)
        save(owned, "session/abc/note", "by an admin")
        save(owned, "session/abc/plan", "changed")
    act_with_key(owned, agent, "session")
    assert get(owned, "session/abc/plan") == "changed"
    assert save(owned, "session/abc/note", "mine")
    act_with_key(owned, admin, "patrol")
    refuses(owned, "session/abc/note")
    act_with_key(owned, admin)
    assert delete(owned, "session/abc/note")["deleted"]


def test_a_key_carries_its_space_into_every_request_and_into_the_key_that_follows(owned: World) -> None:
    made: Any = (
        """select id from loci_api.create_key(%(ns)s, 'writer', 'k', gen_random_uuid(), sha256('one'), p_space => 'patrol/x')"""
    )
    key = owned.value(made)
    owned.rows("select * from loci_api.rotate_key(%(ns)s, %(id)s, gen_random_uuid(), sha256('two'))", id=key)
    owned.rows("select * from loci_api.begin_request(sha256('two'), %(ns)s, 'writer')")
    assert save(owned, "findings")["key"] == "patrol/x/findings"
    refuses(owned, "patrol/y/findings")
    assert owned.value("select space from loci_api.whoami()") == "patrol/x"
    assert owned.value("select space from loci.context_parts(%(ns)s, p_session_id => 's')") == "patrol/x"
    owned.rows("select * from loci_api.begin_request(null, %(ns)s, 'writer')")
    assert save(owned, "plan")["key"] == "agent/operator/plan"


@pytest.mark.parametrize("space", ["", "/", "a/", "/a", "a/b/c", "a//b", "..", "a/.", "a/\n", "agent", "agent/x", "a" * 256])
def test_a_key_is_made_for_no_path_that_is_no_space(world: World, space: str) -> None:
    made: Any = "select * from loci_api.create_key(%(ns)s, 'writer', 'k', gen_random_uuid(), sha256('k'), p_space => %(space)s)"
    with pytest.raises(errors.CheckViolation) as raised:
        world.rows(made, space=space)
    assert raised.value.diag.constraint_name == "api_keys_space_check"


def test_a_key_that_is_bound_makes_none_that_is_not(world: World) -> None:
    made: Any = "select id from loci_api.create_key(%(ns)s, 'admin', 'k', gen_random_uuid(), sha256(%(k)s), p_space => %(space)s)"
    free = world.value(made, k=b"free", space=None)
    world.rows(made, k=b"bound", space="patrol")
    world.rows("select * from loci_api.begin_request(sha256('bound'), %(ns)s, 'admin')")
    with pytest.raises(errors.InsufficientPrivilege, match="limited to"), world.connection.transaction():
        world.rows(made, k=b"other", space="session/abc")
    with pytest.raises(errors.InsufficientPrivilege, match="limited to"), world.connection.transaction():
        world.rows("select * from loci_api.rotate_key(%(ns)s, %(id)s, gen_random_uuid(), sha256('other'))", id=free)
    world.rows(made, k=b"within", space="patrol/heartbeat")
    below = world.value(made, k=b"below", space=None)
    assert world.value("select space from loci_api.list_keys(%(ns)s, p_key_id => %(id)s)", id=below) == "patrol"


def test_an_agent_can_always_write_its_own_space(owned: World) -> None:
    (agent,) = agents(owned, 1)
    save(owned, f"agent/{agent}/from-the-operator")
    act_as(owned.connection, agent)
    assert save(owned, "plan")["space"] == f"agent/{agent}"
    assert delete(owned, "from-the-operator")["deleted"]


@pytest.mark.row("W1")
def test_a_reader_reads_every_space_and_writes_none(owned: World) -> None:
    save(owned, "session/abc/plan")
    (reader,) = agents(owned, 1, "reader")
    act_as(owned.connection, reader)
    assert get(owned, "session/abc/plan") == "x"
    assert listed(owned) == ["session/abc/plan"]
    for work in (save, delete):
        with pytest.raises(errors.InsufficientPrivilege), owned.connection.transaction():
            work(owned, "plan")


# Time to live


@pytest.mark.row("W1")
def test_an_entry_lives_as_long_as_the_namespace_says_unless_the_write_does(world: World) -> None:
    assert (lived(save(world, "a")), lived(save(world, "b", ttl=0.25))) == (300, 0.25)
    world.rows('select loci_api.update_namespace(%(ns)s, \'{"settings": {"working_memory_ttl": 7.5}}\')')
    assert lived(save(world, "a")) == 7.5


def lived(entry: Row) -> float:
    return float((entry["expires_at"] - entry["stored_at"]).total_seconds())


@pytest.mark.parametrize("ttl", [0, -1, 366 * 86400 + 1, float("nan"), float("inf")])
def test_a_time_to_live_that_makes_no_sense_is_refused(world: World, ttl: float) -> None:
    with pytest.raises(errors.InvalidParameterValue) as raised:
        save(world, "plan", ttl=ttl)
    assert raised.value.diag.column_name == "ttl_seconds"


@pytest.mark.row("W1")
def test_an_expired_entry_is_hidden_before_it_is_swept(owned: World) -> None:
    save(owned, "session/abc/plan", "apples", ttl=60, category="fruit", tags=["red"])
    save(owned, "session/abc/later", "apples", ttl=3600)
    move_clock(owned, 60)
    assert owned.rows("select key from loci_data.working_memory where key = 'session/abc/plan'")
    assert listed(owned) == listed(owned, "session/abc") == ["session/abc/later"]
    assert found(owned) == found(owned, "apples") == ["session/abc/later"]
    assert found(owned, category="fruit") == found(owned, tags=["red"]) == []
    assert owned.rows("select key from loci.working_memory") == [{"key": "session/abc/later"}]
    with pytest.raises(errors.NoDataFound), owned.connection.transaction():
        get(owned, "session/abc/plan")
    assert delete(owned, "session/abc/plan")["deleted"] is False


def test_a_write_replaces_an_entry_and_its_time_begins_anew(owned: World) -> None:
    save(owned, "plan", "old", ttl=60, category="a", tags=["t"])
    move_clock(owned, 59)
    written = save(owned, "plan", "new", ttl=10)
    assert (written["category"], written["tags"], lived(written)) == (None, [], 10)
    assert (get(owned, "plan"), found(owned, "old"), found(owned, "new")) == ("new", [], ["agent/operator/plan"])


# Limit


def fill(world: World, space: str, count: int, **options: Any) -> None:
    for number in range(count):
        save(world, f"{space}/{number:03}", **options)


@pytest.mark.row("W1")
def test_a_full_space_takes_no_further_entry_and_says_what_to_do(world: World) -> None:
    fill(world, "session/abc", 50)
    with pytest.raises(errors.ConfigurationLimitExceeded) as raised, world.connection.transaction():
        save(world, "session/abc/one-more")
    assert "session/abc" in str(raised.value)
    assert "50" in str(raised.value)
    assert raised.value.diag.message_hint
    assert len(listed(world)) == 50
    save(world, "session/abc/007", "replaced")
    save(world, "session/abd/one-more")
    delete(world, "session/abc/000")
    save(world, "session/abc/one-more")


def test_only_live_entries_count_and_the_dead_make_room(owned: World) -> None:
    fill(owned, "session/abc", 49, ttl=60)
    save(owned, "session/abc/long", ttl=600)
    move_clock(owned, 61)
    fill(owned, "session/abc", 49)
    assert owned.value("select count(*) from loci_data.working_memory where namespace_id = %(ns_id)s") == 50
    with pytest.raises(errors.ConfigurationLimitExceeded):
        save(owned, "session/abc/one-more")


def test_a_write_into_the_slot_of_an_expired_key_works(owned: World) -> None:
    fill(owned, "session/abc", 1, ttl=60)
    move_clock(owned, 61)
    for number in range(1, 50):
        save(owned, f"session/abc/{number:03}")
    assert save(owned, "session/abc/000")["key"] == "session/abc/000"


def test_the_limit_is_a_setting(world: World) -> None:
    world.rows('select loci_api.update_namespace(%(ns)s, \'{"settings": {"working_memory_entries": 2}}\')')
    fill(world, "session/abc", 2)
    with pytest.raises(errors.ConfigurationLimitExceeded):
        save(world, "session/abc/one-more")


# Listing


TREE = ["s/a", "s/a-1/x", "s/a.b/x", "s/a/x", "s/a/x/y", "s/a0/x", "s/ab/x", "t/a/x"]


@pytest.mark.row("W2")
@pytest.mark.parametrize(
    ("prefix", "keys"),
    [
        (None, TREE),
        ("", TREE),
        ("s", TREE[:-1]),
        ("s/", TREE[:-1]),
        ("s/a", ["s/a", "s/a/x", "s/a/x/y"]),
        ("s/a/x", ["s/a/x", "s/a/x/y"]),
        ("s/a/x/", ["s/a/x", "s/a/x/y"]),
        ("s/ab", ["s/ab/x"]),
        ("S", []),
        ("s/%", []),
    ],
)
def test_a_prefix_is_of_whole_segments(world: World, prefix: str | None, keys: list[str]) -> None:
    for key in TREE:
        save(world, key)
    assert listed(world, prefix) == sorted(keys)
    assert sorted(found(world, prefix=prefix)) == sorted(keys)


def test_without_a_prefix_a_declared_space_is_meant(world: World) -> None:
    for key in TREE:
        save(world, key)
    assert listed(world, space="s/a") == found(world, space="s/a")[::-1] == ["s/a", "s/a/x", "s/a/x/y"]
    assert listed(world, "t", space="s/a") == ["t/a/x"]


SEGMENT = st.text(st.sampled_from("ab-.0~é "), min_size=1, max_size=3).filter(lambda text: text.strip() not in {"", ".", ".."})


@given(keys=st.sets(st.lists(SEGMENT, min_size=2, max_size=4).map("/".join), max_size=12), prefix=st.lists(SEGMENT, max_size=3))
def test_a_prefix_finds_what_its_segments_begin(world: World, keys: set[str], prefix: list[str]) -> None:
    with world.connection.transaction(force_rollback=True):
        for key in keys:
            save(world, key)
        meant = sorted(key for key in keys if key.split("/")[: len(prefix)] == prefix)
        assert listed(world, "/".join(prefix)) == meant


@pytest.mark.parametrize("limit", [1, 3, 100])
@pytest.mark.parametrize("prefix", [None, "s/a"])
def test_pages_visit_every_entry_once(world: World, limit: int, prefix: str | None) -> None:
    for key in TREE:
        save(world, key)
    seen: list[str] = []
    while True:
        page = world.rows(
            "select key from loci.list_working_memory(%(ns)s, %(prefix)s, %(limit)s, %(cursor)s)",
            prefix=prefix, limit=limit, cursor=seen[-1] if seen else None,
        )  # fmt: skip
        if not page:
            break
        seen += [row["key"] for row in page]
    assert seen == listed(world, prefix)


@pytest.mark.parametrize("limit", [0, -1, 1002, None])
@pytest.mark.parametrize(
    "function", ["loci.list_working_memory(%(ns)s, null, %(limit)s)", "loci.search_working_memory(%(ns)s, p_limit => %(limit)s)"]
)
def test_a_limit_that_makes_no_sense_is_refused(world: World, function: Any, limit: int | None) -> None:
    with pytest.raises(errors.InvalidParameterValue) as raised:
        world.rows(f"select * from {function}", limit=limit)  # type: ignore[arg-type]
    assert raised.value.diag.column_name == "limit"


# Search


@pytest.mark.parametrize(
    ("value", "query"),
    [
        ("three mails wait for an answer", "which mail is waiting"),
        ({"from": "bob", "subject": "the invoice"}, "invoices of Bob"),
        ({"lines": ["first\nsecond", "C:\\new"]}, "second new"),
        ("see docs/error-log_2.md", "error log"),
        ("if a <b then the rest", "rest"),
        (["x", 42], "42"),
    ],
)
def test_an_entry_is_found_by_the_words_of_its_value(world: World, value: Any, query: str) -> None:
    save(world, "session/abc/one", value)
    save(world, "session/abc/two", "something else")
    assert found(world, query) == ["session/abc/one"]


@pytest.mark.row("W2")
def test_an_entry_is_found_by_key_category_and_tags(world: World) -> None:
    save(world, "session/abc/emails_inbox", category="mail/to-read", tags=["quite urgent"])
    save(world, "session/abc/other")
    for query in ("inbox", "email", "to read mail", "urgent", "emails_inbox", "session/abc/emails_inbox"):
        assert found(world, query)[0] == "session/abc/emails_inbox"


@pytest.mark.row("W2")
def test_the_order_is_that_of_bm25(world: World) -> None:
    texts = {"a": "apple", "b": "apple pear pear", "c": "apple pear", "d": "plum"}
    for key, text in texts.items():
        save(world, f"s/s/{key}", text)
    scores = world.rows("select key, score from loci.search_working_memory(%(ns)s, 'apple or pear')")
    documents = {key: ["s", "s", key, *text.split()] for key, text in texts.items()}
    expected = bm25(
        ["apple", "pear"], {f"s/s/{key}": [w for w in words if w not in {"a", "s", "d"}] for key, words in documents.items()}, world
    )
    assert [row["key"] for row in scores] == sorted(expected, key=lambda key: -expected[key])
    assert {row["key"]: pytest.approx(row["score"]) for row in scores} == expected


def bm25(query: list[str], documents: dict[str, list[str]], world: World) -> dict[str, float]:
    """Scores by the formula of the paper, over the words that the database counts."""
    rows = world.rows("select key, terms from loci_data.working_memory where namespace_id = %(ns_id)s")
    length = {row["key"]: row["terms"] for row in rows}
    mean = sum(length.values()) / len(length)
    scores = {}
    for key, words in documents.items():
        total = 0.0
        for word in query:
            holders = sum(word in other for other in documents.values())
            frequency = words.count(word)
            idf = log(1 + (len(documents) - holders + 0.5) / (holders + 0.5))
            total += idf * frequency * 2.2 / (frequency + 1.2 * (0.25 + 0.75 * length[key] / mean))
        if total:
            scores[key] = total
    return scores


@pytest.mark.parametrize(
    ("options", "keys"),
    [
        ({"category": "work"}, ["s/s/a", "s/s/b"]),
        ({"category": "work/"}, ["s/s/a", "s/s/b"]),
        ({"category": "work/now"}, ["s/s/b"]),
        ({"category": "wor"}, []),
        ({"tags": ["red", "nowhere"]}, ["s/s/b", "s/s/c"]),
        ({"tags": ["red"], "category": "work"}, ["s/s/b"]),
        ({"tags": []}, []),
        ({"prefix": "s/s/c"}, ["s/s/c"]),
        ({"limit": 1}, ["s/s/c"]),
        ({}, ["s/s/a", "s/s/b", "s/s/c"]),
    ],
)
@pytest.mark.parametrize("query", [None, " ", "apple"])
def test_a_search_is_filtered(world: World, query: str | None, options: Row, keys: list[str]) -> None:
    save(world, "s/s/a", "apple", category="work")
    save(world, "s/s/b", "apple", category="work/now", tags=["red"])
    save(world, "s/s/c", "apple", category="workshop", tags=["red", "big"])
    rows = found(world, query, **options)
    assert len(rows) == len(keys)
    assert options == {"limit": 1} or sorted(rows) == keys


def test_without_words_the_newest_come_first_and_have_no_score(world: World) -> None:
    for key in ("s/s/b", "s/s/c", "s/s/a"):
        save(world, key)
    rows = world.rows("select key, score from loci.search_working_memory(%(ns)s)")
    assert [(row["key"], row["score"]) for row in rows] == [("s/s/a", None), ("s/s/c", None), ("s/s/b", None)]


@pytest.mark.parametrize("query", ["the of and", "!!", "\\", "' | !"])
def test_a_question_without_telling_words_finds_nothing(world: World, query: str) -> None:
    save(world, "s/s/a", "the of and")
    assert found(world, query) == []


# What is refused


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"category": "a//b"}, "category"),
        ({"category": ""}, "category"),
        ({"category": "c" * 256}, "category"),
        ({"tags": ["t"] * 101}, "tags"),
        ({"tags": [None]}, "tags"),
        ({"tags": [""]}, "tags"),
        ({"value": "x" * (MIB - 1)}, "value"),
        ({"value": "é" * (MIB // 2)}, "value"),
    ],
)
def test_a_wrong_entry_is_refused_by_field_and_the_old_one_stays(world: World, options: Row, field: str) -> None:
    save(world, "plan", "old")
    with pytest.raises(errors.InvalidParameterValue) as raised, world.connection.transaction():
        save(world, "plan", **options)
    assert raised.value.diag.column_name == field
    assert get(world, "plan") == "old"


@pytest.mark.parametrize("value", ["x" * (MIB - 2), " ".join(map(str, range(150_000))), "\U0001f600" * 250_000])
def test_a_value_may_have_a_mebibyte_and_is_found_by_how_it_begins(world: World, value: str) -> None:
    save(world, "plan", value)
    assert get(world, "plan") == value
    save(world, "other", "needle " + value[7:])
    assert found(world, "needle") == ["agent/operator/other"]


def test_null_is_not_a_value_but_the_json_null_is(world: World) -> None:
    with pytest.raises(errors.InvalidParameterValue) as raised:
        world.rows("select * from loci_api.save_working_memory(%(ns)s, 'plan', null)")
    assert raised.value.diag.column_name == "value"


# Deleting and sweeping


@pytest.mark.row("W2")
def test_a_deleted_entry_is_gone(world: World) -> None:
    save(world, "plan")
    assert delete(world, "plan") == {"key": "agent/operator/plan", "deleted": True}
    assert delete(world, "plan") == {"key": "agent/operator/plan", "deleted": False}
    assert listed(world) == []


def test_the_sweeper_goes_through_everything_in_parts_and_deletes_what_has_expired(owned: World) -> None:
    fill(owned, "s/dead", 7, ttl=60)
    fill(owned, "s/live", 7, ttl=600)
    move_clock(owned, 61)
    after: tuple[int | None, str | None] = (0, "")
    swept = parts = 0
    while after[0] is not None:
        row = owned.row("select * from loci_api.sweep_working_memory(5, %(id)s, %(key)s)", id=after[0], key=after[1])
        after, swept, parts = (row["next_id"], row["next_key"]), swept + row["swept"], parts + 1
    left = owned.rows("select key from loci_data.working_memory where namespace_id = %(ns_id)s order by key")
    assert [row["key"] for row in left] == listed(owned) == [f"s/live/{n:03}" for n in range(7)]
    assert swept == 7
    assert parts >= 3


def test_what_is_moving_to_this_cell_is_not_swept(owned: World) -> None:
    """Its rows come before its namespace, and the other cell compares them with its own."""
    fill(owned, "s/dead", 3, ttl=60)
    move_clock(owned, 61)
    owned.as_owner("select set_config('session_replication_role', 'replica', true)")
    owned.as_owner("update loci_data.working_memory set namespace_id = 999999 where namespace_id = %(ns_id)s returning key")
    owned.as_owner("select set_config('session_replication_role', 'origin', true)")
    assert owned.row("select * from loci_api.sweep_working_memory()")["swept"] == 0


def test_only_the_operator_sweeps(owned: World) -> None:
    (admin,) = agents(owned, 1, "admin")
    act_as(owned.connection, admin)
    with pytest.raises(errors.InsufficientPrivilege):
        owned.rows("select * from loci_api.sweep_working_memory()")


def test_an_entry_survives_an_export_and_is_found_again(owned: World) -> None:
    save(owned, "session/abc/plan", {"a": "apple"}, tags=["red"])
    page = owned.row("select lines from loci_api.export_page(%(ns)s, 'working_memory', null, 10)")
    delete(owned, "session/abc/plan")
    restored = owned.row(
        "select * from loci_api.restore_rows(%(ns)s, 'working_memory', %(lines)s::jsonb)", lines=f"[{page['lines']}]"
    )
    assert restored["written"] == 1
    assert found(owned, "apples") == ["session/abc/plan"]


def test_no_index_has_a_column_that_an_overwritten_entry_changes(admin: psycopg.Connection[Row]) -> None:
    """So an overwritten entry stays on its page, and the table does not grow."""
    rows = admin.execute(
        """select a.attname from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
           where i.indrelid = 'loci_data.working_memory'::regclass"""
    ).fetchall()
    assert {row["attname"] for row in rows} == {"namespace_id", "key"}
