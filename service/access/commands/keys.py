"""`loci key`: API keys, shown once when they are made."""

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from service.cli.output import echo, print_json, print_rows
from service.cli.session import run_in
from service.cli.shell import Commands, Json, Namespace, parse_time, wants_json

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from db.pool import Transaction
    from service.pages import Page

app = typer.Typer(cls=Commands, no_args_is_help=True, help="Make, list, rotate and revoke API keys.")
MOST = 1000
Key = Annotated[UUID, typer.Argument(help="Id of the key.")]
Expires = Annotated[datetime | None, typer.Option(parser=parse_time, metavar="TIME", help="When it ends; default: never.")]
RateLimit = Annotated[int | None, typer.Option(min=1, max=1_000_000, help="Requests a minute; default: the service's.")]


class Role(StrEnum):
    """What a key may do in its namespace."""

    reader = "reader"
    writer = "writer"
    admin = "admin"


class Scope(StrEnum):
    """What a key does at most of what its agent may."""

    read = "read"
    write = "write"
    admin = "admin"


@app.command()
def create(
    context: typer.Context,
    namespace: Namespace = "default",
    role: Annotated[Role | None, typer.Option(help="What the key may do there; default: writer.")] = None,
    name: Annotated[str, typer.Option(help="A name to know it by.")] = "key",
    expires: Expires = None,
    scope: Annotated[Scope, typer.Option(help="What it does at most of what its agent may.")] = Scope.admin,
    only: Annotated[list[str] | None, typer.Option(help="Keep it to this namespace; may be repeated.")] = None,
    agent: Annotated[UUID | None, typer.Option(help="Make a further key of this agent.")] = None,
    rate_limit: RateLimit = None,
    default: Annotated[
        str | None, typer.Option(help="Namespace of requests that name none; default: the home of its agent.")
    ] = None,
    space: Annotated[
        str | None, typer.Option(help="Where it writes in working memory, such as patrol/heartbeat, or session for all sessions.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Make a key and print it, this once: only its hash is stored."""
    from loci.models.access import KeyInput
    from service.access.keys import create_key

    limits = {"expires_at": expires, "scope": scope.value, "rate_limit": rate_limit, "space": space}
    wanted = KeyInput.model_validate(
        {
            "role": role and role.value,
            "name": name,
            "namespaces": only or None,
            "agent_id": agent,
            "default_namespace": default,
            **limits,
        }
    )
    row = run_in(namespace, lambda tx: create_key(tx, wanted), "admin")
    _show(row, namespace, json=wants_json(context, as_json))


def _show(row: dict[str, Any], namespace: str, *, json: bool) -> None:
    """Print a key, this once."""
    if json:
        print_json({**row, "namespace": namespace})
        return
    echo(row["key"])
    echo(f"{row['role'] or 'no role'} in namespace {namespace}, id {row['id']}. Keep it now: it cannot be shown again.", err=True)


@app.command("list")
def list_(context: typer.Context, namespace: Namespace = "default", as_json: Json = False) -> None:
    """List the keys of agents at home in a namespace, and those of others that reach it, newest first."""
    from service.access.keys import list_keys

    rows = run_in(namespace, lambda tx: list_keys(tx, limit=MOST), "admin")["items"]
    if wants_json(context, as_json):
        print_json(rows)
        return
    columns = ("id", "name", "role", "scope", "space", "rate_limit", "created_at", "expires_at", "revoked_at", "last_used_at")
    print_rows(columns, rows)


@app.command()
def change(
    id: Key,
    namespace: Namespace = "default",
    name: Annotated[str | None, typer.Option(help="Another name.")] = None,
    expires: Expires = None,
    rate_limit: RateLimit = None,
    no_rate_limit: Annotated[bool, typer.Option("--no-rate-limit", help="Back to the service's limit.")] = False,
) -> None:
    """Change the name, the end or the rate limit of a key."""
    from loci.models.access import KeyChanges
    from service.access.keys import change_key

    stated = {"name": name, "expires_at": expires, "rate_limit": rate_limit}
    changes = {field: value for field, value in stated.items() if value is not None}
    wanted = KeyChanges.model_validate({**changes, **({"rate_limit": None} if no_rate_limit else {})})
    run_in(namespace, lambda tx: change_key(tx, id=id, changes=wanted), "admin")
    echo(f"changed {id}", err=True)


@app.command()
def rotate(
    context: typer.Context,
    id: Key,
    namespace: Namespace = "default",
    grace: Annotated[int, typer.Option(min=0, metavar="SECONDS", help="How long the old key goes on working.")] = 0,
    expires: Annotated[
        datetime | None,
        typer.Option(parser=parse_time, metavar="TIME", help="When the new key ends; default: as long as the old one was given."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Put a new key in the place of one, and print it, this once."""
    from loci.models.access import RotationInput
    from service.access.keys import rotate_key

    wanted = RotationInput(grace_seconds=grace, expires_at=expires)
    row = run_in(namespace, lambda tx: rotate_key(tx, id=id, wanted=wanted), "admin")
    _show(row, namespace, json=wants_json(context, as_json))


@app.command()
def revoke(id: Key, namespace: Namespace = "default") -> None:
    """End a key at once."""
    from service.access.keys import revoke_key

    run_in(namespace, lambda tx: revoke_key(tx, id=id), "admin")
    echo(f"revoked {id}", err=True)


@app.command()
def uses(
    context: typer.Context,
    id: Annotated[UUID | None, typer.Argument(help="Id of the key; default: keys that were not valid.")] = None,
    namespace: Namespace = "default",
    as_json: Json = False,
) -> None:
    """Show what a key was used for: requests by namespace, hour, address and outcome, newest first."""
    from service.access.keys import list_key_usage, list_refused_requests

    def listed(tx: "Transaction") -> "Awaitable[Page[Any]]":
        return list_refused_requests(tx, limit=MOST) if id is None else list_key_usage(tx, id=id, limit=MOST)

    rows = run_in(namespace, listed, "admin")["items"]
    if wants_json(context, as_json):
        print_json(rows)
        return
    columns = (*(() if id is None else ("namespace",)), "hour", "address", "outcome", "requests", "first_at", "last_at")
    print_rows(columns, rows)
