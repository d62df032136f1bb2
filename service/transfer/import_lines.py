"""The work behind `loci import`: lines are checked here, written in batches, and refused one by one."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from typing import Any

import psycopg
from pydantic import ValidationError

from db import memories, statistics
from db.errors import refused_rows
from db.graph import edges, entities
from db.pool import JsonObject, Transaction
from db.retries import with_retries
from loci.models.fields import Model
from loci.models.graph import EdgeWrite, EntityWrite
from loci.models.memories import MemoryInput
from service.http.problems import said_of
from service.transfer.foreign.records import LONGEST_KIND, LONGEST_REASON, MOST_ERRORS, ImportNotes
from service.transfer.reading.process import Frame, Reading

Open = Callable[[str | None, str | None], AbstractAsyncContextManager[Transaction]]  # in a namespace, with a role
Write = Callable[[Transaction, list[JsonObject]], Awaitable[Sequence[Mapping[str, Any]]]]
BATCH, BATCH_BYTES = 1000, 1024 * 1024  # lines of a kind, and bytes of all that wait


class WrongLine(Exception):
    """A line that cannot be imported, and why."""


@dataclass(frozen=True)
class LineError:
    """A line that did not go in."""

    line: int
    reason: str


@dataclass(frozen=True)
class Kind:
    """A kind of line: how it is checked and written."""

    plural: str
    model: type[Model]
    write: Write


@dataclass
class Load:
    """Result of an import, or with `dry_run` of a trial."""

    dry_run: bool = False
    lines: int = 0
    written: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("entities", "memories", "edges"), 0))
    duplicates: int = 0
    ignored: int = 0  # duplicates that stated something otherwise
    superseded: int = 0
    cut_short: int = 0
    errors: list[LineError] = field(default_factory=list)
    wrong: int = 0
    started: float = field(default_factory=time.perf_counter)
    seconds: float = 0.0

    def to_json(self) -> JsonObject:
        """The counts and errors, for people and scripts."""
        return {
            "dry_run": self.dry_run,
            **self.written,
            "duplicates": self.duplicates,
            "ignored": self.ignored,
            "superseded": self.superseded,
            "cut_short": self.cut_short,
            "lines": self.lines,
            "seconds": round(self.seconds, 3),
            "wrong": self.wrong,
            "errors": [asdict(error) for error in self.errors],
        }

    def refuse_line(self, line: int, reason: str) -> None:
        """A line does not go in. All are counted; the first are listed, and some more until all are known."""
        self.wrong += 1
        self.errors.append(LineError(line, reason[:LONGEST_REASON]))
        if len(self.errors) >= 2 * MOST_ERRORS:
            self.keep_first_errors()

    def take_over(self, notes: ImportNotes, lines: int) -> None:
        """Take over what the process that read the lines noted: places are their numbers."""
        for place, reason in notes.errors:
            self.refuse_line(int(place), reason)
        self.wrong += notes.wrong - len(notes.errors)
        self.lines = lines

    def keep_first_errors(self) -> None:
        """Keep the first errors, in order of their lines."""
        self.errors = sorted(self.errors, key=lambda error: error.line)[:MOST_ERRORS]

    def count_outcomes(self, kind: Kind, outcomes: Sequence[Mapping[str, Any]]) -> None:
        """Count rows that were written."""
        self.written[kind.plural] += len(outcomes)
        self.duplicates += sum(1 for row in outcomes if row.get("duplicate"))
        self.ignored += sum(1 for row in outcomes if row.get("ignored"))
        self.cut_short += sum(1 for row in outcomes if row.get("cut_short"))
        self.superseded += sum(1 for row in outcomes if row.get("superseded"))


KINDS = {
    "entity": Kind("entities", EntityWrite, lambda tx, rows: entities.upsert_entities(tx, entities=rows)),
    "memory": Kind("memories", MemoryInput, lambda tx, rows: memories.remember(tx, items=rows)),
    "edge": Kind("edges", EdgeWrite, lambda tx, rows: edges.observe_edges(tx, edges=rows)),
}


def parse_line(item: Any) -> tuple[str, JsonObject]:
    """The kind of a line and what it states. Raises WrongLine."""
    if not isinstance(item, dict):
        raise WrongLine("must be a JSON object")
    name = item.pop("kind", "memory" if "content" in item else None)
    if name is None:
        raise WrongLine("kind: must be memory, entity or edge; it is missing, and there is no content")
    if not isinstance(name, str) or name not in KINDS:
        near = get_close_matches(str(name)[:LONGEST_KIND], KINDS)
        raise WrongLine(
            f"kind: must be memory, entity or edge, not {str(name)[:LONGEST_KIND]!r}"
            + (f". Did you mean {near[0]}?" if near else "")
        )
    try:
        return name, KINDS[name].model.model_validate(item).stated()
    except ValidationError as error:
        raise WrongLine(said_of(error)) from None


class Loader:
    """Collects lines of each kind and writes them when a batch is full; entities first, edges last.

    Each batch is a transaction, or with `whole` a part of that one.
    """

    def __init__(self, open_transaction: Open, namespace: str, batch_size: int, *, operator: bool) -> None:
        self._open = open_transaction
        self._namespace = namespace
        self._size = batch_size
        self._operator = operator
        self.whole: Transaction | None = None
        self._waiting: dict[str, list[tuple[int, JsonObject]]] = {name: [] for name in KINDS}
        self._bytes = 0
        self._first = True
        self.load = Load()

    async def check_namespace(self) -> None:
        """Raise what is wrong with the namespace before anything is read."""
        async with self._open(self._namespace, "writer") as tx:
            await tx.read_caller()

    async def take_line(self, line: int, item: Any, size: int) -> None:
        """Check what a line of so many bytes says, and keep it for its batch."""
        try:
            name, row = parse_line(item)
        except WrongLine as error:
            self.load.refuse_line(line, str(error))
            return
        self._waiting[name].append((line, row))
        self._bytes += size
        if len(self._waiting[name]) >= self._size or self._bytes >= BATCH_BYTES:
            await self.write_waiting_items()

    async def write_waiting_items(self) -> None:
        """Write what waits."""
        self._bytes = 0
        for name, kind in KINDS.items():
            items, self._waiting[name] = self._waiting[name], []
            if items and self.whole is not None:
                await write_or_split(self.whole, kind, items, self.load)
            elif items:
                await self._write_alone(kind, items)
        if self._first and self._operator:
            self._first = False
            await self._analyze_new_tables()

    async def _analyze_new_tables(self) -> None:
        """Give new tables statistics once they have rows: what follows is planned by them."""
        if self.whole is not None:
            await statistics.analyze_new_tables(self.whole)
            return
        async with self._open(None, None) as tx:
            await statistics.analyze_new_tables(tx)

    async def _write_alone(self, kind: Kind, items: list[tuple[int, JsonObject]]) -> None:
        """A transaction for one batch; tried again when it met others' locks."""

        async def write_in_transaction() -> Load:
            done = Load()
            async with self._open(self._namespace, "writer") as tx:
                await write_or_split(tx, kind, items, done)
            return done

        part = await with_retries(write_in_transaction)
        for refused in part.errors:
            self.load.refuse_line(refused.line, refused.reason)
        self.load.written[kind.plural] += part.written[kind.plural]
        self.load.duplicates += part.duplicates
        self.load.ignored += part.ignored
        self.load.superseded += part.superseded
        self.load.cut_short += part.cut_short


