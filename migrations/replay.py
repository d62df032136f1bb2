"""Replay of sql/: every function, view, trigger, policy and grant, in full, at the end of an upgrade."""

import random
import time
from collections.abc import Iterator
from importlib.resources import files

from psycopg import errors as pg
from sqlalchemy import Connection

from migrations.schema_files import execute

# Functions that use pgvector take this path with them (`set search_path from current`); all other names are qualified.
VECTOR_PATH = """
select set_config('search_path', format('%I, pg_temp', n.nspname), true)
from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'"""
# Every table and view at once, in less time than it takes a waiting reader to look for a deadlock: see hold_tables.
HOLD = """
do $$ begin
    perform set_config('statement_timeout', least(700, 0.7 * s.setting::numeric)::integer::text, true)
    from pg_settings s where s.name = 'deadlock_timeout';
end $$;
"""
LOCK = """
do $$
declare
    v_name text;
begin
    for v_name in select c.oid::regclass::text from pg_class c
                  where c.relnamespace in ('loci'::regnamespace, 'loci_data'::regnamespace, 'loci_jobs'::regnamespace)
                  and c.relkind in ('r', 'p', 'v')
                  and not c.relispartition order by c.relkind desc, c.relname loop
        execute format('lock table %s in access exclusive mode', v_name);
    end loop;
end $$"""
PATIENCE = 60.0  # seconds in which the tables must have been free once
ORDER = ("functions", "views", "triggers", "policies", "grants")


def statements() -> Iterator[tuple[str, str]]:
    """Yield (path, text) of each file of sql/, in load order: folder by folder, by name inside a folder."""
    for folder in ORDER:
        for entry in sorted(files("sql").joinpath(folder).iterdir(), key=lambda item: item.name):
            if entry.name.endswith(".sql"):
                yield f"sql/{folder}/{entry.name}", entry.read_text(encoding="utf-8")


def replay(connection: Connection) -> None:
    """Create or replace every object of sql/ in the caller's transaction.

    Bodies are not checked while loading, because functions may call functions that are created after them.
    """
    hold_tables(connection)
    execute(connection, "set local check_function_bodies = off")
    execute(connection, VECTOR_PATH)
    execute(connection, "select loci_migration.drop_policies()")
    for path, text in statements():
        try:
            execute(connection, text)
        except Exception as error:
            error.add_note(f"while loading {path}")
            raise


def hold_tables(connection: Connection) -> None:
    """Lock every table and view for the rest of the transaction, so that no reader and this one wait for each other.

    Locks that come one by one would meet readers that hold one and wait for another. Here they come all within 0.7 seconds or none:
    readers look for a deadlock after one second (`deadlock_timeout`), and by then nobody here waits. Raises LockNotAvailable after
    a minute.
    """
    until = time.monotonic() + PATIENCE
    pause = 0.25
    while True:
        try:
            with connection.begin_nested():
                execute(connection, HOLD)
                execute(connection, LOCK)
        except (pg.QueryCanceled, pg.DeadlockDetected, pg.LockNotAvailable):
            if time.monotonic() > until:
                raise pg.LockNotAvailable("tables are in use for longer than this waits") from None
            time.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311 (jitter)
            pause = min(2 * pause, 4.0)
        else:
            execute(connection, "set local statement_timeout = '10min'")
            return
