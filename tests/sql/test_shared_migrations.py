"""Upgrades: the same end from any beginning, and nothing to do at head."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, LiteralString

import psycopg
import pytest
from alembic import command
from alembic.script import ScriptDirectory
from psycopg import sql
from psycopg.rows import dict_row

from db.health import Check, check_revision, is_replayed
from db.migrate import NewerSchema, _make_config, is_known, newest_revision, upgrade
from migrations.replay import LOCK, StillNeeded
from migrations.sql_files import split
from tests.databases import VERSION, Database, Server, as_shipped

STRUCTURE = """
with relation as (select c.* from pg_class c where c.relnamespace in ('loci'::regnamespace, 'loci_data'::regnamespace))
select 'column', c.relname || '.' || a.attname, format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull::text || ' ' || a.attidentity::text
       || ' ' || a.attstorage::text || ' ' || coalesce(pg_get_expr(d.adbin, d.adrelid), '') || ' ' || coalesce(col_description(c.oid, a.attnum), '')
from relation c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
union all select 'relation', relname, relkind::text || ' ' || coalesce((select string_agg(a::text, ',' order by a::text) from unnest(relacl) a), '') || relrowsecurity::text || relforcerowsecurity::text
       || coalesce(obj_description(oid, 'pg_class'), '') from relation
union all select 'constraint', conname || conrelid::regclass::text, pg_get_constraintdef(oid) from pg_constraint where connamespace = 'loci_data'::regnamespace
union all select 'index', c.relname, pg_get_indexdef(c.oid) from relation c where relkind in ('i', 'I')
union all select 'function', p.oid::regprocedure::text, pg_get_functiondef(p.oid) || coalesce(obj_description(p.oid, 'pg_proc'), '')
       || coalesce((select string_agg(a::text, ',' order by a::text) from unnest(p.proacl) a), '')
       from pg_proc p where p.pronamespace::regnamespace::text like 'loci%%' and p.pronamespace <> 'loci_jobs'::regnamespace
union all select 'trigger', t.tgname || c.relname, pg_get_triggerdef(t.oid) from pg_trigger t join relation c on c.oid = t.tgrelid where not t.tgisinternal
union all select 'policy', tablename || policyname, cmd::text || roles::text || coalesce(qual, '') || coalesce(with_check, '') from pg_policies where schemaname = 'loci_data'
union all select 'setting', r.rolname, array_to_string(s.setconfig, ' ') from pg_db_role_setting s join pg_roles r on r.oid = s.setrole
       join pg_database d on d.oid = s.setdatabase and d.datname = current_database()
