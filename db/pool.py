"""Connections: an asynchronous pool for the service, and the transaction that every request runs in."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, LiteralString

from pgvector.psycopg import register_vector_async
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

Connection = AsyncConnection[DictRow]
Pool = AsyncConnectionPool[Connection]
OPERATOR = None  # the key hash of the operator: none


async def _configure(connection: Connection) -> None:
    await register_vector_async(connection)
    await connection.commit()


def make_pool(url: str, *, size: int = 10, timeout: float = 10.0) -> Pool:
    """Make a closed pool of at most `size` connections; waiting longer than `timeout` seconds raises PoolTimeout."""
    return AsyncConnectionPool(
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


@dataclass(frozen=True)
class Entered:
    """Who the transaction acts for: agent, namespace and its name (None: none asked for), and its settings in force."""

    agent_id: str
    namespace_id: int | None
    namespace: str | None
    settings: dict[str, Any]


@dataclass(frozen=True)
class Transaction:
    """A transaction of one caller in one namespace; wrappers of SQL functions take it as their first argument.

    `namespace` None means the only namespace of the caller's key, or `default`.
    Statements are pipelined: several may be sent before the first result is asked for.
    """

    connection: Connection
    namespace: str | None
    entering: Any

    async def entered(self) -> Entered:
        """Return who this transaction acts for; may be asked again. Raises what loci.enter raises."""
        row = await self.entering.fetchone()
        await self.entering.scroll(0, mode="absolute")
        return Entered(str(row["agent_id"]), row["namespace_id"], row["namespace"], row["settings"] or {})

    def within(self, namespace: str) -> "Transaction":
        """The same transaction, for statements about another namespace; the functions called authorize for themselves."""
        return replace(self, namespace=namespace)

    async def rows(self, statement: LiteralString, **parameters: object) -> list[DictRow]:
        """Run a statement and return all its rows as dicts."""
        found: list[DictRow] = await (await self.send(statement, **parameters)).fetchall()
        return found

    async def row(self, statement: LiteralString, **parameters: object) -> DictRow:
        """Run a statement and return its first row."""
        row = await (await self.send(statement, **parameters)).fetchone()
        return row or {}

    async def send(self, statement: LiteralString, **parameters: object) -> Any:
        """Send a statement without waiting; its rows are fetched from the cursor returned."""
        return await self.connection.execute(statement, {"namespace": self.namespace, **parameters})


@asynccontextmanager
async def transaction(
    pool: Pool,
    *,
    key_hash: bytes | None,
    namespace: str | None,
    role: str | None,
    snapshot: bool = False,
    stalls_after: float | None = None,
) -> AsyncIterator[Transaction]:
    """Open a transaction as the holder of a key, with at least `role` in `namespace`; commit at the end of the block.

    `key_hash` None is the operator; `role` None asks for no namespace. With `snapshot` all its statements see the database of
    one moment, and it writes nothing. `stalls_after` seconds without a statement end it, for work that waits for others.
    Authentication travels with the first statement of the block: one round trip for both.
    """
    async with AsyncExitStack() as stack:
        connection = await stack.enter_async_context(pool.connection())
        if stalls_after is None:  # the server does not take a pipeline for idle
            await stack.enter_async_context(connection.pipeline())
        await stack.enter_async_context(connection.transaction())
        if snapshot:
            await connection.execute("set transaction isolation level repeatable read, read only")
        if stalls_after is not None:
            limit = f"{round(stalls_after * 1000)}ms"
            await connection.execute("select set_config('idle_in_transaction_session_timeout', %s, true)", [limit])
        entering = await connection.execute(
            "select agent_id, namespace_id, namespace, settings from loci.enter(%s, %s, %s)", (key_hash, namespace, role)
        )
        yield Transaction(connection, namespace, entering)
