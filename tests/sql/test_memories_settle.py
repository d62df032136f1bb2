"""Settling: of two memories of which one may outdate the other somebody says which holds, and that can be taken back."""

from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg.errors import ExclusionViolation, InsufficientPrivilege, InvalidParameterValue, NoDataFound, UniqueViolation
from psycopg.types.json import Jsonb

from tests.factories import Row, World, act_as, day, grant, stated
from tests.sql.undoing import operation, undo

OLD, NEW = "Nadia follows a vegan diet", "Nadia has gone low-salt"
VERDICTS = ("replaces", "corrects", "both_true")


def retain(world: World, *facts: str, **fields: Any) -> list[Row]:
    items = Jsonb([stated({"content": fact, **fields}) for fact in facts])
    return world.rows("select * from loci_api.retain(%(ns)s, %(items)s)", items=items)


def settle(world: World, newer: UUID, older: UUID, verdict: str = "replaces") -> list[Row]:
    return world.rows("select * from loci_api.settle_memories(%(ns)s, %(n)s, %(o)s, %(v)s)", n=newer, o=older, v=verdict)


def notice(world: World, id: UUID) -> list[str]:
    found = world.value("select loci_api.notice_memory(%(ns)s, %(id)s)", id=id)
    return [row["content"] for row in found]


def unsettled(world: World) -> list[tuple[str, str]]:
    rows = world.rows("select * from loci_api.list_unsettled(%(ns)s)")
    assert [(row["newer"]["content"], row["older"]["content"]) for row in rows] == [
        (row["newer"], row["older"])
        for row in world.rows(
            "select * from loci.unsettled_memories where namespace = %(ns)s order by noticed_at desc, newer_id desc"
        )
    ]
    return [(row["newer"]["content"], row["older"]["content"]) for row in rows]


def links(world: World, id: UUID) -> set[str]:
    return {row["type"] for row in world.rows("select * from loci.list_links(%(ns)s, %(id)s)", id=id)}


def open_pair(world: World) -> tuple[Row, Row]:
    """A newer memory and an older one, of which it is open which holds."""
    older, newer = world.write(OLD, valid_from=day(0)), world.write(NEW, valid_from=day(100))
    world.rows("select * from loci_api.link_memories(%(ns)s, %(n)s, %(o)s, 'contradicts', 0.6)", n=newer["id"], o=older["id"])
    return newer, older


@pytest.fixture
def pair(world: World) -> tuple[Row, Row]:
    return open_pair(world)


# What is noticed


def test_a_fact_that_may_outdate_another_leaves_the_pair_open(world: World) -> None:
    (known,) = retain(world, "Nadia follows a vegan diet with nuts")
    (decision,) = retain(world, "Nadia follows a salt diet with nuts")
    assert [row["content"] for row in decision["unsettled"]] == ["Nadia follows a vegan diet with nuts"]
    assert decision["unsettled"][0]["id"] == str(known["memory_id"])
    assert unsettled(world) == [("Nadia follows a salt diet with nuts", "Nadia follows a vegan diet with nuts")]


def test_an_unrelated_memory_or_one_of_another_is_not_named(world: World) -> None:
    retain(world, "Bob follows a vegan menu", "The rent is 400")
    (decision,) = retain(world, NEW)
    assert (decision["unsettled"], unsettled(world)) == ([], [])


def test_a_distant_statement_of_the_same_subject_is_named_and_not_left_open(world: World) -> None:
    retain(world, OLD)
    (decision,) = retain(world, NEW)
    assert ([row["content"] for row in decision["unsettled"]], unsettled(world)) == ([OLD], [])


def test_no_more_are_named_than_the_setting_allows(world: World) -> None:
    retain(world, *[f"Nadia likes {what}" for what in ("tea", "jazz", "rain", "maths")])
    world.rows("select * from loci_api.update_namespace(%(ns)s, %(s)s)", s=Jsonb({"settings": {"unsettled_named": 2}}))
    (decision,) = retain(world, NEW)
    assert len(decision["unsettled"]) == 2


def test_a_known_fact_and_a_question_leave_nothing_open(world: World) -> None:
    retain(world, OLD)
    again, asked = retain(world, OLD, "Does Nadia follow a vegan diet?")
    assert (again["unsettled"], asked["unsettled"]) == ([], [])


