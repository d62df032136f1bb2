"""The one way in for all formats: records are gathered by kind and written in batches; a refused item stands alone and is named."""

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import psycopg

from db import statistics, transfer
from db.errors import refused_rows, retryable
from db.pool import JsonObject, Transaction
from service.transfer.foreign.records import UNKNOWN_SHAPE, Edge, Entity, Link, Memory, Notes, Record, Turn, Unreadable
from service.transfer.foreign.rows import Row, Rows
from service.transfer.load import ATTEMPTS, Open

BATCH = 1000
Write = Callable[[Transaction, list[JsonObject]], Awaitable[list[JsonObject]]]


def _write(function: Any) -> Write:
    return lambda tx, items: function(tx, items=items)


WRITES: dict[type[Any], tuple[str, Write]] = {  # in the order in which they are written
    Entity: ("entities", _write(transfer.import_entities)),
    Memory: ("memories", _write(transfer.import_memories)),
    Edge: ("edges", _write(transfer.import_edges)),
    Turn: ("turns", _write(transfer.import_turns)),
    Link: ("links", _write(transfer.import_links)),
}
KINDS = tuple(name for name, _ in WRITES.values())


@dataclass
class Report:
    """What an import did, or would do."""

    format: str
    namespace: str
    dry_run: bool = False
    atomic: bool = False
    operator: bool = True  # who may analyze tables
    notes: Notes = field(default_factory=Notes)
    written: Counter[str] = field(default_factory=Counter)
    merged: Counter[str] = field(default_factory=Counter)
    there: Counter[str] = field(default_factory=Counter)
    started: float = field(default_factory=time.perf_counter)
    seconds: float = 0.0

    def counts(self) -> JsonObject:
        """For people and scripts."""
        return {
            "format": self.format,
            "namespace": self.namespace,
            "dry_run": self.dry_run,
            **{name: {kind: getattr(self, name)[kind] for kind in KINDS} for name in ("written", "merged", "there")},
            "skipped": dict(self.notes.skipped),
            "no_place": dict(self.notes.no_place),
            "remarks": self.notes.remarks,
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
        self._links: list[Link] = []
        self._ids: dict[str, str] = {}  # of memories by their keys, where links may follow
        self._seen: dict[int, int] = {}  # keys and contents of this file
        self._count = 0
        self._analyzed = False

    async def take(self, record: Record) -> None:
        """Check a record and keep it for its batch."""
        if isinstance(record, Link):
            self._links.append(record)
            return
        row = self._rows.make(record)
        if row is None or self._repeats(record, row):
            return
        waiting = self._waiting[type(record)]
        waiting.append(row)
        if len(waiting) >= BATCH:
            await self.flush()

    def _repeats(self, record: Record, row: Row) -> bool:
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
            self._report.notes.skip("items that the file has twice")
        elif known:
            self._report.notes.error(record.place, f"{row.key!r} is there twice, with different words")
        return known

    async def flush(self) -> None:
        """Write what waits."""
        for kind, (name, write) in WRITES.items():
            rows, self._waiting[kind] = self._waiting[kind], []
            if rows:
                await self._write(name, write, rows)
        if not self._analyzed and self._report.operator:
            self._analyzed = True
            await self._analyze()

    async def finish(self) -> None:
        """Write the rest, and the links last: both ends are known by now."""
        await self.flush()
        for link in self._links:
            ends = self._ids.get(link.source), self._ids.get(link.target)
            if None in ends:
                self._report.notes.skip("links to what was not imported")
                continue
            item = {"source_id": ends[0], "target_id": ends[1], "type": link.type}
            self._waiting[Link].append(Row(link.place, "", item))
        for start in range(0, len(self._waiting[Link]), BATCH):
            await self._write(*WRITES[Link], self._waiting[Link][start : start + BATCH])

    async def _analyze(self) -> None:
        """Give new tables statistics once they have rows: what follows is planned by them."""
        if self.whole is None:
            async with self._open(None, None) as tx:
                await statistics.analyze_new_tables(tx)
        else:
            await statistics.analyze_new_tables(self.whole)

    async def _write(self, name: str, write: Write, rows: list[Row]) -> None:
        """One batch; tried again when it met others' locks."""
        if self.whole is not None:
            done, wrong = await _halved(self.whole, write, rows)
        else:
            for attempt in itertools.count(1):
                try:
                    async with self._open(self._report.namespace, "writer") as tx:
                        done, wrong = await _halved(tx, write, rows)
                    break
                except psycopg.Error as error:
                    if attempt == ATTEMPTS or not retryable(error):
                        raise
        for place, reason in wrong:
            self._report.notes.error(place, reason)
        for row, outcome in done:
            getattr(self._report, outcome["outcome"])[name] += 1
            if name == "memories":
                self._ids[row.key] = str(outcome["id"])
                self._report.written["edges"] += outcome.get("edges_written", 0)
                self._report.there["edges"] += outcome.get("edges_there", 0)


Done = list[tuple[Row, JsonObject]]


async def _halved(tx: Transaction, write: Write, rows: list[Row]) -> tuple[Done, list[tuple[str, str]]]:
    """Write rows in one statement; where the database refuses, halve until the refused rows stand alone."""
    try:
        async with tx.connection.transaction():
            return list(zip(rows, await write(tx, [row.item for row in rows]), strict=True)), []
    except psycopg.Error as error:
        known = refused_rows(error)
        if known is None:
            raise
        if len(rows) == 1:
            return [], [(rows[0].place, known.detail)]
    half = len(rows) // 2
    first, wrong = await _halved(tx, write, rows[:half])
    second, more = await _halved(tx, write, rows[half:])
    return first + second, wrong + more


async def write(
    open_transaction: Open,
    records: Iterator[Record],
    report: Report,
    rows: Rows,
) -> Report:
    """Write records. They are read in a thread, a batch at a time, so that others are served meanwhile.

    A dry run does the same in one transaction, and takes it back; so does `atomic`, where an item is wrong.
    What cannot be read any further ends the import there.
    """
    report.started = time.perf_counter()
    writer = Writer(open_transaction, rows, report)
    async with AsyncExitStack() as stack:
        if report.dry_run or report.atomic:
            writer.whole = await stack.enter_async_context(open_transaction(report.namespace, "writer"))
        else:
            async with open_transaction(report.namespace, "writer") as tx:
                await tx.entered()
        while batch := await asyncio.to_thread(read_some, records, report.notes):
            for record in batch:
                await writer.take(record)
            report.seconds = time.perf_counter() - report.started
        await writer.finish()
        if report.atomic and report.notes.wrong:
            report.written, report.merged, report.there = Counter(), Counter(), Counter()
        if report.dry_run or (report.atomic and report.notes.wrong):
            raise psycopg.Rollback  # ends the transaction and goes no further
    report.seconds = time.perf_counter() - report.started
    return report


def read_some(records: Iterator[Record], notes: Notes) -> list[Record]:
    """The next records, at most a batch; what cannot be read any further is noted, and nothing comes after it."""
    found: list[Record] = []
    try:
        for record in itertools.islice(records, BATCH):
            found.append(record)  # noqa: PERF402 (what was read before an error counts)
    except Unreadable as error:
        notes.error(error.place, error.reason)
    except UNKNOWN_SHAPE as error:
        notes.error("the file", f"has a shape that is not known ({type(error).__name__}: {error})"[:300])
    return found


__all__ = ["KINDS", "Report", "read_some", "write"]
