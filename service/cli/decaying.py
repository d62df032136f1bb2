"""`loci decay`: rates of decay changed, or recalculated on demand."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from service.cli.output import console, print_json, print_table
from service.cli.session import Session, run
from service.cli.shell import Json, Namespace, wants_json

Row = dict[str, Any]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(decay)


def decay(
    context: typer.Context,
    type: Annotated[str | None, typer.Argument(metavar="[TYPE]", help="Edge type; default: all of them.")] = None,
    namespace: Namespace = "default",
    rate: Annotated[
        float | None, typer.Option(help="New rate per day, of the type or else of the namespace.", min=0, max=1e9)
    ] = None,
    as_json: Json = False,
) -> None:
    """Recalculate when edges fade, or change how fast; says how many faded and how many came back.

    Readers go by a new rate at once. Killed on the way, it loses nothing: call it again, or leave the rest to the worker.
    """
    with _progress() as told:
        row = run(lambda session: _decay(session, namespace, type, rate, told))
    row.pop("done")
    if wants_json(context, as_json):
        print_json(row)
    else:
        print_table(("edges", "faded", "revived"), [(row["edges"], row["faded"], row["revived"])])


async def _decay(session: Session, namespace: str, type: str | None, rate: float | None, told: Callable[[Row], None]) -> Row:
    from db import graph, tenancy
    from service.decay import finish

    decaying = True
    async with session.transaction(namespace, "writer" if type or rate is None else "admin") as tx:
        if rate is not None and type is not None:
            decaying = (await graph.set_edge_type(tx, type=type, changes={"decay_rate": rate}))["decaying"]
        elif rate is not None:
            decaying = await tenancy.update_namespace(tx, changes={"settings": {"decay_rate": rate}})
        else:
            await graph.begin_decay(tx, type=type)
    if not decaying:
        return {"edges": 0, "faded": 0, "revived": 0, "done": True}
    return await finish(lambda: session.transaction(namespace, "writer"), type=type, told=told)


@contextmanager
def _progress() -> "Iterator[Callable[[Row], None]]":
    """Counts on stderr while it lasts; nothing into a pipe."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console(err=True), transient=True, disable=not console(err=True).is_terminal) as bar:
        task = bar.add_task("waiting for writers")
        yield lambda row: bar.update(
            task, description=f"{row['edges']:,} edges, {row['faded']:,} faded, {row['revived']:,} came back"
        )
