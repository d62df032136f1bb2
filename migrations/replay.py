"""Replay of sql/: every function, view, trigger, policy and grant, in full, at the end of an upgrade."""

from collections.abc import Iterator
from importlib.resources import files

from sqlalchemy import Connection

from migrations.schema_files import execute

# Functions that use pgvector take this path with them (`set search_path from current`); all other names are qualified.
VECTOR_PATH = """
select set_config('search_path', format('%I, pg_temp', n.nspname), true)
from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'"""
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
    execute(connection, "set local check_function_bodies = off")
    execute(connection, VECTOR_PATH)
    execute(connection, "select loci_migration.drop_policies()")
    for path, text in statements():
        try:
            execute(connection, text)
        except Exception as error:
            error.add_note(f"while loading {path}")
            raise
