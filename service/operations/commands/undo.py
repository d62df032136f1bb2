"""`loci undo`: an operation taken back."""

from typing import Annotated, Any
from uuid import UUID

import typer

from service.cli.output import print_json, print_table
from service.cli.session import Session, run
from service.cli.shell import Json, Namespace, wants_json


def undo(
    context: typer.Context,
    id: Annotated[UUID, typer.Argument(metavar="ID", help="Id of the operation, as `loci operations list` shows it.")],
    namespace: Namespace = "default",
    skip_changed: Annotated[
        bool, typer.Option("--skip-changed", help="Leave alone what was changed again since, and undo the rest.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Undo an operation: all that it changed is as before, and history keeps both. Prints what came back.

    Undoing is an operation too: undo that, and the first one is in force again.
    """

    async def work(session: Session) -> dict[str, Any]:
        from db import operations
        from service.graph.decay import finish_decay_changes

        async with session.transaction(namespace, "writer") as tx:
            row = await operations.undo_operation(tx, id=id, skip_changed=skip_changed)
        if row.pop("decaying"):
            await finish_decay_changes(lambda: session.transaction(namespace, "writer"))
        return row

    row = run(work)
    if wants_json(context, as_json):
        print_json(row)
        return
    print_table(("kind", "as before"), sorted(row["undone"].items()))
    for left in row["skipped"]:
        typer.echo(f"left as it is: {left['count']:,} {left['kind']}: {left['reason']}", err=True)
    typer.echo(f"undone by operation {row['operation_id']}; `loci undo {row['operation_id']}` brings it back", err=True)
