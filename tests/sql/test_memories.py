"""Versions in lineages and two times."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors

from tests.factories import World, day

MICROSECOND = timedelta(microseconds=1)


@pytest.mark.row("M1")
def test_a_memory_keeps_every_field_it_was_written_with(world: World) -> None:
    fields: dict[str, Any] = {
        "lineage": "alice-city",
        "category": "people/alice",
        "tags": ["city", "home"],
        "layer": 1,
        "importance": 0.7,
        "confidence": 0.6,
        "metadata": {"a": [1, None]},
        "source": "Bob",
        "session_id": "s1",
        "valid_from": day(1),
        "valid_to": day(9),
    }
    written = world.write("Alice lives in Oslo.", **fields)
    assert {key: written[key] for key in fields} == fields
    assert written["content"] == "Alice lives in Oslo."


@pytest.mark.row("M1")
@pytest.mark.parametrize(
    ("field", "default"),
    [
        ("category", "general"),
        ("tags", []),
        ("layer", 2),
        ("parent_id", None),
        ("valid_to", None),
        ("importance", 0.5),
        ("confidence", 1.0),
        ("metadata", {}),
        ("source", None),
        ("session_id", None),
        ("version", 1),
        ("status", "active"),
        ("current", True),
        ("observations", 1),
    ],
)
def test_an_unstated_field_has_its_documented_default(world: World, field: str, default: Any) -> None:
    assert world.write("x")[field] == default


def test_a_memory_without_lineage_is_its_own_lineage(world: World) -> None:
    written = world.write("x")
    assert written["lineage"] == str(written["id"])


def test_a_memory_is_valid_from_the_moment_of_its_writing_unless_it_says_otherwise(world: World) -> None:
    before = world.now()
    written = world.write("x")
    assert before <= written["valid_from"] == written["recorded_at"] <= world.now()


@pytest.mark.row("M2")
def test_a_write_to_a_lineage_supersedes_the_current_version(world: World) -> None:
    old, new = world.write("Oslo", lineage="city"), world.write("Paris", lineage="city")
    ended = world.get(old["id"])
    assert (new["version"], new["superseded"], new["current"]) == (2, old["id"], True)
    assert (ended["valid_to"], ended["superseded_at"], ended["current"]) == (
        new["valid_from"],
        new["recorded_at"],
        False,
    )


@pytest.mark.row("M3")
def test_history_lists_every_version_oldest_first_with_both_times(world: World) -> None:
    for city in ("Oslo", "Paris", "Rome"):
        world.write(city, lineage="city")
    versions = world.history("city")
    assert [v["content"] for v in versions] == ["Oslo", "Paris", "Rome"]
    assert [v["version"] for v in versions] == [1, 2, 3]
    assert [v["valid_to"] for v in versions] == [versions[1]["valid_from"], versions[2]["valid_from"], None]
    assert [v["superseded_at"] for v in versions] == [versions[1]["recorded_at"], versions[2]["recorded_at"], None]


def test_history_is_found_by_the_id_of_any_version(world: World) -> None:
    first = world.write("Oslo", lineage="city")
    world.write("Paris", lineage="city")
    assert len(world.history(str(first["id"]))) == 2


def test_history_of_nothing_is_an_error(world: World) -> None:
    with pytest.raises(errors.NoDataFound):
        world.history("nobody")


@pytest.mark.parametrize("step", range(1, 4))
def test_history_pages_by_version(world: World, step: int) -> None:
    for number in range(4):
        world.write(f"c{number}", lineage="city")
    page = world.rows("select version from loci.history(%(ns)s, 'city', 2, %(after)s)", after=step)
    assert [row["version"] for row in page] == [step + 1, step + 2][: 4 - step]


# Back-dated, corrected, scheduled, bounded


@pytest.fixture
def chain(world: World) -> World:
    """A on day 10, C on day 30."""
    world.write("A", lineage="l", valid_from=day(10))
    world.write("C", lineage="l", valid_from=day(30))
    return world


@pytest.mark.row("M2")
@pytest.mark.parametrize(
    ("moment", "seen"), [(9, []), (10, ["A"]), (19, ["A"]), (20, ["B"]), (29, ["B"]), (30, ["C"]), (500, ["C"])]
)
def test_a_back_dated_version_lands_in_its_place_in_the_chain(chain: World, moment: int, seen: list[str]) -> None:
    chain.write("B", lineage="l", valid_from=day(20))
    assert chain.visible(as_of=day(moment)) == seen


@pytest.mark.parametrize(("moment", "seen"), [(4, []), (5, ["B"]), (10, ["A"]), (30, ["C"])])
def test_a_version_older_than_all_others_ends_where_the_next_begins(chain: World, moment: int, seen: list[str]) -> None:
    written = chain.write("B", lineage="l", valid_from=day(5))
    assert written["superseded"] is None
    assert chain.visible(as_of=day(moment)) == seen


@pytest.mark.parametrize(("moment", "seen"), [(9, []), (10, ["B"]), (29, ["B"]), (30, ["C"])])
def test_a_correction_at_the_same_moment_leaves_the_wrong_version_valid_never(chain: World, moment: int, seen: list[str]) -> None:
    written = chain.write("B", lineage="l", valid_from=day(10))
    wrong = chain.get(written["superseded"])
    assert (wrong["content"], wrong["valid_from"], wrong["valid_to"]) == ("A", day(10), day(10))
    assert chain.visible(as_of=day(moment)) == seen


def test_a_version_of_the_future_leaves_the_current_one_current_until_then(world: World) -> None:
    then = world.now() + timedelta(days=30)
    world.write("Oslo", lineage="city")
    world.write("Paris", lineage="city", valid_from=then)
    assert world.visible() == ["Oslo"]
    assert world.visible(as_of=then - MICROSECOND) == ["Oslo"]
    assert world.visible(as_of=then) == ["Paris"]


def test_a_write_before_a_scheduled_version_ends_where_that_begins(world: World) -> None:
    then = world.now() + timedelta(days=30)
    world.write("Oslo", lineage="city")
    world.write("Paris", lineage="city", valid_from=then)
    middle = world.write("Rome", lineage="city")
    assert middle["valid_to"] == then
    assert world.visible() == ["Rome"]
    assert world.visible(as_of=then) == ["Paris"]


@pytest.mark.parametrize(("moment", "seen"), [(9, []), (10, ["A"]), (14, ["A"]), (15, []), (30, [])])
def test_a_stated_end_is_half_open(world: World, moment: int, seen: list[str]) -> None:
    world.write("A", lineage="l", valid_from=day(10), valid_to=day(15))
    assert world.visible(as_of=day(moment)) == seen


@pytest.mark.row("M2")
@pytest.mark.parametrize(("moment", "seen"), [(10, ["A"]), (12, ["B"]), (13, ["B"]), (14, ["A"]), (29, ["A"]), (30, ["C"])])
def test_an_interrupted_version_goes_on_after_its_interlude(chain: World, moment: int, seen: list[str]) -> None:
    chain.write("B", lineage="l", valid_from=day(12), valid_to=day(14))
    assert chain.visible(as_of=day(moment)) == seen


def test_a_stated_end_past_the_next_version_is_cut_there(chain: World) -> None:
    assert chain.write("B", lineage="l", valid_from=day(20), valid_to=day(40))["valid_to"] == day(30)


def test_versions_are_numbered_in_the_order_of_writing(chain: World) -> None:
    chain.write("B", lineage="l", valid_from=day(20))
    assert sorted((v["version"], v["content"]) for v in chain.history("l")) == [(1, "A"), (2, "C"), (3, "B")]


@pytest.mark.row("M3")
@pytest.mark.parametrize("limit", [1, 2, 4])
def test_a_history_is_in_the_order_of_valid_time_however_it_was_told(chain: World, limit: int) -> None:
    chain.write("B", lineage="l", valid_from=day(20))
    chain.write("A again", corrects=chain.history("l")[0]["id"])
    told: list[str] = []
    after = 0
    while page := chain.rows("select version, content from loci.history(%(ns)s, 'l', %(n)s, %(after)s)", n=limit, after=after):
        told, after = [*told, *(row["content"] for row in page)], page[-1]["version"]
    assert told == ["A", "A again", "B", "C"]


def test_a_batch_with_one_lineage_writes_its_versions_in_order(world: World) -> None:
    world.remember(*({"content": f"c{n}", "lineage": "l"} for n in range(5)))
    versions = world.history("l")
    assert [v["content"] for v in versions] == ["c0", "c1", "c2", "c3", "c4"]
    assert [v["current"] for v in versions] == [False] * 4 + [True]


@pytest.mark.parametrize("field", ["category", "tags", "layer", "parent_id", "importance"])
def test_a_new_version_inherits_what_it_does_not_state(world: World, field: str) -> None:
    top = world.write("top", layer=0)
    old = world.write("Oslo", lineage="city", category="people/alice", tags=["home"], layer=1, parent_id=top["id"], importance=0.9)
    assert world.write("Paris", lineage="city")[field] == old[field]


@pytest.mark.parametrize(("field", "value"), [("category", "travel"), ("tags", ["trip"]), ("layer", 0), ("importance", 0.1)])
def test_a_new_version_keeps_what_it_states(world: World, field: str, value: Any) -> None:
    world.write("Oslo", lineage="city", category="people/alice", tags=["home"], layer=1, importance=0.9)
    assert world.write("Paris", lineage="city", **{field: value})[field] == value


def test_the_lineage_of_a_nameless_memory_can_be_continued_by_its_id(world: World) -> None:
    first = world.write("Oslo")
    second = world.write("Paris", lineage=str(first["id"]))
    assert (second["version"], second["superseded"]) == (2, first["id"])


# What was believed


def test_known_at_before_a_supersession_shows_the_old_belief(world: World) -> None:
    world.write("Oslo", lineage="city", valid_from=day(10))
    before = world.now()
    world.write("Paris", lineage="city", valid_from=day(10))
    assert world.visible(as_of=day(20), known_at=before) == ["Oslo"]
    assert world.visible(as_of=day(20)) == ["Paris"]


def test_known_at_before_a_back_dated_write_does_not_see_it(world: World) -> None:
    world.write("Oslo", lineage="city", valid_from=day(10))
    before = world.now()
    world.write("Paris", lineage="city", valid_from=day(20))
    assert world.visible(as_of=day(25), known_at=before) == ["Oslo"]
    assert world.visible(as_of=day(25), known_at=world.now()) == ["Paris"]


def test_known_at_before_anything_was_written_sees_nothing(world: World) -> None:
    before = world.now()
    world.write("Oslo", valid_from=day(10))
    assert world.visible(as_of=day(20), known_at=before) == []


def test_known_at_sees_what_was_forgotten_later(world: World) -> None:
    written = world.write("Oslo")
    before = world.now()
    world.forget(written["id"])
    assert world.visible(as_of=before) == []
    assert world.visible(as_of=before, known_at=before) == ["Oslo"]


@pytest.mark.row("M8")
def test_a_forgotten_memory_comes_back_when_restored(world: World) -> None:
    written = world.write("Oslo")
    world.forget(written["id"])
    assert world.visible() == []
    world.forget(written["id"], False)
    assert world.visible() == ["Oslo"]


@pytest.mark.parametrize("forgotten", [True, False])
def test_a_memory_that_is_forgotten_or_restored_again_is_not_changed(world: World, forgotten: bool) -> None:
    written = world.write("Oslo")
    world.forget(written["id"])
    world.forget(written["id"], forgotten)
    rows = "select * from loci_data.memories where namespace_id = %(ns_id)s"
    before = world.rows(rows)
    world.forget(written["id"], forgotten)
    assert world.rows(rows) == before


@pytest.mark.parametrize("end", [None, 30, 15], ids=["open", "ended after", "ended before"])
@pytest.mark.parametrize("later", [["Paris"], ["Paris", "Rome"], ["Rome", "Paris"]])
def test_a_forgotten_version_comes_back_until_the_next_one_begins(world: World, later: list[str], end: int | None) -> None:
    starts = {"Paris": 20, "Rome": 40}
    old = world.write("Oslo", lineage="city", valid_from=day(10), **({} if end is None else {"valid_to": day(end)}))
    world.forget(old["id"])
    for content in later:
        world.write(content, lineage="city", valid_from=day(starts[content]))
    restored = world.forget(old["id"], False)
    assert (restored["status"], restored["valid_to"]) == ("active", day(min(20, end or 20)))
    assert world.visible(as_of=day(12)) == ["Oslo"]
    assert world.visible(as_of=day(21)) == ["Paris"]
    assert [version["content"] for version in world.history("city")][:2] == ["Oslo", "Paris"]
    world.forget(old["id"])
    assert world.visible(as_of=day(12)) == []


def test_a_forgotten_version_comes_back_beside_one_that_was_announced_and_is_the_present_one(world: World) -> None:
    old = world.write("Oslo", lineage="city")
    world.forget(old["id"])
    world.write("Paris", lineage="city", valid_from=day(10_000))
    assert world.forget(old["id"], False)["valid_to"] == day(10_000)
    assert (world.visible(), world.visible(as_of=day(10_001))) == (["Oslo"], ["Paris"])


@pytest.mark.parametrize("lineage", ["home", None])
def test_a_repetition_reinforces_although_another_version_is_announced(world: World, lineage: str | None) -> None:
    named = {} if lineage is None else {"lineage": lineage}
    first = world.write("Nora lives in Kiel", **named)
    world.write("Nora lives in Bonn", lineage=first["lineage"], valid_from=day(10_000))
    again = [world.write("Nora lives in Kiel", **named) for _ in range(3)]
    assert [row["id"] for row in again] == [first["id"]] * 3
    assert [(v["version"], v["observations"]) for v in world.history(first["lineage"])] == [(1, 4), (2, 1)]
    other = world.write("Nora lives in Ulm", **named) if lineage else None
    assert other is None or (other["version"], other["valid_to"]) == (3, day(10_000))


def test_a_write_after_forgetting_supersedes_nothing(world: World) -> None:
    old = world.write("Oslo", lineage="city")
    world.forget(old["id"])
    new = world.write("Paris", lineage="city")
    assert (new["superseded"], new["version"]) == (None, 2)


@pytest.mark.row("M2")
def test_two_versions_are_never_valid_at_once_whatever_the_writer_does(world: World, admin: psycopg.Connection) -> None:
    admin.execute("set role loci_owner")
    admin.execute(
        """insert into loci_data.memories (namespace_id, id, lineage, lineage_id, version, content, content_hash, valid_from, recorded_at,
                                      believed_at, last_observed_at, updated_at)
           select 1, %s, 'l', %s, 1, 'a', loci_internal.content_hash('a'), now(), now(), now(), now(), now()""",
        [uuid4(), uuid4()],
    )
    with pytest.raises((errors.ExclusionViolation, errors.UniqueViolation)):
        admin.execute(
            """insert into loci_data.memories (namespace_id, id, lineage, lineage_id, version, content, content_hash, valid_from, recorded_at,
                                          believed_at, last_observed_at, updated_at)
               select 1, %s, 'l', %s, 2, 'b', loci_internal.content_hash('b'), now() - interval '1 day', now(), now(), now(), now()""",
            [uuid4(), uuid4()],
        )


# What is refused


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"content": ""}, errors.CheckViolation),
        ({"content": None}, errors.NotNullViolation),
        ({"layer": 4}, errors.CheckViolation),
        ({"importance": 1.5}, errors.CheckViolation),
        ({"confidence": -0.1}, errors.CheckViolation),
        ({"category": "a//b"}, errors.CheckViolation),
        ({"category": "/a"}, errors.CheckViolation),
        ({"metadata": [1]}, errors.CheckViolation),
        ({"tags": [None]}, errors.CheckViolation),
        ({"lineage": ""}, errors.CheckViolation),
        ({"lineage": "l" * 256}, errors.CheckViolation),
        ({"valid_from": "2020-01-02", "valid_to": "2020-01-01"}, errors.CheckViolation),
        ({"valid_from": "infinity"}, errors.CheckViolation),
        ({"parent_id": str(UUID(int=5))}, errors.ForeignKeyViolation),
        ({"layer": "fact"}, errors.DataError),
        ({"embedding": [1.0]}, errors.InvalidParameterValue),
    ],
    ids=str,
)
def test_a_wrong_item_is_refused_and_leaves_nothing(world: World, fields: dict[str, Any], error: type[psycopg.Error]) -> None:
    with pytest.raises(error), world.connection.transaction():
        world.remember({"content": "good"}, {"content": "x", **fields})
    assert world.visible() == []
    assert world.value("select count(*) from loci_data.postings where namespace_id = %(ns_id)s") == 0


def test_a_namespace_that_does_not_exist_is_refused_by_name(world: World) -> None:
    with pytest.raises(errors.NoDataFound, match="no-such-place"):
        world.rows("select * from loci_api.remember('no-such-place', '[]')")


def test_an_empty_batch_writes_nothing(world: World) -> None:
    assert world.remember() == []
