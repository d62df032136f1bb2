"""Restoring a namespace from the lines of an export: all of it in one transaction, or nothing. See docs/transfer.md."""

import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Annotated, Literal, TypeVar

import orjson
import psycopg
from pydantic import Field, ValidationError

from db import transfer
from db.errors import Conflict, refused_rows
from db.pool import JsonObject, Transaction
from loci.models.fields import UNQUOTED, Metadata, Model, Moment, NamespaceName, Text
from service.http.problems import said_of
from service.transfer.reading.process import Reading

VERSION = 1
MOST_PROBLEMS = 100  # after which reading stops
BATCH_BYTES = 4 * 1024 * 1024
LONGEST_HEADER = 64 * 1024  # bytes of the first and the last line
LONGEST_REASON = 500
Count = dict[str, int]
M = TypeVar("M", bound=Model)


class Vectors(Model):
    """Which model made the vectors of an export."""

    model: Text
    dimensions: Annotated[int, UNQUOTED]


class Header(Model):
    """The first line of an export."""

    kind: Literal["namespace"]
    format: Literal["loci"]
    version: Annotated[int, UNQUOTED]
    name: NamespaceName
    description: Text | None
    language: Text
    settings: Metadata
    created_at: Moment
    updated_at: Moment
    exported_at: Moment
    vectors: Vectors | None
    counts: Count


class End(Model):
    """The last line of an export."""

    kind: Literal["end"]
    counts: Count
    sha256: str = Field(pattern="^[0-9a-f]{64}$")


@dataclass(frozen=True)
class LineProblem:
    """A line that keeps a file from being restored; `conflict`: the namespace has another row in its place."""

    line: int
    reason: str
    conflict: bool = False


class Refused(Exception):
    """Nothing was written, and why."""

    def __init__(self, problems: list[LineProblem]) -> None:
        super().__init__(f"{len(problems):,} lines cannot be restored")
        self.problems = sorted(problems, key=lambda problem: problem.line)


@dataclass
class Restored:
    """Result of a restore. `kept`: where the namespace differs from the file; `vectors`: why those of the file were left out."""

    namespace: str
    lines: int = 0
    created: bool = False
    kept: list[str] = field(default_factory=list)
    vectors: str | None = None
    written: Count = field(default_factory=dict)
    unchanged: Count = field(default_factory=dict)
    started: float = field(default_factory=time.perf_counter, repr=False)

    @property
    def seconds_since_start(self) -> float:
        """Since the start."""
        return time.perf_counter() - self.started

    def to_json(self) -> JsonObject:
        """For people and scripts."""
        parts = ("namespace", "created", "kept", "vectors", "written", "unchanged", "lines")
        return {**{part: getattr(self, part) for part in parts}, "seconds": round(self.seconds_since_start, 3)}


def parse_header(line: bytes) -> Header:
    """The first line of an export. Raises Refused."""
    item = _parse_object(line) if len(line) <= LONGEST_HEADER else f"is longer than {LONGEST_HEADER:,} bytes"
    if isinstance(item, str):
        raise Refused([LineProblem(1, item)])
    if item.get("kind") != "namespace" or item.get("format") != "loci":
        raise Refused([LineProblem(1, 'must be the first line of an export: {"kind": "namespace", "format": "loci", …}')])
    version = item.get("version")
    if isinstance(version, int) and version > VERSION:
        reason = f"version: the file has version {version} of the format, written by a newer Loci; this one reads up to {VERSION}"
        raise Refused([LineProblem(1, reason)])
    if version != VERSION or isinstance(version, bool):
        raise Refused([LineProblem(1, f"version: must be {VERSION}")])
    parsed = _validate_item(Header, item)
    if isinstance(parsed, str):
        raise Refused([LineProblem(1, parsed)])
    return parsed


def _parse_object(line: bytes) -> JsonObject | str:
    """A line as a JSON object, or what is wrong with it."""
    if not line.strip():
        return "is empty"
    try:
        item = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        try:
            item = json.loads(line.decode())  # numbers beyond a double, which the database keeps
        except (ValueError, RecursionError):
            return f"is not JSON: {error}"
    return item if isinstance(item, dict) else "must be a JSON object"


def _validate_item(model: type[M], item: JsonObject) -> M | str:
    try:
        return model.model_validate(item)
    except ValidationError as error:
        return said_of(error)


