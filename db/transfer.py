"""Export and import of a namespace: wrappers of the SQL functions that read and restore its lines."""

from typing import TypedDict
from uuid import UUID

from psycopg.types.json import Jsonb

from db.pool import JsonObject, Transaction


class ExportHeader(TypedDict):
    """The first line of an export, and how many lines of each kind follow."""

    line: str
    kinds: list[str]
    counts: list[int]


class ExportPage(TypedDict):
    """Lines of an export; None: there are no more."""

    lines: str | None
    rows: int
    last: JsonObject | None


class RestoreBegun(TypedDict):
    """Outcome of the header of an export."""

    created: bool
    kept: list[str]
    vectors: str | None


class RestoredRows(TypedDict):
    """Outcome of restored lines."""

    written: int
    unchanged: int
    problems: list[JsonObject]


async def export_header(tx: Transaction, *, vectors: bool) -> ExportHeader:
    """The first line of an export of the transaction's namespace; `kinds` in their order and their `counts`."""
    return await tx.row(ExportHeader, "select * from loci_api.export_header(%(namespace)s, %(vectors)s)", vectors=vectors)


async def export_page(tx: Transaction, *, kind: str, after: JsonObject | None) -> ExportPage:
    """The next `lines` of a kind, how many `rows` they are, and the `last` position; no rows when the kind is done."""
    return await tx.row(
        ExportPage,
        "select * from loci_api.export_page(%(namespace)s, %(kind)s, %(after)s)",
        kind=kind,
        after=None if after is None else Jsonb(after),
    )


async def export_kinds(tx: Transaction) -> list[str]:
    """The kinds of lines that this version knows, in their order."""
    return await tx.values(str, "select kind from loci_api.export_kinds() order by place")


async def begin_restore(tx: Transaction, *, header: str) -> RestoreBegun:
    """Make the namespace if it does not exist, and settle what the header says: `created`, `kept` fields, `vectors` (why not)."""
    return await tx.row(RestoreBegun, "select * from loci_api.begin_restore(%(namespace)s, %(header)s::jsonb)", header=header)


async def restore_rows(tx: Transaction, *, kind: str, lines: str) -> RestoredRows:
    """Restore lines of a kind, a JSON array; how many were `written` and `unchanged`, and `problems` {row, reason, conflict}."""
    return await tx.row(
        RestoredRows, "select * from loci_api.restore_rows(%(namespace)s, %(kind)s, %(lines)s::jsonb)", kind=kind, lines=lines
    )


async def restore_vectors(tx: Transaction, *, lines: str) -> RestoredRows:
    """Restore vectors, a JSON array of {memory_id, embedding}; as restore_rows."""
    return await tx.row(RestoredRows, "select * from loci_api.restore_vectors(%(namespace)s, %(lines)s::jsonb)", lines=lines)


async def finish_restore(tx: Transaction) -> None:
    """Check what restored lines say of later ones."""
    await tx.run("select loci_api.finish_restore(%(namespace)s)")


class ImportedRow(TypedDict):
    """Outcome for an item of another system's file: `written`, `merged` into what says the same, or `there` already."""

    ordinal: int
    id: UUID
    outcome: str


class ImportedNames(ImportedRow):
    """The same of what names entities: in the first row, how many entities are new because all of them name them."""

    entities_written: int


class ImportedMemory(ImportedNames):
    """The same of a memory, with how many of the edges that it states are new, and how many are not."""

    edges_written: int
    edges_there: int


async def import_memories(tx: Transaction, *, items: list[JsonObject]) -> list[ImportedMemory]:
    """Write memories with their ids, once; one row an item, in order."""
    return await tx.rows(ImportedMemory, "select * from loci_api.import_memories(%(namespace)s, %(items)s)", items=Jsonb(items))


async def import_entities(tx: Transaction, *, items: list[JsonObject]) -> list[ImportedRow]:
    """Write entities, or what is new of them; one row an item, in order."""
    return await tx.rows(ImportedRow, "select * from loci_api.import_entities(%(namespace)s, %(items)s)", items=Jsonb(items))


async def import_edges(tx: Transaction, *, items: list[JsonObject]) -> list[ImportedNames]:
    """Write edges that are not believed yet; one row an item, in order."""
    return await tx.rows(ImportedNames, "select * from loci_api.import_edges(%(namespace)s, %(items)s)", items=Jsonb(items))


async def import_turns(tx: Transaction, *, items: list[JsonObject]) -> list[ImportedRow]:
    """Append turns to their sessions, once; one row an item, in order."""
    return await tx.rows(
        ImportedRow,
        "select ordinal, null::uuid as id, outcome from loci_api.import_turns(%(namespace)s, %(items)s)",
        items=Jsonb(items),
    )


async def import_links(tx: Transaction, *, items: list[JsonObject]) -> list[ImportedRow]:
    """Link memories, once; one row an item, in order."""
    return await tx.rows(
        ImportedRow,
        "select ordinal, null::uuid as id, outcome from loci_api.import_links(%(namespace)s, %(items)s)",
        items=Jsonb(items),
    )
