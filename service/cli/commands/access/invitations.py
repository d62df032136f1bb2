"""`loci invitation`: grants that an agent has not accepted; the operator may answer for any agent."""

from typing import Annotated

import typer

from service.cli.commands.access.agents import agent_id
from service.cli.framework import App, message_printer, tell_result, tell_rows
from service.cli.rest import open_service

app = App("Answer invitations to namespaces.")
Inviting = Annotated[str, typer.Option("--namespace", "-n", metavar="NAME", help="The namespace that invites.")]
Agent = Annotated[str | None, typer.Argument(metavar="AGENT", help="Of the operator: for this agent, name or id.")]


@app.command("list")
def list_(agent: Agent = None) -> None:
    """List the namespaces that invite you, or an agent."""
    with open_service() as rest:
        rows = rest.list_items("/agents/me/invitations", agent=agent_id(rest, agent) if agent else None)
    tell_rows(rows, "namespace", "role", "expires_at", "created_at")


@app.command()
def accept(namespace: Inviting, agent: Agent = None) -> None:
    """Accept an invitation."""
    with open_service() as rest:
        of = agent_id(rest, agent) if agent else None
        row = rest.post_without_body("/agents/me/invitations/{name}/accept", {"name": namespace}, agent=of)
    tell_result(row, message_printer(f"{of or 'the caller'} is {row['role']} in namespace {namespace}"))


@app.command()
def decline(namespace: Inviting, agent: Agent = None) -> None:
    """Decline an invitation."""
    with open_service() as rest:
        of = agent_id(rest, agent) if agent else None
        rest.delete("/agents/me/invitations/{name}", {"name": namespace}, agent=of)
    tell_result(
        {"namespace": namespace, "agent_id": of, "declined": True},
        message_printer(f"declined the invitation to namespace {namespace}"),
    )
