"""Output of commands: JSON for scripts, tables for people."""

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING

import typer

from service.text.hidden_characters import show_hidden_characters, visible_json

if TYPE_CHECKING:
    from rich.console import Console

PIPED_WIDTH = 160
GAP = 2  # between columns
LEAST_COLUMN_CHARACTERS = 20  # characters of a column that is folded
FIELDS = 2  # columns of a table of a thing's fields, which is one already
TIMES = frozenset({"as_of", "at", "hour", "known_at"})  # columns of moments, and those whose names end so
ENDINGS = ("_at", "_from", "_to", "_since", "_before", "_after")
_UTC: ContextVar[bool] = ContextVar("utc", default=False)


def echo(text: str = "", *, err: bool = False) -> None:
    """Print a line on stdout or stderr. All output passes here or through a table, so nothing stored moves the cursor."""
    typer.echo(show_hidden_characters(text), err=err)


def print_json(value: object) -> None:
    """Print a value as JSON: one line into a pipe, indented on a terminal."""
    from pydantic_core import to_json

    text = to_json(value, indent=2 if sys.stdout.isatty() else None, inf_nan_mode="null")  # orjson refuses long integers
    typer.echo(visible_json(text.decode()))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, fold: str | None = None) -> None:
    """Print rows under headings, the first one of times with their offset. Outside a terminal a row is a line.

    On one, the column `fold` takes what room is left; where too little is, each row is its fields, one under the other.
    """
    cells = [[format_cell(value, column) for column, value in zip(columns, row, strict=True)] for row in rows]
    place = columns.index(fold) if fold is not None else None
    columns = with_offset(columns)
    fold = None if place is None else columns[place]
    if not sys.stdout.isatty():
        _print_lines([list(columns), *cells])
        return
    from rich.table import Table
    from rich.text import Text

    taken = sum(
        max(map(len, column)) + GAP for name, column in zip(columns, zip(columns, *cells, strict=True), strict=True) if name != fold
    )
    if len(columns) > FIELDS and taken + LEAST_COLUMN_CHARACTERS * (fold is not None) > make_console().width:
        _print_records(columns, cells)
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in columns:
        table.add_column(name, overflow="fold", ratio=1 if name == fold else None)
    for row in cells:
        table.add_row(*(Text(cell) for cell in row))
    table.expand = fold is not None
    make_console().print(table)


def _print_records(columns: Sequence[str], rows: list[list[str]]) -> None:
    """Each row as its fields, one under the other: where the terminal is too narrow for a table."""
    width = max(map(len, columns))
    for number, row in enumerate(rows):
        if number:
            echo()
        for name, cell in zip(columns, row, strict=True):
            print_flagged_line(f"{name:<{width}} ", cell, None, err=False)


def _print_lines(rows: list[list[str]]) -> None:
    """Columns with two spaces between them, a line for each row however long it is."""
    rows = [[" ".join(cell.split()) if "\n" in cell else cell for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def print_rows(columns: Sequence[str], rows: Iterable[Mapping[str, object]], *, fold: str | None = None) -> None:
    """Print these columns of rows under their names."""
    print_table(columns, ([row[column] for column in columns] for row in rows), fold=fold)


def print_fields(row: Mapping[str, object], heading: str = "field") -> None:
    """Print a thing: each of its fields with its value."""
    shown = zip(with_offset([*row]), (format_cell(value, name) for name, value in row.items()), strict=True)
    print_table((heading, "value"), [*shown], fold="value")


def print_flagged_line(word: str, text: str, colour: str | None, *, err: bool = True) -> None:
    """Print a line whose first word has a colour, on a terminal that has them."""
    stream = sys.stderr if err else sys.stdout
    coloured = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    typer.echo(f"{typer.style(word, fg=colour, bold=True) if coloured else word} {show_hidden_characters(text)}", err=err)


def make_console(*, err: bool = False) -> "Console":
    """A console on stdout or stderr; colour as NO_COLOR and the terminal have it."""
    from rich.console import Console

    stream = sys.stderr if err else sys.stdout
    return Console(file=stream, width=None if stream.isatty() else PIPED_WIDTH, highlight=False)


def parse_moment(text: str) -> datetime:
    """A time as the service says it."""
    return datetime.fromisoformat(text)


def set_utc(wanted: bool) -> None:
    """Note whether times are printed in UTC."""
    _UTC.set(wanted)


def display_time_zone() -> tzinfo:
    """The clock of all times that are printed: this machine's, with the offset of this moment, or UTC."""
    return UTC if _UTC.get() else datetime.now().astimezone().tzinfo or UTC


def format_utc_offset() -> str:
    """How far that clock is from UTC, as +05:30; empty where it is UTC."""
    away = datetime.now(display_time_zone()).strftime("%z")
    return "" if away == "+0000" else f"{away[:3]}:{away[3:]}"


def with_offset(names: Sequence[str]) -> list[str]:
    """Names of columns or fields, the first one of times with the offset of all: where none stands, times are UTC."""
    first = next((place for place, name in enumerate(names) if is_time(name)), None) if (away := format_utc_offset()) else None
    return [f"{name} ({away})" if place == first else name for place, name in enumerate(names)]


def is_time(column: str) -> bool:
    """Whether a column or a field of this name holds moments."""
    return column in TIMES or column.endswith(ENDINGS)


def show_time(value: object, name: str) -> object:
    """A value as it is, but one that is a moment as the clock has it."""
    if isinstance(value, str) and is_time(name):
        with suppress(ValueError):
            read = parse_moment(value)
            value = read if read.tzinfo else value
    return value.astimezone(display_time_zone()).strftime("%Y-%m-%d %H:%M") if isinstance(value, datetime) else value


def format_cell(value: object, column: str = "") -> str:
    """A value in a cell."""
    if value is None:
        return "-"
    value = show_time(value, column)
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, (dict, list)):
        parts = (f"{k}: {show_time(v, k)}" for k, v in value.items()) if isinstance(value, dict) else map(_format_list_item, value)
        return show_hidden_characters(", ".join(parts))
    return show_hidden_characters(str(value))


def _format_list_item(value: object) -> str:
    """An item of a list in a cell."""
    return str({name: show_time(part, name) for name, part in value.items()} if isinstance(value, dict) else value)
