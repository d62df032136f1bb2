"""Every detail of a memory is written, inherited, changed, remembered, told, undone and exported like every other."""

import pytest
from psycopg.types.json import Jsonb

from tests.factories import Row, World, new_world
from tests.sql.details import DEFAULTS, DETAILS, OTHERS, STATED
from tests.sql.test_operations import changes
from tests.sql.test_transfer import exported, restored
from tests.sql.undoing import operation, undo


def details(row: Row) -> Row:
    """What a row says of a memory's details."""
    return {name: row[name] for name in DETAILS}


def known(world: World, id: object, known_at: object) -> Row:
    """The details of a memory as they were believed at a moment."""
    return details(world.row("select * from loci.get_memory(%(ns)s, %(id)s, null, %(at)s)", id=id, at=known_at))


@pytest.mark.parametrize("shape", ["loci_data.memories", "loci.memory_record", "loci.current_memories", "loci.memory_versions"])
def test_details_are_the_last_columns_of_what_shows_a_memory(world: World, shape: str) -> None:
    columns = world.rows(
        "select attname as name, atttypid as type, attcollation as collation from pg_attribute where attrelid = %(s)s::regclass and attnum > 0 order by attnum",
        s=shape,
    )
    own = world.rows(
        "select attname as name, atttypid as type from pg_attribute where attrelid = 'loci.memory_details'::regclass and attnum > 0 order by attnum"
    )
    assert [row["name"] for row in own] == list(DETAILS)
    assert [{"name": row["name"], "type": row["type"]} for row in columns[-len(own) :]] == own


def test_details_are_as_stated_or_by_default(world: World) -> None:
    assert details(world.write("Oslo", **STATED)) == STATED
    assert details(world.write("Paris")) == DEFAULTS


def test_a_new_version_inherits_what_is_inherited(world: World) -> None:
    world.write("Oslo", lineage="city", **STATED)
    expected = {name: detail.one if detail.inherited else detail.default for name, detail in DETAILS.items()}
    assert details(world.write("Paris", lineage="city")) == expected
    assert details(world.write("Rome", lineage="city", **OTHERS)) == OTHERS


@pytest.mark.parametrize("nothing", [None, {}])
def test_metadata_of_null_are_cleared_by_a_version_a_repetition_and_a_change(world: World, nothing: object) -> None:
    world.write("Oslo", lineage="city", **STATED)
    assert world.write("Paris", lineage="city", metadata=nothing)["metadata"] == {}
    assert world.write("Rome", lineage="city")["metadata"] == {}
    repeated = world.write("Bonn", **STATED)["id"]
    world.write("Bonn", category=STATED["category"], about=STATED["about"], metadata=nothing, on_duplicate="update")
    assert details(world.get(repeated)) == {**STATED, "metadata": {}}
    changed = world.write("Kiel", **STATED)["id"]
    world.change(changed, metadata=nothing)
    assert details(world.get(changed)) == {**STATED, "metadata": {}}


@pytest.mark.parametrize("name", DETAILS)
def test_a_changed_detail_is_told_and_what_was_believed_before_stays_askable(world: World, name: str) -> None:
    written = world.write("Oslo", **STATED)
    before = world.now()
    changed, made = operation(world, lambda: world.change(written["id"], **{name: OTHERS[name]}))
    assert details(changed) == {**STATED, name: OTHERS[name]}
    assert known(world, written["id"], before) == STATED
    (change,) = changes(world, made)
    assert (change["before"].get(name), change["after"].get(name)) == (STATED[name], OTHERS[name])
    assert set(change["after"]) == {"lineage", "version", name}


@pytest.mark.parametrize("name", DETAILS)
def test_a_changed_detail_can_be_undone(world: World, name: str) -> None:
    written = world.write("Oslo", **STATED)
    _, made = operation(world, lambda: world.change(written["id"], **{name: OTHERS[name]}))
    _, again = operation(world, lambda: world.change(written["id"], **{name: DEFAULTS[name]}))
    undo(world, again)
    undo(world, made)
    assert details(world.get(written["id"])) == STATED


@pytest.mark.parametrize("name", DETAILS)
def test_undoing_leaves_a_memory_alone_of_which_the_detail_was_changed_since(world: World, name: str) -> None:
    written = world.write("Oslo", **STATED)
    _, made = operation(world, lambda: world.change(written["id"], **{name: OTHERS[name]}))
    world.change(written["id"], **{name: DEFAULTS[name]})
    undo(world, made, skip_changed=True)
    assert details(world.get(written["id"])) == {**STATED, name: DEFAULTS[name]}


def test_an_interlude_ends_in_the_details_before_it(world: World) -> None:
    world.write("Oslo", lineage="city", valid_from="2020-01-01T00:00:00+00:00", **STATED)
    world.write("Rome", lineage="city", valid_from="2021-01-01T00:00:00+00:00", valid_to="2022-01-01T00:00:00+00:00", **OTHERS)
    assert [details(row) for row in world.history("city")] == [STATED, OTHERS, STATED]


def test_a_copy_from_an_export_has_the_details_and_what_they_were(world: World) -> None:
    written = world.write("Oslo", **STATED)
    before = world.now()
    world.change(written["id"], **OTHERS)
    copy = new_world(world.connection)
    for kind in ("memory", "memory_belief"):
        assert restored(copy, kind, *exported(world, kind))["problems"] == []
    assert details(copy.get(written["id"])) == OTHERS
    assert known(copy, written["id"], before) == STATED


@pytest.mark.parametrize("view", ["current_memories", "memory_versions"])
def test_analysts_see_the_details(world: World, view: str) -> None:
    world.write("Oslo", **STATED)
    row = world.rows(f"select * from loci.{view} where namespace = %(ns)s")[0]  # type: ignore[arg-type]
    assert details(row) == STATED


def test_the_details_of_an_item_are_checked_by_their_type(world: World) -> None:
    with pytest.raises(Exception, match="smallint"):
        world.rows("select * from loci_api.remember(%(ns)s, %(i)s)", i=Jsonb([{"content": "x", "layer": "deep"}]))
