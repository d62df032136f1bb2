"""Undoing the last operations, newest first, gives what stood before them; undoing the undos gives what stood after."""

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from tests.factories import Row, World, day, new_world
from tests.sql.undoing import observe, operation, state, undo

NAMES = ["Ann", "Bob", "Cleo", "Dan"]
TYPES = ["knows", "works_on", "lives_in"]
LINEAGES = ["a", "b"]
Call = tuple[str, int, int, int]
CALLS = [
    "write", "version", "backdate", "interlude", "correct", "change", "forget", "restore", "place", "link", "unlink", "entity", "rename", "pin",
    "remove", "edge", "edge", "retract", "aspect", "fact", "status", "merge", "split", "type", "batch",
]  # fmt: skip
calls = st.tuples(st.sampled_from(CALLS), st.integers(0, 3), st.integers(0, 3), st.integers(0, 3))


def memory(world: World, n: int) -> UUID:
    """Some memory of the namespace."""
    rows = world.rows("select id from loci_data.memories where namespace_id = %(ns_id)s order by doc_id")
    return rows[n % len(rows)]["id"] if rows else uuid4()


def standing(world: World, n: int) -> str:
    """Some entity's name."""
    rows = world.rows("select name from loci.list_entities(%(ns)s, null, null, null, 1000) order by id")
    return rows[n % len(rows)]["name"] if rows else "nobody"


def one(world: World, table: str, n: int) -> UUID:
    """Some attribute or believed edge."""
    statement: dict[str, Any] = {
        "edges": "select id from loci_data.edges where namespace_id = %(ns_id)s and superseded_at is null order by id",
        "attributes": "select id from loci_data.attributes where namespace_id = %(ns_id)s order by id",
        "aspects": "select id from loci_data.aspects where namespace_id = %(ns_id)s order by id",
    }
    rows = world.rows(statement[table])
    return rows[n % len(rows)]["id"] if rows else uuid4()


def entity(world: World, n: int) -> UUID:
    rows = world.rows("select id from loci.list_entities(%(ns)s, null, null, null, 1000) order by id")
    return rows[n % len(rows)]["id"] if rows else uuid4()


