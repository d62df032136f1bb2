"""Reflect by rules: orphans get a place, concepts are made from categories, what is related is linked."""

import math
from typing import Any
from uuid import UUID

import pytest

from tests.factories import Row, World


def reflect(
    world: World, *, limit: int = 200, category: str | None = None, cursor: int | None = None, dry_run: bool = False
) -> Row:
    return world.row(
        "select * from loci_api.reflect(%(ns)s, %(limit)s, %(category)s, %(cursor)s, %(dry)s)",
        limit=limit,
        category=category,
        cursor=cursor,
        dry=dry_run,
    )


def parents(world: World) -> dict[str, str | None]:
    """Content of each current memory's parent, by its content."""
    rows = world.rows("select * from loci.list_memories(%(ns)s, '{}', 1000)")
    names = {row["id"]: row["content"] for row in rows}
    return {row["content"]: names.get(row["parent_id"]) for row in rows}


def links(world: World, id: UUID) -> list[tuple[str, UUID]]:
    rows = world.rows("select * from loci.list_links(%(ns)s, %(id)s)", id=id)
    return [(row["type"], next(end for end in (row["source_id"], row["target_id"]) if end != id)) for row in rows]


@pytest.fixture
def towards(owned: World) -> Any:
    """Write a memory with a vector in the plane, at an angle of so many degrees, in a service whose model has three dimensions."""
    owned.connection.execute("reset session authorization")
    owned.connection.execute("update loci_data.embedding_models set active = false where active")
    owned.connection.execute("insert into loci_data.embedding_models (name, dimensions, active) values ('plane', 3, true)")
    owned.connection.execute("set session authorization loci_app")

    def write(content: str, degrees: float, **fields: Any) -> Row:
        angle = math.radians(degrees)
        return owned.write(content, embedding=[math.cos(angle), math.sin(angle), 0.0], **fields)

    return write


@pytest.mark.row("L3")
def test_orphans_stand_under_the_concept_of_their_category(world: World) -> None:
    world.write("Haskell", layer=1, category="programming/haskell")
    world.write("Alice writes lenses", category="programming/haskell")
    world.write("Bob gave a talk", category="programming/haskell/talks", layer=3)
    world.write("Carol sings", category="music")
    done = reflect(world)
    assert parents(world) == {"Haskell": None, "Alice writes lenses": "Haskell", "Bob gave a talk": "Haskell", "Carol sings": None}
    assert (done["created"], len(done["placed"]), done["visited"], done["orphans_left"]) == ([], 2, 3, 1)


def test_a_category_that_several_share_gets_a_domain_and_concepts(world: World) -> None:
    for n in range(2):
        world.write(f"fact {n}", category="programming/functional-style")
    done = reflect(world)
    assert parents(world) == {
        "Programming": None,
        "Functional style": "Programming",
        "fact 0": "Functional style",
        "fact 1": "Functional style",
    }
    assert [(row["lineage"], row["layer"]) for row in done["created"]] == [
        ("category/programming", 0),
        ("category/programming/functional-style", 1),
    ]


def test_a_fact_alone_in_its_category_stands_in_the_one_above_that_others_share(world: World) -> None:
    for path in ("work/acme", "work/globex", "garden"):
        world.write(f"about {path}", category=path)
    reflect(world)
    assert parents(world) == {"Work": None, "about work/acme": "Work", "about work/globex": "Work", "about garden": None}


def test_a_new_concept_stands_under_the_one_that_its_category_has_above(world: World) -> None:
    world.write("Everything about code", layer=0, category="programming")
    for n in range(2):
        world.write(f"fact {n}", category="programming/haskell/lenses")
    reflect(world)
    assert parents(world)["Haskell"] == "Everything about code"
    assert parents(world)["Lenses"] == "Haskell"


def test_the_general_category_says_nothing(world: World) -> None:
    world.write("Concept", layer=1)
    for n in range(3):
        world.write(f"fact {n}")
    assert reflect(world)["placed"] == []


def test_without_vectors_a_fact_stands_under_the_concept_that_it_names(world: World) -> None:
    world.write("Functional programming", layer=1)
    world.write("Alice likes functional programming a lot")
    (placed,) = reflect(world)["placed"]
    assert (placed["reason"], placed["similarity"]) == ("says its name", None)
    assert parents(world)["Alice likes functional programming a lot"] == "Functional programming"


def test_with_vectors_a_fact_stands_under_the_nearest_concept(owned: World, towards: Any) -> None:
    towards("North", 90, layer=1)
    towards("East", 0, layer=1)
    towards("nearly north", 70)
    towards("west", 180)
    assert reflect(owned)["orphans_left"] == 1
    assert parents(owned) == {"North": None, "East": None, "nearly north": "North", "west": None}


