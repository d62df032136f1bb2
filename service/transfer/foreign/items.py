"""The items of a JSON file, whether it is a list, a list in an object, or lines; each with its place, and a wrong one named."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

import ijson
from ijson.common import ObjectBuilder

from service.transfer.foreign.records import UNKNOWN_SHAPE, ImportNotes, Json, Record, Unreadable
from service.transfer.foreign.sources import File, parse_json
from service.transfer.foreign.values import WrongValue, object_of

PREVIEW = 5000  # events of a parser
FIRST_LINES = 20
Make = Callable[[str, Json], Iterator[Record]]


def preview_first_value(file: File) -> Any:
    """How the first value of a file begins: enough to tell what it is, however large or damaged it is."""
    builder = ObjectBuilder()
    with file.open() as stream, suppress(ijson.JSONError, UnicodeDecodeError, OverflowError):
        depth = 0
        for event, value in islice(ijson.basic_parse(stream, use_float=True, multiple_values=True), PREVIEW):
            builder.event(event, value)
            depth += {"start_map": 1, "start_array": 1, "end_map": -1, "end_array": -1}.get(event, 0)
            if depth == 0:
                break
    return getattr(builder, "value", None)


def first_lines(file: File) -> list[Json]:
    """The objects on the first lines of a file."""
    found = []
    with suppress(Unreadable):
        for number, line in islice(file.iterate_lines(), FIRST_LINES):
            with suppress(Unreadable):
                value = parse_json(line, f"line {number}")
                found.append(value) if isinstance(value, dict) else None
    return found


def is_list(file: File) -> bool:
    """Whether a file is one JSON list."""
    return file.read_head(1024).lstrip()[:1] == b"["


def iterate_items(file: File, notes: ImportNotes, *wrappers: str) -> Iterator[tuple[str, Any]]:
    """The items with their places. `wrappers`: keys of the object that they may be listed in."""
    if is_list(file):
        yield from ((file.describe_place(f"[{number}]"), value) for number, value in enumerate(file.iterate_items("item")))
        return
    start = preview_first_value(file)
    keys = [key for key in wrappers if isinstance(start, dict) and isinstance(start.get(key), list)]
    for key in keys:
        yield from (
            (file.describe_place(f"{key}[{number}]"), value) for number, value in enumerate(file.iterate_items(f"{key}.item"))
        )
    if not keys:
        yield from iterate_line_values(file, notes)


def iterate_line_values(file: File, notes: ImportNotes) -> Iterator[tuple[str, Any]]:
    """The values on the lines of a file; a line that is no JSON is named and left out. One value over many lines is one item."""
    wrong = ImportNotes()
    good = False
    for number, line in file.iterate_lines():
        place = file.describe_place(f"line {number}")
        try:
            value = parse_json(line, place)
        except Unreadable as error:
            wrong.note_error(error.place, error.reason)
            if not good and number > FIRST_LINES:
                break
            continue
        yield place, value
        good = True
    if good:
        notes.merge_notes(wrong)
    elif wrong.wrong:
        yield file.describe_place(), file.read_json()


def make_records(found: Iterator[tuple[str, Any]], notes: ImportNotes, make: Make) -> Iterator[Record]:
    """The records that items make; an item that is wrong is named, and the next one follows."""
    for place, value in found:
        try:
            yield from make(place, object_of(value))
        except WrongValue as error:
            notes.note_error(place, str(error))
        except UNKNOWN_SHAPE as error:
            notes.note_error(place, f"has a shape that is not known ({type(error).__name__}: {error})"[:300])


def first_of(item: Json, *names: str) -> Any:
    """The first of these fields that is there and not null."""
    return next((item[name] for name in names if item.get(name) is not None), None)
