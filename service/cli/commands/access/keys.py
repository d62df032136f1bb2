"""`loci key`: API keys, shown once when they are made."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

import typer

from service.cli.commands.access.agents import agent_id
from service.cli.framework import App, Namespace, message_printer, parse_time, tell_result, tell_rows
from service.cli.output import echo
from service.cli.rest import open_service

app = App("Make, list, rotate and revoke API keys.")
Key = Annotated[UUID, typer.Argument(metavar="ID", help="Id of the key.")]
Expires = Annotated[datetime | None, typer.Option(parser=parse_time, metavar="TIME", help="When it ends; default: never.")]
RateLimit = Annotated[int | None, typer.Option(min=1, max=1_000_000, help="Requests a minute; default: the service's.")]


class Role(StrEnum):
    """A key's role in its namespace."""

    reader = "reader"
    writer = "writer"
    admin = "admin"


class Scope(StrEnum):
    """A key's largest right among those of its agent."""

    read = "read"
    write = "write"
    admin = "admin"


@app.command()
def create(
    namespace: Namespace = None,
    role: Annotated[Role | None, typer.Option(help="What the key may do there; default: writer.")] = None,
    name: Annotated[str, typer.Option(help="A name to know it by.")] = "key",
    expires: Expires = None,
    scope: Annotated[Scope, typer.Option(help="What it does at most of what its agent may.")] = Scope.admin,
    only: Annotated[list[str] | None, typer.Option(help="Keep it to this namespace; may be repeated.")] = None,
    agent: Annotated[str | None, typer.Option(help="Make a further key of this agent: name or id.")] = None,
    rate_limit: RateLimit = None,
    default: Annotated[
        str | None, typer.Option(help="Namespace of requests that name none; default: the home of its agent.")
    ] = None,
    space: Annotated[
        str | None, typer.Option(help="Where it writes in working memory, such as patrol/heartbeat, or session for all sessions.")
    ] = None,
    user: Annotated[str | None, typer.Option(help="The user for whom its agent speaks and asks.")] = None,
    time_zone: Annotated[str | None, typer.Option(help="Time zone of that user, such as Europe/Berlin; default: UTC.")] = None,
) -> None:
    """Make a key and print it, this once.

    Only its hash is stored.
    """
    stated = {"role": role and role.value, "name": name, "expires_at": expires, "scope": scope.value, "rate_limit": rate_limit}
    with open_service(namespace) as rest:
        limits = {"namespaces": only or None, "default_namespace": default, "space": space, "user": user, "time_zone": time_zone}
        of = agent_id(rest, agent) if agent else None
        row = rest.post_once("/keys", **stated, **limits, agent_id=of)
        within = rest.find_namespace_name()
    _print_key(row, within)


def _print_key(row: dict[str, Any], namespace: str) -> None:
    """Print a key, this once."""

    def print_fields() -> None:
        echo(row["key"])
        kept = "Keep it now: it cannot be shown again."
        echo(f"{_describe_reach(row, namespace)}, id {row['id']}. {kept}", err=True)

    tell_result({**row, "namespace": namespace}, print_fields)


def _describe_reach(row: dict[str, Any], namespace: str) -> str:
    """A key's role in a namespace; where its agent has no role there, the key works elsewhere."""
    if row["role"] is not None:
        return f"{row['role']} in namespace {namespace}"
    where = row["default_namespace"] or ", ".join(row["namespaces"] or [])
    return f"a key of namespace {where}" if where else "a key of another namespace"


@app.command("list")
def list_(namespace: Namespace = None) -> None:
    """List the keys that reach a namespace, newest first."""
    with open_service(namespace) as rest:
        rows = rest.list_items("/keys")
    tell_rows(rows, "id", "name", "role", "scope", "space", "rate_limit", "created_at", "expires_at", "revoked_at", "last_used_at")


@app.command()
def change(
    id: Key,
    namespace: Namespace = None,
    name: Annotated[str | None, typer.Option(help="Another name.")] = None,
    expires: Annotated[datetime | None, typer.Option(parser=parse_time, metavar="TIME", help="Another end.")] = None,
    rate_limit: RateLimit = None,
    no_rate_limit: Annotated[bool, typer.Option("--no-rate-limit", help="Back to the service's limit.")] = False,
) -> None:
    """Change the name, the end or the rate limit of a key."""
    stated = {"name": name, "expires_at": expires, "rate_limit": rate_limit}
    changes: dict[str, Any] = {field: value for field, value in stated.items() if value is not None}
    changes |= {"rate_limit": None} if no_rate_limit else {}
    with open_service(namespace) as rest:
        row = rest.patch("/keys/{id}", {"id": id}, **changes)
    tell_result(row, message_printer(f"changed {id}"))


@app.command()
def rotate(
    id: Key,
    namespace: Namespace = None,
    grace: Annotated[int, typer.Option(min=0, metavar="SECONDS", help="How long the old key goes on working.")] = 0,
    expires: Annotated[
        datetime | None,
        typer.Option(parser=parse_time, metavar="TIME", help="When the new key ends; default: as long as the old one was given."),
    ] = None,
) -> None:
    """Put a new key in the place of one, and print it, this once."""
    with open_service(namespace) as rest:
        row = rest.post_once("/keys/{id}/rotate", {"id": id}, grace_seconds=grace, expires_at=expires)
        within = rest.find_namespace_name()
    _print_key(row, within)


@app.command()
def revoke(id: Key, namespace: Namespace = None) -> None:
    """End a key at once."""
    with open_service(namespace) as rest:
        rest.delete("/keys/{id}", {"id": id})
    tell_result({"id": id, "revoked": True}, message_printer(f"revoked {id}"))


@app.command()
def uses(
    id: Annotated[UUID | None, typer.Argument(metavar="ID", help="Id of the key; default: keys that were not valid.")] = None,
    namespace: Namespace = None,
) -> None:
    """Show what a key was used for, newest first.

    Requests by namespace, hour, address and outcome.
    """
    with open_service(namespace) as rest:
        rows = rest.list_items("/keys/refusals") if id is None else rest.list_items("/keys/{id}/uses", {"id": id})
    tell_rows(rows, *(() if id is None else ("namespace",)), "hour", "address", "outcome", "requests", "first_at", "last_at")
