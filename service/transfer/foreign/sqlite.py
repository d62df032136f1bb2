"""SQLite databases of other systems: mem0's history of changes, and LangGraph's store. Read as a copy, and nothing in them runs."""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from typing import Any

from service.transfer.foreign.records import Json, Memory, Notes, Record, Unreadable, end_versions
from service.transfer.foreign.sources import MIB, File, Source
from service.transfer.foreign.values import WrongValue, moment, stated, text_of

MAGIC = b"SQLite format 3\x00"
STEPS, MOST = 100_000, 50_000  # a query is ended after so many times so many steps


@contextmanager
def opened(file: File) -> Iterator[sqlite3.Connection]:
    """A copy of a database, for reading only."""
    with tempfile.NamedTemporaryFile(suffix=".db") as copy:
        with file.open() as stream:
            shutil.copyfileobj(stream, copy, MIB)
        copy.flush()
        connection = sqlite3.connect(f"file:{copy.name}?mode=ro&immutable=1", uri=True, check_same_thread=False)
        try:
            connection.row_factory = sqlite3.Row
            connection.execute("pragma trusted_schema = off")
            connection.execute("pragma query_only = on")
            left = [MOST]
            connection.set_progress_handler(lambda: left.append(left.pop() - 1) or left[0] < 0, STEPS)  # type: ignore[func-returns-value]
            yield connection
        except sqlite3.DatabaseError as error:
            raise Unreadable(f"cannot be read as SQLite: {error}", file.place()) from None
        finally:
            connection.close()


def tables(file: File) -> set[str]:
    """The names of its tables; views are none, because reading one runs what it says."""
    with opened(file) as connection:
        return {row["name"] for row in connection.execute("select name from sqlite_master where type = 'table'")}


def read_history(source: Source, notes: Notes) -> Iterator[Record]:
    """mem0's history: the rows of a memory are the versions of a lineage, and a deletion ends the last one."""
    for file in source.files:
        with opened(file) as connection:
            rows = connection.execute("select * from history order by memory_id, rowid")
            for memory_id, group in groupby(rows, key=lambda row: row["memory_id"]):
                yield from _lineage(file, str(memory_id), [dict(row) for row in group], notes)
            if "messages" in tables(file):
                notes.lose(
                    "recent messages of mem0 (its table messages)",
                    connection.execute("select count(*) from messages").fetchone()[0],
                )


def _lineage(file: File, memory_id: str, rows: list[Json], notes: Notes) -> list[Memory]:
    versions: list[Memory] = []
    current: Any = None
    ended = None
    for row in rows:
        place = file.place(f"history {row.get('id')!r}")
        try:
            at = _when(row)
            event = row.get("event")
            if event in ("UPDATE", "DELETE") and versions and row.get("old_memory") != current:
                raise WrongValue(f"old_memory: {row.get('old_memory')!r} is not what the row before left, {current!r}")
            if event == "DELETE":
                ended, current = at, None
            elif event in ("ADD", "UPDATE"):
                current = text_of(row.get("new_memory"), "new_memory")
                metadata = stated(memory_id=memory_id, role=row.get("role"), event=event)
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
            notes.error(place, str(error))
    if ended is not None and versions:
        versions[-1].valid_to = ended
    end_versions(versions)
    return versions


def _when(row: Json) -> Any:
    made, changed = moment(row.get("created_at"), "created_at"), moment(row.get("updated_at"), "updated_at")
    if made is not None and changed is not None and changed < made:
        raise WrongValue(f"updated_at: {row['updated_at']!r} is before created_at, {row['created_at']!r}")
    return changed or made


def store_rows(file: File) -> Iterator[tuple[str, Json]]:
    """The rows of LangGraph's store."""
    with opened(file) as connection:
        for number, row in enumerate(connection.execute("select * from store order by prefix, key")):
            yield file.place(f"store row {number + 1}"), dict(row)
