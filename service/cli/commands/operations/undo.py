"""`loci operation undo`: an operation taken back."""

from typing import Annotated, Any
from uuid import UUID

import typer

from service.cli.framework import Namespace, tell_result
from service.cli.output import echo, print_table
from service.cli.rest import open_service


def undo(
    id: Annotated[UUID, typer.Argument(metavar="ID", help="Id of the operation, as `loci operation list` shows it.")],
    namespace: Namespace = None,
    skip_changed: Annotated[
        bool, typer.Option("--skip-changed", help="Leave alone what was changed again since, and undo the rest.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing, and say what would be.")] = False,
) -> None:
    """Undo an operation, and print what came back.

    All that it changed is as before, and history keeps both. Undoing is an operation too: undo that, and the first one is in
    force again.
    """
    with open_service(namespace) as rest:
        row = rest.post("/operations/{id}/undo", {"id": id}, skip_changed=skip_changed, dry_run=dry_run)
    tell_result(row, lambda: _tell_undo(row))


def _tell_undo(row: dict[str, Any]) -> None:
    print_table(("kind", "as before"), sorted(row["undone"].items()))
    for left in row["skipped"]:
        echo(f"left as it is: {left['count']:,} {left['kind']}: {left['reason']}", err=True)
    if row["dry_run"]:
        for each in row["conflicts"]:
            echo(f"in the way: {each['kind']} {each['name']} was changed since: {each['content']}", err=True)
        echo("dry run: nothing was changed", err=True)
        return
    if row["operation_id"] is None:
        echo("nothing was undone", err=True)
        return
    again = f"`loci operation undo {row['operation_id']}` brings it back"
    echo(f"undone by operation {row['operation_id']}; {again}", err=True)
