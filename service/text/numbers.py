"""Numbers, percentages, versions, dates and times in a text, in one form however they are written.

A date is never reckoned: "tomorrow" is no date. Where the order of day and month is a guess (01/02/2024), it stays as written.
Runs over the text once for each form; no pattern can go over the same characters again and again.
"""

import re
from collections.abc import Callable, Iterator

Found = tuple[int, str, str]  # where, as written, in its one form

_MONTH = (
    r"(?P<month>Jan(?:uary|uar)?|Feb(?:ruary|ruar)?|Mar(?:ch)?|März|Mär|Apr(?:il)?|May|Mai|June?|Juni|July?|Juli|Aug(?:ust)?|"
    r"Sept?(?:ember)?|Oct(?:ober)?|Okt(?:ober)?|Nov(?:ember)?|Dec(?:ember)?|Dez(?:ember)?)\b\.?"
)
_MONTHS = {"jan": 1, "feb": 2, "mar": 3, "mär": 3, "apr": 4, "may": 5, "mai": 5, "jun": 6, "jul": 7, "aug": 8, "sep": 9}
_MONTHS |= {"oct": 10, "okt": 10, "nov": 11, "dec": 12, "dez": 12}
_M, _D = r"(?P<m>0?[1-9]|1[0-2])", r"(?P<d>0?[1-9]|[12]\d|3[01])"
_YEAR = r"(?:,?[ ](?P<year>\d{4})\b)?"
_HALF = r"(?P<half>[AaPp])\.?[Mm]\b\.?"
_UNIT = r"(?:ms|sec|min|[kmgt]i?b|kg|km|cm|mm|px|rpm|[km]?wh|[kmg]?hz|usd|eur|gbp|chf)"

_DATES = [
    rf"(?<![\w.])(?P<year>\d{{4}})([-/]){_M}\2{_D}(?=T\d|(?![\w/-]))T?",
    rf"(?<![\w.]){_D}\.{_M}\.(?P<year>\d{{4}})(?!\.?\w)",
    rf"(?<![\w.])(?P<d>\d{{1,2}})(?:st|nd|rd|th|\.)?[ ](?:of[ ])?{_MONTH}{_YEAR}",
    rf"\b{_MONTH}[ ](?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?![\w:]|[.,]\d){_YEAR}",
    rf"\b{_MONTH}[ ](?P<year>\d{{4}})\b",
    rf"(?<![\w./-])(?P<year>[12]\d{{3}})-{_M}(?![\w/-])",
]
_TIMES = [
    rf"(?<![\w.:])(?P<hour>[012]?\d):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d)(?:\.\d+)?)?(?!\d)(?:[ ]?{_HALF})?Z?",
    rf"(?<![\w.:])(?P<hour>1?\d)[ ]?{_HALF}",
    r"(?<![\w.:])(?P<hour>[012]?\d)(?:\.(?P<minute>[0-5]\d))?[ ]Uhr\b",
]
_NUMBER = (
    r"(?<!\w)(?P<sign>(?<![\w)])[-\u2212])?(?P<before>[$€£¥][ ]?)?v?(?P<digits>\d+(?:[.,'’]\d+)*)"
    rf"(?:[ ]?(?P<after>%|percent\b|Prozent\b|[$€£¥]|(?i:{_UNIT})\b)|(?:st|nd|rd|th)\b|(?P<unit>[A-Za-zµ°]{{1,2}}\b))?"
)
_PLAIN = [
    r"(?<![\w.])v?(?P<version>\d+(?:\.\d+){2,}(?:-\w[\w.]*\b)?)",
    r"(?<![\w.])(?P<fraction>\d+(?:/\d+)+)\b",
    _NUMBER,
]
_THOUSANDS = re.compile(r"\d{1,3}(?:([,'’])\d{3})(?:\1\d{3})*(?:\.\d+)?|\d{1,3}(?:\.\d{3})+(?:\.\d{3}|,\d+)")
_COMMA = re.compile(r"\d+,\d{1,2}")
_SEPARATORS = re.compile(r"[,'’]")
_DIGITS = re.compile(r"\d+(?:\.\d+)*")