class Restore:
    """Takes the lines after the first, one by one, and writes them in batches of a kind."""

    def __init__(self, tx: Transaction, header: Header, batch_size: int) -> None:
        self._tx = tx
        self._header = header
        self._size = batch_size
        self._kinds: list[str] = []
        self._digest: str | None = None  # of the lines between the first and the last
        self._seen: Count = {}
        self._end: End | None = None
        self._kind = ""
        self._waiting: list[tuple[int, bytes]] = []
        self._bytes = 0
        self._problems: list[LineProblem] = []
        self.done = Restored(tx.namespace or header.name, lines=1)

    async def begin_with_header(self, line: bytes) -> None:
        """Settle what the first line says."""
        self._kinds = [*await transfer.export_kinds(self._tx), *(["vector"] if self._header.vectors else [])]
        self._seen = dict.fromkeys(self._kinds, 0)
        self.done.written, self.done.unchanged = dict(self._seen), dict(self._seen)
        try:
            begun = await transfer.begin_restore(self._tx, header=line.decode())
        except psycopg.Error as error:
            known = refused_rows(error)
            if known is None:
                raise
            raise Refused([LineProblem(1, known.detail)]) from None
        self.done.created, self.done.kept, self.done.vectors = begun["created"], begun["kept"], begun["vectors"]

    async def take_line(self, kind: str | None, said: str | None, line: bytes) -> None:
        """Keep a line for its batch. `said`: what is wrong with it; of the last one, what the lines before amount to."""
        self.done.lines += 1
        if self._end is not None:
            if line.strip():
                self._refuse_line(self.done.lines, "stands after the end line")
        elif kind == "end":
            self._digest = said
            await self._take_end(line)
        elif kind is None:
            self._refuse_line(self.done.lines, said or "is no line of an export")
        elif kind not in self._seen:
            near = get_close_matches(kind, self._kinds)
            hint = f". Did you mean {near[0]}?" if near else ""
            self._refuse_line(self.done.lines, f"kind: an export has no lines of kind {kind!r}{hint}")
        elif self._kind and self._kinds.index(kind) < self._kinds.index(self._kind):
            self._refuse_line(self.done.lines, f"kind: lines of kind {kind} must stand before those of kind {self._kind}")
        else:
            self._seen[kind] += 1
            if kind != self._kind or len(self._waiting) >= self._size or self._bytes + len(line) > BATCH_BYTES:
                await self._write_waiting_lines()
                self._kind = kind
            self._waiting.append((self.done.lines, line))
            self._bytes += len(line)

    async def finish_restore(self) -> Restored:
        """The result. Raises Refused where a line is wrong, or the file is not whole."""
        await self._write_waiting_lines()
        end = self._end
        if end is None:
            self._refuse_line(self.done.lines, "the file stops here, without its end line: it was cut off")
        elif not end.counts == self._seen == self._header.counts:
            self._refuse_line(self.done.lines, "the numbers of lines are not those that the first and the last line say")
        elif end.sha256 != self._digest:
            self._refuse_line(self.done.lines, "sha256: the lines are not those that were exported")
        elif not self._problems:
            await self._work_in_halves([(self.done.lines, b"")], lambda _: transfer.finish_restore(self._tx))
        if self._problems:
            raise Refused(self._problems)
        return self.done

    async def _take_end(self, line: bytes) -> None:
        await self._write_waiting_lines()
        item = _parse_object(line) if len(line) <= LONGEST_HEADER else f"is longer than {LONGEST_HEADER:,} bytes"
        parsed = item if isinstance(item, str) else _validate_item(End, item)
        if isinstance(parsed, str):
            self._refuse_line(self.done.lines, parsed)
        else:
            self._end = parsed

    def _refuse_line(self, line: int, reason: str, *, conflict: bool = False) -> None:
        self._problems.append(LineProblem(line, reason[:LONGEST_REASON], conflict))
        if len(self._problems) >= MOST_PROBLEMS:
            raise Refused(self._problems)

    async def _write_waiting_lines(self) -> None:
        items, self._waiting, self._bytes = self._waiting, [], 0
        if items and self._kind == "vector" and self.done.vectors is not None:
            return
        if items:
            await self._work_in_halves(items, self._write_lines)

    async def _work_in_halves(
        self, items: list[tuple[int, bytes]], work: Callable[[list[tuple[int, bytes]]], Awaitable[None]]
    ) -> None:
        """Do work with lines in one statement; where the database refuses, halve until the refused lines stand alone."""
        try:
            async with self._tx.savepoint():
                await work(items)
        except psycopg.Error as error:
            known = refused_rows(error)
            if known is None:
                raise
            if len(items) == 1:
                self._refuse_line(items[0][0], known.detail, conflict=known.status == Conflict.status)
                return
            half = len(items) // 2
            await self._work_in_halves(items[:half], work)
            await self._work_in_halves(items[half:], work)

    async def _write_lines(self, items: list[tuple[int, bytes]]) -> None:
        lines = b"[" + b",".join(line for _, line in items) + b"]"
        if self._kind == "vector":
            row = await transfer.restore_vectors(self._tx, lines=lines.decode())
        else:
            row = await transfer.restore_rows(self._tx, kind=self._kind, lines=lines.decode())
        self.done.written[self._kind] += row["written"]
        self.done.unchanged[self._kind] += row["unchanged"]
        for problem in row["problems"]:
            self._refuse_line(items[problem["row"] - 1][0], problem["reason"], conflict=problem["conflict"])


async def restore_namespace(
    open_: Callable[[str], AbstractAsyncContextManager[Transaction]],
    process: Reading,
    *,
    namespace: str | None = None,
    batch_size: int = 1000,
) -> Restored:
    """Restore an export, which a process reads, in one transaction. Without `namespace` into the one that the export names.

    Raises Refused, and nothing is written.
    """
    lines = _read_lines(process)
    try:
        _, wrong, first = await anext(lines)
    except StopAsyncIteration:
        wrong, first = "is empty", b""
    if wrong is not None:
        raise Refused([LineProblem(1, wrong)])
    header = parse_header(first)
    async with open_(namespace or header.name) as tx:
        work = Restore(tx, header, batch_size)
        await work.begin_with_header(first)
        async for line in lines:
            await work.take_line(*line)
        return await work.finish_restore()


async def _read_lines(process: Reading) -> AsyncIterator[tuple[str | None, str | None, bytes]]:
    """The lines as the process says them: kind, what is said of each, and the line as it stands."""
    async for frame in process.read_frames():
        if frame[0] == "line":
            yield frame[1], frame[2], await process.read_raw_line()
