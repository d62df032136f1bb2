"""Parents, the closure, links and categories."""

import random
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors

from tests.factories import World, day

CLOSURE = """select ancestor_id, descendant_id, depth from loci_data.memory_closure
             where namespace_id = %(ns_id)s and superseded_at is null and valid_to is null order by 1, 2"""


def broken(world: World) -> list[dict[str, Any]]:
    """Promises that the namespace does not keep: none, whatever was done to it."""
    return world.rows("select * from loci.verify(%(ns)s) where broken > 0")


def under(world: World, id: UUID, **fields: Any) -> list[tuple[int, str]]:
    rows = world.rows(
        "select depth, (memory).content from loci.subtree(%(ns)s, %(id)s, 100, %(as_of)s)",
        id=id,
        as_of=fields.get("as_of"),
    )
    return [(row["depth"], row["content"]) for row in rows]


def above(world: World, id: UUID) -> list[tuple[int, str]]:
    rows = world.rows("select depth, (memory).content from loci.ancestors(%(ns)s, %(id)s)", id=id)
    return [(row["depth"], row["content"]) for row in rows]


@pytest.fixture
def tree(world: World) -> dict[str, UUID]:
    """programming > functional > haskell, erlang; programming > oop."""
    ids: dict[str, UUID] = {}
    for name, parent in [
        ("programming", None),
        ("functional", "programming"),
        ("haskell", "functional"),
        ("erlang", "functional"),
        ("oop", "programming"),
    ]:
        ids[name] = world.write(name, parent_id=ids[parent] if parent else None)["id"]
    return ids


@pytest.mark.row("M6")
def test_everything_under_a_memory_is_found_nearest_first(world: World, tree: dict[str, UUID]) -> None:
    found = under(world, tree["programming"])
    assert sorted(found) == [(1, "functional"), (1, "oop"), (2, "erlang"), (2, "haskell")]
    assert [depth for depth, _ in found] == [1, 1, 2, 2]


def test_everything_above_a_memory_is_found_nearest_first(world: World, tree: dict[str, UUID]) -> None:
    assert above(world, tree["haskell"]) == [(1, "functional"), (2, "programming")]


@pytest.mark.row("M6")
def test_a_moved_subtree_takes_its_descendants_along(world: World, tree: dict[str, UUID]) -> None:
    world.change(tree["functional"], parent_id=tree["oop"])
    assert above(world, tree["haskell"]) == [(1, "functional"), (2, "oop"), (3, "programming")]


def test_a_detached_subtree_keeps_its_inside(world: World, tree: dict[str, UUID]) -> None:
    world.change(tree["functional"], parent_id=None)
    assert under(world, tree["programming"]) == [(1, "oop")]
    assert above(world, tree["haskell"]) == [(1, "functional")]


@pytest.mark.row("M6")
@pytest.mark.parametrize("parent", ["programming", "functional", "haskell"])
def test_a_cycle_is_refused_and_changes_nothing(world: World, tree: dict[str, UUID], parent: str) -> None:
    before = world.rows(CLOSURE)
    with pytest.raises(psycopg.IntegrityError) as raised, world.connection.transaction():
        world.change(tree["programming"], parent_id=tree[parent])
    assert raised.value.sqlstate in {"23000", "23514"}
    assert world.rows(CLOSURE) == before


def test_a_cycle_through_a_new_version_is_refused(world: World) -> None:
    top = world.write("top", lineage="top")
    leaf = world.write("leaf", lineage="leaf", parent_id=top["id"])
    with pytest.raises(errors.IntegrityConstraintViolation):
        world.write("top again", lineage="top", parent_id=leaf["id"])


def test_a_new_version_keeps_its_place_and_what_stands_under_it(world: World) -> None:
    top = world.write("top", lineage="top")
    middle = world.write("middle", lineage="middle", parent_id=top["id"])
    leaf = world.write("leaf", parent_id=middle["id"])
    world.write("middle, again", lineage="middle")
    world.write("top, again", lineage="top")
    assert above(world, leaf["id"]) == [(1, "middle, again"), (2, "top, again")]


def test_a_subtree_shows_the_versions_that_were_valid_then(world: World) -> None:
    top = world.write("top", valid_from=day(1))
    world.write("old", lineage="l", parent_id=top["id"], valid_from=day(1))
    world.write("new", lineage="l", valid_from=day(10))
    assert under(world, top["id"], as_of=day(5)) == [(1, "old")]
    assert under(world, top["id"]) == [(1, "new")]


