"""The time that a question asks about: yesterday, last summer, in May 2023, since Tuesday, two weeks ago.

English and German, told from the moment at which it is asked. A small grammar over service/text/relative_dates.py. A question
without a word of time is read once.
"""

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from service.text.relative_dates import WEEKDAYS, resolve_dates

READ_CHARACTERS = 2000  # characters of a question
AROUND_WEEKS = timedelta(days=3)  # two weeks ago is about a day
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january januar jänner jan",
            "february februar feb",
            "march märz mar",
            "april apr",
            "may mai",
            "june juni jun",
            "july juli jul",
            "august aug",
            "september sept sep",
            "october oktober oct okt",
            "november nov",
            "december dezember dec dez",
        ),
        1,
    )
    for name in names.split()
}
_SEASONS = {"spring": 3, "frühling": 3, "frühjahr": 3, "summer": 6, "sommer": 6, "autumn": 9, "fall": 9, "herbst": 9, "winter": 12}
_MONTH = rf"(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\.?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th|\.)?"
_SEASON = "|".join(_SEASONS)
_COUNTS = {"two": 2, "zwei": 2, "three": 3, "drei": 3, "few": 3, "paar": 3, "four": 4, "vier": 4}
_UNIT = "days?|weeks?|months?|years?|tagen?|wochen?|monaten?|jahren?"
_LAST = r"(?:last|this past|past|letzte[mnrs]?|vergangene[mnrs]?|vorige[mnrs]?)"
# A month's name is a word of its own: it stands behind a preposition, or with a day or a year.
_PATTERNS = tuple(
    re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])", re.IGNORECASE)
    for pattern in (
        r"(?P<iso>(?:19|20)\d\d-[01]\d-[0-3]\d)",
        rf"{_DAY} (?:of )?{_MONTH}(?:,? {_YEAR})?",
        rf"{_MONTH} {_DAY}(?:,? {_YEAR})?",
        rf"(?:(?:in|im|during|of|since|seit|early|late|mid|ende|anfang|mitte|{_LAST}) (?:the )?)?{_MONTH},? (?:of )?{_YEAR}",
        rf"(?:in|im|during|since|seit|ende|anfang|mitte|{_LAST}) {_MONTH}",
        rf"(?:(?:in|im|during|since|seit) (?:the |dem )?)?(?P<last>{_LAST} )(?P<season>{_SEASON})",
        rf"(?:in|im|during|since|seit) (?:the |dem )?(?P<season>{_SEASON})",
        rf"(?P<season>{_SEASON}) (?:of |in )?{_YEAR}",
        rf"{_LAST} (?P<count>\d{{1,3}}|{'|'.join(_COUNTS)}) (?P<unit>{_UNIT})",
        rf"(?:(?:on|am|since|seit|{_LAST}) )(?P<weekday>{'|'.join(WEEKDAYS)})",
        rf"(?:{_LAST}|am|on the|this) (?P<weekend>weekend|wochenende)",
        rf"(?:in|during|im jahr|since|seit) {_YEAR}",
    )
)
_MAY_BE = re.compile(
    r"\d|ago\b|\bvor\b|day\b|week|month|year|night|morning|afternoon|evening|last|past|since|seit|gestern|heute|morg|letzt|"
    r"vergang|vorig|tag\b|woche|monat|jahr|sommer|herbst|winter|frühling|frühjahr|summer|spring|autumn|fall\b|"
    rf"(?:in|im|during|ende|anfang|mitte) (?:{'|'.join(_MONTHS)})\b",
    re.IGNORECASE,
)
_SINCE = re.compile(r"(?:since|seit)(?: the| dem| der)?\s*$", re.IGNORECASE)
_SINCE_FIRST = re.compile(r"(?:since|seit)\b", re.IGNORECASE)
_LONG = {"d": 1, "t": 1, "w": 7, "m": 30, "y": 365, "j": 365}
YEAR = 12  # months


@dataclass(frozen=True)
class Period:
    """The time that a question names, from when to when."""

    said: str
    start: datetime
    end: datetime


