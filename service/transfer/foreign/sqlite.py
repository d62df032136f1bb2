"""SQLite databases of other systems: mem0's history of changes, LangGraph's store, mem0's OpenMemory.

They are read as a copy, and nothing in them runs. A table is read where it is nothing but a table. Views, virtual tables and
generated columns are programs that their author wrote.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import groupby
from typing import Any
from uuid import UUID

from service.transfer.foreign.records import ImportNotes, Json, Memory, Record, Unreadable, end_versions
from service.transfer.foreign.scratch import SCRATCH
from service.transfer.foreign.sources import MIB, File, Source
from service.transfer.foreign.values import WrongValue, keep_stated_fields, parse_moment, shorten_identity, text_of

MAGIC = b"SQLite format 3\x00"
STEPS, MOST = 100_000, 50_000  # a query is ended after so many times so many steps
LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 32 * MIB,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 200,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 2,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 1,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
SAFE = (
    "pragma trusted_schema = off",
    "pragma cell_size_check = on",
    "pragma query_only = on",
    "pragma mmap_size = 0",
    "pragma cache_size = -4096",
    "pragma temp_store = file",
)
COLUMNS = {
    "history": "pragma table_xinfo(history)",
    "store": "pragma table_xinfo(store)",
    "users": "pragma table_xinfo(users)",
    "apps": "pragma table_xinfo(apps)",
    "categories": "pragma table_xinfo(categories)",
    "memory_categories": "pragma table_xinfo(memory_categories)",
    "memories": "pragma table_xinfo(memories)",
}
OPENMEMORY = """
    select m.id, u.user_id as user, a.name as app, m.content, m.metadata, m.state, m.created_at, m.updated_at, m.archived_at
    from memories m not indexed
    left join users u not indexed on u.id = m.user_id
    left join apps a not indexed on a.id = m.app_id
    order by m.id"""
LABELS = """
    select l.memory_id, c.name
    from memory_categories l not indexed
    join categories c not indexed on c.id = l.category_id
    order by l.memory_id, c.name"""
OPENMEMORY_LOST = {
    "memory_status_history": ("select count(*) from memory_status_history not indexed", "changes of states"),
    "access_controls": ("select count(*) from access_controls not indexed", "access lists"),
    "memory_access_logs": ("select count(*) from memory_access_logs not indexed", "logs of access"),
}
EVENTS = ("ADD", "UPDATE", "DELETE")  # in their order
EARLIEST = datetime.min.replace(tzinfo=UTC)
FUNCTIONS = {"count"}
NAMES = "select name from sqlite_schema where type = 'table' and rootpage > 0"  # a virtual table has no page


@contextmanager
def open_copy(file: File) -> Iterator[sqlite3.Connection]:
    """A copy of a database, for reading only, in which nothing of its own is executed."""
    with file.open() as stream, SCRATCH.copy_with_path(stream, file.size) as copy:
        connection = sqlite3.connect(f"file:{copy}?mode=ro&immutable=1", uri=True, check_same_thread=False)
        try:
            connection.row_factory = sqlite3.Row
            for limit, most in LIMITS.items():
                connection.setlimit(limit, most)
            for pragma in SAFE:
                connection.execute(pragma)
            connection.set_authorizer(_authorize_action)
            left = [MOST]
            connection.set_progress_handler(lambda: left.append(left.pop() - 1) or left[0] < 0, STEPS)  # type: ignore[func-returns-value]
            yield connection
        except sqlite3.DataError as error:
            raise Unreadable(f"holds a value that is too large: {error}", file.describe_place()) from None
        except sqlite3.DatabaseError as error:
            raise Unreadable(f"cannot be read as SQLite: {error}", file.describe_place()) from None
        finally:
            connection.close()


def _authorize_action(action: int, first: str | None, second: str | None, *_: Any) -> int:
    """Rights of statements: read tables, count rows, and ask of which columns a table is made."""
    allowed = (
        action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ)
        or (action == sqlite3.SQLITE_PRAGMA and first == "table_xinfo")
        or (action == sqlite3.SQLITE_FUNCTION and second in FUNCTIONS)
    )
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def list_tables(file: File) -> set[str]:
    """The names of its tables, without views: reading a view runs its query."""
    with open_copy(file) as connection:
        return _table_names(connection)


def _table_names(connection: sqlite3.Connection) -> set[str]:
    return {row["name"] for row in connection.execute(NAMES)}


def _check_plain_table(file: File, connection: sqlite3.Connection, table: str) -> None:
    """Raise Unreadable where a name is not that of a plain table of stored columns."""
    if table not in _table_names(connection):
        raise Unreadable(
            f"has no table {table!r}, or it is a view or virtual table, which would run what it says", file.describe_place()
        )
    if any(row["hidden"] for row in connection.execute(COLUMNS[table])):
        raise Unreadable(f"its table {table!r} has generated columns, which are not read", file.describe_place())


def read_history(source: Source, notes: ImportNotes) -> Iterator[Record]:
    """mem0's history: the rows of a memory, by their times, are the versions of a lineage, and a deletion ends the last one."""
    for file in source.files:
        with open_copy(file) as connection:
            _check_plain_table(file, connection, "history")
            rows = connection.execute("select * from history not indexed order by memory_id, rowid")
            for memory_id, group in groupby(rows, key=lambda row: row["memory_id"]):
                yield from _read_lineage(file, str(memory_id), sorted((dict(row) for row in group), key=_version_order), notes)
            if "messages" in _table_names(connection):
                notes.count_loss(
                    "recent messages of mem0 (its table messages)",
                    connection.execute("select count(*) from messages not indexed").fetchone()[0],
                )


