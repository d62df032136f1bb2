"""JSON of a body in parts: no call of a parser takes long, so that a thread which reads it lets others go on in between.

A parser written in C holds the interpreter until it is done, wherever it runs: a body of 4 MiB that is all brackets takes seconds.
Here such a parser reads lists and objects that hold no others, and each of these is short; what holds them is walked.

A part of a body is what one of its fields says, or an element of it where that is a list: a memory of a batch, a turn, a filter.
"""

import asyncio
import json
import re
from collections.abc import Callable
from json import JSONDecodeError, JSONDecoder
from typing import Any, NoReturn

from db.errors import FieldError, Invalid, LociError, TooLarge

SMALL = 64 * 1024  # bytes of a body that is read at once
FEW_MARKS = 2000  # marks in it that part values from each other
MOST_VALUES = 250_000  # of a body; a list that holds none but plain values is one
MOST_IN_A_PART = 12_000  # values, as in a row of an import
DEEPEST_LEVELS = 200  # levels of lists and objects
LONGEST_TEXT = 6 * 1024 * 1024 + 2  # characters of 1 MiB of text as JSON may spell it
LONGEST_PLAIN = 5000  # characters of a number
STEP_CHARACTERS = 64 * 1024  # characters that one call looks at
WINDOW, LIST_WINDOW = STEP_CHARACTERS // 2, 2 * STEP_CHARACTERS  # of a shallow value, and of a list of plain ones
SPACE = re.compile(r"[ \t\n\r]*+")
INSIDE = re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)  # of a text
BETWEEN = rf'[^\[\]{{}}"]*+(?:"{INSIDE.pattern}"[^\[\]{{}}"]*+)*+'
FLAT = re.compile(rf"\[{BETWEEN}\]", re.DOTALL)
SHALLOW = re.compile(rf"[\[{{]{BETWEEN}(?:[\[{{]{BETWEEN}[\]}}]{BETWEEN})*+[\]}}]", re.DOTALL)
PLAIN = re.compile(r"[-+.\w]*+")
BODY, FIELD = 0, 1  # levels above the parts


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


scan: Callable[[str, int], tuple[Any, int]] = JSONDecoder(parse_constant=_refuse_constant).scan_once  # type: ignore[attr-defined]  # typeshed has it not


def is_small(body: bytes) -> bool:
    """Whether the event loop may read a body itself."""
    return len(body) <= SMALL and sum(body.count(mark) for mark in b",[{") <= FEW_MARKS


async def read_json(said: bytes, *, part: bool = True) -> Any:
    """The JSON that somebody replied, whatever it holds: it has the bounds of a `part`, or of a body. Raises ValueError."""
    try:
        return json.loads(said) if is_small(said) else await asyncio.to_thread(read_in_parts, said, part=part)
    except (LociError, RecursionError) as error:
        raise ValueError(str(error)) from None


def read_in_parts(body: bytes, *, part: bool = False) -> Any:
    """The value of a body, or of a `part` of one that is a line. Raises ValueError for invalid JSON, Invalid, TooLarge."""
    text = body.decode("utf-8-sig")
    reader = PartReader(text, ["line"] if part else [])
    value, end = reader.read_value(_skip_blanks(text, 0), FIELD + 1 if part else BODY)
    if end != len(text) and (end := _skip_blanks(text, end)) != len(text):
        raise JSONDecodeError("Extra data", text, end)
    return value


