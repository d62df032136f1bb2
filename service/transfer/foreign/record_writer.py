"""The one way in for all formats: records are gathered by kind and written in batches; a refused item stands alone and is named."""

import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import psycopg

from db import statistics, transfer
from db.errors import refused_rows
from db.pool import JsonObject, Transaction
from db.retries import with_retries
from service.transfer.foreign.records import Edge, Entity, ImportNotes, Link, Memory, Record, Turn
from service.transfer.foreign.rows import Row, Rows
from service.transfer.import_lines import Open

BATCH, BATCH_BYTES = 1000, 1024 * 1024  # rows of a kind, and bytes of all that wait
Write = Callable[[Transaction, list[JsonObject]], Awaitable[list[JsonObject]]]


def _make_writer(function: Any) -> Write:
    return lambda tx, items: function(tx, items=items)


WRITES: dict[type[Any], tuple[str, Write]] = {  # in the order in which they are written
    Entity: ("entities", _make_writer(transfer.import_entities)),
    Memory: ("memories", _make_writer(transfer.import_memories)),
    Edge: ("edges", _make_writer(transfer.import_edges)),
    Turn: ("turns", _make_writer(transfer.import_turns)),
    Link: ("links", _make_writer(transfer.import_links)),
}
KINDS = tuple(name for name, _ in WRITES.values())


@dataclass
class Report:
    """Result of an import, or of its dry run."""

    format: str
    namespace: str
    dry_run: bool = False
    atomic: bool = False
    operator: bool = True  # who may analyze tables
    notes: ImportNotes = field(default_factory=ImportNotes)
    written: Counter[str] = field(default_factory=Counter)
    merged: Counter[str] = field(default_factory=Counter)
    there: Counter[str] = field(default_factory=Counter)
    started: float = field(default_factory=time.perf_counter)
    seconds: float = 0.0

    def to_json(self) -> JsonObject:
        """For people and scripts."""
        return {
            "format": self.format,
            "namespace": self.namespace,
            "dry_run": self.dry_run,
            **{name: {kind: getattr(self, name)[kind] for kind in KINDS} for name in ("written", "merged", "there")},
            "skipped": dict(self.notes.skipped),
            "no_place": dict(self.notes.no_place),
            "remarks": list(self.notes.remarks),
            "wrong": self.notes.wrong,
            "errors": [{"place": place, "reason": reason} for place, reason in self.notes.errors],
            "seconds": round(self.seconds, 3),
        }