def test_a_forgotten_memory_is_not_shown_but_what_stands_under_it_is(world: World, tree: dict[str, UUID]) -> None:
    world.forget(tree["functional"])
    assert sorted(under(world, tree["programming"])) == [(1, "oop"), (2, "erlang"), (2, "haskell")]


def test_parents_written_in_the_same_batch_are_found_by_their_stated_id(world: World) -> None:
    top = str(uuid4())
    outcomes = world.remember({"id": top, "content": "top"}, {"content": "leaf", "parent_id": top})
    assert above(world, outcomes[1]["id"]) == [(1, "top")]


@pytest.mark.parametrize("kind", ["subtree", "ancestors"])
def test_the_hierarchy_of_nothing_is_an_error(world: World, kind: str) -> None:
    look = under if kind == "subtree" else above
    with pytest.raises(errors.NoDataFound):
        look(world, uuid4())


@pytest.mark.row("M6")
@pytest.mark.parametrize("seed", range(6))
def test_the_closure_equals_the_recursion_after_any_moves(world: World, seed: int) -> None:
    dice = random.Random(seed)
    ids = [row["id"] for row in world.remember(*({"content": f"n{n}", "lineage": f"n{n}"} for n in range(14)))]
    for _ in range(60):
        node, parent = dice.choice(ids), dice.choice([*ids, None])
        try:
            with world.connection.transaction():
                world.change(node, parent_id=parent)
        except psycopg.IntegrityError:
            assert parent is not None
    assert world.rows(CLOSURE)
    assert broken(world) == []


@pytest.mark.parametrize("name", ["programming", "functional", "haskell"])
def test_a_deleted_memory_leaves_no_path_behind(owned: World, name: str) -> None:
    ids: dict[str, UUID] = {}
    for child, parent in [("programming", None), ("functional", "programming"), ("haskell", "functional")]:
        ids[child] = owned.write(child, parent_id=ids[parent] if parent else None)["id"]
    owned.connection.execute("reset session authorization")
    owned.connection.execute("delete from loci_data.memories where id = %s", [ids[name]])
    assert broken(owned) == []
    assert (
        owned.value("select count(*) from loci_data.memory_closure where %(id)s in (ancestor_id, descendant_id)", id=ids[name]) == 0
    )
    assert owned.value("select count(*) from loci_data.lineages where namespace_id = %(ns_id)s and id = %(id)s", id=ids[name]) == 0


def test_the_subtree_filter_takes_the_node_and_everything_under_it(world: World, tree: dict[str, UUID]) -> None:
    assert world.visible(under=tree["functional"]) == ["functional", "haskell", "erlang"]


# Links


def link(world: World, source: UUID, target: UUID, type: str = "supports", strength: float = 0.5) -> dict[str, Any]:
    return world.row(
        "select * from loci_api.link_memories(%(ns)s, %(s)s, %(t)s, %(type)s, %(strength)s)",
        s=source,
        t=target,
        type=type,
        strength=strength,
    )


def links(world: World, id: UUID) -> list[dict[str, Any]]:
    rows = world.rows("select * from loci.list_links(%(ns)s, %(id)s)", id=id)
    return [{name: value for name, value in row.items() if name != "cursor"} for row in rows]


def test_a_link_is_seen_from_both_ends(world: World) -> None:
    a, b = world.write("a")["id"], world.write("b")["id"]
    made = link(world, a, b, "supports", 0.8)
    assert links(world, a) == links(world, b) == [made]


@pytest.mark.row("M5")
def test_linking_again_changes_the_strength_and_adds_nothing(world: World) -> None:
    a, b = world.write("a")["id"], world.write("b")["id"]
    link(world, a, b, strength=0.2)
    link(world, a, b, strength=0.9)
    assert [row["strength"] for row in links(world, a)] == [0.9]


@pytest.mark.row("M5")
def test_two_types_between_the_same_memories_are_two_links_strongest_first(world: World) -> None:
    a, b = world.write("a")["id"], world.write("b")["id"]
    link(world, a, b, "supports", 0.2)
    link(world, a, b, "contradicts", 0.9)
    assert [row["type"] for row in links(world, b)] == ["contradicts", "supports"]


@pytest.mark.row("M5")
def test_a_link_survives_new_versions_of_its_ends(world: World) -> None:
    a, b = world.write("a", lineage="a")["id"], world.write("b")["id"]
    link(world, a, b)
    newer = world.write("a2", lineage="a")["id"]
    assert len(links(world, newer)) == 1


