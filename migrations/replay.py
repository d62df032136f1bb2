"""Replay of sql/: every function, view, trigger, policy and grant, in full, at the end of an upgrade.

What has no file any more is dropped in the same transaction.
"""

from collections.abc import Sequence
from contextlib import suppress

from psycopg import errors as pg
from psycopg import sql
from sqlalchemy import Connection, text
from tenacity import retry, retry_if_exception, stop_after_delay, wait_random_exponential

from migrations.schema_files import execute
from migrations.sql_files import SqlObject, about_all, declared, digest_schema

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
HELD = (pg.QueryCanceled, pg.DeadlockDetected, pg.LockNotAvailable)
KINDS = ("trigger", "view", "routine")  # in the order in which they are dropped: what rests on others first
NOT_YET = (pg.UndefinedFunction, pg.UndefinedObject, pg.UndefinedTable)  # one object needs another that is not there yet
Written = dict[tuple[str, int], str]


class StillNeeded(Exception):
    """Something that is not Loci's own rests on what this release does not have any more."""


def is_in_use(error: BaseException) -> bool:
    """Whether a table was not free: a caller held it, or held one table and waited for another."""
    return isinstance(getattr(error, "orig", error), HELD)


until_free = retry(
    retry=retry_if_exception(is_in_use),
    wait=wait_random_exponential(multiplier=0.5, max=5.0, min=0.1),
    stop=stop_after_delay(PATIENCE),
    reraise=True,
)


def replay(connection: Connection) -> None:
    """Create or replace every object of sql/ in the caller's transaction, and drop what has no file any more.

    Bodies are not checked while loading. What names another object outside of a body waits until that one is there, so the order
    of the files means nothing. Comments may name a function without its parameters: they wait until one with others is gone.
    The functions of models, which have no file, are made anew. Raises StillNeeded.
    """
    hold_tables(connection)
    execute(connection, "set local check_function_bodies = off")
    execute(connection, VECTOR_PATH)
    execute(connection, "select loci_migration.drop_policies()")
    before = written(connection)
    objects = declared()
    load(connection, [item for item in objects if item.kind != "trigger"])
    load(connection, [item for item in objects if item.kind == "trigger"])
    drop_stale(connection, before)
    comments = [(item.path, comment) for item in objects for comment in item.comments]
    for path, statements in (*comments, *about_all()):
        try:
            execute(connection, statements)
        except Exception as error:
            error.add_note(f"while loading {path}")
            raise
    execute(connection, "select loci_internal.write_vector_search(m.id, m.dimensions) from loci_data.embedding_models m")


def note_digest(connection: Connection) -> None:
    """Note in the caller's transaction which files made the schema, so that the next start sees that nothing is to be done.

    The note is on the key of the table of revisions: on the table itself it would wait for the lock of this migration. A migration
    over a role that owns neither leaves the note as it is: only the embedded server is asked for it, where a superuser migrates.
    """
    note = sql.SQL("comment on constraint loci_version_pkc on public.loci_version is {}").format(sql.Literal(digest_schema()))
    with suppress(pg.InsufficientPrivilege), connection.begin_nested():
        connection.connection.cursor().execute(note)


def load(connection: Connection, waiting: Sequence[SqlObject]) -> None:
    """Make objects, in rounds: one that needs another waits for the next round."""
    while waiting:
        left: list[tuple[SqlObject, Exception]] = []
        for item in waiting:
            try:
                with connection.begin_nested():
                    execute(connection, ";\n".join(item.makes))
            except Exception as error:
                error.add_note(f"while loading {item.path}")
                if not isinstance(error, NOT_YET):
                    raise
                left.append((item, error))
        if len(left) == len(waiting):
            raise left[0][1]
        waiting = [item for item, _ in left]


def written(connection: Connection) -> Written:
    """The transaction that last wrote each object, by kind and id. Replaying one writes it anew."""
    rows = connection.execute(text("select kind, id, written from loci_migration.replayed_objects()"))
    return {(kind, number): transaction for kind, number, transaction in rows}


def drop_stale(connection: Connection, before: Written) -> None:
    """Drop what was there before and is as it was then: it has no file any more. Raises StillNeeded."""
    now = written(connection)
    stale = [key for key, transaction in before.items() if now.get(key) == transaction]
    for wanted in KINDS:
        numbers = [number for kind, number in stale if kind == wanted]
        try:
            connection.connection.cursor().execute("select loci_migration.drop_objects(%s, %s::oid[])", [wanted, numbers])
        except pg.DependentObjectsStillExist as error:
            resting = "; ".join((error.diag.message_detail or "").splitlines())
            raise StillNeeded(
                f"this release does not have a {wanted} any more that something of yours rests on: {resting}. "
                "Change or drop what is yours, then migrate again."
            ) from None


def hold_tables(connection: Connection) -> None:
    """Lock every table and view for the rest of the transaction, so that no reader and this one wait for each other.

    Locks that come one by one would meet readers that hold one and wait for another. Here they come all within 0.7 seconds or none:
    readers look for a deadlock after one second (`deadlock_timeout`), and by then nobody here waits. Raises LockNotAvailable after
    a minute.
    """
    try:
        _hold(connection)
    except HELD:
        raise pg.LockNotAvailable("tables are in use for longer than this waits") from None
    execute(connection, "set local statement_timeout = '10min'")


@until_free
def _hold(connection: Connection) -> None:
    """Lock them all, or none."""
    with connection.begin_nested():
        execute(connection, HOLD)
        execute(connection, LOCK)