class Writer:
    """Takes records and writes them; each batch is a transaction, or with `whole` a part of that one."""

    def __init__(self, open_transaction: Open, rows: Rows, report: Report) -> None:
        self._open, self._rows, self._report = open_transaction, rows, report
        self.whole: Transaction | None = None
        self._waiting: dict[type[Any], list[Row]] = {kind: [] for kind in WRITES}
        self._bytes = 0
        self._linking = False
        self._ids: dict[str, str] = {}  # of memories by their keys, where links may follow
        self._seen: dict[int, int] = {}  # keys and contents of this file
        self._count = 0
        self._analyzed = False

    async def take_record(self, record: Record, size: int) -> None:
        """Check a record of so many bytes, and keep it for its batch. Links come last."""
        if isinstance(record, Link):
            await self._take_link(record)
            return
        row = self._rows.make_row(record)
        if row is None or self._repeats_earlier(record, row):
            return
        await self._keep_row(type(record), row, size)

    async def _take_link(self, link: Link) -> None:
        if not self._linking:
            self._linking = True
            await self.write_waiting_rows()  # both ends are known by now
        ends = self._ids.get(link.source), self._ids.get(link.target)
        if None in ends:
            self._report.notes.count_omission("links to what was not imported")
            return
        await self._keep_row(Link, Row(link.place, "", {"source_id": ends[0], "target_id": ends[1], "type": link.type}), 0)

    async def _keep_row(self, kind: type[Any], row: Row, size: int) -> None:
        waiting = self._waiting[kind]
        waiting.append(row)
        self._bytes += size
        if len(waiting) >= BATCH or self._bytes >= BATCH_BYTES:
            await self.write_waiting_rows()

    def _repeats_earlier(self, record: Record, row: Row) -> bool:
        """Whether the file has said this before; another text under the same identity is an error."""
        if not isinstance(record, (Memory, Turn)):
            return False
        said = hash((row.item["content"], row.item.get("valid_from"), row.item.get("valid_to")))
        before = self._seen.setdefault(
            hash((type(record), row.item.get("session_id") if isinstance(record, Turn) else "", row.key)), said
        )
        known = len(self._seen) == self._count
        self._count = len(self._seen)
        if known and before == said:
            self._report.notes.count_omission("items that the file has twice")
        elif known:
            self._report.notes.note_error(record.place, f"{row.key!r} is there twice, with different words")
        return known

    async def write_waiting_rows(self) -> None:
        """Write what waits."""
        self._bytes = 0
        for kind, (name, write) in WRITES.items():
            rows, self._waiting[kind] = self._waiting[kind], []
            if rows:
                await self._write_batch(name, write, rows)
        if not self._analyzed and self._report.operator:
            self._analyzed = True
            await self._analyze_new_tables()

    async def _analyze_new_tables(self) -> None:
        """Give new tables statistics once they have rows: what follows is planned by them."""
        if self.whole is None:
            async with self._open(None, None) as tx:
                await statistics.analyze_new_tables(tx)
        else:
            await statistics.analyze_new_tables(self.whole)

    async def _write_batch(self, name: str, write: Write, rows: list[Row]) -> None:
        """One batch; tried again when it met others' locks."""
        if self.whole is not None:
            done, wrong = await _write_in_halves(self.whole, write, rows)
        else:

            async def write_in_transaction() -> tuple[Done, list[tuple[str, str]]]:
                async with self._open(self._report.namespace, "writer") as tx:
                    return await _write_in_halves(tx, write, rows)

            done, wrong = await with_retries(write_in_transaction)
        for place, reason in wrong:
            self._report.notes.note_error(place, reason)
        for row, outcome in done:
            getattr(self._report, outcome["outcome"])[name] += 1
            self._report.written["entities"] += outcome.get("entities_written", 0)
            if name == "memories":
                self._ids[row.key] = str(outcome["id"])
                self._report.written["edges"] += outcome.get("edges_written", 0)
                self._report.there["edges"] += outcome.get("edges_there", 0)


Done = list[tuple[Row, JsonObject]]


async def _write_in_halves(tx: Transaction, write: Write, rows: list[Row]) -> tuple[Done, list[tuple[str, str]]]:
    """Write rows in one statement; where the database refuses, halve until the refused rows stand alone."""
    try:
        async with tx.savepoint():
            return list(zip(rows, await write(tx, [row.item for row in rows]), strict=True)), []
    except psycopg.Error as error:
        known = refused_rows(error)
        if known is None:
            raise
        if len(rows) == 1:
            return [], [(rows[0].place, known.detail)]
    half = len(rows) // 2
    first, wrong = await _write_in_halves(tx, write, rows[:half])
    second, more = await _write_in_halves(tx, write, rows[half:])
    return first + second, wrong + more


async def write_records(
    open_transaction: Open,
    records: AsyncIterator[tuple[Record, int]],
    report: Report,
    rows: Rows,
) -> Report:
    """Write records, each with its size.

    A dry run does the same in one transaction, and takes it back; so does `atomic`, where an item is wrong.
    """
    report.started = time.perf_counter()
    writer = Writer(open_transaction, rows, report)
    async with AsyncExitStack() as stack:
        if report.dry_run or report.atomic:
            writer.whole = await stack.enter_async_context(open_transaction(report.namespace, "writer"))
        else:
            async with open_transaction(report.namespace, "writer") as tx:
                await tx.read_caller()
        async for record, size in records:
            await writer.take_record(record, size)
        await writer.write_waiting_rows()
        if report.atomic and report.notes.wrong:
            report.written, report.merged, report.there = Counter(), Counter(), Counter()
        if report.dry_run or (report.atomic and report.notes.wrong):
            raise psycopg.Rollback  # ends the transaction and goes no further
    report.seconds = time.perf_counter() - report.started
    return report


__all__ = ["KINDS", "Report", "write_records"]
