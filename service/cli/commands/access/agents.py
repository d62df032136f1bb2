"""Agents by their names, where their ids are asked for."""

from typing import Annotated, Any
from uuid import UUID

import typer

from service.cli.framework import Failure
from service.cli.rest import LociError, Rest

Agent = Annotated[str, typer.Argument(metavar="AGENT", help="Name or id of the agent, as `loci grant list` shows them.")]


def agent_id(rest: Rest, name: str) -> str:
    """The id of an agent: that itself, or of the agent that has this name. Raises Failure where none has it, or several have.

    Names are known of agents with a role in the namespace, and of the caller.
    """
    try:
        return str(UUID(name))
    except ValueError:
        pass
    me = rest.get("/agents/me")
    found = {str(row["agent_id"]) for row in _list_granted_agents(rest) if row["agent"] == name}
    found |= {str(me["agent_id"])} if me["name"] == name else set()
    if len(found) == 1:
        return found.pop()
    if found:
        raise Failure(f"{len(found)} agents are called {name!r}: {', '.join(sorted(found))}", "Name it by its id.")
    raise Failure(
        f"no agent in this namespace is called {name!r}", "`loci grant list` shows names and ids; others have an id alone."
    )


def _list_granted_agents(rest: Rest) -> list[dict[str, Any]]:
    """Agents with a role here, where the caller may know them."""
    try:
        return rest.list_items("/grants")
    except LociError as error:
        if error.status == 403:  # noqa: PLR2004 (a status)
            return []
        raise
