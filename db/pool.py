"""Connections: an asynchronous pool for the service, and the transaction that every request runs in."""

import select
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Generic, LiteralString, TypeVar, cast

from pgvector.psycopg import register_vector_async
from prometheus_client import Histogram
from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb
from psycopg_pool import AsyncConnectionPool

from db import traces
from db.limits import TimeLimits
from db.shares import ShareLimits, Shares
from db.traces import Statements, TracedCursor

R = TypeVar("R")
JsonObject = dict[str, Any]  # as it comes out of a column of JSON
Connection = AsyncConnection[DictRow]
Cursor = AsyncCursor[DictRow] | TracedCursor
OPERATOR = None  # the key hash of the operator: none
OPERATOR_AGENT = "00000000-0000-0000-0000-000000000000"  # its id
ENTER: LiteralString = "select agent_id, namespace_id, namespace, settings from loci_api.begin_request(%s, %s, %s, %s, %s)"
_WAITS = (0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10)
WAITED = Histogram("loci_pool_wait_seconds", "Time that a transaction waited for a connection of the pool.", buckets=_WAITS)


def _left(connection: Connection) -> bool:
    """Whether the server has left an idle connection: there is something to read, its last words or the end. No round trip."""
    if connection.closed:
        return True
    found = select.poll()
    found.register(connection.pgconn.socket, select.POLLIN)
    return bool(found.poll(0))


class Pool(AsyncConnectionPool[Connection]):
    """Connections that callers share; without `shares`, whoever comes first takes them."""

    shares: Shares | None = None

    async def getconn(self, timeout: float | None = None) -> Connection:
        """Lend a connection. One that ended while it was idle, as all do when the server dies, is replaced and fails nobody."""
        deadline = time.monotonic() + (self.timeout if timeout is None else timeout)
        connection = await super().getconn(timeout)
        for _ in range(self.max_size):
            if not _left(connection):
                break
            await connection.close()
            await self.putconn(connection)
            connection = await super().getconn(deadline - time.monotonic())
        return connection

    @asynccontextmanager
    async def lent(self, owner: bytes | None, namespace: str | None) -> AsyncIterator[Connection]:
        """A connection of the share of a key, by its hash. Raises TooManyAtOnce, PoolTimeout."""
        if self.shares is None:
            async with self.connection() as connection:
                yield connection
            return
        names = self.shares.names(owner, namespace)
        await self.shares.take(names)
        try:
            async with self.connection() as connection:
                yield connection
        finally:
            self.shares.give_back(names)


async def _configure(connection: Connection) -> None:
    await register_vector_async(connection)
    await connection.commit()


def make_pool(url: str, *, size: int = 10, timeout: float = 10.0, shares: ShareLimits | None = None) -> Pool:
    """Make a closed pool of at most `size` connections; waiting longer than `timeout` seconds raises PoolTimeout."""
    pool = Pool(
        url,
        connection_class=AsyncConnection[DictRow],
        kwargs={"row_factory": dict_row, "application_name": "loci", "connect_timeout": 5},
        configure=_configure,
        min_size=min(2, size),
        max_size=size,
        timeout=timeout,
        reconnect_timeout=5.0,  # then the next request starts a new attempt; a back-off without end doubles without end
        open=False,
    )
    pool.shares = None if shares is None else Shares(size, shares)
    return pool


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
    """Who the transaction acts for: agent, namespace and its name (None: none asked for), and its settings in force."""

    agent_id: str
    namespace_id: int | None
    namespace: str | None
    settings: dict[str, Any]