_UNITS = "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_DECADES = "twenty thirty forty fifty sixty seventy eighty ninety"
_GERMAN = "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf"
_MAYBE_ONE = "one eins ein eine einen einem einer eines a an"
_SMALL = {word: count for count, word in enumerate(_UNITS.split(), 2)}
_TENS = {word: 10 * count for count, word in enumerate(_DECADES.split(), 2)}
# Words that count, and are told from numbers by nobody. One and a are no number where they stand, but what "1" may come from.
COUNTS = {word: str(count) for word, count in _SMALL.items()} | {word: str(tens) for word, tens in _TENS.items()}
COUNTS |= {f"{ten}-{one}": str(tens + count) for ten, tens in _TENS.items() for one, count in list(_SMALL.items())[:8]}
COUNTS |= {word: str(count) for count, word in enumerate(_GERMAN.split(), 2)}
MAYBE = dict.fromkeys(_MAYBE_ONE.split(), "1") | {"zero": "0", "null": "0", "hundred": "100"}
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)?")


def find_numbers(text: str) -> tuple[list[Found], str]:
    """Numbers of a text in order, and the text with blanks in their place."""
    found: list[Found] = []
    for patterns, form in _FORMS:
        for pattern in patterns:
            text = _take(text, pattern, form, found)
    found += [(match.start(), match[0], COUNTS[match[0].lower()]) for match in _WORD.finditer(text) if match[0].lower() in COUNTS]
    return sorted(found), text


def implied(text: str, numbers: list[Found]) -> set[str]:
    """Every form that the numbers of a text account for: a date also its day, its month and its year."""
    forms = {MAYBE[word] for word in (match[0].lower() for match in _WORD.finditer(text)) if word in MAYBE}
    forms.update(_DIGITS.findall(text))
    for _, _, form in numbers:
        forms.update(_parts(form))
    return forms


def _parts(form: str) -> Iterator[str]:
    yield form
    if form.startswith("--"):
        yield from (str(int(part)) for part in form[2:].split("-"))
        yield "month " + form[2:4]
        return
    match = re.fullmatch(r"(\d{4})-(\d\d)(?:-(\d\d))?", form)
    if match:
        year, month, day = match.groups()
        yield from (f"{year}-{month}", year, "month " + month, str(int(month)))
        if day:
            yield from (f"--{month}-{day}", str(int(day)))
    yield from re.findall(r"\d+(?:\.\d+)*", form)


def _take(text: str, pattern: re.Pattern[str], form: Callable[[re.Match[str]], str | None], found: list[Found]) -> str:
    """Write down what a pattern finds, and blank it."""

    def blank(match: re.Match[str]) -> str:
        made = form(match)
        if made is None:
            return match[0]
        found.append((match.start(), match[0].strip(), made))
        return " " * len(match[0])

    return pattern.sub(blank, text)


def _date(match: re.Match[str]) -> str | None:
    """2024-05-01; without a year --05-01; without a day 2024-05."""
    parts = match.groupdict()
    month = int(parts["m"]) if parts.get("m") else _MONTHS[parts["month"][:3].lower()]
    day = int(parts["d"]) if parts.get("d") else None
    if day is not None and not 1 <= day <= 31:  # noqa: PLR2004
        return None
    year = parts.get("year") or "-"
    return f"{year}-{month:02}" if day is None else f"{year}-{month:02}-{day:02}"


def _time(match: re.Match[str]) -> str | None:
    """14:30, and seconds where they are not 0."""
    parts = match.groupdict()
    hour, half = int(parts["hour"]), (parts.get("half") or "").lower()
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    if hour > 24:  # noqa: PLR2004
        return None
    second = parts.get("second") or "00"
    return f"{hour:02}:{parts.get('minute') or '00'}" + (f":{second}" if second != "00" else "")


def _plain(match: re.Match[str]) -> str:
    """1000, 3.5, 1.2.3, 1/2, 10%, 30ms, 5$."""
    parts = match.groupdict()
    for whole in ("version", "fraction"):
        if parts.get(whole):
            return parts[whole]
    digits = parts["digits"]
    if _THOUSANDS.fullmatch(digits):
        digits = digits.replace(".", "").replace(",", ".") if _is_continental(digits) else _SEPARATORS.sub("", digits)
    elif _COMMA.fullmatch(digits):
        digits = digits.replace(",", ".")
    after = (parts["after"] or parts["unit"] or "").lower()
    after = "%" if after in {"percent", "prozent"} else after
    return ("-" if parts["sign"] else "") + digits + after + (parts["before"] or "").strip()


def _is_continental(digits: str) -> bool:
    """Whether dots separate thousands: 1.000,50."""
    return digits.count(".") > 1 or ("," in digits and digits.rfind(",") > digits.rfind(".") >= 0)


_FORMS: list[tuple[list[re.Pattern[str]], Callable[[re.Match[str]], str | None]]] = [
    ([re.compile(pattern) for pattern in _DATES], _date),
    ([re.compile(pattern) for pattern in _TIMES], _time),
    ([re.compile(pattern) for pattern in _PLAIN], _plain),
]