order by 1, 2, 3"""
IDENTITY = "select c.oid, c.relfilenode, c.relname from pg_class c where c.relnamespace in ('loci'::regnamespace, 'loci_data'::regnamespace) order by 1"


@dataclass(frozen=True)
class Mended:
    """A database, and its structure at first, after somebody has changed it, and after an upgrade."""

    database: Database
    before: list[tuple[Any, ...]]
    changed: list[tuple[Any, ...]]
    after: list[tuple[Any, ...]]


def ask(database: Database, statement: Any) -> list[tuple[Any, ...]]:
    with psycopg.connect(database.admin_url) as connection:
        return connection.execute(statement).fetchall()


@pytest.fixture
def fresh(server: Server) -> Iterator[Database]:
    made = server.empty(f"{server.run}_fresh")
    yield made
    server.drop(made)


@pytest.fixture
def cloned(server: Server) -> Iterator[Database]:
    made = server.clone("migrated")
    with made.admin() as admin:
        as_shipped(admin)
    yield made
    server.drop(made)


def test_an_upgrade_at_head_changes_nothing(cloned: Database) -> None:
    before, objects = ask(cloned, STRUCTURE), ask(cloned, IDENTITY)
    upgrade(cloned.admin_url)
    assert ask(cloned, STRUCTURE) == before
    assert ask(cloned, IDENTITY) == objects


def test_an_upgrade_locks_nothing_of_the_catalogue(cloned: Database) -> None:
    with psycopg.connect(cloned.admin_url) as connection:
        connection.execute(LOCK)
        locked = connection.execute(
            """select c.relnamespace::regnamespace::text, c.relname::text from pg_locks l join pg_class c on c.oid = l.relation
               where l.pid = pg_backend_pid() and l.mode = 'AccessExclusiveLock'"""
        ).fetchall()
    assert {schema for schema, _ in locked} == {"loci", "loci_data", "loci_jobs"}
    assert ("loci_data", "memories") in locked


def test_an_upgrade_from_nothing_gives_the_same_wherever_it_runs(fresh: Database, cloned: Database) -> None:
    upgrade(fresh.admin_url)
    assert ask(fresh, STRUCTURE) == ask(cloned, STRUCTURE)


def test_a_downgrade_to_nothing_can_be_followed_by_an_upgrade(cloned: Database) -> None:
    before = ask(cloned, STRUCTURE)
    command.downgrade(_make_config(cloned.admin_url), "base")
    assert ask(cloned, "select from pg_namespace where nspname like 'loci%'") == []
    upgrade(cloned.admin_url)
    assert ask(cloned, STRUCTURE) == before


@pytest.fixture(scope="module")
def mended(server: Server) -> Iterator[Mended]:
    """A database in which something is stored, and that somebody changes by hand before it is upgraded."""
    made = server.clone("mended")
    with psycopg.connect(made.app_url) as connection:
        connection.execute("select loci_api.begin_request(null, 'default', 'writer')")
        connection.execute("""select loci_api.remember('default', '[{"content": "kept"}]')""")
    with made.admin() as connection:
        as_shipped(connection)
    before = ask(made, STRUCTURE)
    with made.admin() as connection:
        connection.execute(
            "create or replace function loci.canonical_name(p_name text) returns text language sql immutable return 'wrong'"
        )
        for role in ("loci_app", "loci_analyst"):
            connection.execute(
                sql.SQL("alter role {} in database {} reset all").format(sql.Identifier(role), sql.Identifier(made.name))
            )
        connection.execute("set role loci_owner")
        connection.execute("create function loci_internal.gone() returns integer language sql return 1")
        connection.execute("create function loci_api.gone() returns integer language sql return loci_internal.gone()")
        connection.execute("create view loci.gone as select loci_internal.gone() as gone")
        connection.execute("create function loci_internal.fired() returns trigger language plpgsql as 'begin return new; end'")
        connection.execute("create trigger gone after insert on loci_data.memories execute function loci_internal.fired()")
    changed = ask(made, STRUCTURE)
    upgrade(made.admin_url)
    yield Mended(made, before, changed, ask(made, STRUCTURE))
    server.drop(made)


def test_an_upgrade_keeps_what_is_stored(mended: Mended) -> None:
    assert ask(mended.database, "select content from loci_data.memories") == [("kept",)]


def test_a_function_that_somebody_changed_is_put_back(mended: Mended) -> None:
    before, changed, after = (
        [row for row in found if row[:2] == ("function", "loci.canonical_name(text)")]
        for found in (mended.before, mended.changed, mended.after)
    )
    assert before != changed
    assert len(before) == 1
    assert after == before


def test_an_object_without_a_file_is_dropped(mended: Mended) -> None:
    before, changed, after = ({row[:2] for row in found} for found in (mended.before, mended.changed, mended.after))
    assert {name for kind, name in changed - before if kind in ("function", "relation", "trigger")} == {
        *("loci_internal.gone()", "loci_api.gone()", "loci_internal.fired()"),
        *("gone", "gonememories"),
    }
    assert after == before


def test_a_function_with_other_parameters_gives_way_to_the_one_of_the_files(cloned: Database) -> None:
    before = ask(cloned, STRUCTURE)
    with cloned.admin() as connection:
        connection.execute("set role loci_owner")
        connection.execute(
            "create function loci_internal.memories_new_to_session(p_before text) returns text language sql return p_before"
        )
    upgrade(cloned.admin_url)
    assert ask(cloned, STRUCTURE) == before


def test_settings_of_roles_that_a_dump_has_left_behind_are_set_again(mended: Mended) -> None:
    before, changed, after = (
        [row for row in found if row[0] == "setting"] for found in (mended.before, mended.changed, mended.after)
    )
    assert {row[1] for row in before} >= {"loci_app", "loci_analyst"}
    assert changed == []
    assert after == before


def test_an_upgrade_of_what_somebody_changed_leaves_no_trace_of_that(mended: Mended) -> None:
    assert mended.after == mended.before


def test_the_search_of_a_model_is_there_as_long_as_the_model(cloned: Database) -> None:
    searches = "select proname::text from pg_proc where proname ~ '^nearest_vectors_'"
    with cloned.admin() as admin:
        admin.execute("insert into loci_data.embedding_models (name, dimensions) values ('plane', 2), ('space', 3)")
    made = ask(cloned, searches)
    assert len(made) == 2
    upgrade(cloned.admin_url)
    assert ask(cloned, searches) == made
    with cloned.admin() as admin:
        admin.execute("delete from loci_data.embedding_models where name = 'plane'")
    upgrade(cloned.admin_url)
    assert len(ask(cloned, searches)) == 1


def test_a_users_view_on_a_dropped_function_stops_the_upgrade_and_is_named(cloned: Database) -> None:
    with cloned.admin() as connection:
        connection.execute("create function loci.gone() returns integer language sql return 1")
        connection.execute("create view public.mine as select loci.gone()")
    before = ask(cloned, STRUCTURE)
    with pytest.raises(StillNeeded, match=r"routine .*view public.mine depends on function"):
        upgrade(cloned.admin_url)
    assert ask(cloned, STRUCTURE) == before


def test_a_schema_of_a_later_version_is_refused_and_left_alone(cloned: Database) -> None:
    with cloned.admin() as connection:
        connection.execute("update public.loci_version set version_num = 'later'")
    before = ask(cloned, STRUCTURE)
    with pytest.raises(NewerSchema, match="revision later, which this version does not know: a later version made it"):
        upgrade(cloned.admin_url)
    assert ask(cloned, STRUCTURE) == before
    assert "a later version has migrated it; start that" in asyncio.run(revision_of(cloned)).detail


async def revision_of(database: Database) -> Check:
    async with await psycopg.AsyncConnection.connect(database.app_url, row_factory=dict_row) as connection:
        return await check_revision(connection)


async def is_made_by_these_files(database: Database) -> bool:
    async with await psycopg.AsyncConnection.connect(database.app_url, row_factory=dict_row) as connection:
        return await is_replayed(connection)


@pytest.mark.parametrize(
    "statement",
    [
        "comment on constraint loci_version_pkc on public.loci_version is 'of another version with the same revisions'",
        "comment on constraint loci_version_pkc on public.loci_version is null",
        "update public.loci_version set version_num = 'later'",
        "delete from public.loci_version",
        "alter role loci_app in database {} reset all",  # as in a database that a dump was restored into
    ],
)
def test_a_schema_is_taken_as_it_is_only_where_these_files_made_all_of_it(cloned: Database, statement: LiteralString) -> None:
    assert asyncio.run(is_made_by_these_files(cloned))
    with cloned.admin() as connection:
        connection.execute(sql.SQL(statement).format(sql.Identifier(cloned.name)))
    assert not asyncio.run(is_made_by_these_files(cloned))


def test_an_upgrade_mends_a_schema_that_other_files_made(cloned: Database) -> None:
    with cloned.admin() as connection:
        connection.execute("comment on constraint loci_version_pkc on public.loci_version is 'other files'")
    upgrade(cloned.admin_url)
    assert asyncio.run(is_made_by_these_files(cloned))


def test_an_upgrade_that_fails_leaves_the_note_of_what_is_there(cloned: Database) -> None:
    with cloned.admin() as connection:
        connection.execute("comment on constraint loci_version_pkc on public.loci_version is 'other files'")
        connection.execute("create function loci.gone() returns integer language sql return 1")
        connection.execute("create view public.mine as select loci.gone()")
    with pytest.raises(StillNeeded):
        upgrade(cloned.admin_url)
    assert not asyncio.run(is_made_by_these_files(cloned))


def test_there_is_one_head_and_every_revision_is_known() -> None:
    scripts = ScriptDirectory.from_config(_make_config())
    assert scripts.get_heads() == [newest_revision()]
    assert [script.revision for script in scripts.walk_revisions() if not is_known(script.revision)] == []
    assert not is_known("of a later version")


def test_the_server_is_the_version_that_was_asked_for(cloned: Database) -> None:
    assert ask(cloned, "select current_setting('server_version_num')::int / 10000")[0][0] in {VERSION, *range(16, 30)}


def test_a_text_is_split_where_its_statements_end() -> None:
    text = "-- a; b\nselect ';', \"x;y\", $$ ; $$, $q$ ' $$ ; $q$; -- after\nselect 'it''s', -1;"
    assert split(text) == ["select ';', \"x;y\", $$ ; $$, $q$ ' $$ ; $q$", "select 'it''s', -1"]
