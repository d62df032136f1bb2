"""How commands reach the database: as loci_app, acting as the operator, on the configured server or the embedded one."""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from service.cli.shell import RUNNING, Failure, first_line

if TYPE_CHECKING:
    from db.embedded import EmbeddedServer
    from db.pool import Connection, Origin, Pool, Transaction
    from service.embedding.provider import Provider
    from service.resources import Resources
    from service.settings import Settings

T = TypeVar("T")
CONNECT_SECONDS = 10
POOL = 2


@dataclass(frozen=True)
class Session:
    """The settings of this process, an open pool, and the URL that it leads to."""

    settings: "Settings"
    pool: "Pool"
    origin: "Origin"
    url: str = ""

    def transaction(
        self, namespace: str | None, role: str | None = "reader", *, snapshot: bool = False
    ) -> "AbstractAsyncContextManager[Transaction]":
        """Open a transaction of the operator in a namespace; `role` None asks for no namespace; a `snapshot` only reads."""
        from db.pool import OPERATOR, transaction

        return transaction(self.pool, key_hash=OPERATOR, namespace=namespace, role=role, snapshot=snapshot, origin=self.origin)


def run(work: Callable[[Session], Awaitable[T]]) -> T:
    """Run work in a session. Starts the embedded server if it is needed and does not run yet."""
    from service.settings import get_settings

    settings = get_settings()
    url, server = reach(settings)
    try:
        return asyncio.run(_work(settings, url, work))
    finally:
        if server is not None:
            server.stop()


def run_in(namespace: str | None, work: "Callable[[Transaction], Awaitable[T]]", role: str | None = "reader") -> T:
    """Run work in one transaction of a namespace (None: of none), and return what it returns."""

    async def within(session: Session) -> T:
        async with session.transaction(namespace, role) as tx:
            return await work(tx)

    return run(within)


async def _work(settings: "Settings", url: str, work: Callable[[Session], Awaitable[T]]) -> T:
    async with open_pool(url) as pool:
        return await work(Session(settings, pool, command_origin(), url))


@asynccontextmanager
async def open_provider(session: Session) -> "AsyncIterator[Provider | None]":
    """The embedding provider that is configured, closed at the end."""
    from service.embedding.active import make_active_provider

    provider = make_active_provider(session.settings.embedding)
    try:
        yield provider
    finally:
        if provider is not None:
            await provider.close()


@asynccontextmanager
async def open_resources(session: Session) -> "AsyncIterator[Resources]":
    """The models that are configured, as jobs and requests have them, closed at the end."""
    from service.embedding.active import find_active_model, make_active_provider
    from service.llm.factory import make_model
    from service.llm.prompts import Prompts
    from service.rerank.factory import make_reranker
    from service.resources import Resources

    settings = session.settings
    provider, model, reranker = make_active_provider(settings.embedding), make_model(settings.llm), make_reranker(settings.rerank)
    try:
        async with session.transaction(None, None) as tx:
            await find_active_model(provider, tx)
        yield Resources(settings, session.pool, provider, model, Prompts(settings.llm.prompts), reranker)
    finally:
        for made in (provider, model, reranker):
            if made is not None:
                await made.close()


def command_origin() -> "Origin":
    """The running command, as the operations log names it: all its transactions are one operation."""
    from db.pool import Origin
    from service.uuid7 import uuid7

    return Origin(action=RUNNING.get(), via="cli", operation_id=str(uuid7()))


def reach(settings: "Settings") -> tuple[str, "EmbeddedServer | None"]:
    """The URL of the restricted role, and the embedded server if that is the one.

    An embedded server that runs already is joined without migrating it again: migrations lock what others read.
    """
    from db.migrate import upgrade

    if settings.database_url:
        asyncio.run(check_revision(settings.database_url))
        return settings.database_url, None
    server = start_embedded(settings)
    try:
        if not server.joined or not asyncio.run(_is_current(server.url("loci_app"))):
            upgrade(server.url("postgres"))
    except BaseException:
        server.stop()
        raise
    return server.url("loci_app"), server


def start_embedded(settings: "Settings") -> "EmbeddedServer":
    """Start the embedded server of the data folder, or join it."""
    from db.embedded import EmbeddedServer

    try:
        return EmbeddedServer(settings.data_dir, settings.postgres_version)
    except ImportError as error:
        raise Failure("no database is configured, and the embedded PostgreSQL is not installed", "Set DATABASE_URL.") from error
    except (subprocess.SubprocessError, RuntimeError, OSError) as error:
        raise Failure(
            f"the embedded PostgreSQL does not start: {first_line(error)}",
            f"Its log is {settings.data_dir / 'pg' / 'log'}.",
        ) from error


@asynccontextmanager
async def connect(url: str) -> "AsyncIterator[Connection]":
    """One connection in autocommit. Raises Failure when the server cannot be reached."""
    import psycopg
    from psycopg.rows import dict_row

    try:
        connection = await psycopg.AsyncConnection.connect(
            url, autocommit=True, row_factory=dict_row, connect_timeout=CONNECT_SECONDS
        )
    except (psycopg.OperationalError, psycopg.ProgrammingError) as error:
        raise Failure(f"cannot reach the database: {first_line(error)}", "Check DATABASE_URL, and that the server runs.") from None
    async with connection:
        yield connection


async def check_revision(url: str) -> None:
    """Raise Failure unless the database is at the revision that this code was written for."""
    from db import health

    async with connect(url) as connection:
        check = await health.check_revision(connection)
    if not check.ok:
        raise Failure(f"the database is not at this version's schema: {check.detail}")


async def _is_current(url: str) -> bool:
    from db import health

    try:
        async with connect(url) as connection:
            return (await health.check_revision(connection)).ok
    except Failure:  # the role does not exist yet
        return False


@asynccontextmanager
async def open_pool(url: str, size: int = POOL) -> "AsyncIterator[Pool]":
    """A small pool over a migrated database."""
    from db.pool import make_pool

    async with make_pool(url, size=size, timeout=CONNECT_SECONDS) as pool:
        await pool.wait(CONNECT_SECONDS)
        yield pool
