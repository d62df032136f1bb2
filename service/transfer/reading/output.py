"""Messages from the process that reads to the service: one JSON array a line, on a pipe; and room that it asks the service for."""

import json
import os
from dataclasses import fields
from typing import Any, BinaryIO

import orjson

from service.transfer.foreign.records import ImportNotes, Link, Memory, Record, Turn
from service.transfer.foreign.values import WrongValue, replace_unstorable, shorten_identity

LONGEST_LINE_BYTES = 16 * 1024 * 1024  # bytes of a line that is handed on as it was read
LARGEST_ROW_BYTES = 4 * 1024 * 1024  # bytes of a row
MOST_VALUES = 12_000  # in a row: texts, numbers, lists, objects
LONGEST_PLACE = 500
MIB = 1024 * 1024
DEEPEST_LEVELS = 200  # levels of lists and objects in a row
GROWTH = 200  # bytes that may be said for a byte that was read, beyond the first:
FREE = 64 * MIB
STRANGE = "characters that no database stores (NUL, halves of surrogates), now U+FFFD"


class Refused(Exception):
    """Nothing more is read, and why: `kind` is known to the service."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind, self.reason = kind, reason


class Output:
    """The pipe to the service. `asked` carries the answer to a request for room: a byte for yes."""

    def __init__(self, pipe: BinaryIO, asked: int, most: int) -> None:
        self._pipe, self._asked, self._most = pipe, asked, most
        self._said = 0
        self._read = 0

    def allow_for(self, size: int) -> None:
        """So many bytes are there to be read: what is said may grow with them."""
        self._read = size

    def wait_for_room(self, size: int) -> None:
        """Wait until so much room is granted; returning room needs no answer."""
        self.write_message("room", size)
        self._pipe.flush()
        if size > 0 and os.read(self._asked, 1) != b"+":
            raise SystemExit(1)  # the service is gone, or wants no more of this

    def write_record(self, record: Record, notes: ImportNotes) -> None:
        """A record, without what no database stores. One that is too large or too deep is wrong."""
        try:
            kind = type(record).__name__
            pairs = [(field.name, replace_unstorable(getattr(record, field.name))) for field in fields(record)]
            item = {name: value for name, (value, _) in pairs}
            if isinstance(record, (Memory, Turn)):
                item["key"] = shorten_identity(item["key"])
            elif isinstance(record, Link):
                item["source"], item["target"] = shorten_identity(item["source"]), shorten_identity(item["target"])
            item["place"] = item["place"][:LONGEST_PLACE]
            self.write_row(kind, item)
        except (WrongValue, RecursionError) as error:
            notes.note_error(record.place, str(error) if isinstance(error, WrongValue) else "is nested too deeply")
            return
        notes.count_loss(STRANGE, sum(count for _, (_, count) in pairs))

    def write_row(self, kind: str, *more: Any) -> None:
        """Something that may be written. Raises WrongValue where it is larger than the service reads at once."""
        check_shape(more)
        line = encode_json(["row", kind, *more])
        if len(line) > LARGEST_ROW_BYTES:
            raise WrongValue(f"is larger than the {LARGEST_ROW_BYTES // MIB} MiB that a row may have")
        self._put_line(line)

    def write_message(self, *parts: Any, beside: bytes | None = None) -> None:
        """Anything else; `beside`: a line as it was read, which follows."""
        self._put_line(encode_json(parts) if beside is None else encode_json(parts) + b"\n" + beside.rstrip(b"\n"))

    def write_refusal(self, refused: Refused) -> None:
        """The end, where nothing more is read."""
        self._pipe.write(encode_json(["refused", refused.kind, refused.reason]) + b"\n")
        self._pipe.flush()

    def write_notes(self, notes: ImportNotes, lines: int = 0) -> None:
        """The end: what is to be said of the whole."""
        said = {
            "lines": lines,
            "errors": notes.errors,
            "wrong": notes.wrong,
            "skipped": notes.skipped,
            "no_place": notes.no_place,
            "remarks": list(notes.remarks),
        }
        self.write_message("end", replace_unstorable(said)[0])
        self._pipe.flush()

    def _put_line(self, line: bytes) -> None:
        self._said += len(line) + 1
        if self._said > FREE + GROWTH * self._read or self._said > self._most:
            raise Refused("large", "its content grows without limit while it is read")
        self._pipe.write(line)
        self._pipe.write(b"\n")


def encode_json(value: Any) -> bytes:
    """A value as JSON."""
    try:
        return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:  # an integer of more than 64 bits
        return json.dumps(value, default=str).encode()


def check_shape(value: Any) -> None:
    """Raise WrongValue for what has too many values, or too many levels of them."""
    depth = count = 0
    level: list[Any] = [value]
    while level:
        depth, count = depth + 1, count + len(level)
        if depth > DEEPEST_LEVELS:
            raise WrongValue(f"is nested more than {DEEPEST_LEVELS} levels deep")
        if count > MOST_VALUES:
            raise WrongValue(f"holds more than {MOST_VALUES:,} values")
        inner: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                inner += each.values()
            elif isinstance(each, (list, tuple)):
                inner += each
        level = inner