def test_recall_weighs_a_link_by_the_strength_that_it_had(world: World) -> None:
    a, b = (world.write(content, valid_from=day(0))["id"] for content in "ab")
    seed = world.value("select doc_id from loci_data.memories where namespace_id = %(ns_id)s and id = %(a)s", a=a)

    def weight(**moment: Any) -> float:
        (row,) = world.rows(
            """select score from loci_api.related_memories(%(ns)s, array[%(seed)s]::bigint[], p_as_of => %(as_of)s,
               p_known_at => %(known_at)s)""",
            **{"seed": seed, "as_of": None, "known_at": None, **moment},
        )
        return float(row["score"])

    link(world, a, b, strength=0.75)
    then = world.now()
    link(world, a, b, strength=0.25)
    assert (weight(), weight(as_of=then), weight(known_at=then), weight(as_of=world.now())) == (0.25, 0.75, 0.75, 0.25)


@pytest.mark.row("M5")
@pytest.mark.parametrize(("strength", "type"), [(1.1, "t"), (-0.1, "t"), (0.5, ""), (0.5, "t" * 129)])
def test_a_wrong_link_is_refused(world: World, strength: float, type: str) -> None:
    a, b = world.write("a")["id"], world.write("b")["id"]
    with pytest.raises(errors.CheckViolation):
        link(world, a, b, type, strength)


def test_a_memory_is_not_linked_to_itself(world: World) -> None:
    a = world.write("a")["id"]
    with pytest.raises(errors.CheckViolation):
        link(world, a, a)


def test_a_link_to_nothing_is_refused(world: World) -> None:
    with pytest.raises(errors.NoDataFound):
        link(world, world.write("a")["id"], uuid4())


# Categories


@pytest.fixture
def shelves(world: World) -> World:
    """Categories whose names are prefixes of each other as strings."""
    world.remember(
        *(
            {"content": f"{c} {n}", "category": c}
            for n, c in enumerate(["foo", "foo/bar", "foo/bar", "foo/bar/baz", "foobar", "fo", "foo-bar"])
        )
    )
    return world


@pytest.mark.row("M7")
@pytest.mark.parametrize(
    ("category", "found"),
    [
        ("foo", ["foo 0", "foo/bar 1", "foo/bar 2", "foo/bar/baz 3"]),
        ("foo/bar", ["foo/bar 1", "foo/bar 2", "foo/bar/baz 3"]),
        ("foo/", ["foo 0", "foo/bar 1", "foo/bar 2", "foo/bar/baz 3"]),
        ("fo", ["fo 5"]),
        ("foobar", ["foobar 4"]),
        ("foo/b", []),
        ("f%", []),
        ("foo_bar", []),
    ],
)
def test_a_category_filter_matches_whole_segments_of_the_path(shelves: World, category: str, found: list[str]) -> None:
    assert shelves.visible(category=category) == found


@pytest.mark.row("M7")
def test_categories_are_a_tree_with_counts(shelves: World) -> None:
    rows = shelves.rows("select * from loci.list_categories(%(ns)s)")
    assert [(r["category"], r["memories"], r["total"]) for r in rows] == [
        ("fo", 1, 1),
        ("foo", 1, 4),
        ("foo-bar", 1, 1),
        ("foo/bar", 2, 3),
        ("foo/bar/baz", 1, 1),
        ("foobar", 1, 1),
    ]


@pytest.mark.row("M7")
def test_a_category_that_only_has_children_is_a_node_of_the_tree(world: World) -> None:
    world.write("x", category="a/b")
    rows = world.rows("select * from loci.list_categories(%(ns)s)")
    assert [(r["category"], r["memories"], r["total"]) for r in rows] == [("a", 0, 1), ("a/b", 1, 1)]


@pytest.mark.parametrize("under", ["foo", "foo/"])
def test_a_part_of_the_tree_can_be_listed(shelves: World, under: str) -> None:
    rows = shelves.rows("select category from loci.list_categories(%(ns)s, %(under)s)", under=under)
    assert [row["category"] for row in rows] == ["foo", "foo/bar", "foo/bar/baz"]


def test_categories_count_only_what_is_current(world: World) -> None:
    world.write("a", lineage="l", category="c")
    world.write("b", lineage="l")
    world.forget(world.write("d", category="c")["id"])
    assert world.value("select total from loci.list_categories(%(ns)s)") == 1
