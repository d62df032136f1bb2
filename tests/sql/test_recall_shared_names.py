"""One hop over shared names: linked_memories."""

from uuid import UUID

import pytest

from tests.factories import Row, World


def note(world: World, **names: tuple[str, ...]) -> dict[str, Row]:
    """Write memories and note the names given for each, as the worker does; rows by key. `_` is a space."""
    rows = {key: world.write(key.replace("_", " ")) for key in names}
    pairs = [(rows[key]["id"], name) for key, found in names.items() for name in found]
    world.row(
        "select loci_api.store_found_names(array_fill(%(ns_id)s, array[%(count)s]), %(memories)s, %(names)s)",
        count=len(pairs),
        memories=[id for id, _ in pairs],  # noqa: A001
        names=[name for _, name in pairs],
    )
    return rows


def number(world: World, id: UUID) -> int:
    return int(world.value("select doc_id from loci_data.memories where namespace_id = %(ns_id)s and id = %(id)s", id=id))


def linked(world: World, query: str, *hits: Row) -> list[tuple[str, list[str]]]:
    """Contents and paths of what the best hits lead to."""
    documents = [number(world, hit["id"]) for hit in hits]
    rows = world.rows(
        "select * from loci_api.memories_sharing_names(%(ns)s, %(query)s, %(documents)s::bigint[])",
        query=query,
        documents=documents,
    )
    return [(world.get(row["id"])["content"], row["path"]) for row in rows]


@pytest.mark.row("R9")
def test_a_name_that_the_seed_shares_with_another_memory_leads_there(owned: World) -> None:
    rows = note(
        owned, written_by_Jane_Smith_in_Alderley_House=("Alderley House", "Jane Smith"), the_town_of_Jane_Smith=("Jane Smith",)
    )
    seed = rows["written_by_Jane_Smith_in_Alderley_House"]
    assert ("the town of Jane Smith", ["alderley house", "Jane Smith"]) in linked(owned, "Who lived in Alderley House?", seed)


@pytest.mark.row("R10")
def test_a_question_without_a_known_name_leads_nowhere(owned: World) -> None:
    rows = note(owned, Jane_Smith_came=("Jane Smith",), with_Jane_Smith=("Jane Smith",))
    assert linked(owned, "who came along?", *rows.values()) == []


def test_a_memory_that_begins_with_the_shared_name_comes_before_one_that_only_mentions_it(owned: World) -> None:
    rows = note(
        owned,
        Alderley_House_was_built_for_Jane_Smith=("Alderley House", "Jane Smith"),
        a_letter_to_Jane_Smith=("Jane Smith",),
        Jane_Smith_was_a_painter=("Jane Smith",),
        nothing_of_this=(),
    )
    found = [
        content
        for content, _ in linked(owned, "who was Alderley House built for?", rows["Alderley_House_was_built_for_Jane_Smith"])
    ]
    assert found.index("Jane Smith was a painter") < found.index("a letter to Jane Smith")


def test_the_seed_is_the_hit_that_begins_with_the_name_even_behind_one_that_mentions_it(owned: World) -> None:
    rows = note(
        owned,
        near_Alderley_House_lives_Tom_Reed=("Alderley House", "Tom Reed"),
        Alderley_House_belongs_to_Jane_Smith=("Alderley House", "Jane Smith"),
        all_about_Jane_Smith=("Jane Smith",),
        all_about_Tom_Reed=("Tom Reed",),
    )
    mentions, begins = rows["near_Alderley_House_lives_Tom_Reed"], rows["Alderley_House_belongs_to_Jane_Smith"]
    found = [content for content, _ in linked(owned, "Alderley House", mentions, begins)]
    assert "all about Jane Smith" in found
    assert "all about Tom Reed" not in found


@pytest.mark.parametrize(("content", "counts"), [("Alderley_House_is_old", True), ("an_old_Alderley_House", False)])
def test_a_hit_that_begins_with_a_name_of_the_question_counts_by_itself(owned: World, content: str, counts: bool) -> None:
    rows = note(owned, **{content: ("Alderley House",)})
    found = linked(owned, "How old is Alderley House?", rows[content])
    assert found == ([(content.replace("_", " "), ["alderley house"])] if counts else [])


@pytest.mark.row("R10")
@pytest.mark.parametrize(("others", "leads"), [(29, True), (30, False)])
def test_a_name_that_more_than_30_memories_share_leads_nowhere(owned: World, others: int, leads: bool) -> None:
    rows = note(
        owned,
        in_Alderley_House_with_Jane_Smith=("Alderley House", "Jane Smith"),
        **{f"number_{n}_of_Jane_Smith": ("Jane Smith",) for n in range(others)},
    )
    assert bool(linked(owned, "Alderley House", rows["in_Alderley_House_with_Jane_Smith"])) == leads


def test_one_word_that_was_only_read_leads_less_far_than_a_whole_name(owned: World) -> None:
    rows = note(
        owned,
        in_Alderley_House_with_Smith_and_Jane_Reed=("Alderley House", "Smith", "Jane Reed"),
        a_letter_to_Smith=("Smith",),
        a_letter_to_Jane_Reed=("Jane Reed",),
        nothing_of_this=(),
    )
    found = [content for content, _ in linked(owned, "Alderley House", rows["in_Alderley_House_with_Smith_and_Jane_Reed"])]
    assert found.index("a letter to Jane Reed") < found.index("a letter to Smith")


@pytest.mark.row("R12")
def test_a_hit_whose_names_are_still_to_be_found_leads_where_it_will(owned: World) -> None:
    note(owned, Alderley_House_was_built_early=("Alderley House",), with_Jane_Smith=("Jane Smith",), of_Jane_Smith=("Jane Smith",))
    note(owned, all_about_Tom_Reed=("Tom Reed",))  # a name of one memory so far
    content = "in Alderley House Jane Smith met Tom Reed"
    found = linked(owned, "Who met in Alderley House?", owned.write(content))
    assert found[0][0] == content
    assert {"all about Tom Reed", "with Jane Smith", "of Jane Smith"} <= {other for other, _ in found}