def _read_lineage(file: File, memory_id: str, rows: list[Json], notes: ImportNotes) -> list[Memory]:
    memory_id = shorten_identity(memory_id)
    versions: list[Memory] = []
    current: Any = None
    ended = None
    for row in rows:
        place = file.describe_place(f"history {row.get('id')!r}")
        try:
            at = _row_time(row)
            event = row.get("event")
            if event in ("UPDATE", "DELETE") and versions and row.get("old_memory") != current:
                raise WrongValue(f"old_memory: {row.get('old_memory')!r} is not what the row before left, {current!r}")
            if event == "DELETE":
                ended, current = at, None
            elif event in ("ADD", "UPDATE"):
                current = text_of(row.get("new_memory"), "new_memory")
                metadata = keep_stated_fields(memory_id=memory_id, role=row.get("role"), event=event)
                versions.append(
                    Memory(
                        place,
                        str(row.get("id")),
                        current,
                        lineage=memory_id,
                        made=at,
                        changed=at,
                        source=row.get("actor_id"),
                        metadata=metadata,
                    )
                )
            else:
                raise WrongValue(f"event: must be ADD, UPDATE or DELETE, not {event!r}")
        except WrongValue as error:
            notes.note_error(place, str(error))
    if ended is not None and versions:
        versions[-1].valid_to = ended
    end_versions(versions)
    return versions


def _version_order(row: Json) -> tuple[datetime, int]:
    """Rows of a memory by time; rows without a time, or of one moment, keep their order."""
    with suppress(WrongValue):
        event = row.get("event")
        return _row_time(row) or EARLIEST, EVENTS.index(event) if event in EVENTS else 0
    return EARLIEST, 0


def _row_time(row: Json) -> Any:
    made, changed = parse_moment(row.get("created_at"), "created_at"), parse_moment(row.get("updated_at"), "updated_at")
    if made is not None and changed is not None and changed < made:
        raise WrongValue(f"updated_at: {row['updated_at']!r} is before created_at, {row['created_at']!r}")
    return changed or made


def store_rows(file: File) -> Iterator[tuple[str, Json]]:
    """The rows of LangGraph's store."""
    with open_copy(file) as connection:
        _check_plain_table(file, connection, "store")
        for number, row in enumerate(connection.execute("select * from store not indexed order by prefix, key")):
            yield file.describe_place(f"store row {number + 1}"), dict(row)


def openmemory_rows(file: File, notes: ImportNotes) -> Iterator[tuple[str, Json]]:
    """The memories of OpenMemory, with the names of their users, apps and categories, and ids as its backups write them."""
    with open_copy(file) as connection:
        for table in ("memories", "users", "apps", "categories", "memory_categories"):
            _check_plain_table(file, connection, table)
        labels = {
            key: [row["name"] for row in rows]
            for key, rows in groupby(connection.execute(LABELS), key=lambda row: row["memory_id"])
        }
        for row in connection.execute(OPENMEMORY):
            place = file.describe_place(f"memories {row['id']!r}")
            try:
                metadata = json.loads(row["metadata"]) if isinstance(row["metadata"], str) else None
                yield place, {**dict(row), "id": str(UUID(row["id"])), "metadata": metadata, "categories": labels.get(row["id"])}
            except (ValueError, AttributeError, RecursionError) as error:
                notes.note_error(place, f"has an id or metadata of no known shape: {error}")
        for table in OPENMEMORY_LOST.keys() & _table_names(connection):
            count, what = OPENMEMORY_LOST[table]
            notes.count_loss(what, connection.execute(count).fetchone()[0])