class Sent(Generic[R]):
    """Rows of a statement that was sent; they are on their way."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor

    async def all(self) -> list[R]:
        """All of them."""
        return cast("list[R]", await self._cursor.fetchall())

    async def first(self) -> R | None:
        """The first of them; None: there is none."""
        return cast("R | None", await self._cursor.fetchone())

    async def one(self) -> R:
        """The first of them. Raises LookupError where there is none."""
        found = await self.first()
        if found is None:
            raise LookupError("the statement returned no row")
        return found


@dataclass(frozen=True)
class Transaction:
    """A transaction of one caller in one namespace; wrappers of SQL functions take it as their first argument.

    `namespace` None means the default namespace of the caller's key; of the operator it is `default`.
    Statements are pipelined: several may be sent before the first result is asked for.
    """

    connection: Connection
    namespace: str | None
    entering: Cursor
    statements: Statements = field(default_factory=Statements)

    async def entered(self) -> Entered:
        """Return who this transaction acts for; may be asked again. Raises what loci_api.begin_request raises."""
        row = await Sent[DictRow](self.entering).one()
        await self.entering.scroll(0, mode="absolute")
        return Entered(str(row["agent_id"]), row["namespace_id"], row["namespace"], row["settings"] or {})

    def within(self, namespace: str) -> "Transaction":
        """The same transaction, for statements about another namespace; the functions called authorize for themselves."""
        return replace(self, namespace=namespace)

    async def send(self, kind: type[R], statement: LiteralString, /, **parameters: object) -> Sent[R]:  # noqa: ARG002 (a type)
        """Send a statement without waiting; its rows, of this kind, are read later."""
        return Sent(await self._sent(statement, parameters))

    async def post(self, statement: LiteralString, /, **parameters: object) -> None:
        """Send a statement without waiting, and read nothing of what it returns."""
        await self._sent(statement, parameters)

    async def run(self, statement: LiteralString, /, **parameters: object) -> None:
        """Run a statement to its end."""
        await (await self._sent(statement, parameters)).fetchone()

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

    async def _sent(self, statement: LiteralString, parameters: dict[str, object]) -> Cursor:
        return await sent(self.connection, self.statements, statement, {"namespace": self.namespace, **parameters})


async def sent(connection: Connection, statements: Statements, statement: LiteralString, parameters: Any) -> Cursor:
    """Send a statement, in a span of its own where tracing is on: the cursor."""
    made = statements.begin(statement)
    if made is None:
        return await connection.execute(statement, parameters)
    try:
        return TracedCursor(await connection.execute(statement, parameters), made, statements)
    except BaseException as error:
        statements.end(made, error)
        raise


@asynccontextmanager
async def transaction(
    pool: Pool,
    *,
    key_hash: bytes | None,
    namespace: str | None,
    role: str | None,
    snapshot: bool = False,
    within: TimeLimits | None = None,
    origin: Origin | None = None,
    owner: bytes | None = None,
) -> AsyncIterator[Transaction]:
    """Open a transaction as the holder of a key, with at least `role` in `namespace`; commit at the end of the block.

    `key_hash` None is the operator; `role` None asks for no namespace. With `snapshot` all its statements see the database of
    one moment, and it writes nothing. `within` is how long it may take; None: any time.
    `origin` is what the operations log says of its changes. `owner` is the hash of the key whose share is taken, where
    `key_hash` is that of a browser session.
    Authentication travels with the first statement of the block: one round trip for both.
    """
    owner = owner or key_hash
    async with AsyncExitStack() as stack:
        statements = Statements()
        if not traces.off():
            said = {"loci.namespace": namespace or "", "loci.action": origin.action if origin else "unknown"}
            stack.enter_context(traces.span("transaction", said))
        stack.callback(statements.end)
        asked = time.perf_counter()
        connection = await stack.enter_async_context(pool.lent(owner, namespace))
        WAITED.observe(time.perf_counter() - asked)
        await stack.enter_async_context(connection.pipeline())
        await stack.enter_async_context(connection.transaction())
        if snapshot:
            await connection.execute("set transaction isolation level repeatable read, read only")
        limits = within.settings(connection.info.server_version) if within else None
        who = (key_hash, namespace, role, Jsonb(asdict(origin)) if origin else None, limits)
        entering = await sent(connection, statements, ENTER, who)
        tx = Transaction(connection, namespace, entering, statements)
        yield tx
        if namespace is None and role is not None and pool.shares is not None and not pool.shares.knows_home(owner):
            await _learn_home(pool.shares, owner, tx)


async def _learn_home(shares: Shares, key_hash: bytes | None, tx: Transaction) -> None:
    """Remember which namespace the key led to, so that its next requests count there."""
    entered = await tx.entered()
    if key_hash is not None and entered.namespace is not None:
        shares.learn_home(key_hash, entered.namespace)
