"""Aspects, attributes and constraints: soft lifecycles, at two times."""

from datetime import datetime
from typing import Any
from uuid import uuid4

import pytest
from psycopg.errors import CheckViolation, InvalidParameterValue, NoDataFound
from psycopg.types.json import Jsonb

from tests.factories import Row, World, day, stated


def add_aspect(world: World, name: str = "Diet", **fields: Any) -> Row:
    return world.row("select * from loci_api.upsert_aspect(%(ns)s, 'Alice', %(a)s)", a=Jsonb({"name": name, **fields}))


def add(world: World, content: str, **fields: Any) -> Row:
    return world.row(
        "select * from loci_api.add_attribute(%(ns)s, %(id)s, %(a)s)",
        id=add_aspect(world)["id"],
        a=Jsonb(stated({"content": content, **fields})),
    )


def change(world: World, attribute: Row, **changes: Any) -> Row:
    return world.row("select * from loci_api.update_attribute(%(ns)s, %(id)s, %(c)s)", id=attribute["id"], c=Jsonb(stated(changes)))


def held(world: World, as_of: datetime | None = None, known_at: datetime | None = None, kind: str = "attributes") -> list[str]:
    rows = world.rows("select * from loci.list_aspects(%(ns)s, 'alice', %(as_of)s, %(known_at)s)", as_of=as_of, known_at=known_at)
    return [item["content"] for row in rows for item in row[kind]]


@pytest.fixture(autouse=True)
def alice(world: World) -> None:
    world.rows('select * from loci_api.upsert_entities(%(ns)s, \'[{"name": "Alice"}]\')')


@pytest.mark.row("S1")
def test_an_aspect_is_one_by_its_canonical_name(world: World) -> None:
    first = add_aspect(world, "Food  Habits", weight=0.9)
    again = add_aspect(world, " food habits ", single_valued=True)
    assert (first["created"], again["created"], again["id"]) == (True, False, first["id"])
    assert (again["name"], again["weight"], again["single_valued"]) == ("Food  Habits", 0.9, True)


@pytest.mark.row("S1")
def test_a_new_aspect_has_the_defaults(world: World) -> None:
    assert (add_aspect(world)["weight"], add(world, "x")["confidence"], add(world, "y")["importance"]) == (0.5, 0.0, 0.5)


def test_aspects_are_listed_heaviest_first_with_what_holds_most_important_first(world: World) -> None:
    add_aspect(world, "Work", weight=0.8)
    add(world, "likes tea", importance=0.2)
    add(world, "hates milk", importance=0.7)
    add(world, "no peanuts", kind="constraint")
    rows = world.rows("select * from loci.list_aspects(%(ns)s, 'Alice')")
    assert [row["name"] for row in rows] == ["Work", "Diet"]
    assert held(world) == ["hates milk", "likes tea"]
    assert held(world, kind="constraints") == ["no peanuts"]


@pytest.mark.row("S1")
def test_new_content_supersedes_the_old_which_stays_at_both_times(world: World) -> None:
    old = add(world, "vegetarian", valid_from=day(0), importance=0.8)
    known_at = world.now()
    new = change(world, old, content="vegan", valid_from=day(100))
    assert (new["content"], new["importance"], new["status"]) == ("vegan", 0.8, "active")
    assert held(world) == ["vegan"]
    assert held(world, day(50)) == ["vegetarian"]
    assert held(world, day(150), known_at) == ["vegetarian"]
    row = world.row("select * from loci_data.attributes where namespace_id = %(ns_id)s and id = %(id)s", id=old["id"])
    assert (row["status"], row["superseded_by"], row["valid_to"]) == ("superseded", new["id"], day(100))
    assert row["superseded_at"] is not None


@pytest.mark.row("S8")
def test_a_deleted_attribute_was_never_true_but_was_believed(world: World) -> None:
    old = add(world, "vegetarian", valid_from=day(0))
    known_at = world.now()
    assert change(world, old, status="deleted")["status"] == "deleted"
    assert held(world) == held(world, day(50)) == []
    assert held(world, day(50), known_at) == ["vegetarian"]


@pytest.mark.parametrize("status", ["deleted", "superseded"])
def test_an_attribute_that_is_active_again_is_what_it_was(world: World, status: str) -> None:
    old = add(world, "vegetarian", valid_from=day(0), valid_to=day(99_000))
    change(world, old, status=status)
    between = world.now()
    back = change(world, old, status="active")
    assert {**back, "updated_at": None} == {**old, "updated_at": None}
    assert held(world) == ["vegetarian"]
    assert held(world, known_at=between) == []


def test_importance_is_that_believed_then(world: World) -> None:
    attribute = add(world, "vegetarian", importance=0.3)
    known_at = world.now()
    change(world, attribute, importance=0.9)
    rows = [world.rows("select attributes from loci.list_aspects(%(ns)s, 'Alice', null, %(k)s)", k=k) for k in (known_at, None)]
    assert [row[0]["attributes"][0]["importance"] for row in rows] == [0.3, 0.9]


