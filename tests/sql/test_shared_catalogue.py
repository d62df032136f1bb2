"""The catalogue and the files say the same, and every object says what it is for."""

from typing import Any

import psycopg
import pytest
from psycopg import sql

from tests.catalogue import FUNCTIONS, ROOT, TABLES, TRIGGERS, VIEWS

UNCOMMENTED = {
    "schemas": "select nspname from pg_namespace where nspname like 'loci%' and obj_description(oid, 'pg_namespace') is null",
    "tables": """select relname from pg_class where relnamespace in ('loci'::regnamespace, 'loci_data'::regnamespace) and relkind in ('r', 'p', 'v')
                 and not relispartition and obj_description(oid, 'pg_class') is null""",
    "columns": """select c.relname || '.' || a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                  where c.relnamespace in ('loci'::regnamespace, 'loci_data'::regnamespace) and c.relkind in ('r', 'p', 'v') and not c.relispartition
                  and col_description(c.oid, a.attnum) is null""",
    "functions": "select proname from pg_proc where pronamespace in ('loci'::regnamespace, 'loci_api'::regnamespace, 'loci_internal'::regnamespace) and obj_description(oid, 'pg_proc') is null",
    "types": """select t.typname from pg_type t join pg_class c on c.oid = t.typrelid and c.relkind = 'c'
                where t.typnamespace in ('loci'::regnamespace, 'loci_api'::regnamespace, 'loci_internal'::regnamespace) and obj_description(t.oid, 'pg_type') is null""",
}


def names(connection: psycopg.Connection[Any], statement: str) -> list[str]:
    return sorted(next(iter(row.values())) for row in connection.execute(sql.SQL(statement)).fetchall())  # type: ignore[arg-type]


@pytest.mark.row("X3")
@pytest.mark.parametrize("kind", UNCOMMENTED)
def test_every_object_has_a_comment(connection: psycopg.Connection[Any], kind: str) -> None:
    assert names(connection, UNCOMMENTED[kind]) == []


def test_every_function_file_is_in_the_catalogue_and_the_reverse(connection: psycopg.Connection[Any]) -> None:
    assert (
        names(
            connection,
            "select distinct pronamespace::regnamespace || '.' || proname from pg_proc where pronamespace in ('loci'::regnamespace, 'loci_api'::regnamespace, 'loci_internal'::regnamespace)",
        )
        == FUNCTIONS
    )


def test_every_view_file_is_in_the_catalogue_and_the_reverse(connection: psycopg.Connection[Any]) -> None:
    assert (
        names(
            connection,
            "select relname from pg_class where relnamespace in ('loci'::regnamespace, 'loci_data'::regnamespace) and relkind = 'v'",
        )
        == VIEWS
    )


def test_every_table_of_the_revisions_is_in_the_catalogue_and_the_reverse(connection: psycopg.Connection[Any]) -> None:
    found = names(
        connection,
        "select relname from pg_class where relnamespace in ('loci'::regnamespace, 'loci_data'::regnamespace) and relkind in ('r', 'p') and not relispartition",
    )
    assert found == TABLES


def test_every_trigger_of_the_files_is_in_the_catalogue_and_the_reverse(connection: psycopg.Connection[Any]) -> None:
    found = names(
        connection,
        """select t.tgname from pg_trigger t join pg_class c on c.oid = t.tgrelid
                                 where c.relnamespace in ('loci'::regnamespace, 'loci_data'::regnamespace, 'loci_jobs'::regnamespace)
                                 and not t.tgisinternal and t.tgparentid = 0 and t.tgname not like 'procrastinate_%'""",
    )
    assert found == TRIGGERS


def test_a_function_with_its_owners_rights_fixes_its_search_path(connection: psycopg.Connection[Any]) -> None:
    assert (
        names(
            connection,
            """select proname from pg_proc where pronamespace in ('loci'::regnamespace, 'loci_api'::regnamespace, 'loci_internal'::regnamespace) and prosecdef
                                and not exists (select from unnest(proconfig) c where c like 'search_path=%')""",
        )
        == []
    )


@pytest.mark.parametrize("role", ["public", "loci_analyst"])
def test_a_function_that_writes_is_not_for_everybody(connection: psycopg.Connection[Any], role: str) -> None:
    found = connection.execute(
        """select p.proname from pg_proc p cross join lateral aclexplode(p.proacl) a
           where p.pronamespace in ('loci'::regnamespace, 'loci_api'::regnamespace, 'loci_internal'::regnamespace) and p.provolatile = 'v' and a.privilege_type = 'EXECUTE'
           and a.grantee = coalesce(to_regrole(%s)::oid, 0)""",
        [role],
    ).fetchall()
    assert found == []


def test_the_first_column_of_every_key_and_index_is_the_namespace(connection: psycopg.Connection[Any]) -> None:
    apart = [
        "agents",
        "api_keys",
        "browser_sessions",
        "cells",
        "grants",
        "invitations",
        "key_uses",
        "namespace_cells",
        "rate_buckets",
        "namespaces",
        "embedding_models",
        "service_locks",
    ]  # who may call, which models there are, and what is done once at a time
    found = connection.execute(
        """select i.indexrelid::regclass::text as name from pg_index i
           join pg_class c on c.oid = i.indrelid join pg_class x on x.oid = i.indexrelid join pg_am m on m.oid = x.relam
           left join pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[0]
           where c.relnamespace in ('loci'::regnamespace, 'loci_data'::regnamespace) and m.amname = 'btree' and a.attname is distinct from 'namespace_id'
           and c.relname <> all (%s) and x.relname not in ('outbox_id', 'feeds_token')  -- a queue over all namespaces, and names of feeds
        """,
        [apart],
    ).fetchall()
    assert found == []


def test_only_vector_is_needed_beside_postgres(connection: psycopg.Connection[Any]) -> None:
    assert names(connection, "select extname from pg_extension") == ["plpgsql", "vector"]


def test_every_foreign_key_has_an_index_that_serves_its_deletes(connection: psycopg.Connection[Any]) -> None:
    found = connection.execute(
        """select c.conname from pg_constraint c
           where c.connamespace = 'loci_data'::regnamespace and c.contype = 'f' and c.conparentid = 0
           and not exists (select from pg_index i where i.indrelid = c.conrelid and i.indkey[0] = any (c.conkey))"""
    ).fetchall()
    never_deleted = {
        *(
            "memory_vectors_model_id_fkey",
            "vector_means_model_id_fkey",
            "projections_model_id_fkey",
            "map_layouts_model_id_fkey",
            "embedding_queue_model_id_fkey",
            "entity_vectors_model_id_fkey",
            "entity_queue_model_id_fkey",
        ),
        "idempotency_keys_agent_id_fkey",
    }
    assert {row["conname"] for row in found} <= never_deleted


@pytest.mark.parametrize(
    ("said", "where"),
    [
        ("00000000-0000-0000-0000-000000000000", "sql/access/authorize.sql"),
        ("column = 'cursor'", "sql/shared/pages.sql"),
        ("only the operator may ", "sql/access/authorize.sql"),
        ("'limit must be ", "sql/shared/pages.sql"),
    ],
)
def test_a_rule_stands_in_one_sql_file(said: str, where: str) -> None:
    assert [str(path.relative_to(ROOT)) for path in ROOT.glob("sql/**/*.sql") if said in path.read_text()] == [where]
