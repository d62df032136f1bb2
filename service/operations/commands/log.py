"""`loci operations`: who changed what, when, through what."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from service.cli.output import echo, print_json, print_rows, print_table
from service.cli.session import run_in
from service.cli.shell import Commands, Json, Namespace, parse_time, wants_json

if TYPE_CHECKING:
    from db.operations import OperationChangeRow, OperationRow
    from db.pool import Transaction

app = typer.Typer(cls=Commands, no_args_is_help=True, help="Show the operations log: each call that changed something.")
CHANGES = 1000


@app.command("list")
def list_(
    context: typer.Context,
    namespace: Namespace = "default",
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many.")] = 50,
    action: Annotated[str | None, typer.Option(help="What was called, such as write_memory.")] = None,
    via: Annotated[str | None, typer.Option(help="rest, mcp, cli, worker or sql.")] = None,
    agent: Annotated[UUID | None, typer.Option(help="Who.")] = None,
    subject: Annotated[UUID | None, typer.Option(help="The memory, entity or edge that was changed.")] = None,
    since: Annotated[datetime | None, typer.Option(parser=parse_time, metavar="TIME", help="Begun then or later.")] = None,
    until: Annotated[datetime | None, typer.Option(parser=parse_time, metavar="TIME", help="Begun before.")] = None,
    as_json: Json = False,
) -> None:
    """List operations, newest first."""
    from service.operations.log import OperationFilter, list_operations

    wanted = OperationFilter(action, agent, via, subject, since, until)
    rows = run_in(namespace, lambda tx: list_operations(tx, wanted, limit=limit))["items"]
    if wants_json(context, as_json):
        print_json(rows)
        return
    columns = ("id", "started_at", "via", "action", "agent", "changes")
    print_rows(columns, ({**row, "changes": _counted(row["changes"])} for row in rows), fold="changes")


@app.command()
def show(
    context: typer.Context,
    id: Annotated[UUID, typer.Argument(help="The operation.")],
    namespace: Namespace = "default",
    as_json: Json = False,
) -> None:
    """Show an operation and what it changed, before and after: the first 1,000 changes."""
    from service.operations.log import get_operation, list_changes_of

    async def work(tx: "Transaction") -> "tuple[OperationRow, list[OperationChangeRow]]":
        found = await get_operation(tx, id=id)
        return found, (await list_changes_of(tx, id=id, limit=CHANGES))["items"]

    row, changes = run_in(namespace, work)
    if wants_json(context, as_json):
        print_json({"operation": row, "changes": changes})
        return
    print_table(("field", "value"), {**row, "changes": _counted(row["changes"])}.items())
    echo()
    rows = ([c["kind"], c["action"], c["subject_id"], _difference(c)] for c in changes)
    print_table(("kind", "action", "id", "before and after"), rows, fold="before and after")


def _counted(changes: dict[str, int]) -> str:
    """How many changes of what."""
    return ", ".join(f"{count:,} {name.replace('.', ' ')}" for name, count in sorted(changes.items()))


def _difference(change: "OperationChangeRow") -> str:
    """Fields before and after; of something new, what it is."""
    before, after = change["before"] or {}, change["after"] or {}
    fields = [f"{name}: {before[name]} → {value}" for name, value in after.items() if name in before and before[name] != value]
    if change["before"] is None:
        fields = [f"{name}: {value}" for name, value in after.items() if value is not None]
    return "; ".join([*([change["content"]] if change["content"] else []), *fields])
