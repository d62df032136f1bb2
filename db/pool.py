"""Connections: an asynchronous pool for the service, and the transaction that every request runs in."""

import asyncio
import select
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Literal, LiteralString, TypeVar

import psycopg
from pgvector.psycopg.halfvec import register_halfvec_info
from pgvector.psycopg.vector import register_vector_info
from prometheus_client import Histogram
from psycopg import AsyncConnection, Rollback
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow, dict_row
from psycopg.types import TypeInfo
from psycopg.types.json import Jsonb
from psycopg_pool import AsyncConnectionPool

from db import traces
from db.models.vectors import register_vector_rows
from db.pipeline import Pipeline, PipelinedConnection, Sent
from db.pool_quota import Name, PoolQuota, ShareLimits
from db.time_limits import TimeLimits

R = TypeVar("R")
JsonObject = dict[str, Any]  # as it comes out of a column of JSON
ServerKind = Literal["primary", "standby"]
Connection = AsyncConnection[DictRow]
StandBack = Callable[[int], bool]  # of a process of the server, by its number; False: not yet
RECONNECT_SECONDS = 1.0  # seconds between attempts to connect while somebody waits
LOW_PRIORITY_CONNECTIONS = 2  # connections of those who stand back; who finds none free there is served as others are
ASKED_AGAIN = 20  # times
OPERATOR = None  # the key hash of the operator: none
OPERATOR_AGENT = "00000000-0000-0000-0000-000000000000"  # its id
SNAPSHOT: LiteralString = "begin isolation level repeatable read, read only"
VECTOR_TYPES: LiteralString = """select typname::text as name, oid::bigint, typarray::bigint as array_oid from pg_type
                                where oid in (to_regtype('vector'), to_regtype('halfvec'))"""
POSITION: LiteralString = "select pg_current_wal_insert_lsn() as position"
PAGE, PAGE_HEADS = 8192, (24, 40)  # bytes of a page of the log, and of what stands at its head
ENTER: LiteralString = """select * from loci_api.begin_request(
    %(key)s, %(namespace)s, %(role)s, %(origin)s, %(limits)s, %(creates)s)"""
_WAITS = (0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10)
WAITED = Histogram("loci_pool_wait_seconds", "Time that a transaction waited for a connection of the pool.", buckets=_WAITS)


def _has_server_closed_it(connection: Connection) -> bool:
    """Whether the server has left an idle connection: there is something to read, its last words or the end. No round trip."""
    if connection.closed:
        return True
    found = select.poll()
    found.register(connection.pgconn.socket, select.POLLIN)
    return bool(found.poll(0))


