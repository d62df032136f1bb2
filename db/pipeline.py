"""Statements of one transaction, sent one behind another without waiting, over psycopg's interface to libpq.

psycopg's own pipeline and cursors do the same for any use at several times the cost, which was half of the service's part of a
recall (docs/design/database.md). Values are made and read by psycopg's adapters, and errors are psycopg's.
"""

import asyncio
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, cast

import psycopg
from opentelemetry.trace import Span
from psycopg import AsyncConnection, abc, pq
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.rows import DictRow

from db import traces

R = TypeVar("R")
Key = tuple[bytes, tuple[int, ...]]  # of a prepared statement: its text, and the types of its parameters
PARAMETER = re.compile(r"%(?:\((\w+)\)([sbt])|%)")
FORMATS = {"s": PyFormat.AUTO, "b": PyFormat.BINARY, "t": PyFormat.TEXT}
USES_BEFORE_PREPARED = 5
PREPARED_AT_MOST = 300  # statements of a connection; each takes memory of the server's process
LOOK_AGAIN_SECONDS = 0.5  # an event loop may say nothing of a socket that has failed: uvloop drops its reader
WRITTEN_AT_ONCE = 16 * 1024  # bytes of statements that wait for each other
CANCEL_AGAIN_SECONDS = 0.2  # until what does not end is cancelled again
CANCEL_SECONDS = 5.0  # until a connection whose statement does not end is given up
STALE = ("0A000", "26000")  # a migration has changed what a prepared statement returns; the server does not know it any more
DONE = (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK)


@dataclass(frozen=True, slots=True)
class Translated:
    """A statement as PostgreSQL takes it, and the names and formats of its parameters, in the order of their numbers."""

    text: bytes
    names: tuple[str, ...]
    formats: list[PyFormat]


@cache
def number_parameters(statement: str) -> Translated:
    """Number the parameters of a statement, which are written %(name)s; %% is one percent sign, as in psycopg."""
    numbers: dict[tuple[str, str], int] = {}

    def number_parameter(found: re.Match[str]) -> str:
        if found[1] is None:
            return "%"
        return f"${numbers.setdefault((found[1], found[2]), len(numbers) + 1)}"

    text = PARAMETER.sub(number_parameter, statement).encode()
    return Translated(text, tuple(name for name, _ in numbers), [FORMATS[kind] for _, kind in numbers])


class PipelinedConnection(AsyncConnection[DictRow]):
    """A connection that remembers which statements it has prepared, and how its values are read and written."""

    prepares = True
    adapter: abc.Transformer
    prepared: dict[Key, bytes | int]  # the statement's name at the server, or how often it was sent
    names: "count[int]"

    def begin_pipelining(self, *, prepares: bool) -> None:
        """Begin with none prepared, once its types are known. `prepares`: whether any may be."""
        self.prepares, self.adapter, self.prepared, self.names = prepares, Transformer(self), {}, count()


@dataclass(eq=False, slots=True)
class Sent(Generic[R]):
    """A statement that was sent; its rows are on their way.

    `result`: what the server said, None until then. `prepares`: the statement that it prepares; None: it is one itself.
    """

    pipeline: "Pipeline"
    result: pq.abc.PGresult | None = None
    span: Span | None = None
    prepares: Key | None = None

    async def all(self) -> list[R]:
        """All rows; may be asked again."""
        return cast("list[R]", self.pipeline.rows_of(await self._read_result()))

    async def first(self) -> R | None:
        """The first row; None: there is none."""
        found = await self.all()
        return found[0] if found else None

    async def one(self) -> R:
        """The first row. Raises LookupError where there is none."""
        found = await self.all()
        if not found:
            raise LookupError("the statement returned no row")
        return found[0]

    def was_done(self, tag: str) -> bool:
        """Whether the server has said that this was done: a commit of a failed transaction is told as a rollback."""
        return self.result is not None and self.result.command_status == tag.encode()

    async def _read_result(self) -> pq.abc.PGresult:
        if self.result is None:
            await self.pipeline.read_until(self)
        result = self.result
        assert result is not None  # noqa: S101 (read)
        if result.status not in DONE:
            raise self.pipeline.error_of(result)
        return result


