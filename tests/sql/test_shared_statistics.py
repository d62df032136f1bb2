"""Statistics of tables that have just got their first rows."""

import psycopg
import pytest

from tests.databases import Server
from tests.factories import World, act_as, grant, new_world


def test_a_new_table_is_analyzed_once_it_has_rows_and_then_its_foreign_keys_are_looked_up_by_primary_key(server: Server) -> None:
    database = server.clone("fresh")
    try:
        with psycopg.connect(database.app_url, row_factory=psycopg.rows.dict_row) as connection:
            world = new_world(connection)
            analyze = "select array_agg(t) from loci_api.analyze_new_tables() t"
            assert world.value(analyze) is None
            world.rows(
                "select * from loci_api.remember(%(ns)s, (select jsonb_agg(jsonb_build_object('content', 'memory ' || n)) from generate_series(1, 1500) n))"
            )
            assert "loci_data.memories" in world.value(analyze)
            assert world.value(analyze) is None
            connection.commit()
        with psycopg.connect(database.admin_url) as admin:
            admin.execute("set enable_seqscan = off; set plan_cache_mode = force_generic_plan")
            admin.execute(
                "prepare look as select 1 from only loci_data.memories x where namespace_id = $1 and id = $2 for key share of x"
            )
            plan = "\n".join(row[0] for row in admin.execute("explain execute look(1, null)").fetchall())
            assert "memories_pkey" in plan
    finally:
        server.drop(database)


def test_a_table_that_was_empty_when_it_was_analyzed_is_analyzed_anew_once_it_has_rows(server: Server) -> None:
    database = server.left_alone("emptied")
    write = "select * from loci_api.remember(%(ns)s, (select jsonb_agg(jsonb_build_object('content', 'memory ' || n)) from generate_series(1, 1500) n))"
    analyze = "select array_agg(t) from loci_api.analyze_new_tables() t"
    flush = "select pg_stat_force_next_flush()"  # at the end of the transaction
    try:
        with psycopg.connect(database.app_url, row_factory=psycopg.rows.dict_row) as writer, database.admin() as admin:
            new_world(writer).rows(write)
            writer.execute(flush)
            writer.rollback()
            admin.execute("analyze loci_data.memories")
            known = "select reltuples from pg_class where oid = 'loci_data.memories'::regclass"
            assert admin.execute(known).fetchone() == (0,)
            world = new_world(writer)
            assert "loci_data.memories" not in (world.value(analyze) or [])  # nothing is there, in as many pages as there were
            world.rows(write)
            assert "loci_data.memories" in world.value(analyze)  # it counts what its own transaction has written
            writer.rollback()
            admin.execute("analyze loci_data.memories")
            new_world(writer).rows(write)
            writer.execute(flush)
            writer.commit()
            with psycopg.connect(database.app_url, row_factory=psycopg.rows.dict_row) as other:
                world = new_world(other)
                assert "loci_data.memories" in world.value(analyze)  # and what others have
                assert "loci_data.memories" not in (world.value(analyze) or [])
                other.commit()
            assert admin.execute(known).fetchone() == (1500,)
    finally:
        server.drop(database)


def test_only_the_operator_analyzes(admin: psycopg.Connection[dict], owned: World) -> None:
    admin.execute("reset session authorization")
    agent = grant(admin, owned.name, "admin")
    admin.execute("set session authorization loci_app")
    act_as(owned.connection, agent)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        owned.rows("select loci_api.analyze_new_tables()")