def test_a_category_with_several_concepts_gives_the_most_similar(owned: World, towards: Any) -> None:
    towards("North", 90, layer=1, category="sky")
    towards("East", 0, layer=1, category="sky")
    towards("eastern", 10, category="sky")
    reflect(owned)
    assert parents(owned)["eastern"] == "East"


@pytest.mark.row("L3")
def test_related_memories_are_linked_unless_they_stand_together(owned: World, towards: Any) -> None:
    towards("Work", 0, layer=1, category="work")
    towards("Home", 0, layer=1, category="home")
    one, two = towards("desk at work", 10, category="work"), towards("chair at work", 11, category="work")
    other, far = towards("desk at home", 12, category="home"), towards("garden", 100, category="home")
    done = reflect(owned)
    assert {(row["source_id"], row["target_id"]) for row in done["linked"]} == {
        (str(other["id"]), str(two["id"])),
        (str(other["id"]), str(one["id"])),
    }
    assert links(owned, far["id"]) == []
    assert {kind for kind, _ in links(owned, other["id"])} == {"related_to"}


def test_a_link_that_was_taken_back_is_not_made_again(owned: World, towards: Any) -> None:
    one, two = towards("a", 0), towards("b", 1)
    assert len(reflect(owned)["linked"]) == 1
    owned.rows("select loci_api.unlink_memories(%(ns)s, %(b)s, %(a)s, 'related_to')", a=one["id"], b=two["id"])
    assert reflect(owned)["linked"] == []


@pytest.mark.row("L3")
@pytest.mark.parametrize("dry_first", [True, False])
def test_a_second_run_changes_nothing_and_a_dry_run_says_what_the_first_does(owned: World, towards: Any, dry_first: bool) -> None:
    for n in range(6):
        towards(f"fact {n}", 5 * n, category=("programming/haskell", "music", "general")[n % 3])
    planned = reflect(owned, dry_run=True) if dry_first else None
    done = reflect(owned)
    assert done["placed"]
    assert done["linked"]
    if planned is not None:
        assert [row["parent"] for row in planned["placed"]] == [row["parent"] for row in done["placed"]]
        assert [row["memory_id"] for row in planned["placed"]] == [row["memory_id"] for row in done["placed"]]
        assert [row["lineage"] for row in planned["created"]] == [row["lineage"] for row in done["created"]]
        assert (planned["linked"], planned["orphans_left"]) == (done["linked"], done["orphans_left"])
    again = reflect(owned)
    assert (again["placed"], again["linked"], again["created"]) == ([], [], [])
    assert again["visited"] == again["orphans_left"] == done["orphans_left"]


def test_a_dry_run_writes_nothing(world: World) -> None:
    for n in range(2):
        world.write(f"fact {n}", category="music")
    assert len(reflect(world, dry_run=True)["placed"]) == 2
    assert parents(world) == {"fact 0": None, "fact 1": None}


def test_a_memory_taken_out_of_its_place_is_left_alone(world: World) -> None:
    concept = world.write("Music", layer=1, category="music")
    fact = world.write("Carol sings", category="music", parent_id=concept["id"])
    world.change(fact["id"], parent_id=None)
    assert reflect(world)["visited"] == 0


def test_a_concept_that_was_forgotten_is_not_made_again(world: World) -> None:
    for n in range(2):
        world.write(f"fact {n}", category="music")
    made = reflect(world)["created"][0]
    world.forget(UUID(made["id"]))
    world.write("fact 2", category="music")
    assert (reflect(world)["created"], parents(world)["fact 2"]) == ([], None)


def test_pages_go_through_all_orphans_also_those_without_a_place(world: World) -> None:
    world.write("Music", layer=1, category="music")
    for n in range(5):
        world.write(f"fact {n}", category="general" if n < 3 else "music")
    first = reflect(world, limit=3)
    assert (first["placed"], first["orphans_left"]) == ([], 3)
    second = reflect(world, limit=3, cursor=first["next_cursor"])
    assert (len(second["placed"]), second["next_cursor"]) == (2, None)


def test_only_a_category_and_what_is_below_it(world: World) -> None:
    world.write("Music", layer=1, category="music")
    for path in ("music", "music/jazz", "musicals"):
        world.write(f"about {path}", category=path)
    assert reflect(world, category="music")["visited"] == 2


def test_a_node_takes_what_stands_under_it_along(world: World) -> None:
    world.write("Music", layer=1, category="music")
    fact = world.write("Carol plays jazz", category="music")
    world.write("last night's concert", layer=3, parent_id=fact["id"])
    reflect(world)
    rows = world.rows("select depth from loci.hierarchy where namespace = %(ns)s and ancestor = 'Music' order by depth")
    assert [row["depth"] for row in rows] == [1, 2]
    assert all(row["broken"] == 0 for row in world.rows("select * from loci.verify(%(ns)s)"))