class Pool(AsyncConnectionPool[PipelinedConnection]):
    """Connections that callers share; without `shares`, whoever comes first takes them.

    `behind` are connections whose processes stand back behind others: those of callers who are at work much of the time.
    `standby`: they lead to a server that only reads. `positions`: commits say how far the log of the server had come.
    """

    shares: PoolQuota | None = None
    behind: "Pool | None" = None
    returning: ClassVar[set[asyncio.Task[None]]] = set()  # held here, for an event loop does not hold its tasks
    lent_out = 0
    standby = False
    positions = False

    async def open(self, wait: bool = False, timeout: float = 30.0) -> None:
        """Open it, and what is behind it once somebody needs that."""
        await super().open(wait, timeout)
        if self.behind is not None:
            await self.behind.open()

    async def close(self, timeout: float = 5.0) -> None:
        """Close it, and what is behind it."""
        if self.behind is not None:
            await self.behind.close(timeout)
        await super().close(timeout)

    async def getconn(self, timeout: float | None = None) -> PipelinedConnection:
        """Lend a connection. One that ended while it was idle, as all do when the server dies, is replaced and fails nobody."""
        deadline = time.monotonic() + (self.timeout if timeout is None else timeout)
        connection = await super().getconn(timeout)
        for _ in range(self.max_size):
            if not _has_server_closed_it(connection):
                break
            await connection.close()
            await self.putconn(connection)
            connection = await super().getconn(deadline - time.monotonic())
        return connection

    async def putconn(self, conn: PipelinedConnection) -> None:
        """Take a connection back, to its end also where the caller is cancelled meanwhile.

        The pool would lose it, and whoever it was just handing it to: a request whose client leaves at the moment at which it ends.
        """
        returning = asyncio.create_task(self._roll_back_and_return(conn))
        self.returning.add(returning)
        returning.add_done_callback(self.returning.discard)
        await asyncio.shield(returning)

    async def _roll_back_and_return(self, connection: PipelinedConnection) -> None:
        if connection.pgconn.transaction_status in {TransactionStatus.INTRANS, TransactionStatus.INERROR}:
            with suppress(psycopg.Error):
                await connection.rollback()
        await super().putconn(connection)

    def take_idle(self) -> PipelinedConnection | None:
        """An idle connection at once; None where `getconn` must see to it."""
        if self._closed or self._waiting or not self._pool or self._lock.locked() or _has_server_closed_it(self._pool[0]):
            return None
        connection = self._pool.popleft()
        connection._pool = self
        self._nconns_min = min(self._nconns_min, len(self._pool))
        self._stats[self._REQUESTS_NUM] += 1
        return connection

    def keep_idle(self, connection: PipelinedConnection) -> bool:
        """Take a connection back at once that is fit for others; False where `putconn` must see to it."""
        fit = connection.pgconn.transaction_status == TransactionStatus.IDLE
        lasts = connection._expire_at > time.monotonic() and connection._created_at > self._drained_at
        if not (fit and lasts) or self._closed or self._waiting or self._lock.locked() or self._pool_full_event:
            return False
        connection._pool = None
        self._pool.append(connection)
        return True

    async def reconnect_failed(self) -> None:
        """Go on for those who wait already: only a new request would have it tried again, and they may hold its share."""
        await super().reconnect_failed()
        async with self._lock:
            if self._waiting:
                self._maybe_grow_pool()

    @asynccontextmanager
    async def lend_connection(self, owner: bytes | None, namespace: str | None) -> AsyncIterator[PipelinedConnection]:
        """A connection of the share of a key, by its hash; a low-priority one for throttled callers, if one is free.

        Raises TooManyAtOnce, PoolTimeout.
        """
        shares, pool = self.shares, self
        names: tuple[Name, ...] = ()
        if shares is not None:
            names = shares.list_names(owner, namespace)
            await shares.take_place(names)
            if self.behind is not None and self.behind.lent_out < self.behind.max_size and shares.stands_back(names):
                pool = self.behind
        pool.lent_out += 1
        connection = None
        try:
            connection = pool.take_idle() or await pool.getconn()
            yield connection
        finally:
            pool.lent_out -= 1
            if shares is not None:
                shares.give_back(names)
            if connection is not None and not pool.keep_idle(connection):
                await pool.putconn(connection)


async def _configure_connection(prepares: bool, connection: PipelinedConnection) -> None:
    """Say how vectors are sent: both types from one statement, where pgvector's own function takes twelve round trips."""
    found = {row["name"]: TypeInfo(**row) for row in await (await connection.execute(VECTOR_TYPES)).fetchall()}
    register_vector_info(connection, found.get("vector"))
    register_vector_rows(connection, found["vector"])
    if "halfvec" in found:
        register_halfvec_info(connection, found["halfvec"])
    connection.begin_pipelining(prepares=prepares)


async def _configure_behind(stand_back: StandBack, prepares: bool, connection: PipelinedConnection) -> None:
    await _configure_connection(prepares, connection)
    for _ in range(ASKED_AGAIN):
        if stand_back(connection.info.backend_pid):
            break
        await asyncio.sleep(0.1)


def make_pool(
    url: str,
    *,
    size: int = 10,
    least: int = 1,
    timeout: float = 10.0,
    shares: ShareLimits | None = None,
    stand_back: StandBack | None = None,
    standby: bool = False,
    prepare: bool = True,
) -> Pool:
    """Make a closed pool of at most `size` connections; waiting longer than `timeout` seconds raises PoolTimeout.

    It opens with `least` connections and adds more on demand: each is a process of the server, and a command needs one.

    With `stand_back`, which lowers the priority of a process of the server, it has two more, for who is at work much of the time.
    The writing host among several in `url` is taken, unless it says otherwise or is that of a `standby`. Without `prepare`
    no statement is prepared, as poolers need it that give each transaction another session.
    """
    url = url if standby else primary_url(url)
    pool = _make_pool(url, partial(_configure_connection, prepare), size, timeout, least)
    pool.shares = None if shares is None else PoolQuota(size, shares)
    pool.standby = standby
    if stand_back is not None:
        pool.behind = _make_pool(url, partial(_configure_behind, stand_back, prepare), LOW_PRIORITY_CONNECTIONS, timeout, 0)
    return pool


def _make_pool(
    url: str, configure: Callable[[PipelinedConnection], Awaitable[None]], size: int, timeout: float, least: int
) -> Pool:
    kwargs: dict[str, Any] = {"autocommit": True, "row_factory": dict_row, "application_name": "loci", "connect_timeout": 5}
    kwargs["prepare_threshold"] = None  # of psycopg: with a rollback it would have the server forget those of pipelines as well
    return Pool(
        url,
        connection_class=PipelinedConnection,
        kwargs=kwargs,
        configure=configure,
        min_size=least,
        max_size=size,
        timeout=timeout,
        # Then whoever waits has a new attempt made; a back-off without end doubles without end.
        reconnect_timeout=RECONNECT_SECONDS,
        open=False,
    )


