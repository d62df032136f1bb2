"""`loci analyst`: logins for people who query in SQL, and what they may see."""

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

import typer

from service.cli.database_session import command_origin, find_database_url, run_in
from service.cli.framework import App, Failure, first_line, message_printer, parse_time, read_stdin, tell_result, wants_json
from service.cli.output import echo, format_cell, print_json, print_table

app = App("Logins that query in SQL, and the namespaces that they see.")
Login = Annotated[str, typer.Argument(metavar="NAME", help="Name of the login.")]
Expires = Annotated[
    datetime | None, typer.Option(parser=parse_time, metavar="TIME", help="When the right to read ends; default: never.")
]
Namespace = Annotated[str, typer.Option("--namespace", "-n", envvar="LOCI_NAMESPACE", help="Namespace to read.")]
FromStdin = Annotated[bool, typer.Option("--password-stdin", help="Read the password from stdin; default: one is made and shown.")]
LONGEST_NAME_BYTES = 63  # bytes in a name of PostgreSQL
SHORTEST_PASSWORD = 12


@dataclass(frozen=True)
class Server:
    """The URL of who may make roles, that of the service, and where analysts reach it, if that is elsewhere."""

    owner: str
    service: str
    address: str | None


@app.command()
def create(
    name: Login,
    namespace: Annotated[list[str], typer.Option("--namespace", "-n", help="Namespace to read; repeatable.")],
    expires: Expires = None,
    timeout: Annotated[str, typer.Option(metavar="TIME", help="How long a statement may run: 500ms, 30s, 5min.")] = "30s",
    password_stdin: FromStdin = False,
) -> None:
    """Make a login that reads these namespaces alone.

    Prints how to connect.
    """
    from service.access import analysts

    _check_name(name)
    if not re.fullmatch(r"[1-9]\d{0,8}(ms|s|min|h)", timeout):
        raise typer.BadParameter(f"{timeout!r} is not a time such as 500ms, 30s or 5min", param_hint="--timeout")
    password = _read_password(password_stdin)
    with _reach_server() as server:
        limited = analysts.create_analyst(
            server.owner,
            login=name,
            password=password,
            namespaces=sorted(set(namespace)),
            expires_at=expires,
            timeout=timeout,
            origin=command_origin(),
        )
        uri = analysts.uri_of(server.service, name, server.address)
    if wants_json():
        shown = None if password_stdin else password
        print_json({"name": name, "namespaces": sorted(set(namespace)), "expires_at": expires, "uri": uri, "password": shown})
        return
    if not limited:
        echo("temporary files of its queries are not limited: only a superuser may set temp_file_limit", err=True)
    _show_login(name, uri, None if password_stdin else password)


@app.command()
def password(name: Login, password_stdin: FromStdin = False) -> None:
    """Give an analyst a new password.

    Sessions that are open stay open.
    """
    from service.access import analysts

    new = _read_password(password_stdin)
    with _reach_server() as server:
        analysts.set_password(server.owner, login=name, password=new, origin=command_origin())
        uri = analysts.uri_of(server.service, name, server.address)
    if wants_json():
        print_json({"name": name, "uri": uri, "password": None if password_stdin else new})
    else:
        _show_login(name, uri, None if password_stdin else new)


@app.command()
def drop(name: Login) -> None:
    """End an analyst's sessions, and remove login and grants."""
    from service.access import analysts

    with _reach_server() as server:
        analysts.drop_analyst(server.owner, login=name, origin=command_origin())
    tell_result({"name": name, "dropped": True}, message_printer(f"dropped {name}"))


@app.command()
def uri(name: Login) -> None:
    """Print how an analyst connects.

    Where there are cells: to each of those that have what it may read, where `loci analyst create` makes its login.
    """
    from service.access import analysts

    with _reach_server() as server:
        places = analysts.list_places(server.owner, login=name, origin=command_origin())
        here = analysts.uri_of(server.service, name, server.address)
    if not places:
        tell_result({"name": name, "uri": here}, message_printer(here))
        return
    rows = [(place["cell"], place["namespaces"], analysts.uri_of(place["database_url"], name)) for place in places]
    shown = [{"cell": cell, "namespaces": names, "uri": address} for cell, names, address in rows]
    table = [(str(cell), ", ".join(names), address) for cell, names, address in rows]
    tell_result({"name": name, "cells": shown}, lambda: print_table(("cell", "namespaces", "uri"), table))


