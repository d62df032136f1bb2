"""Exact duplicates fold, and only where nothing is lost by it."""

from datetime import timedelta
from typing import Any

import pytest

from tests.factories import World, day


def test_an_exact_duplicate_reinforces_instead_of_making_a_row(world: World) -> None:
    first = world.write("The sky is blue.")
    second = world.write("The sky is blue.")
    assert (second["id"], second["duplicate"], second["superseded"]) == (first["id"], True, None)
    assert (second["observations"], first["observations"]) == (2, 1)
    assert second["last_observed_at"] > first["last_observed_at"]
    assert world.visible() == ["The sky is blue."]


@pytest.mark.parametrize("other", ["the sky is blue.", "The sky is blue. ", "The sky  is blue."])
def test_a_content_that_differs_in_one_character_does_not_fold(world: World, other: str) -> None:
    world.write("The sky is blue.")
    assert not world.write(other)["duplicate"]


def test_a_fold_keeps_the_fields_of_the_first_write(world: World) -> None:
    world.write("x", category="a", tags=["t"])
    assert world.write("x", category="b", tags=[])["category"] == "a"


@pytest.mark.parametrize(
    "fields",
    [
        {"layer": 3},
        {"valid_from": day(1)},
        {"valid_to": day(40_000)},
        {"layer": 3, "lineage": "l"},
        {"valid_from": day(1), "lineage": "l"},
    ],
    ids=str,
)
def test_an_episode_or_a_stated_validity_never_folds(world: World, fields: dict[str, Any]) -> None:
    first = world.write("x", **fields)
    second = world.write("x", **{**fields, **({"valid_from": day(2)} if "valid_from" in fields else {})})
    assert not second["duplicate"]
    assert second["id"] != first["id"]


def test_a_plain_write_does_not_fold_into_an_episode(world: World) -> None:
    world.write("x", layer=3)
    assert not world.write("x")["duplicate"]


def test_an_episode_does_not_fold_into_a_plain_memory(world: World) -> None:
    world.write("x")
    assert not world.write("x", layer=3)["duplicate"]


def test_a_plain_write_folds_into_a_current_memory_that_stated_its_start(world: World) -> None:
    first = world.write("x", valid_from=day(1))
    assert world.write("x")["id"] == first["id"]


def test_a_plain_write_does_not_fold_into_a_memory_that_is_not_valid_yet(world: World) -> None:
    world.write("x", valid_from=world.now() + timedelta(days=1))
    assert not world.write("x")["duplicate"]


@pytest.mark.parametrize("count", [2, 5])
def test_duplicates_within_a_batch_fold_to_one(world: World, count: int) -> None:
    outcomes = world.remember(*({"content": "x"} for _ in range(count)))
    assert len({row["id"] for row in outcomes}) == 1
    assert [row["duplicate"] for row in outcomes] == [False] + [True] * (count - 1)
    assert world.get(outcomes[0]["id"])["observations"] == count


def test_duplicates_of_what_is_there_within_a_batch_count_each(world: World) -> None:
    first = world.write("x")
    outcomes = world.remember({"content": "x"}, {"content": "y"}, {"content": "x"})
    assert [row["duplicate"] for row in outcomes] == [True, False, True]
    assert world.get(first["id"])["observations"] == 3


def test_a_batch_keeps_the_order_of_its_items(world: World) -> None:
    items = [
        {"content": "b"},
        {"content": "a", "lineage": "l"},
        {"content": "b"},
        {"content": "c", "layer": 3},
        {"content": "a", "lineage": "l"},
    ]
    outcomes = world.remember(*items)
    assert [row["ordinal"] for row in outcomes] == [0, 1, 2, 3, 4]
    assert [world.get(row["id"])["content"] for row in outcomes] == ["b", "a", "b", "c", "a"]


def test_repeating_the_current_version_of_a_lineage_reinforces_it(world: World) -> None:
    first = world.write("Oslo", lineage="city")
    again = world.write("Oslo", lineage="city")
    assert (again["id"], again["duplicate"], again["superseded"], again["observations"]) == (first["id"], True, None, 2)


def test_going_back_to_an_earlier_content_is_a_new_version(world: World) -> None:
    world.write("Oslo", lineage="city")
    world.write("Paris", lineage="city")
    back = world.write("Oslo", lineage="city")
    assert (back["duplicate"], back["version"]) == (False, 3)


def test_repeats_of_a_lineage_within_a_batch_fold(world: World) -> None:
    outcomes = world.remember(*({"content": "Oslo", "lineage": "city"} for _ in range(3)))
    assert [row["duplicate"] for row in outcomes] == [False, True, True]
    assert len(world.history("city")) == 1


def test_the_same_content_in_two_lineages_is_two_memories(world: World) -> None:
    first, second = world.write("Oslo", lineage="a"), world.write("Oslo", lineage="b")
    assert first["id"] != second["id"]


def test_the_same_content_in_two_namespaces_is_two_memories(world: World) -> None:
    first = world.write("x")
    world.rows("select loci_api.create_namespace('elsewhere-folding')")
    other = world.row("""select * from loci_api.remember('elsewhere-folding', '[{"content": "x"}]')""")
    assert (other["duplicate"], other["id"] == first["id"]) == (False, False)


def test_a_forgotten_memory_takes_no_duplicates(world: World) -> None:
    first = world.write("x")
    world.forget(first["id"])
    assert world.write("x")["id"] != first["id"]


def test_a_fold_leaves_what_was_believed_as_it_was(world: World) -> None:
    world.write("x")
    world.write("x")
    assert world.value("select count(*) from loci_data.memory_beliefs where namespace_id = %(ns_id)s") == 0