def primary_url(url: str) -> str:
    """A URL by which, of several hosts that it names, the one that writes is taken, unless it says which is meant."""
    stated = conninfo_to_dict(url)
    several = "," in str(stated.get("host") or stated.get("hostaddr") or "")
    return make_conninfo(url, target_session_attrs="read-write") if several and "target_session_attrs" not in stated else url


@dataclass(frozen=True)
class Origin:
    """Where a transaction comes from, as the operations log has it: what was called, and through what (rest, mcp, cli, worker).

    Transactions of one call carry the same `operation_id`; None makes each an operation of its own.
    """

    action: str
    via: str
    request_id: str | None = None
    operation_id: str | None = None


@dataclass(frozen=True)
class Entered:
    """The transaction's caller: agent, namespace and its name (None: none asked for), its settings in force, and time zone."""

    agent_id: str
    namespace_id: int | None
    namespace: str | None
    settings: dict[str, Any]
    time_zone: str | None = None


@dataclass(frozen=True)
class Note:
    """A statement that nobody waits for, and that writes."""

    statement: LiteralString
    parameters: dict[str, object]


@dataclass
class Outcome:
    """Facts about a transaction at its end.

    `position`: how far the server's log had come when it was committed, where its pool says so. `entered`: its caller, once that
    was read. `notes`: what is to be written elsewhere, since this server only reads. `jobs`: whether it has asked for a job, or for
    the end of one.
    """

    position: int | None = None
    entered: Entered | None = None
    jobs: bool = False
    notes: list[Note] = field(default_factory=list)


@dataclass(frozen=True)
class Transaction:
    """A transaction of one caller in one namespace; wrappers of SQL functions take it as their first argument.

    `namespace` None means the default namespace of the caller's key; of the operator it is `default`.
    Statements are pipelined: several may be sent before the first result is asked for.
    `standby`: the server only reads.
    """

    pipeline: Pipeline
    namespace: str | None
    entering: Sent[DictRow]
    outcome: Outcome = field(default_factory=Outcome)
    standby: bool = False

    @property
    def connection(self) -> Connection:
        """The connection, which takes no statements but those of the pipeline until the transaction has ended."""
        return self.pipeline.connection

    @property
    def server_kind(self) -> ServerKind:
        """The kind of server that answers."""
        return "standby" if self.standby else "primary"

    async def read_caller(self) -> Entered:
        """Return who this transaction acts for; may be asked again. Raises what loci_api.begin_request raises."""
        if self.outcome.entered is None:
            row = await self.entering.one()
            who = str(row["agent_id"]), row["namespace_id"], row["namespace"]
            self.outcome.entered = Entered(*who, row["settings"] or {}, row["time_zone"])
        return self.outcome.entered

    def for_namespace(self, namespace: str) -> "Transaction":
        """The same transaction, for statements about another namespace; the functions called authorize for themselves."""
        return replace(self, namespace=namespace)

    async def send(self, kind: type[R], statement: LiteralString, /, **parameters: object) -> Sent[R]:  # noqa: ARG002 (a type)
        """Send a statement without waiting; its rows, of this kind, are read later."""
        return await self._send_statement(statement, parameters)

    async def post(self, statement: LiteralString, /, **parameters: object) -> None:
        """Send a statement without waiting, and read nothing of what it returns."""
        await self._send_statement(statement, parameters)

    async def note(self, statement: LiteralString, /, **parameters: object) -> None:
        """Send a statement that notes something beside what is read: at once, or where this server only reads, later to another.

        It must be one that authorizes for itself.
        """
        if self.standby:
            self.outcome.notes.append(Note(statement, {"namespace": self.namespace, **parameters}))
        else:
            await self.post(statement, **parameters)

    async def run(self, statement: LiteralString, /, **parameters: object) -> None:
        """Run a statement to its end."""
        await (await self._send_statement(statement, parameters)).all()

    async def rows(self, kind: type[R], statement: LiteralString, /, **parameters: object) -> list[R]:
        """Run a statement and return all its rows, as dicts of this kind."""
        return await (await self.send(kind, statement, **parameters)).all()

    async def row(self, kind: type[R], statement: LiteralString, /, **parameters: object) -> R:
        """Run a statement and return its first row. Raises LookupError where there is none."""
        return await (await self.send(kind, statement, **parameters)).one()

    async def first(self, kind: type[R], statement: LiteralString, /, **parameters: object) -> R | None:
        """Run a statement and return its first row; None: there is none."""
        return await (await self.send(kind, statement, **parameters)).first()

    async def value(self, kind: type[R], statement: LiteralString, /, **parameters: object) -> R:  # noqa: ARG002 (a type)
        """Run a statement and return the only column of its first row."""
        value: R = next(iter((await self.row(dict[str, Any], statement, **parameters)).values()))
        return value

    async def optional(self, kind: type[R], statement: LiteralString, /, **parameters: object) -> R | None:
        """Run a statement and return the only column of its first row, which may be null."""
        return await self.value(kind, statement, **parameters)

    async def values(self, kind: type[R], statement: LiteralString, /, **parameters: object) -> list[R]:  # noqa: ARG002 (a type)
        """Run a statement and return the only column of its rows."""
        return [next(iter(row.values())) for row in await self.rows(dict[str, Any], statement, **parameters)]

    def savepoint(self, *, undo: bool = False) -> AbstractAsyncContextManager[None]:
        """A part of the transaction that is taken back where it fails, or anyway with `undo`; the transaction goes on."""
        return self.pipeline.savepoint(undo=undo)

    async def _send_statement(self, statement: LiteralString, parameters: dict[str, object]) -> Sent[Any]:
        return await self.pipeline.send(statement, {"namespace": self.namespace, **parameters})