def test_a_memory_that_is_compared_is_not_its_own_rival(world: World) -> None:
    first, other = world.write(OLD, lineage="diet"), world.write("Nadia follows a salt diet with nuts")
    second = world.write("Nadia follows a salt diet", lineage="diet")
    assert notice(world, second["id"]) == ["Nadia follows a salt diet with nuts"]
    assert unsettled(world) == [("Nadia follows a salt diet", "Nadia follows a salt diet with nuts")]
    assert (first["lineage"], links(world, other["id"])) == ("diet", {"contradicts"})


@pytest.mark.row("M12")
def test_a_pair_said_to_be_both_true_is_not_noticed_again(world: World) -> None:
    one, other = world.write("Nadia follows a vegan diet", lineage="diet"), world.write("Nadia follows a salt diet")
    settle(world, other["id"], one["id"], "both_true")
    newer = world.write("Nadia follows a strictly vegan diet", lineage="diet")
    assert (notice(world, newer["id"]), unsettled(world)) == ([], [])


# What is settled


@pytest.mark.row("M12")
def test_a_replaced_memory_ends_when_the_newer_one_begins(world: World, pair: tuple[Row, Row]) -> None:
    newer, older = pair
    before = world.now()
    shown = settle(world, newer["id"], older["id"])
    assert [(row["id"], row["valid_to"], row["current"]) for row in shown] == [
        (newer["id"], None, True),
        (older["id"], day(100), False),
    ]
    assert shown[1]["superseded_at"] >= before
    assert (world.visible(), world.visible(day(50))) == ([NEW], [OLD])
    assert world.visible(day(150), before) == [OLD, NEW]  # as it was believed
    assert (links(world, newer["id"]), unsettled(world)) == ({"replaces"}, [])


@pytest.mark.row("M12")
def test_a_corrected_statement_was_never_true_and_stays_askable(world: World, pair: tuple[Row, Row]) -> None:
    newer, older = pair
    before = world.now()
    (_, shown) = settle(world, newer["id"], older["id"], "corrects")
    assert (shown["valid_from"], shown["valid_to"]) == (day(0), day(0))
    assert (world.visible(), world.visible(day(50)), world.visible(day(50), before)) == ([NEW], [], [OLD])
    assert links(world, newer["id"]) == {"corrects"}


def test_two_true_memories_both_stay(world: World, pair: tuple[Row, Row]) -> None:
    newer, older = pair
    assert [row["current"] for row in settle(world, newer["id"], older["id"], "both_true")] == [True, True]
    assert (world.visible(), links(world, newer["id"]), unsettled(world)) == ([OLD, NEW], {"both_true"}, [])


def test_a_replaced_memory_that_begins_later_ends_where_it_begins(world: World) -> None:
    older, newer = world.write(OLD, valid_from=day(200)), world.write(NEW, valid_from=day(100))
    (_, shown) = settle(world, newer["id"], older["id"])
    assert (shown["valid_from"], shown["valid_to"]) == (day(200), day(200))


@pytest.mark.parametrize("verdict", VERDICTS)
def test_undoing_opens_the_pair_again(world: World, pair: tuple[Row, Row], verdict: str) -> None:
    newer, older = pair
    before = world.get(older["id"])
    _, done = operation(world, lambda: settle(world, newer["id"], older["id"], verdict))
    assert unsettled(world) == []
    undone = undo(world, done)
    after = world.get(older["id"])
    assert {name: after[name] for name in ("valid_to", "superseded_at", "current")} == {
        name: before[name] for name in ("valid_to", "superseded_at", "current")
    }
    assert (unsettled(world), links(world, newer["id"])) == ([(NEW, OLD)], {"contradicts"})
    undo(world, undone["operation_id"])
    assert (unsettled(world), links(world, newer["id"])) == ([], {verdict})


def test_another_verdict_takes_the_place_of_the_first(world: World, pair: tuple[Row, Row]) -> None:
    newer, older = pair
    settle(world, newer["id"], older["id"], "both_true")
    settle(world, newer["id"], older["id"], "both_true")
    settle(world, newer["id"], older["id"], "replaces")
    assert (links(world, newer["id"]), world.visible()) == ({"replaces"}, [NEW])


def test_a_pair_that_nobody_noticed_is_settled_as_well(world: World) -> None:
    older, newer = world.write("The launch is in May"), world.write("Chiara inherited the parcel tracker")
    settle(world, newer["id"], older["id"])
    assert world.visible() == ["Chiara inherited the parcel tracker"]


def test_only_the_version_that_is_current_is_settled(world: World) -> None:
    world.write("Nadia eats anything", lineage="diet", valid_from=day(0))
    older, newer = world.write(OLD, lineage="diet", valid_from=day(10)), world.write(NEW, valid_from=day(100))
    settle(world, newer["id"], older["id"])
    assert [(row["content"], row["valid_to"]) for row in world.history("diet")] == [
        ("Nadia eats anything", day(10)),
        (OLD, day(100)),
    ]