def period_of(text: str, asked_at: datetime) -> Period | None:
    """The time that a question asks about, in the zone of the moment at which it is asked; of several the shortest."""
    text = text[:READ_CHARACTERS]
    if _MAY_BE.search(text) is None:
        return None
    today, found = asked_at.date(), []
    for one in resolve_dates(text, today):
        start, end = _days_meant(one.means)
        if re.search(r"week|woche", one.said, re.IGNORECASE) and (end - start).days == 1:
            start, end = start - AROUND_WEEKS, end + AROUND_WEEKS
        found.append((one.said, start, end, text.find(one.said)))
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            try:
                days = _match_to_days(match, today)
            except (OverflowError, ValueError):  # the 31st of February
                continue
            found.append((match.group(), *days, match.start()))
    periods = [_make_period(text, said, start, end, place, asked_at) for said, start, end, place in found]
    return min(periods, key=lambda period: (period.end - period.start, period.start), default=None)


def _make_period(text: str, said: str, start: date, end: date, place: int, asked_at: datetime) -> Period:
    """Days as moments; since a day: until now."""
    since = _SINCE.search(text[:place])
    if since is not None:
        said = text[since.start() : place] + said
    last = max(asked_at, _midnight_of(start, asked_at)) if _SINCE_FIRST.match(said) else _midnight_of(end, asked_at)
    return Period(said, _midnight_of(start, asked_at), last)


def _midnight_of(day: date, asked_at: datetime) -> datetime:
    return datetime.combine(day, time(), asked_at.tzinfo)


def _days_meant(means: str) -> tuple[date, date]:
    """The days of what `resolve` says: a day, a month, a year, or the days of a week."""
    first, _, last = means.partition(" to ")
    parts = [int(part) for part in first.split("-")]
    if last:
        return date.fromisoformat(first), date.fromisoformat(last) + timedelta(days=1)
    start = date(*[*parts, 1, 1][:3])
    return start, _day_after(start, len(parts))


def _day_after(start: date, parts: int) -> date:
    """The day after a year (1 part), a month (2) or a day (3)."""
    return start + timedelta(days=1) if parts == 3 else _add_months(start, YEAR if parts == 1 else 1)  # noqa: PLR2004 (year, month, day)


def _add_months(start: date, months: int) -> date:
    year, month = divmod(start.year * YEAR + start.month - 1 + months, YEAR)
    return date(year, month + 1, 1)


def _match_to_days(match: re.Match[str], today: date) -> tuple[date, date]:
    """The first day that is meant, and the one after the last; without a year the latest that has begun."""
    said = {name: value.lower() for name, value in match.groupdict().items() if value is not None}
    year = int(said["year"]) if "year" in said else None
    if "iso" in said:
        start = date.fromisoformat(said["iso"])
        return start, start + timedelta(days=1)
    if "count" in said:
        count = int(said["count"]) if said["count"].isdigit() else _COUNTS[said["count"]]
        return today - timedelta(days=count * _LONG[said["unit"][0]]), today + timedelta(days=1)
    if "weekday" in said:
        start = today - timedelta(days=(today.weekday() - WEEKDAYS[said["weekday"]]) % 7 or 7)
        return start, start + timedelta(days=1)
    if "weekend" in said:
        start = today - timedelta(days=today.weekday() + 2)
        return start, start + timedelta(days=2)
    if "month" in said or "season" in said:
        return _in_year(said, year, today)
    start = date(int(said["year"]), 1, 1)
    return start, _add_months(start, YEAR)


def _in_year(said: dict[str, str], year: int | None, today: date) -> tuple[date, date]:
    month, day = _MONTHS[said["month"]] if "month" in said else _SEASONS[said["season"]], int(said.get("day", 1))
    length = 3 if "season" in said else 1
    start = date(year or today.year, month, day)
    if year is None and (start > today or ("last" in said and _add_months(start, length) > today)):
        start = date(today.year - 1, month, day)
    return start, start + timedelta(days=1) if "day" in said else _add_months(start, length)