def position_of(lsn: str) -> int:
    """A place in the log of a server, as it writes one: two numbers in base 16 with a stroke between."""
    high, low = lsn.split("/")
    return (int(high, 16) << 32) + int(low, 16)


def without_head(position: int) -> int:
    """Where the last record before a place can have ended: a place behind the head of a page is where the next one would begin."""
    inside = position % PAGE
    return position - inside if inside in PAGE_HEADS else position


@asynccontextmanager
async def open_transaction(
    pool: Pool,
    *,
    key_hash: bytes | None,
    namespace: str | None,
    role: str | None,
    snapshot: bool = False,
    within: TimeLimits | None = None,
    origin: Origin | None = None,
    owner: bytes | None = None,
    creates: bool = False,
    single: bool = False,
) -> AsyncIterator[Transaction]:
    """Open a transaction as the holder of a key, with at least `role` in `namespace`; commit at the end of the block.

    `key_hash` None is the operator; `role` None asks for no namespace. With `snapshot` all its statements see the database of
    one moment, and it writes nothing. `within` is how long it may take; None: any time.
    `origin` is what the operations log says of its changes. `owner` is the hash of the key whose share is taken, where
    `key_hash` is that of a browser session. `creates`: the namespace is made if it does not exist, where the caller may.
    `single`: the block runs one statement, and its result is read once it is committed: one round trip instead of two.
    Authentication travels with the first statement of the block: one round trip for both.
    """
    owner, outcome = owner or key_hash, Outcome()
    asked = time.perf_counter()
    with traces.span("transaction", {"loci.namespace": namespace or "", "loci.action": origin.action if origin else "unknown"}):
        async with pool.lend_connection(owner, namespace) as connection:
            WAITED.observe(time.perf_counter() - asked)
            limits = within.to_settings(connection.info.server_version) if within else None
            who = {"key": key_hash, "namespace": namespace, "role": role, "limits": limits, "creates": creates}
            try:
                async with Pipeline(connection, single) as pipeline:
                    if not single:
                        await pipeline.send(SNAPSHOT if snapshot else "begin", {})
                    entering = await pipeline.send(ENTER, {**who, "origin": Jsonb(asdict(origin)) if origin else None})
                    tx = Transaction(pipeline, namespace, entering, outcome, pool.standby)
                    yield tx
                    if namespace is None and role is not None and pool.shares is not None and not pool.shares.knows_home(owner):
                        await _learn_home(pool.shares, owner, tx)
                    committed = None if single else await pipeline.send("commit", {})
                    position = await pipeline.send(POSITION, {}) if pool.positions and not snapshot else None
            except Rollback:
                return
            except psycopg.errors.ReadOnlySqlTransaction:
                if not (pool.standby or snapshot):  # it wrote before, and another server does now: the next attempt finds that one
                    await connection.close()
                raise
            if committed is not None and not committed.was_done("COMMIT"):
                raise psycopg.errors.InFailedSqlTransaction("a statement of the transaction had failed: nothing was written")
            if position is not None:
                outcome.position = without_head(position_of((await position.one())["position"]))


async def _learn_home(shares: PoolQuota, key_hash: bytes | None, tx: Transaction) -> None:
    """Remember which namespace the key led to, so that its next requests count there."""
    entered = await tx.read_caller()
    if key_hash is not None and entered.namespace is not None:
        shares.learn_home(key_hash, entered.namespace)