@app.command("list")
def list_() -> None:
    """List analysts and what they may read now."""
    from service.access import analysts

    rows = run_in(None, analysts.list_analysts, None)
    if wants_json():
        print_json([{**row, "statement_limit": row["statement_limit"].total_seconds()} for row in rows])
        return
    print_table(
        ("name", "reads", "statement limit", "created_at"),
        (
            (
                row["login"],
                ", ".join(_describe_access(grant) for grant in row["namespaces"]),
                str(row["statement_limit"]),
                row["created_at"],
            )
            for row in rows
        ),
        fold="reads",
    )


@app.command()
def grant(name: Login, namespace: Namespace = "default", expires: Expires = None) -> None:
    """Let an analyst read one more namespace, until a time."""
    from service.access import analysts

    run_in(namespace, lambda tx: analysts.grant_analyst(tx, login=name, expires_at=expires), "admin")
    tell_result({"name": name, "namespace": namespace, "expires_at": expires}, message_printer(f"{name} reads {namespace}"))


@app.command()
def revoke(name: Login, namespace: Namespace = "default") -> None:
    """Take a namespace away from an analyst."""
    from service.access import analysts

    run_in(namespace, lambda tx: analysts.revoke_analyst(tx, login=name), "admin")
    tell_result({"name": name, "namespace": namespace, "revoked": True}, message_printer(f"{name} does not read {namespace}"))


@contextmanager
def _reach_server() -> Iterator[Server]:
    """Reach the server as the one who may make roles, and say in a line what stands against it."""
    import psycopg

    from service.settings import get_settings

    settings = get_settings()
    if settings.database_url and not settings.migration_url:
        raise Failure(
            "DATABASE_URL is the service's connection, which may not make logins",
            "Set LOCI_MIGRATION_URL to a connection as the role that ran `loci migrate`; it needs CREATEROLE.",
        )
    server = None
    try:
        if settings.migration_url:
            yield Server(settings.migration_url, settings.database_url or settings.migration_url, settings.analyst_address)
        else:
            service, server = find_database_url(settings)
            listens = server.tcp_address if server else None
            yield Server(server.connection_url("postgres") if server else service, service, settings.analyst_address or listens)
    except psycopg.errors.InsufficientPrivilege as error:
        raise Failure(
            f"the role of LOCI_MIGRATION_URL lacks rights: {error.diag.message_primary}",
            "It needs CREATEROLE, and loci_analyst, loci_app and loci_owner with ADMIN OPTION, as the role that made them has.",
        ) from None
    except psycopg.errors.DependentObjectsStillExist as error:
        detail = error.diag.message_detail or first_line(error)
        raise Failure(f"the login is still in use: {detail}", "Its objects in other databases go first.") from None
    finally:
        if server is not None:
            server.leave_server()


def _check_name(name: str) -> None:
    if not name or len(name.encode()) > LONGEST_NAME_BYTES or not name.isprintable() or name.startswith(("pg_", "loci_")):
        raise typer.BadParameter(
            f"{name!r} must be 1 to {LONGEST_NAME_BYTES} bytes of printable text, and not begin with pg_ or loci_",
            param_hint="NAME",
        )


def _read_password(from_stdin: bool) -> str:
    if not from_stdin:
        return secrets.token_urlsafe(24)
    given = read_stdin(line=True).rstrip("\r\n")
    if len(given) < SHORTEST_PASSWORD:
        raise Failure(f"the password must have {SHORTEST_PASSWORD} characters or more")
    return given


def _show_login(name: str, uri: str, password: str | None) -> None:
    if password is not None:
        echo(password)
        echo(f"password of {name}. Keep it now: it cannot be shown again.", err=True)
    echo(f"connect with: psql '{uri}'", err=True)
    if "host=" in uri:
        echo(
            "that is a socket, which not every tool knows: with LOCI_POSTGRES_PORT=5433, `loci serve` listens on 127.0.0.1 too",
            err=True,
        )


def _describe_access(grant: dict[str, Any]) -> str:
    until = grant["expires_at"]
    return f"{grant['namespace']} (until {format_cell(until, 'expires_at')})" if until else str(grant["namespace"])