def do(world: World, call: Call) -> Any:
    """One call, whatever it finds; it may be refused."""
    kind, a, b, c = call
    edge = {
        "source": NAMES[a],
        "type": TYPES[b % 3],
        "target": NAMES[c],
        "session_id": f"s{b}",
        "confidence": 0.5 + c / 10,
        "strength": 0.2 * a,
    }
    works: dict[str, Callable[[], Any]] = {
        "write": lambda: world.write(f"memory {a} {b} {c}", tags=[f"t{b}"], layer=1 + a % 2, entities=[{"name": NAMES[a]}], edges=[edge]),
        "version": lambda: world.write(f"version {b} {c}", lineage=LINEAGES[a % 2]),
        "backdate": lambda: world.write(f"old {b} {c}", lineage=LINEAGES[a % 2], valid_from=day(10 * b + c)),
        "interlude": lambda: world.write(f"while {b}", lineage=LINEAGES[a % 2], valid_from=day(10 * b), valid_to=day(10 * b + c + 1)),
        "correct": lambda: world.write(f"rather {b} {c}", lineage=LINEAGES[a % 2], corrects=memory(world, b)),
        "change": lambda: world.change(memory(world, a), tags=[f"t{b}"], importance=c / 4, metadata={"k": b}),
        "forget": lambda: world.forget(memory(world, a)),
        "restore": lambda: world.forget(memory(world, a), forget=False),
        "place": lambda: world.change(memory(world, a), parent_id=memory(world, b + 1) if c else None),
        "link": lambda: world.rows("select * from loci_api.link_memories(%(ns)s, %(a)s, %(b)s, 'about', %(s)s)", a=memory(world, a), b=memory(world, b), s=c / 4),
        "unlink": lambda: world.rows("select * from loci_api.unlink_memories(%(ns)s, %(a)s, %(b)s, 'about')", a=memory(world, a), b=memory(world, b)),
        "entity": lambda: world.rows("select * from loci_api.upsert_entities(%(ns)s, %(e)s)", e=Jsonb([{"name": NAMES[a], "description": f"d{b}", "aliases": [f"alias {c}"]}])),
        "rename": lambda: world.rows("select * from loci_api.update_entity(%(ns)s, %(id)s, %(c)s)", id=entity(world, a), c=Jsonb({"name": f"New {b}", "metadata": {"m": c}})),
        "pin": lambda: world.rows("select * from loci_api.pin_entity(%(ns)s, %(id)s, %(p)s)", id=entity(world, a), p=b % 2 == 0),
        "remove": lambda: world.rows("select * from loci_api.delete_entity(%(ns)s, %(id)s)", id=entity(world, a)),
        "edge": lambda: observe(world, edge),
        "retract": lambda: world.rows("select * from loci_api.delete_edge(%(ns)s, %(id)s)", id=one(world, "edges", a)),
        "aspect": lambda: world.rows("select * from loci_api.upsert_aspect(%(ns)s, %(e)s, %(a)s)", e=standing(world, a), a=Jsonb({"name": f"aspect {b % 2}", "weight": c / 4})),
        "fact": lambda: world.rows("select * from loci_api.add_attribute(%(ns)s, %(a)s, %(f)s)", a=one(world, "aspects", a), f=Jsonb({"content": f"lives in {NAMES[b]} now" if c else "likes tea"})),
        "status": lambda: world.rows("select * from loci_api.update_attribute(%(ns)s, %(id)s, %(f)s)", id=one(world, "attributes", a), f=Jsonb({"status": ["active", "superseded", "deleted"][b % 3]})),
        "merge": lambda: world.rows("select * from loci_api.merge_entities(%(ns)s, %(a)s, %(b)s)", a=standing(world, a), b=standing(world, b)),
        "split": lambda: world.rows("select * from loci_api.split_entity(%(ns)s, %(a)s, %(s)s)", a=standing(world, a), s=Jsonb({"name": f"Part {b}", "edge_ids": [str(one(world, "edges", c))]})),
        "type": lambda: world.rows("select * from loci_api.set_edge_type(%(ns)s, %(t)s, %(c)s)", t=TYPES[a % 3], c=Jsonb({"description": f"d{b}"})),
        "batch": lambda: world.remember({"content": f"x {a}", "lineage": "a"}, {"content": f"y {b}", "lineage": "a"}, {"content": f"z {c}", "edges": [edge]}),
    }  # fmt: skip
    return works[kind]()


class Unnoted(Exception):
    """A call that counted something and changed nothing else: it is no operation."""


def attempt(world: World, call: Call) -> UUID | None:
    """One call as an operation; its id, or None where it was refused, or taken back because it only counted."""
    try:
        with world.connection.transaction():
            _, noted = operation(world, lambda: do(world, call))
            if not world.rows("select from loci_data.operations where namespace_id = %(ns_id)s and id = %(id)s", id=noted):
                raise Unnoted
    except (psycopg.Error, Unnoted):
        return None
    return noted


@pytest.mark.row("X5")
@given(st.lists(calls, min_size=2, max_size=12), st.integers(1, 6))
def test_undoing_the_last_operations_newest_first_and_undoing_that(
    connection: psycopg.Connection[Row], made: list[Call], last: int
) -> None:
    with connection.transaction(force_rollback=True):
        world = new_world(connection)
        done: list[tuple[UUID, Any]] = []
        now = state(world)
        for call in made:
            noted = attempt(world, call)
            if noted is not None:
                done.append((noted, now))
                now = state(world)
        undone: list[tuple[UUID, Any]] = []
        for noted, before in reversed(done[-last:]):
            undone.append((undo(world, noted)["operation_id"], now))
            now = state(world)
            assert now == before
        for noted, after in reversed(undone):
            undo(world, noted)
            now = state(world)
            assert now == after