@dataclass(eq=False)
class Pipeline:
    """The statements of a transaction on a connection that nobody else uses meanwhile.

    Results are taken as they come, in the order of the statements. After an error the server passes over what was sent behind it,
    until `sync`; `failed` is the first one since the last `sync`. `single`: what is sent before a result is read is a transaction
    of its own, committed before it is read.
    """

    connection: PipelinedConnection
    single: bool = False
    failed: psycopg.Error | None = None
    _sent: bool = True  # anything since the last sync
    _waiting: deque[Sent[Any] | None] = field(default_factory=deque)  # None: a sync
    _lost: psycopg.Error | None = None
    _arrival: asyncio.Future[None] | None = None
    _savepoints: int = 0
    _unwritten: int = 0  # bytes, about

    async def __aenter__(self) -> Self:
        self._pg = self.connection.pgconn
        self._pg.enter_pipeline_mode()
        self._loop, self._socket = asyncio.get_running_loop(), self._pg.socket
        self._loop.add_reader(self._socket, self._read_input)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Read what is still on its way; raise what failed and was told to nobody. A cancelled caller waits for no statement."""
        clean, failed = False, None
        try:
            if error is None or isinstance(error, Exception):
                failed, clean = await self.sync(), True
            else:
                clean = await self._cancel_statements()
        except asyncio.CancelledError:
            clean = await self._cancel_statements()
            raise
        except psycopg.Error:
            if error is None:
                raise
            return
        finally:
            self._stop_watching()
            for sent in filter(None, self._waiting):
                traces.end_statement(sent.span, error or self._lost)
            if clean:
                self._pg.exit_pipeline_mode()
            else:
                await self.connection.close()
        if isinstance(error or failed, psycopg.Error) and getattr(error or failed, "sqlstate", None) in STALE:
            await self.connection.close()
        if error is None and failed is not None:
            raise failed

    async def _cancel_statements(self) -> bool:
        """Cancel what is under way; whether it came to its end, so that the connection is fit for others."""
        try:
            async with asyncio.timeout(CANCEL_SECONDS):
                await self._wait_until_writable()
                while self._waiting:
                    await self.connection.cancel_safe(timeout=CANCEL_SECONDS)
                    with suppress(TimeoutError):  # the server forgets what comes before the statement that it is meant for
                        async with asyncio.timeout(CANCEL_AGAIN_SECONDS):
                            await self.sync()
                await self.sync()
        except (psycopg.Error, TimeoutError):
            return False
        return True

    async def send(self, statement: str, parameters: Mapping[str, object]) -> Sent[Any]:
        """Take a statement, which is written with others before the next wait, or at once where these are long."""
        query = number_parameters(statement)
        self._sent = True
        sent: Sent[Any] = Sent(self, span=traces.begin_statement(statement))
        adapter = self.connection.adapter
        try:
            values = adapter.dump_sequence([parameters[name] for name in query.names], query.formats)
            self._ask(self._put_statement, sent, query.text, values, adapter.types or (), adapter.formats or [])
        except BaseException as error:
            traces.end_statement(sent.span, error)
            raise
        self._unwritten += len(query.text) + sum(len(value) for value in values if value)
        if self._unwritten > WRITTEN_AT_ONCE:
            await self._wait_until_writable()
        return sent

    def _put_statement(self, sent: Sent[Any], text: bytes, values: Any, types: tuple[int, ...], formats: list[pq.Format]) -> None:
        """Hand a statement to libpq; from its fifth use on, as a prepared one."""
        prepared, key = self.connection.prepared, (text, types)
        known = prepared.get(key, 0)
        if isinstance(known, int) and self.connection.prepares and len(prepared) < PREPARED_AT_MOST:
            known = prepared[key] = known + 1
            if known >= USES_BEFORE_PREPARED:
                known = prepared[key] = b"loci_%d" % next(self.connection.names)
                self._pg.send_prepare(known, text, param_types=types)
                self._waiting.append(Sent(self, prepares=key))
        if isinstance(known, bytes):
            self._pg.send_query_prepared(known, values, param_formats=formats)
        else:
            self._pg.send_query_params(text, values, param_types=types, param_formats=formats)
        self._waiting.append(sent)

    async def sync(self) -> psycopg.Error | None:
        """Read all that was sent; the first error among it. Listen for statements that are sent from now on."""
        if self._sent:
            self._ask(self._pg.pipeline_sync)
            self._waiting.append(None)
            self._sent = False
        await self._read_while(lambda: bool(self._waiting))
        failed, self.failed = self.failed, None
        return failed

    @asynccontextmanager
    async def savepoint(self, *, undo: bool = False) -> AsyncIterator[None]:
        """A part of the transaction that is taken back where it fails, or anyway with `undo`; the transaction goes on."""
        self._savepoints += 1
        name = f"loci_{self._savepoints}"
        begun = await self.send(f"savepoint {name}", {})
        try:
            yield
            await self._wait_for_all()
        except Exception:
            with suppress(psycopg.Error):
                await self.sync()
                if begun.result is not None and begun.result.status in DONE:
                    await self.send(f"rollback to savepoint {name}", {})
                    await self.send(f"release savepoint {name}", {})
            raise
        if undo:
            await self.send(f"rollback to savepoint {name}", {})
        await self.send(f"release savepoint {name}", {})

    async def _wait_for_all(self) -> None:
        """Wait until all that was sent has succeeded, where something is still on its way."""
        if self._waiting:
            last = self._waiting[-1]
            if last is not None:
                await last.all()
        if self.failed is not None:
            raise self.failed

    async def read_until(self, sent: Sent[Any]) -> None:
        """Wait for what a statement returns."""
        if self.single:
            failed = await self.sync()
            if failed is not None:
                raise failed
            return
        self._ask(self._pg.send_flush_request)
        await self._read_while(lambda: sent.result is None)

    async def _read_while(self, missing: Callable[[], bool]) -> None:
        while missing():
            await self._wait_until_writable()
            self._take_results()
            if missing():
                await self._wait_for_socket()

    async def _wait_until_writable(self) -> None:
        """Write what is to be written. What comes meanwhile is read, for the server may wait for that."""
        while True:
            if self._lost is not None:
                raise self._lost
            if not self._ask(self._pg.flush):
                self._unwritten = 0
                return
            self._loop.add_writer(self._socket, self._wake_waiter)
            try:
                await self._wait_for_socket()
            finally:
                if self._lost is None:
                    self._loop.remove_writer(self._socket)

    async def _wait_for_socket(self) -> None:
        """Wait until something has come, or can be written."""
        self._arrival = self._loop.create_future()
        again = self._loop.call_later(LOOK_AGAIN_SECONDS, self._read_input)
        try:
            await self._arrival
        finally:
            again.cancel()
            self._arrival = None

    def _wake_waiter(self) -> None:
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_result(None)

    def _ask(self, step: Callable[..., R], *arguments: Any) -> R:
        """Call libpq. Where it finds the connection lost it has closed the socket, whose number is soon another's."""
        try:
            return step(*arguments)
        except psycopg.OperationalError as error:
            self._stop_watching()
            self._lost = self._lost or error
            raise

    def _stop_watching(self) -> None:
        """Look at the socket no more. Once it is lost the number may be another's, whose readers stay."""
        if self._lost is None:
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)

    def _read_input(self) -> None:
        """Take what has come; called by the event loop."""
        with suppress(psycopg.OperationalError):
            self._ask(self._pg.consume_input)
            self._ask(self._take_results)
        self._wake_waiter()

    def _take_results(self) -> None:
        """Give each statement what the server has said of it."""
        ended = False
        while self._waiting and not self._pg.is_busy():
            result = self._pg.get_result()
            if result is None:
                if self._waiting[0] is None or self._waiting[0].result is None:
                    if ended:
                        return
                    ended = True  # of what came before: what is next may be there already
                    continue
                self._finish_statement(cast("Sent[Any]", self._waiting.popleft()))
            elif result.status == pq.ExecStatus.PIPELINE_SYNC:
                self._waiting.popleft()
            elif self._waiting[0] is not None:
                self._waiting[0].result = result
            elif self.failed is None:  # the commit of what was sent without one failed
                self.failed = error_from_result(result, encoding="utf-8")

    def _finish_statement(self, sent: Sent[Any]) -> None:
        result = cast("pq.abc.PGresult", sent.result)
        error = None if result.status in DONE else self.error_of(result)
        if error is not None:
            self.failed = self.failed or error
            if sent.prepares is not None:
                self.connection.prepared.pop(sent.prepares, None)
        traces.end_statement(sent.span, error)

    def error_of(self, result: pq.abc.PGresult) -> psycopg.Error:
        """The error of a failed statement; of one that was passed over, the error of the one before it."""
        if result.status == pq.ExecStatus.PIPELINE_ABORTED:
            return self.failed or psycopg.errors.InFailedSqlTransaction("a statement before this one failed")
        return error_from_result(result, encoding="utf-8")

    def rows_of(self, result: pq.abc.PGresult) -> list[DictRow]:
        """The rows of a result, as dicts by column."""
        names = [(result.fname(column) or b"").decode() for column in range(result.nfields)]
        adapter = self.connection.adapter
        adapter.set_pgresult(result)
        return adapter.load_rows(0, result.ntuples, lambda values: dict(zip(names, values, strict=True)))
