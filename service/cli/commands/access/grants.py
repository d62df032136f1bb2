"""`loci grant`: which agent may do what in a namespace."""

from datetime import datetime
from typing import Annotated

import typer

from service.cli.commands.access.agents import Agent, agent_id
from service.cli.commands.access.keys import Role
from service.cli.framework import App, Namespace, message_printer, parse_time, tell_result, tell_rows
from service.cli.rest import open_service

app = App("Give agents a role in a namespace, or take it away.")


@app.command("set")
def set_(
    agent: Agent,
    namespace: Namespace = None,
    role: Annotated[Role, typer.Option(help="What the agent may do there.")] = Role.reader,
    expires: Annotated[
        datetime | None, typer.Option(parser=parse_time, metavar="TIME", help="When it ends; default: never.")
    ] = None,
) -> None:
    """Give an agent a role, or change the one it has."""
    with open_service(namespace) as rest:
        row = rest.put("/grants/{agent_id}", {"agent_id": agent_id(rest, agent)}, role=role.value, expires_at=expires)
        within = rest.find_namespace_name()
    tell_result(row, message_printer(f"{row['agent'] or 'the agent'} ({row['agent_id']}) is {role.value} in namespace {within}"))


@app.command("list")
def list_(namespace: Namespace = None) -> None:
    """List the agents that have a role in a namespace."""
    with open_service(namespace) as rest:
        rows = rest.list_items("/grants")
    tell_rows(rows, "agent_id", "agent", "kind", "role", "accepted", "expires_at", "expired")


@app.command()
def revoke(agent: Agent, namespace: Namespace = None) -> None:
    """Take an agent's role away; its keys stay."""
    with open_service(namespace) as rest:
        row = rest.delete("/grants/{agent_id}", {"agent_id": agent_id(rest, agent)})
        within = rest.find_namespace_name()
    tell_result(row, message_printer(f"revoked the grant of {row['agent_id']} in namespace {within}"))


@app.command()
def leave(
    agent: Annotated[str | None, typer.Argument(metavar="AGENT", help="Of the operator: for this agent, name or id.")] = None,
    namespace: Namespace = None,
) -> None:
    """Give a role back: your own, or an agent's for it.

    Undoing that gives the agent nothing that it does not accept again.
    """
    with open_service(namespace) as rest:
        of, within = agent_id(rest, agent) if agent else None, rest.find_namespace_name()
        rest.delete("/agents/me/grants/{name}", {"name": within}, agent=of)
    tell_result(
        {"agent_id": of, "namespace": within, "left": True}, message_printer(f"{of or 'the caller'} has left namespace {within}")
    )
