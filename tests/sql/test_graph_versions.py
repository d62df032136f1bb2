"""Edges go with the versions of memories that say so."""

from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from psycopg.types.json import Jsonb

from tests.factories import World, day, stated
from tests.sql.undoing import observe, operation, undo

VISBY = {"source": "Ulf", "type": "lives_in", "target": "Visby"}
KALMAR = {"source": "Ulf", "type": "lives_in", "target": "Kalmar"}


def lives(world: World, as_of: datetime | None = None, known_at: datetime | None = None) -> list[str]:
    rows = world.rows("select * from loci.edges_as_of(%(ns)s, %(as_of)s, %(known_at)s, true)", as_of=as_of, known_at=known_at)
    return sorted(row["target"] for row in rows)


def everywhere(world: World) -> set[str]:
    """Where Ulf lives now, by every reader of edges."""
    traversed = {row["target"] for row in world.rows("select * from loci.traverse(%(ns)s, '{Ulf}', p_max_hops => 1)")}
    listed, viewed = set(lives(world)), {r["target"] for r in world.rows("select target from loci.edges where namespace = %(ns)s")}
    pictured = world.row("select edges from loci.constellation(%(ns)s)")["edges"]
    assert traversed == listed == viewed
    assert len(pictured) == len(listed)
    return listed


def sound(world: World) -> bool:
    return world.rows("select * from loci.verify(%(ns)s) where broken > 0") == []


def write(world: World, content: str = "Ulf lives in Visby", **fields: Any) -> UUID:
    return world.write(content, **{"lineage": "home", "valid_from": day(0), "edges": [VISBY], **fields})["id"]


@pytest.mark.row("S8")
@pytest.mark.parametrize("edges", [[], [KALMAR]])
def test_an_edge_ends_with_the_version_that_says_so(world: World, edges: list[dict[str, Any]]) -> None:
    write(world)
    before = world.now()
    write(world, "Ulf lives in Kalmar", valid_from=day(10), edges=edges)
    after = ["Kalmar"] if edges else []
    assert [lives(world, day(moment)) for moment in (5, 15)] == [["Visby"], after]
    assert everywhere(world) == set(after)
    assert [lives(world, day(moment), before) for moment in (5, 15)] == [["Visby"], ["Visby"]]
    assert sound(world)


def test_an_edge_that_the_next_version_says_again_goes_on(world: World) -> None:
    write(world)
    write(world, "Ulf still lives in Visby", valid_from=day(10))
    assert [lives(world, day(moment)) for moment in (5, 15)] == [["Visby"], ["Visby"]]
    (spell,) = world.rows("select * from loci.edge_spells where namespace = %(ns)s and superseded_at is null")
    assert (spell["valid_from"], spell["valid_to"]) == (day(0), None)


def test_without_stated_times_it_is_the_same(world: World) -> None:
    world.write("Ulf lives in Visby", lineage="home", edges=[VISBY])
    world.write("Ulf lives in Kalmar", lineage="home", edges=[KALMAR])
    assert everywhere(world) == {"Kalmar"}


def test_an_edge_of_a_back_dated_version_ends_where_the_next_one_begins(world: World) -> None:
    write(world, "Ulf lives in Kalmar", valid_from=day(10), edges=[KALMAR])
    write(world)
    assert [lives(world, day(moment)) for moment in (5, 15)] == [["Visby"], ["Kalmar"]]
    assert sound(world)


def corrected(world: World, memory: UUID) -> None:
    world.remember({"content": "Ulf lives in Kalmar", "corrects": memory, "edges": [KALMAR]})


def emptied(world: World, memory: UUID) -> None:
    world.change(memory, valid_to=day(0))


@pytest.mark.parametrize("work", [corrected, emptied])
def test_an_edge_of_what_was_corrected_was_never_true(world: World, work: Callable[[World, UUID], None]) -> None:
    memory = write(world)
    before = world.now()
    work(world, memory)
    assert "Visby" not in [*lives(world), *lives(world, day(5)), *everywhere(world)]
    assert lives(world, day(5), before) == ["Visby"]
    assert sound(world)


