"""What commands print: JSON for scripts, tables for people."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import typer

from service.text.visible import visible, visible_json

if TYPE_CHECKING:
    from rich.console import Console

PIPED_WIDTH = 160


def echo(text: str = "", *, err: bool = False) -> None:
    """Print a line on stdout or stderr. What commands print passes here or through a table, so nothing stored moves the cursor."""
    typer.echo(visible(text), err=err)


def print_json(value: object) -> None:
    """Print a value as JSON: one line into a pipe, indented on a terminal."""
    import orjson

    options = orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS
    if sys.stdout.isatty():
        options |= orjson.OPT_INDENT_2
    typer.echo(visible_json(orjson.dumps(value, option=options).decode()))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, fold: str | None = None) -> None:
    """Print rows under headings; the column `fold` takes the room that the others leave."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in columns:
        table.add_column(name, overflow="fold", no_wrap=name != fold, ratio=1 if name == fold else None)
    for row in rows:
        table.add_row(*(Text(show(value)) for value in row))
    table.expand = fold is not None
    console().print(table)


def print_rows(columns: Sequence[str], rows: Iterable[Mapping[str, object]], *, fold: str | None = None) -> None:
    """Print these columns of rows under their names."""
    print_table(columns, ([row[column] for column in columns] for row in rows), fold=fold)


def console(*, err: bool = False) -> "Console":
    """A console on stdout or stderr, wide enough when it is a pipe."""
    from rich.console import Console

    stream = sys.stderr if err else sys.stdout
    return Console(file=stream, width=None if stream.isatty() else PIPED_WIDTH, highlight=False)


def show(value: object) -> str:
    """A value in a cell."""
    if value is None:
        return "-"
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M")
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return visible(str(value))