# What is refused


@pytest.mark.parametrize("verdict", ["replaces", "corrects"])
def test_the_second_of_two_who_settle_is_told_what_is_not_current(world: World, pair: tuple[Row, Row], verdict: str) -> None:
    newer, older = pair
    settle(world, newer["id"], older["id"], verdict)
    with pytest.raises(ExclusionViolation, match=f"memory {older['id']} is not current") as refused, world.connection.transaction():
        settle(world, newer["id"], older["id"])
    assert refused.value.diag.column_name == "older"


@pytest.mark.row("M12")
def test_a_pair_with_a_forgotten_memory_is_neither_open_nor_settled(world: World, pair: tuple[Row, Row]) -> None:
    newer, older = pair
    world.forget(older["id"])
    assert unsettled(world) == []
    with pytest.raises(ExclusionViolation, match="was forgotten"), world.connection.transaction():
        settle(world, newer["id"], older["id"])
    world.forget(older["id"], False)
    assert unsettled(world) == [(NEW, OLD)]


def test_a_version_that_was_superseded_is_refused_and_the_current_one_named(world: World) -> None:
    first = world.write(OLD, lineage="diet", valid_from=day(0))
    second = world.write("Nadia eats fish", lineage="diet", valid_from=day(50))
    newer = world.write(NEW)
    with pytest.raises(ExclusionViolation) as refused, world.connection.transaction():
        settle(world, newer["id"], first["id"])
    assert str(second["id"]) in str(refused.value.diag.message_hint)


def test_versions_of_one_lineage_and_unknown_verdicts_are_refused(world: World, pair: tuple[Row, Row]) -> None:
    newer, older = pair
    with pytest.raises(InvalidParameterValue, match="one lineage"), world.connection.transaction():
        settle(world, newer["id"], newer["id"])
    with pytest.raises(InvalidParameterValue, match="verdict"), world.connection.transaction():
        settle(world, newer["id"], older["id"], "maybe")


def test_unknown_memories_and_those_of_other_namespaces_are_not_found(world: World, pair: tuple[Row, Row]) -> None:
    newer, older = pair
    with pytest.raises(NoDataFound, match="does not exist"), world.connection.transaction():
        settle(world, newer["id"], uuid4())
    world.rows("select loci_api.create_namespace('elsewhere')")
    with pytest.raises(NoDataFound), world.connection.transaction():
        world.rows("select * from loci_api.settle_memories('elsewhere', %(n)s, %(o)s, 'replaces')", n=newer["id"], o=older["id"])
    assert world.rows("select * from loci_api.list_unsettled('elsewhere')") == []


@pytest.mark.row("M12")
def test_readers_see_what_is_open_and_settle_nothing(owned: World) -> None:
    newer, older = open_pair(owned)
    owned.connection.execute("reset session authorization")
    reader = grant(owned.connection, owned.name, "reader")
    owned.connection.execute("set session authorization loci_app")
    act_as(owned.connection, reader)
    assert unsettled(owned) == [(NEW, OLD)]
    with pytest.raises(InsufficientPrivilege), owned.connection.transaction():
        settle(owned, newer["id"], older["id"])
    with pytest.raises(InsufficientPrivilege), owned.connection.transaction():
        notice(owned, newer["id"])


def test_undoing_the_write_of_what_was_settled_since_is_a_conflict(world: World) -> None:
    older = world.write(OLD, valid_from=day(0))
    newer, written = operation(world, lambda: world.write(NEW, valid_from=day(100)))
    settle(world, newer["id"], older["id"])
    undo(world, written)
    with pytest.raises(UniqueViolation), world.connection.transaction():
        undo(world, written)


# Pages


def test_open_pairs_come_in_pages_the_newest_first(world: World) -> None:
    older = world.write(OLD)
    ids = [world.write(f"Nadia eats {what}")["id"] for what in ("rice", "beans", "fish")]
    for newer in ids:
        world.rows("select * from loci_api.link_memories(%(ns)s, %(n)s, %(o)s, 'contradicts', 0.6)", n=newer, o=older["id"])
    first = world.rows("select * from loci_api.list_unsettled(%(ns)s, 2)")
    rest = world.rows("select * from loci_api.list_unsettled(%(ns)s, 2, %(c)s)", c=first[-1]["cursor"])
    assert [row["newer"]["id"] for row in (*first, *rest)] == [str(newer) for newer in reversed(ids)]
