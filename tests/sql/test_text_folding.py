"""Exact duplicates fold, and only where nothing is lost by it."""

from datetime import timedelta
from typing import Any

import pytest
from psycopg import errors

from tests.factories import World, day
from tests.sql.details import DETAILS, OTHERS, STATED

SAME = {name: value for name, value in STATED.items() if name != "about"}  # as a write without any of them has it


@pytest.mark.row("M4")
def test_an_exact_duplicate_reinforces_instead_of_making_a_row(world: World) -> None:
    first = world.write("The sky is blue.")
    second = world.write("The sky is blue.")
    assert (second["id"], second["duplicate"], second["superseded"]) == (first["id"], True, None)
    assert (second["observations"], first["observations"]) == (2, 1)
    assert second["last_observed_at"] > first["last_observed_at"]
    assert world.visible() == ["The sky is blue."]


@pytest.mark.row("M4")
@pytest.mark.parametrize("other", ["the sky is blue.", "The sky is blue. ", "The sky  is blue."])
def test_a_content_that_differs_in_one_character_does_not_fold(world: World, other: str) -> None:
    world.write("The sky is blue.")
    assert not world.write(other)["duplicate"]


def test_a_fold_keeps_the_fields_of_the_first_write(world: World) -> None:
    world.write("x", category="a", tags=["t"])
    folded = world.write("x", category="a", tags=[])
    assert (folded["duplicate"], folded["tags"]) == (True, ["t"])


@pytest.mark.parametrize("name", ["category", "about"])
def test_the_same_words_in_another_category_or_about_another_do_not_fold(world: World, name: str) -> None:
    before = world.write("x", **STATED)
    other = world.write("x", **{**STATED, name: OTHERS[name]})
    assert (other["duplicate"], other["id"] == before["id"]) == (False, False)


@pytest.mark.row("M4")
@pytest.mark.parametrize("name", [name for name in DETAILS if name not in {"category", "about"}])
def test_a_fold_says_what_it_did_not_take_over_and_an_update_takes_it_over(world: World, name: str) -> None:
    before = world.write("x", **SAME)
    stated = {**SAME, name: OTHERS[name]}
    folded = world.write("x", **stated)
    assert (folded["id"], folded["ignored"], folded[name]) == (before["id"], [name], STATED[name])
    assert world.write("x", **SAME)["ignored"] == world.write("x")["ignored"] == []
    then = world.now()
    updated = world.write("x", **stated, on_duplicate="update")
    assert (updated["id"], updated["duplicate"], updated["ignored"], updated[name]) == (before["id"], True, [], OTHERS[name])
    assert (updated["version"], updated["observations"]) == (1, 5)
    (believed,) = world.rows("select * from loci.get_memory(%(ns)s, %(id)s, null, %(then)s)", id=before["id"], then=then)
    assert believed[name] == STATED[name]


def test_a_new_memory_ignores_nothing(world: World) -> None:
    assert world.write("x", tags=["a"], on_duplicate="update")["ignored"] is None


def test_the_order_of_tags_is_no_difference(world: World) -> None:
    world.write("x", tags=["a", "b"])
    assert world.write("x", tags=["b", "a"])["ignored"] == []


def test_the_first_speaker_stays_and_the_reply_says_so(world: World) -> None:
    world.write("x", source="ann", session_id="s1")
    again = world.write("x", source="bob", session_id="s2", on_duplicate="update")
    assert (again["source"], again["session_id"], again["ignored"]) == ("ann", "s1", ["session_id", "source"])


def test_a_parent_is_taken_over_by_an_update_alone(world: World) -> None:
    first, second = (world.write(name, layer=1)["id"] for name in ("first", "second"))
    world.write("x", parent_id=first)
    folded = world.write("x", parent_id=second)
    assert (folded["parent_id"], folded["ignored"]) == (first, ["parent_id"])
    updated = world.write("x", parent_id=second, on_duplicate="update")
    assert (updated["parent_id"], updated["ignored"]) == (second, [])


@pytest.mark.row("M4")
@pytest.mark.parametrize("lineage", [None, "l"])
def test_a_duplicate_that_is_to_be_refused_names_what_is_there_and_changes_nothing(world: World, lineage: str | None) -> None:
    first = world.write("x", lineage=lineage, on_duplicate="refuse")
    with pytest.raises(errors.UniqueViolation, match=f"memory {first['id']} says the same"), world.connection.transaction():
        world.write("x", lineage=lineage, tags=["a"], on_duplicate="refuse")
    with pytest.raises(errors.UniqueViolation), world.connection.transaction():
        world.remember({"content": "y"}, {"content": "y", "on_duplicate": "refuse"})
    assert (world.get(first["id"])["observations"], world.visible()) == (1, ["x"])


def test_the_last_of_several_updates_in_a_batch_stays(world: World) -> None:
    items = [{"content": "x", "importance": i, "on_duplicate": "update"} for i in (0.25, 0.5, 0.75)]
    first, *_ = world.remember(*items)
    assert world.get(first["id"])["importance"] == 0.75


def test_the_last_item_that_states_a_field_counts(world: World) -> None:
    parents = [world.write(name)["id"] for name in ("a", "b")]
    made = world.write("x", tags=["z"])["id"]
    world.remember(
        {"content": "x", "importance": 0.25, "tags": ["first"], "parent_id": str(parents[0]), "on_duplicate": "update"},
        {"content": "x", "importance": 0.75, "parent_id": str(parents[1]), "on_duplicate": "update"},
        {"content": "x", "tags": ["last"], "on_duplicate": "update"},
    )
    memory = world.get(made)
    assert (memory["importance"], memory["tags"], memory["parent_id"]) == (0.75, ["last"], parents[1])


def test_a_memory_is_changed_no_more_often_where_a_batch_repeats_it_more_often(world: World) -> None:
    changed = "select n_tup_upd from pg_stat_xact_user_tables where relid = 'loci_data.memories'::regclass"
    world.write("x")
    counts = [world.rows(changed)[0]["n_tup_upd"]]
    for times in (2, 40):
        world.remember(*({"content": "x", "importance": n / 40, "on_duplicate": "update"} for n in range(times)))
        counts.append(world.rows(changed)[0]["n_tup_upd"])
    assert counts[2] - counts[1] == counts[1] - counts[0]


def test_another_word_for_on_duplicate_is_refused(world: World) -> None:
    with pytest.raises(errors.InvalidParameterValue, match="must be reinforce, update or refuse, not 'merge'"):
        world.write("x", on_duplicate="merge")


@pytest.mark.row("M4")
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


@pytest.mark.row("M4")
def test_a_plain_write_does_not_fold_into_a_memory_whose_end_was_stated(world: World) -> None:
    world.write("x", valid_to=day(40_000))
    assert not world.write("x")["duplicate"]


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


@pytest.mark.row("M4")
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
