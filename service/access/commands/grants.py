"""`loci grant`: which agent may do what in a namespace."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

import typer

from service.access.commands.keys import MOST, Role
from service.cli.output import echo, print_json, print_rows
from service.cli.session import run_in
from service.cli.shell import Commands, Json, Namespace, parse_time, wants_json

app = typer.Typer(cls=Commands, no_args_is_help=True, help="Share a namespace: give agents a role in it, or take it away.")
Agent = Annotated[UUID, typer.Argument(help="Id of the agent, as `loci key list --json` or GET /agents/me says it.")]


@app.command("set")
def set_(
    context: typer.Context,
    agent: Agent,
    namespace: Namespace = "default",
    role: Annotated[Role, typer.Option(help="What the agent may do there.")] = Role.reader,
    expires: Annotated[
        datetime | None, typer.Option(parser=parse_time, metavar="TIME", help="When it ends; default: never.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Give an agent a role in a namespace, or change the one it has."""
    from service.access.grants import set_grant

    row = run_in(namespace, lambda tx: set_grant(tx, agent_id=agent, role=role.value, expires_at=expires), "admin")
    if wants_json(context, as_json):
        print_json(row)
    else:
        echo(f"{row['agent']} ({agent}) is {role.value} in namespace {namespace}", err=True)


@app.command("list")
def list_(context: typer.Context, namespace: Namespace = "default", as_json: Json = False) -> None:
    """List the agents that have a role in a namespace."""
    from service.access.grants import list_grants

    rows = run_in(namespace, lambda tx: list_grants(tx, limit=MOST), "admin")["items"]
    if wants_json(context, as_json):
        print_json(rows)
        return
    columns = ("agent_id", "agent", "kind", "role", "accepted", "expires_at", "expired")
    print_rows(columns, rows)


@app.command()
def revoke(agent: Agent, namespace: Namespace = "default") -> None:
    """Take an agent's role in a namespace away; its keys stay."""
    from service.access.grants import delete_grant

    run_in(namespace, lambda tx: delete_grant(tx, agent_id=agent), "admin")
    echo(f"revoked the grant of {agent} in namespace {namespace}", err=True)


@app.command()
def leave(agent: Agent, namespace: Namespace = "default") -> None:
    """Give an agent's grant in a namespace back for it: undoing that gives it nothing that it does not accept again."""
    from service.access.grants import leave_namespace

    run_in(None, lambda tx: leave_namespace(tx, name=namespace, agent_id=agent), None)
    echo(f"{agent} has left namespace {namespace}", err=True)
