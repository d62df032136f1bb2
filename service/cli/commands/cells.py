"""`loci cell`: the cells of an installation, and the maps by which HAProxy finds that of a request."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from service.cli.framework import App, Failure, message_printer, print_error, tell_result, tell_rows
from service.cli.output import print_table

app = App("Join cells, check them, and write the maps of HAProxy.")
Number = Annotated[int, typer.Argument(metavar="CELL", min=1, help="Number of the cell.")]


@contextmanager
def this_cell() -> Iterator[str]:
    """The address of this cell's database, as LOCI_MIGRATION_URL has it; what goes wrong is told with what to do."""
    from db.cells.database import CellError
    from service.cli.database_session import require_embedded
    from service.settings import get_settings

    settings = get_settings()
    url = settings.migration_url
    if not url:
        if not settings.database_url:
            require_embedded(settings)
        raise Failure("cells are reached over LOCI_MIGRATION_URL", "Set it to a superuser's connection to this cell's database.")
    try:
        yield url
    except CellError as error:
        raise Failure(str(error), error.hint) from None


@app.command()
def add(
    url: Annotated[str, typer.Option(metavar="URL", help="Where its service is reached over HTTP.")],
    database: Annotated[str, typer.Option(metavar="URL", help="Where the other cells reach its database, as a superuser.")],
) -> None:
    """Join a cell to all others.

    Each then knows the agents, keys and grants of each. Again, it makes what is missing.
    """
    from db.cells.cells import add_cell

    with this_cell() as here:
        number = add_cell(here, url=url, database_url=database)
    tell_result({"cell": number, "url": url}, message_printer(f"cell {number} is joined"))


@app.command("list")
def list_() -> None:
    """List the cells with their namespaces, by number."""
    from db.cells.cells import list_cells
    from db.cells.database import connect

    with this_cell() as here, connect(here, "this cell") as session:
        rows = list_cells(session)
    tell_rows(rows, "id", "here", "url", "namespaces")


@app.command()
def check() -> None:
    """Compare the cells: what two have, and links that lag.

    Exit code 1 if anything is wrong. After a cell was set back to an earlier moment, check before its service starts.
    """
    from db.cells.cells import check_cells

    with this_cell() as here:
        problems = check_cells(here)
    tell_result(
        problems, lambda: print_table(("cell", "problem"), ([row["cell"], row["problem"]] for row in problems), fold="problem")
    )
    if problems:
        print_error(f"{len(problems)} things are wrong between the cells")
        raise typer.Exit(1)


@app.command()
def remove(cell: Number) -> None:
    """Take a cell without namespaces out of all others."""
    from db.cells.cells import remove_cell

    with this_cell() as here:
        remove_cell(here, cell)
    tell_result({"cell": cell, "removed": True}, message_printer(f"cell {cell} is removed"))


@app.command()
def release(name: Annotated[str, typer.Argument(metavar="NAMESPACE", help="Name of the namespace.")]) -> None:
    """Let a namespace go that another cell has had since.

    In a cell that was set back to before the namespace moved.
    """
    from db.cells.cells import release_namespace

    with this_cell() as here:
        cell = release_namespace(here, name)
    tell_result({"namespace": name, "cell": cell}, message_printer(f"{name} is in cell {cell} alone"))


@app.command("map")
def map_(
    output: Annotated[Path, typer.Option("--output", "-o", "--to", metavar="FOLDER", help="Where HAProxy reads them.")],
    socket: Annotated[
        list[Path] | None, typer.Option(metavar="PATH", help="HAProxy's socket: it takes the maps without a reload; repeatable.")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on, and write them whenever a namespace or key is new.")] = False,
) -> None:
    """Write the maps of HAProxy."""
    from db.cells.database import connect
    from service.cells.haproxy import follow_maps, hand_out, read_maps

    with this_cell() as here:
        with connect(here, "this cell") as session:
            maps = read_maps(session)
        hand_out(maps, output, socket or [])
        tell_result(
            {"folder": str(output), **{name: len(rows) for name, rows in maps.items()}},
            message_printer(f"wrote the maps into {output}"),
        )
        for changed in follow_maps(here, maps) if follow else ():
            hand_out(changed, output, socket or [])
