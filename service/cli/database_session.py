"""How commands reach the database: as loci_app, acting as the operator, on the configured server or the embedded one."""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from service.cli.framework import RUNNING, Failure, first_line
from service.cli.service_address import base_url, find_stated_value

if TYPE_CHECKING:
    from pathlib import Path

    from db.embedded import EmbeddedServer
    from db.pool import Connection, Origin, Pool, StandBack, Transaction
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

    def open_transaction(
        self, namespace: str | None, role: str | None = "reader", *, snapshot: bool = False
    ) -> "AbstractAsyncContextManager[Transaction]":
        """Open a transaction of the operator in a namespace; `role` None asks for no namespace; a `snapshot` only reads."""
        from db.pool import OPERATOR, open_transaction

        return open_transaction(self.pool, key_hash=OPERATOR, namespace=namespace, role=role, snapshot=snapshot, origin=self.origin)


def run_command(work: Callable[[Session], Awaitable[T]], *, make: bool = False) -> T:
    """Run work in a session. Starts the embedded server if it is needed and does not run yet; with `make`, makes one."""
    from service.settings import get_settings

    settings = get_settings()
    url, server = find_database_url(settings, make=make)
    try:
        return asyncio.run(_run_in_session(settings, url, work))
    finally:
        if server is not None:
            server.leave_server()


def run_in(namespace: str | None, work: "Callable[[Transaction], Awaitable[T]]", role: str | None = "reader") -> T:
    """Run work in one transaction of a namespace (None: of none), and return what it returns."""

    async def call_work(session: Session) -> T:
        async with session.open_transaction(namespace, role) as tx:
            return await work(tx)

    return run_command(call_work)


async def _run_in_session(settings: "Settings", url: str, work: Callable[[Session], Awaitable[T]]) -> T:
    async with open_pool(url) as pool:
        return await work(Session(settings, pool, command_origin(), url))


def command_origin() -> "Origin":
    """The running command, as the operations log names it: all its transactions are one operation."""
    from db.pool import Origin
    from service.uuid7 import uuid7

    return Origin(action=RUNNING.get(), via="cli", operation_id=str(uuid7()))


def find_database_url(settings: "Settings", *, make: bool = False) -> tuple[str, "EmbeddedServer | None"]:
    """The URL of the restricted role, and the embedded server if that is the one. Raises Failure where there is no database.

    None is made but with `make`. An embedded server that runs already is joined without migrating it again where its revision is
    this version's: migrations lock what others read.
    """
    if settings.database_url:
        asyncio.run(check_revision(settings.database_url))
        return settings.database_url, None
    require_embedded(settings, make=make)
    server = start_embedded(settings)
    try:
        prepare_embedded(server, replayed=not server.joined)
    except BaseException:
        server.leave_server()
        raise
    return server.connection_url("loci_app"), server


def prepare_embedded(server: "EmbeddedServer", *, replayed: bool = True) -> None:
    """Bring an embedded server to this version's schema, unless it is there; `replayed`: with all functions of this version."""
    if not asyncio.run(_is_current(server.connection_url("loci_app"), replayed=replayed)):
        bring_up(server.connection_url("postgres"))


def bring_up(url: str, app_password: str | None = None, *, restored: bool = False) -> None:
    """Bring the schema to this version's; `restored`: it was set back. Raises Failure where a later version was here before."""
    from db.migrate import NewerSchema, renew_feeds, upgrade

    try:
        upgrade(url, app_password=app_password)
        if restored:
            renew_feeds(url)
    except NewerSchema as error:
        raise Failure(str(error), "Use that version, or restore the backup that was made before it.") from None


def require_embedded(settings: "Settings", *, make: bool = False) -> None:
    """Raise Failure unless the embedded database is the one that is meant, and there is one, or the command may `make` it."""
    asked = find_stated_value("LOCI_URL")
    if asked and not find_stated_value("LOCI_DATA_DIR"):
        raise Failure(
            f"`loci {RUNNING.get()}` works on the database itself, and LOCI_URL names a service: {base_url(asked)}",
            "Run it where the database is: with DATABASE_URL, or with LOCI_DATA_DIR for an embedded one.",
        )
    if not make and embedded_folder(settings) is None:
        raise Failure(
            f"there is no database in {settings.data_dir.expanduser().resolve()}",
            "Set LOCI_URL to a service that runs, such as http://127.0.0.1:8420, DATABASE_URL to a database, or LOCI_DATA_DIR "
            "to the folder of an embedded one; `loci serve` and `loci demo` make one here.",
        )


def embedded_folder(settings: "Settings") -> "Path | None":
    """The data folder, if an embedded database is in it."""
    folder = settings.data_dir.expanduser().resolve()
    return folder if (folder / "pg" / "PG_VERSION").is_file() else None


def start_embedded(settings: "Settings") -> "EmbeddedServer":
    """Start the embedded server of the data folder, or join it."""
    from db.embedded import EmbeddedServer

    try:
        return EmbeddedServer(settings.data_dir, settings.postgres_version, settings.postgres_port)
    except ImportError as error:
        raise Failure("no database is configured, and the embedded PostgreSQL is not installed", "Set DATABASE_URL.") from error
    except (subprocess.SubprocessError, RuntimeError, OSError) as error:
        raise Failure(
            f"the embedded PostgreSQL does not start: {first_line(error)}",
            f"Its log is {settings.data_dir / 'pg' / 'log'}.",
        ) from error


@asynccontextmanager
async def open_connection(url: str) -> "AsyncIterator[Connection]":
    """One connection in autocommit. Raises Failure when the server cannot be reached."""
    import psycopg
    from psycopg.rows import dict_row

    from db.pool import primary_url

    try:
        connection = await psycopg.AsyncConnection.connect(
            primary_url(url), autocommit=True, row_factory=dict_row, connect_timeout=CONNECT_SECONDS
        )
    except (psycopg.OperationalError, psycopg.ProgrammingError) as error:
        raise Failure(f"cannot reach the database: {first_line(error)}", "Check DATABASE_URL, and that the server runs.") from None
    async with connection:
        yield connection


async def check_revision(url: str) -> None:
    """Raise Failure unless the database is at the revision that this code was written for."""
    from db import health

    async with open_connection(url) as connection:
        check = await health.check_revision(connection)
    if not check.ok:
        raise Failure(f"the database is not at this version's schema: {check.detail}")


async def _is_current(url: str, *, replayed: bool) -> bool:
    from db import health

    try:
        async with open_connection(url) as connection:
            return await health.is_replayed(connection) if replayed else (await health.check_revision(connection)).ok
    except Failure:  # the role does not exist yet
        return False


@asynccontextmanager
async def open_pool(url: str, size: int = POOL, stand_back: "StandBack | None" = None) -> "AsyncIterator[Pool]":
    """A small pool over a migrated database."""
    from db.pool import make_pool

    async with make_pool(url, size=size, timeout=CONNECT_SECONDS, stand_back=stand_back) as pool:
        await pool.wait(CONNECT_SECONDS)
        yield pool