@pytest.mark.parametrize("stated_end", [None, 20])
def test_an_edge_follows_the_end_of_its_memory(world: World, stated_end: int | None) -> None:
    memory = write(world, **({} if stated_end is None else {"valid_to": day(stated_end)}))
    _, ended = operation(world, lambda: world.change(memory, valid_to=day(10)))
    assert [lives(world, day(moment)) for moment in (5, 15, 25)] == [["Visby"], [], []]
    world.change(memory, valid_to=day(30))
    assert [lives(world, day(moment)) for moment in (5, 15, 25, 35)] == [["Visby"], ["Visby"], ["Visby"], []]
    world.change(memory, valid_to=None)
    assert lives(world) == ["Visby"]
    assert sound(world)
    assert ended


def test_undoing_the_end_of_a_memory_lets_its_edge_go_on(world: World) -> None:
    memory = write(world)
    _, ended = operation(world, lambda: world.change(memory, valid_to=day(10)))
    undo(world, ended)
    assert (lives(world), sound(world)) == (["Visby"], True)


@pytest.mark.parametrize("other", ["by hand", "by another memory"])
@pytest.mark.parametrize("first", [True, False])
def test_an_edge_that_somebody_else_states_goes_on(world: World, other: str, first: bool) -> None:
    def say() -> None:
        if other == "by hand":
            observe(world, {**VISBY, "observed_at": day(5)})
        else:
            world.write("Ulf has a house in Visby", valid_from=day(5), edges=[VISBY])

    if first:
        say()
    memory = write(world)
    if not first:
        say()
    world.change(memory, valid_to=day(10))
    assert [lives(world, day(moment)) for moment in (2, 7, 15)] == [["Visby"]] * 3
    assert sound(world)


def test_a_statement_after_the_end_begins_a_new_spell(world: World) -> None:
    memory = write(world)
    world.change(memory, valid_to=day(10))
    observe(world, {**VISBY, "observed_at": day(20)})
    assert [lives(world, day(moment)) for moment in (5, 15, 25)] == [["Visby"], [], ["Visby"]]
    assert sound(world)


def test_an_interlude_interrupts_an_edge(world: World) -> None:
    write(world)
    write(world, "Ulf lives in Kalmar", valid_from=day(10), valid_to=day(20), edges=[KALMAR])
    assert [lives(world, day(moment)) for moment in (5, 15, 25)] == [["Visby"], ["Kalmar"], ["Visby"]]
    assert everywhere(world) == {"Visby"}
    assert sound(world)


def test_a_rival_goes_on_where_the_version_that_ended_it_ends(world: World) -> None:
    world.rows("select * from loci_api.set_edge_type(%(ns)s, 'lives_in', '{\"single_valued\": true}')")
    observe(world, stated({**KALMAR, "observed_at": day(-10)}))
    memory = write(world)
    assert [lives(world, day(moment)) for moment in (-5, 5, 15)] == [["Kalmar"], ["Visby"], ["Visby"]]
    world.change(memory, valid_to=day(10))
    assert [lives(world, day(moment)) for moment in (-5, 5, 15)] == [["Kalmar"], ["Visby"], ["Kalmar"]]
    assert sound(world)


def test_a_restored_version_shows_its_edge_until_it_ends(world: World) -> None:
    memory = write(world)
    write(world, "Ulf lives in Kalmar", valid_from=day(10), edges=[KALMAR])
    world.forget(memory)
    assert lives(world, day(5)) == []
    world.forget(memory, forget=False)
    assert [lives(world, day(moment)) for moment in (5, 15)] == [["Visby"], ["Kalmar"]]


def test_versions_of_a_batch_end_each_others_edges(world: World) -> None:
    towns = [{"source": "Ulf", "type": "lives_in", "target": name} for name in ("Visby", "Kalmar", "Lund")]
    world.remember(*({"content": f"Ulf lives in {e['target']}", "lineage": "home", "edges": [e]} for e in towns))
    assert everywhere(world) == {"Lund"}
    assert sound(world)


def test_an_edge_among_aspects_is_not_lost(world: World) -> None:
    world.rows("select * from loci_api.upsert_entities(%(ns)s, %(e)s)", e=Jsonb([{"name": "Ulf"}]))
    memory = write(world, edges=[{**VISBY, "aspect": "home"}])
    world.change(memory, valid_to=day(10))
    world.change(memory, valid_to=None)
    assert lives(world) == ["Visby"]
