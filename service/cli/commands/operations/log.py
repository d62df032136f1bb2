"""`loci operation`: who changed what, when, through what."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import typer

from service.cli.commands.access.agents import agent_id
from service.cli.commands.operations.undo import undo
from service.cli.framework import App, Limit, Namespace, parse_time, tell_result
from service.cli.output import echo, print_fields, print_rows, print_table, show_time
from service.cli.rest import open_service

app = App("Show what was changed, and by whom; undo it.")
CHANGES = 1000
app.command()(undo)


@app.command("list")
def list_(
    namespace: Namespace = None,
    limit: Limit = 50,
    action: Annotated[str | None, typer.Option(help="What was called, such as write_memory.")] = None,
    via: Annotated[str | None, typer.Option(help="rest, mcp, cli, worker or sql.")] = None,
    agent: Annotated[str | None, typer.Option(help="Who: name or id.")] = None,
    subject: Annotated[UUID | None, typer.Option(help="The memory, entity or edge that was changed.")] = None,
    since: Annotated[datetime | None, typer.Option(parser=parse_time, metavar="TIME", help="Begun then or later.")] = None,
    until: Annotated[datetime | None, typer.Option(parser=parse_time, metavar="TIME", help="Begun before.")] = None,
) -> None:
    """List operations, newest first."""
    asked = {"action": action, "via": via, "subject": subject, "since": since, "until": until}
    with open_service(namespace) as rest:
        rows = rest.list_items("/operations", limit=limit, **asked, agent=agent_id(rest, agent) if agent else None)
    shown = [{**row, "changes": _word_counts(row["changes"])} for row in rows]
    columns = ("id", "started_at", "via", "action", "agent", "changes")
    tell_result(rows, lambda: print_rows(columns, shown, fold="changes"))


@app.command()
def show(
    id: Annotated[UUID, typer.Argument(metavar="ID", help="The operation.")],
    namespace: Namespace = None,
) -> None:
    """Show what an operation changed, before and after.

    The first 1,000 changes.
    """
    with open_service(namespace) as rest:
        row = rest.get("/operations/{id}", {"id": id})
        changes = rest.list_items("/operations/{id}/changes", {"id": id}, limit=CHANGES)

    def print_operation() -> None:
        print_fields({**row, "changes": _word_counts(row["changes"])})
        echo()
        rows = ([c["kind"], c["action"], c["subject_id"], _word_difference(c)] for c in changes)
        print_table(("kind", "action", "id", "before and after"), rows, fold="before and after")

    tell_result({"operation": row, "changes": changes}, print_operation)


def _word_counts(changes: dict[str, int]) -> str:
    """How many changes of what."""
    return ", ".join(f"{count:,} {name.replace('.', ' ')}" for name, count in sorted(changes.items()))


def _word_difference(change: dict[str, Any]) -> str:
    """Fields before and after; of something new, what it is."""
    before, after = change["before"] or {}, change["after"] or {}
    changed = [name for name, value in after.items() if name in before and before[name] != value]
    fields = [f"{name}: {show_time(before[name], name)} → {show_time(after[name], name)}" for name in changed]
    if change["before"] is None:
        fields = [f"{name}: {show_time(value, name)}" for name, value in after.items() if value is not None]
    return "; ".join([*([change["content"]] if change["content"] else []), *fields])
