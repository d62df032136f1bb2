"""`loci invitation`: grants that an agent has not accepted; the operator may answer for it."""

from typing import Annotated

import typer

from service.access.commands.grants import Agent
from service.access.commands.keys import MOST
from service.cli.output import echo, print_json, print_rows
from service.cli.session import run_in
from service.cli.shell import Commands, Json, wants_json

app = typer.Typer(cls=Commands, no_args_is_help=True, help="Answer invitations to namespaces for an agent.")
Inviting = Annotated[str, typer.Option("--namespace", "-n", help="The namespace that invites.")]


@app.command("list")
def list_(context: typer.Context, agent: Agent, as_json: Json = False) -> None:
    """List the namespaces that invite an agent."""
    from service.access.grants import list_invitations

    rows = run_in(None, lambda tx: list_invitations(tx, agent_id=agent, limit=MOST), None)["items"]
    if wants_json(context, as_json):
        print_json(rows)
        return
    columns = ("namespace", "role", "expires_at", "created_at")
    print_rows(columns, rows)


@app.command()
def accept(context: typer.Context, agent: Agent, namespace: Inviting, as_json: Json = False) -> None:
    """Accept an invitation for an agent."""
    from service.access.grants import accept_invitation

    row = run_in(None, lambda tx: accept_invitation(tx, name=namespace, agent_id=agent), None)
    if wants_json(context, as_json):
        print_json(row)
    else:
        echo(f"{agent} is {row['role']} in namespace {namespace}", err=True)


@app.command()
def decline(agent: Agent, namespace: Inviting) -> None:
    """Decline an invitation for an agent."""
    from service.access.grants import decline_invitation

    run_in(None, lambda tx: decline_invitation(tx, name=namespace, agent_id=agent), None)
    echo(f"declined for {agent} the invitation to namespace {namespace}", err=True)