class PartReader:
    """Walks a text, and counts the values of all of it and of the part that it is in."""

    def __init__(self, text: str, place: list[str | int]) -> None:
        self._text = text
        self._all = self._in_part = 0
        self._place = place

    def read_value(self, at: int, level: int) -> tuple[Any, int]:
        """The value that begins at a place, and where it ends."""
        text, first = self._text, self._text[at : at + 1]
        if first == '"':
            self._count_parts(1, 1)
            return self._read_text(at)
        if first not in ("[", "{"):
            self._count_parts(1, 1)
            end = PLAIN.match(text, at, at + LONGEST_PLAIN).end()  # type: ignore[union-attr]  # it matches nothing too
            if end == at + LONGEST_PLAIN:
                raise self._make_error(Invalid, f"holds a number of more than {LONGEST_PLAIN:,} digits")
            return self._scan_value(at)
        if level > FIELD and SHALLOW.match(text, at, at + WINDOW):
            value, end = self._scan_value(at)
            self._count_parts(*count_values(value))
            return value, end
        if level > BODY and first == "[" and FLAT.match(text, at, at + LIST_WINDOW):
            value, end = self._scan_value(at)
            self._count_parts(1, 1 + len(value))
            return value, end
        if level >= DEEPEST_LEVELS:
            raise self._make_error(Invalid, f"is nested more than {DEEPEST_LEVELS} levels deep")
        self._count_parts(1, 1)
        return self._read_list(at, level) if first == "[" else self._read_object(at, level)

    def _read_list(self, at: int, level: int) -> tuple[list[Any], int]:
        text, values = self._text, list[Any]()
        at = _skip_blanks(text, at + 1)
        if text[at : at + 1] == "]":
            return values, at + 1
        while True:
            if level <= FIELD:
                self._begin_part(level, len(values))
            value, at = self.read_value(at, level + 1)
            values.append(value)
            at = _skip_blanks(text, at)
            if text[at : at + 1] == "]":
                return values, at + 1
            if text[at : at + 1] != ",":
                raise JSONDecodeError("Expecting ',' delimiter", text, at)
            at = _skip_blanks(text, at + 1)

    def _read_object(self, at: int, level: int) -> tuple[dict[str, Any], int]:
        text, values = self._text, dict[str, Any]()
        at = _skip_blanks(text, at + 1)
        if text[at : at + 1] == "}":
            return values, at + 1
        while True:
            if text[at : at + 1] != '"':
                raise JSONDecodeError("Expecting property name enclosed in double quotes", text, at)
            name, at = self._read_text(at)
            at = _skip_blanks(text, at)
            if text[at : at + 1] != ":":
                raise JSONDecodeError("Expecting ':' delimiter", text, at)
            if len(values) > MOST_IN_A_PART:
                self._place[level:] = []
                raise self._make_error(TooLarge, f"holds an object of more than {MOST_IN_A_PART:,} fields")
            if level == BODY:
                self._begin_part(level, name)
            values[name], at = self.read_value(_skip_blanks(text, at + 1), level + 1)
            at = _skip_blanks(text, at)
            if text[at : at + 1] == "}":
                return values, at + 1
            if text[at : at + 1] != ",":
                raise JSONDecodeError("Expecting ',' delimiter", text, at)
            at = _skip_blanks(text, at + 1)

    def _read_text(self, at: int) -> tuple[str, int]:
        end, longest = at + 1, at + LONGEST_TEXT
        while (step := INSIDE.match(self._text, end, end + STEP_CHARACTERS).end()) > end:  # type: ignore[union-attr]  # it matches nothing too
            if step > longest:
                raise self._make_error(TooLarge, "holds a text of more than 1 MiB")
            end = step
        return self._scan_value(at)

    def _scan_value(self, at: int) -> tuple[Any, int]:
        try:
            return scan(self._text, at)
        except StopIteration as error:
            raise JSONDecodeError("Expecting value", self._text, error.value) from None

    def _begin_part(self, level: int, part: str | int) -> None:
        """A part begins."""
        self._place[level:] = [part]
        self._in_part = 0

    def _count_parts(self, of_all: int, of_part: int) -> None:
        self._all += of_all
        self._in_part += of_part
        if self._all > MOST_VALUES:
            raise TooLarge(f"the body {_too_many(MOST_VALUES)}", hint="Send fewer items at a time.")
        if self._in_part > MOST_IN_A_PART:
            raise self._make_error(TooLarge, _too_many(MOST_IN_A_PART))

    def _make_error(self, kind: type[LociError], said: str) -> LociError:
        shown = [f"[{part}]" if isinstance(part, int) else f".{part[:100]}" for part in self._place]
        place = "".join(shown).removeprefix(".") or "the body"
        return kind(f"{place} {said}", [FieldError(place.removeprefix("the "), said)])


def _too_many(most: int) -> str:
    return f"holds more than {most:,} values (texts, numbers, lists, objects)"


def count_values(value: Any) -> tuple[int, int]:
    """Number of values of a shallow list or object; an empty list counts as one."""
    of_all = of_part = 1
    for each in value.values() if isinstance(value, dict) else value:
        inner = len(each) if isinstance(each, (dict, list)) else 0
        of_part += 1 + inner
        of_all += 1 + inner * isinstance(each, dict)
    return of_all, of_part


def _skip_blanks(text: str, at: int) -> int:
    """Where the blanks end that begin at a place."""
    while (step := SPACE.match(text, at, at + STEP_CHARACTERS).end()) > at:  # type: ignore[union-attr]  # it matches nothing too
        at = step
    return at
