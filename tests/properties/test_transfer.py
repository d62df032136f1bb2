"""A law: whatever was done to a namespace, what is restored from its lines is equal to it."""

import json
from typing import Any, LiteralString, cast

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg import sql
from psycopg.types.json import Jsonb

from tests.factories import Row, World, day, new_world

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["write", "chain", "back-date", "correct", "move", "change", "forget", "link", "edge", "entity"]),
        st.integers(0, 5),
        st.integers(0, 5),
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=20),
    ),
    min_size=1,
    max_size=14,
)
REFUSED = (
    psycopg.errors.IntegrityConstraintViolation,
    psycopg.errors.ExclusionViolation,
    psycopg.errors.CheckViolation,
    psycopg.errors.UniqueViolation,
    psycopg.errors.DataException,
    psycopg.errors.NoDataFound,
)


def do(world: World, ids: list[Any], step: tuple[str, int, int, str]) -> None:
    """One step; `ids` are the memories so far."""
    what, a, b, text = step
    name = f"{text.strip()}x"  # never white space and controls alone, which is no name
    one, other = (ids[a % len(ids)], ids[b % len(ids)]) if ids else (None, None)
    if what == "write":
        ids.append(world.write(f"{text}.", metadata={"t": text}, tags=[name], parent_id=other if b else None)["id"])
    elif what == "chain":
        ids.append(world.write(f"{text} {b}", lineage=f"l{a}", parent_id=other if b > 3 else None)["id"])
    elif what == "back-date":
        ids.append(world.write(f"{text} {b}", lineage=f"l{a}", valid_from=day(b), valid_to=day(b + 2) if a % 2 else None)["id"])
    elif what == "edge":
        item = {"source": name, "type": f"t{a}", **({"target": f"n{b}"} if b % 2 else {"literal": text}), "session_id": f"s{b}"}
        world.rows("select loci_api.observe_edges(%(ns)s, %(e)s)", e=Jsonb([item, item]))
    elif what == "entity":
        world.rows(
            "select loci_api.upsert_entities(%(ns)s, %(e)s)",
            e=Jsonb([{"name": name, "aliases": [f"n{a}"], "metadata": {"t": text}}]),
        )
    elif one is not None and what == "correct":
        ids.append(world.write(f"{text}!", corrects=one)["id"])
    elif one is not None and what == "move":
        world.change(one, parent_id=other if b else None)
    elif one is not None and what == "change":
        world.change(one, importance=b / 10, category=f"c/{a}")
    elif one is not None and what == "forget":
        world.forget(one, forget=b % 2 == 0)
    elif one is not None:
        link = "select loci_api.link_memories(%(ns)s, %(a)s, %(b)s, 'near', %(s)s)"
        world.rows(link, a=one, b=other, s=b / 10)


def copy(world: World) -> World:
    """Another namespace, restored from the lines of this one."""
    other = new_world(world.connection)
    header = world.row("select line, kinds from loci_api.export_header(%(ns)s)")
    other.rows("select loci_api.begin_restore(%(ns)s, %(h)s::jsonb)", h=header["line"])
    for kind in header["kinds"]:
        page = world.row("select * from loci_api.export_page(%(ns)s, %(kind)s, null, 100000000)", kind=kind)
        lines = [json.loads(line) for line in page["lines"].split("\n")] if page["rows"] else []
        if lines:
            outcome = other.row("select * from loci_api.restore_rows(%(ns)s, %(kind)s, %(lines)s)", kind=kind, lines=Jsonb(lines))
            assert outcome == {"written": len(lines), "unchanged": 0, "problems": []}
    other.rows("select loci_api.finish_restore(%(ns)s)")
    return other


def content(world: World) -> dict[str, list[Row]]:
    """All rows that are exported, and the closure."""
    found = {}
    sources = [row["source"] for row in world.rows("select source from loci_api.export_kinds()")]
    for table in [*sources, "memory_closure", "entity_names", "memory_texts"]:
        if table != "name_queue":  # one transaction: what waits since its start counts as read
            statement = sql.SQL(
                "select to_jsonb(t) - 'namespace_id' as row from loci_data.{} t where namespace_id = %(ns_id)s order by 1"
            )
            found[table] = world.rows(cast("LiteralString", statement.format(sql.Identifier(table))))
    return found


@pytest.mark.row("X6")
@given(STEPS)
def test_restoring_an_export_is_the_identity(world: World, steps: list[tuple[str, int, int, str]]) -> None:
    fresh = new_world(world.connection)
    ids: list[Any] = []
    for step in steps:
        try:
            with world.connection.transaction():
                do(fresh, ids, step)
        except REFUSED:
            continue
    restored = copy(fresh)
    assert content(restored) == content(fresh)
    assert restored.rows("select name from loci.verify(%(ns)s) where broken > 0") == []