def test_an_attribute_holds_from_its_valid_from_until_its_valid_to(world: World) -> None:
    add(world, "on holiday", valid_from=day(10), valid_to=day(20))
    assert [held(world, day(n)) for n in (9, 10, 19, 20)] == [[], ["on holiday"], ["on holiday"], []]


def test_an_aspect_is_not_there_before_it_was_made(world: World) -> None:
    known_at = world.now()
    add_aspect(world)
    assert world.rows("select * from loci.list_aspects(%(ns)s, 'Alice', null, %(k)s)", k=known_at) == []


def test_the_views_show_what_holds_now(world: World) -> None:
    add(world, "likes tea")
    rule = add(world, "no peanuts", kind="constraint")
    change(world, add(world, "gone", kind="constraint"), status="deleted")
    (aspect,) = world.rows("select * from loci.aspects where namespace = %(ns)s")
    assert (aspect["entity"], aspect["attributes"], aspect["constraints"]) == ("Alice", ["likes tea"], ["no peanuts"])
    (constraint,) = world.rows("select * from loci.constraints where namespace = %(ns)s")
    assert (constraint["id"], constraint["entity"], constraint["aspect"]) == (rule["id"], "Alice", "Diet")


@pytest.mark.row("S1")
def test_an_attribute_rests_on_a_memory(world: World) -> None:
    memory = world.write("Alice eats no meat")["id"]
    assert add(world, "vegetarian", memory_id=memory)["memory_id"] == memory
    with pytest.raises(NoDataFound):
        add(world, "vegetarian", memory_id=uuid4())


WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "content"),
    ({"content": ""}, "content"),
    ({"content": " "}, "content"),
    ({"content": 5}, "content"),
    ({"content": "x" * 10_001}, "content"),
    ({"content": "x", "kind": "rule"}, "kind"),
    ({"content": "x", "confidence": 2}, "confidence"),
    ({"content": "x", "importance": "high"}, "importance"),
    ({"content": "x", "valid_from": "infinity"}, "valid_from"),
    ({"content": "x", "memory_id": "x"}, "memory_id"),
    ({"content": "x", "other": 1}, "other"),
]


@pytest.mark.parametrize(("attribute", "field"), WRONG)
def test_a_wrong_attribute_is_refused_by_field(world: World, attribute: dict[str, Any], field: str) -> None:
    aspect = add_aspect(world)["id"]
    with pytest.raises(InvalidParameterValue) as raised:
        world.rows("select * from loci_api.add_attribute(%(ns)s, %(id)s, %(a)s)", id=aspect, a=Jsonb(attribute))
    assert raised.value.diag.column_name == field


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"status": "gone"}, "status"),
        ({"content": "y", "status": "deleted"}, "status"),
        ({"valid_from": day(0)}, "valid_from"),
        ({"confidence": None}, "confidence"),
        ({"kind": "constraint"}, "kind"),
    ],
)
def test_a_wrong_change_is_refused_by_field(world: World, changes: dict[str, Any], field: str) -> None:
    attribute = add(world, "x")
    with pytest.raises(InvalidParameterValue) as raised:
        change(world, attribute, **changes)
    assert raised.value.diag.column_name == field


@pytest.mark.parametrize(("aspect", "field"), [({}, "name"), ({"name": " "}, "name"), ({"name": "x", "weight": 2}, "weight")])
def test_a_wrong_aspect_is_refused_by_field(world: World, aspect: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidParameterValue) as raised:
        world.rows("select * from loci_api.upsert_aspect(%(ns)s, 'Alice', %(a)s)", a=Jsonb(aspect))
    assert raised.value.diag.column_name == field


def test_content_of_what_is_no_longer_active_is_not_replaced(world: World) -> None:
    old = add(world, "x")
    change(world, old, status="deleted")
    with pytest.raises(InvalidParameterValue):
        change(world, old, content="y")


def test_an_attribute_does_not_end_before_it_begins(world: World) -> None:
    with pytest.raises(CheckViolation):
        add(world, "x", valid_from=day(2), valid_to=day(1))


@pytest.mark.parametrize(
    "call",
    [
        "select * from loci_api.upsert_aspect(%(ns)s, 'nobody', '{\"name\": \"x\"}')",
        "select * from loci.list_aspects(%(ns)s, 'nobody')",
        'select * from loci_api.add_attribute(%(ns)s, gen_random_uuid(), \'{"content": "x"}\')',
        "select * from loci_api.update_attribute(%(ns)s, gen_random_uuid(), '{}')",
    ],
)
def test_an_absent_thing_is_not_found(world: World, call: Any) -> None:
    with pytest.raises(NoDataFound):
        world.rows(call)
