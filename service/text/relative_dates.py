"""Days that a text names from where it stands (yesterday, last Tuesday, in two weeks), worked out here and not by a model.

English and German. An ambiguous date (next Friday, said on a Wednesday) is left as it was said.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta

MOST_EXPRESSIONS = 50
_NUMBERS = {
    word: number
    for number, words in enumerate(
        (
            "a an one ein eine einem einer einen",
            "two zwei couple",
            "three drei",
            "four vier",
            "five fünf",
            "six sechs",
            "seven sieben",
            "eight acht",
            "nine neun",
            "ten zehn",
            "eleven elf",
            "twelve zwölf",
        ),
        1,
    )
    for word in words.split()
}
WEEKDAYS = {
    name: day
    for day, names in enumerate(
        (
            "monday montag",
            "tuesday dienstag",
            "wednesday mittwoch",
            "thursday donnerstag",
            "friday freitag",
            "saturday samstag sonnabend",
            "sunday sonntag",
        )
    )
    for name in names.split()
}
_UNITS = {
    **dict.fromkeys(("day", "days", "tag", "tage", "tagen"), "day"),
    **dict.fromkeys(("week", "weeks", "woche", "wochen"), "week"),
    **dict.fromkeys(("month", "months", "monat", "monate", "monaten"), "month"),
    **dict.fromkeys(("year", "years", "jahr", "jahre", "jahren"), "year"),
}
_STEPS = {
    **dict.fromkeys(
        ("last", "previous", "past", "letzte", "letzten", "letztes", "letzter", "vergangene", "vergangenen", "vorige"), -1
    ),
    **dict.fromkeys(("voriges", "vorigen", "vergangenes", "letztem", "vorigem", "vergangenem"), -1),
    **dict.fromkeys(("this", "diese", "diesen", "dieses", "dieser", "diesem"), 0),
    **dict.fromkeys(("next", "coming", "nächste", "nächsten", "nächstes", "nächster", "kommende", "kommenden", "kommendes"), 1),
}
_NEAR = {
    "the day before yesterday": -2,
    "the day after tomorrow": 2,
    "day before yesterday": -2,
    "day after tomorrow": 2,
    "yesterday": -1,
    "last night": -1,
    "today": 0,
    "tonight": 0,
    "this morning": 0,
    "this afternoon": 0,
    "this evening": 0,
    "tomorrow": 1,
    "vorgestern": -2,
    "übermorgen": 2,
    "gestern": -1,
    "heute": 0,
    "morgen": 1,
}


def _any_of(words: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


_COUNT = rf"(?P<n>\d{{1,3}}|{_any_of(_NUMBERS)})(?: of)?"
_UNIT = rf"(?P<unit>{_any_of(_UNITS)})"
_STEP = rf"(?P<step>{_any_of(_STEPS)})"
_PATTERNS = tuple(
    re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE)
    for pattern in (
        rf"(?P<near>(?<!am )(?<!heute )(?<!gestern )(?<!morgen )(?:{_any_of(_NEAR)}))",
        rf"(?:a )?{_COUNT} {_UNIT} (?P<ago>ago)",
        rf"(?P<ago>vor) {_COUNT} {_UNIT}",
        rf"in (?:a )?{_COUNT} {_UNIT}(?: time)?",
        rf"{_STEP} (?P<day>{_any_of(WEEKDAYS)})",
        rf"{_STEP} {_UNIT}",
    )
)


@dataclass(frozen=True)
class Resolved:
    """An expression as it stands in the text, and what it means: a day, a month, a year, or the days of a week."""

    said: str
    means: str


def resolve_dates(text: str, base: date) -> list[Resolved]:
    """Days that a text written on `base` names, in order."""
    found = sorted(_find_expressions(text, base), key=lambda one: (one[0], -one[1]))
    kept: list[Resolved] = []
    end = 0
    for start, stop, means in found:
        if start >= end:
            kept.append(Resolved(text[start:stop], means))
            end = stop
    return kept[:MOST_EXPRESSIONS]


def remove_expressions(text: str, resolved: list[Resolved]) -> str:
    """The text without these expressions."""
    for one in resolved:
        text = text.replace(one.said, " ", 1)
    return text


def _find_expressions(text: str, base: date) -> Iterator[tuple[int, int, str]]:
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            try:
                means = _resolve_match(match, base)
            except (OverflowError, ValueError):  # before the year 1 or after 9999
                continue
            if means is not None:
                yield match.start(), match.end(), means


def _resolve_match(match: re.Match[str], base: date) -> str | None:
    said = {name: value.lower() for name, value in match.groupdict().items() if value is not None}
    if "near" in said:
        return (base + timedelta(days=_NEAR[said["near"]])).isoformat()
    if "day" in said:
        return _resolve_weekday(base, _STEPS[said["step"]], WEEKDAYS[said["day"]])
    if "step" in said:
        return _move_by_unit(base, _UNITS[said["unit"]], _STEPS[said["step"]], whole=True)
    count = int(said["n"]) if said["n"].isdigit() else _NUMBERS[said["n"]]
    return _move_by_unit(base, _UNITS[said["unit"]], -count if "ago" in said else count, whole=False)


def _resolve_weekday(base: date, step: int, day: int) -> str | None:
    ahead = (day - base.weekday()) % 7
    if step == 0:
        return (base + timedelta(days=day - base.weekday())).isoformat()
    if step < 0:
        return (base - timedelta(days=(base.weekday() - day) % 7 or 7)).isoformat()
    # Said before that day of the week, it may be the one of this week or of the next.
    return None if base.weekday() < day else (base + timedelta(days=ahead or 7)).isoformat()


def _move_by_unit(base: date, unit: str, by: int, *, whole: bool) -> str | None:
    """`by` units from a day; `whole`: the unit itself, as in last week."""
    if unit == "day":
        return None if whole else (base + timedelta(days=by)).isoformat()
    if unit == "week":
        moved = base + timedelta(weeks=by)
        first = moved - timedelta(days=moved.weekday())
        return f"{first.isoformat()} to {(first + timedelta(days=6)).isoformat()}" if whole else moved.isoformat()
    if unit == "month":
        year, month = divmod(base.year * 12 + base.month - 1 + by, 12)
        return date(year, month + 1, 1).isoformat()[:7]
    return f"{date(base.year + by, 1, 1).year:04}"
