"""What every login may call: each function that may do more than to read is named here, with the reason why it may stay."""

import re
from typing import Any

import psycopg
import pytest

from tests.databases import Database

# By reason: a name as a pattern. What a server of a later version adds is in none, and has to be looked at.
MAY_STAY = {
    "it returns a value": (
        "(array_sample|array_shuffle|clock_timestamp|current_query|gen_random_uuid|uuidv[47]|random|random_normal|setseed|timeofday)"
    ),
    "it waits, as long as a statement may take": "pg_sleep(_for|_until)?",
    "it sets what belongs to the session": "(set_config|pg_stat_clear_snapshot|pg_stat_force_next_flush)",
    "it notifies, as the statement does, which nobody can forbid": "pg_notify",
    "it runs a statement with the rights of the caller": "((query|cursor)_to_xml.*|ts_rewrite|ts_stat)",
    "it wants a right on a sequence": "(currval|lastval|nextval|setval|pg_sequence_last_value|pg_get_sequence_data)",
    "it wants to be the owner of an index": "(brin_(de)?summarize_(new_values|range)|gin_clean_pending_list)",
    "it wants the right to maintain a table": "pg_(clear|restore)_(attribute|relation)_stats",
    "it wants the right to replicate": (
        "pg_(copy|create|drop)_((logical|physical)_)?replication_slot|pg_replication_slot_advance|pg_sync_replication_slots"
        "|pg_logical_slot_(get|peek)_.*"
    ),
    "it wants a superuser": "pg_nextoid|pg_import_system_collations|pg_stop_making_pinned_objects|pg_extension_config_dump",
    "it wants to be that login, or its superior": "pg_(cancel|terminate)_backend",
    "it wants a server that is being upgraded": "binary_upgrade_.*",
    "it says how the server is": (
        "pg_stat_get_.*|pg_control_.*|pg_(current|last)_(wal|xact|committed).*|pg_is_.*|pg_get_wal_.*|pg_get_wait_events"
        "|pg_get_loaded_modules|pg_wal_summary_contents|pg_available_wal_summaries|pg_lock_status|pg_prepared_xact"
        "|(pg_safe_snapshot_)?(pg_)?blocking_pids|pg_isolation_test_session_is_blocked|pg_notification_queue_usage|pg_jit_available"
        "|pg_get_multixact_members|pg_xact_.*|txid_status"
    ),
    "it says how large something is, or what is where": (
        "pg_(database|indexes|relation|table|tablespace|total_relation)_size|pg_partition_(ancestors|tree)|currtid2"
        "|pg_(database_)?collation_actual_version"
    ),
    "it reads a large object, and there is none": "lo_(close|get|lseek|lseek64|tell|tell64)|loread",
    "nobody can call it in a statement, or it checks what is given and does nothing": (
        '"?RI_FKey_.*|.*handler|.*_support|.*_call_handler|.*_validator|amvalidate|bernoulli|system|dsnowball_(init|lexize)|unique_key_recheck'
        "|suppress_redundant_updates_trigger|tsvector_update_trigger(_column)?|plpgsql_.*"
    ),
}
VOLATILE = """
    select p.proname from pg_proc p
    where has_function_privilege('public', p.oid, 'execute') and p.provolatile = 'v' group by 1 order by 1"""
OF_LOCI = """
    select p.oid::regprocedure::text from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where n.nspname like 'loci%' and has_function_privilege('public', p.oid, 'execute')"""
WRITES = [
    "select pg_logical_emit_message(false, 'x', 'y')",
    "select pg_logical_emit_message(true, 'x', 'y'::bytea)",
    "select pg_export_snapshot()",
    "select pg_advisory_lock(1)",
    "select lo_from_bytea(0, 'x')",
    "select loci_jobs.procrastinate_defer_jobs_v1(null)",
]


def test_every_function_that_everybody_may_call_and_that_may_do_more_than_read_is_known(database: Database) -> None:
    with database.admin() as admin:
        found = [name for (name,) in admin.execute(VOLATILE).fetchall()]
    known = re.compile("|".join(f"(?:{pattern})" for pattern in MAY_STAY.values()))
    assert len(found) > 100
    assert [name for name in found if not known.fullmatch(name)] == []


def test_no_function_of_loci_is_for_everybody(database: Database) -> None:
    with database.admin() as admin:
        assert admin.execute(OF_LOCI).fetchall() == []


@pytest.mark.parametrize("role", ["loci_app", "loci_analyst"])
@pytest.mark.parametrize("statement", WRITES)
def test_no_login_writes_to_the_log_or_to_the_disk_beside_its_rights(admin: Any, role: str, statement: Any) -> None:
    admin.execute(f"set local session authorization {role}")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        admin.execute(statement)


def test_a_database_that_was_migrated_before_loses_the_rights_at_the_next_migration(database: Database) -> None:
    from migrations.schema_files import files

    statements: Any = files("migrations").joinpath("public_rights.sql").read_text(encoding="utf-8")
    with database.admin() as admin, admin.transaction(force_rollback=True):
        given = admin.execute(
            """select format('grant execute on function %s to public', p.oid::regprocedure) from pg_proc p
               where p.proname = 'pg_logical_emit_message'"""
        )
        for (statement,) in given.fetchall():
            admin.execute(statement)
        for _ in range(2):
            admin.execute(statements)
        row = admin.execute("select count(*) from pg_proc where proname = 'pg_logical_emit_message' and proacl::text like '%{=X%'")
        assert row.fetchone() == (0,)
