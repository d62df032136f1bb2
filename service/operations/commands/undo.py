"""`loci undo`: an operation taken back."""

from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from service.cli.output import echo, print_json, print_table
from service.cli.session import Session, run
from service.cli.shell import Json, Namespace, wants_json

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from db.pool import Transaction


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
    row = run(lambda session: _undo(session, namespace, id, skip_changed))
    if wants_json(context, as_json):
        print_json(row)
        return
    print_table(("kind", "as before"), sorted(row["undone"].items()))
    for left in row["skipped"]:
        echo(f"left as it is: {left['count']:,} {left['kind']}: {left['reason']}", err=True)
    echo(f"undone by operation {row['operation_id']}; `loci undo {row['operation_id']}` brings it back", err=True)


async def _undo(session: Session, namespace: str, id: UUID, skip_changed: bool) -> dict[str, Any]:
    from service.operations.undo import undo_operation

    async def step(work: "Callable[[Transaction], Awaitable[dict[str, Any]]]") -> dict[str, Any]:
        async with session.transaction(namespace, "writer") as tx:
            return await work(tx)

    return await undo_operation(step, lambda: session.transaction(namespace, "writer"), id=id, skip_changed=skip_changed)