async def write_or_split(tx: Transaction, kind: Kind, items: list[tuple[int, JsonObject]], load: Load) -> None:
    """Write items in one statement; where the database refuses, halve until the refused lines stand alone."""
    try:
        async with tx.savepoint():
            outcomes = await kind.write(tx, [row for _, row in items])
    except psycopg.Error as error:
        known = refused_rows(error)
        if known is None:
            raise
        if len(items) == 1:
            load.refuse_line(items[0][0], known.detail)
            return
        half = len(items) // 2
        await write_or_split(tx, kind, items[:half], load)
        await write_or_split(tx, kind, items[half:], load)
    else:
        load.count_outcomes(kind, outcomes)


async def load_lines(
    open_transaction: Open,
    process: Reading,
    frames: AsyncIterator[Frame],
    *,
    namespace: str,
    atomic: bool,
    operator: bool,
    dry_run: bool = False,
    batch_size: int = BATCH,
) -> Load:
    """Import lines, as the process that reads them says them. With `atomic`, one wrong line and nothing is written.

    The `operator` may analyze tables. A dry run does the same in one transaction, and takes it back.
    """
    loader = Loader(open_transaction, namespace, batch_size, operator=operator)
    loader.load.dry_run = dry_run
    async with AsyncExitStack() as stack:
        if atomic or dry_run:
            loader.whole = await stack.enter_async_context(open_transaction(namespace, "writer"))
        else:
            await loader.check_namespace()
        async for frame in frames:
            if frame[0] == "end":
                loader.load.take_over(ImportNotes.from_json(frame[1]), frame[1]["lines"])
                break
            await loader.take_line(frame[2], frame[3], process.size)
        await loader.write_waiting_items()
        loader.load.keep_first_errors()
        if atomic and loader.load.wrong:
            done = loader.load
            loader.load = Load(dry_run, done.lines, errors=done.errors, wrong=done.wrong, started=done.started)
        if dry_run or (atomic and loader.load.wrong):
            raise psycopg.Rollback  # ends the transaction and goes no further
    loader.load.seconds = time.perf_counter() - loader.load.started
    return loader.load
