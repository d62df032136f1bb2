"""What in a text must not get lost or be made up: names, acronyms, numbers, dates, times, addresses, identifiers and quotes.

Found by spelling, without a model. Where a language marks no names (Chinese, Arabic), only what stands in another script and what
service/text/names.py knows is found.
"""

import re
import unicodedata
from dataclasses import dataclass, field

from service.text.names import UNSPACED, find_names, is_german
from service.text.numbers import COUNTS, find_numbers, implied
from service.text.words import STOP, fold, is_common, stem

_CODE = re.compile(
    r"(?:https?://|www\.)[^\s<>\"'`)\]]+"  # an address
    r"|(?<![\w.+-])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+"
    r"|(?<![\w/.])(?:~|\.{1,2})?(?:/[\w.@-]+)+/?"  # a path
    r"|(?<!\w)[@#]\w[\w-]*"
    r"|(?<!\w)[^\W_]\w*(?:[._/:@+-]\w+)*(?:\+\+|\#(?!\w))?"  # a word, which _is_code judges
    r"|(?<!\w)_\w+"
)
_QUOTE = re.compile(
    r"\"([^\"\n]{2,200})\"|“([^“”\n]{2,200})”|„([^„“”\n]{2,200})[“”]|«([^«»\n]{2,200})»|`([^`\n]{2,200})`|「([^「」\n]{2,200})」"
)
_BREAK = re.compile(r"[.!?:;\n\r\"“”„«»()\[\]{}•*>|`]|(?<!\S)[-–—](?!\S)")
_WORD = re.compile(r"\w+(?:['&]\w+)*(?:-\w+)*")
_POSSESSIVE = re.compile(r"'s$")
_INNER_CAPITAL = re.compile(r"[^\W\d_][a-zß-ÿ]+[A-Z]|^[a-z]+[A-Z]")
_QUANTITY = re.compile(r"v?\d+(?:[.,]\d+)*(?:[A-Za-z%µ°]{1,3})?(?:[-/].*)?|\d+(?:st|nd|rd|th)|[\d:./-]+T?[\d:.]*Z?")
_NUMBERED = re.compile(r"(?<!\w)([A-Z]{2,})[ -]?(\d[\w.]*\w|\d)(?!\w)")
_DIGIT = re.compile(r"[^\D0-9]")
_LIKE = str.maketrans({"\u2010": "-", "\u2011": "-", "\u2212": "-", "\u2019": "'"})
_UNSPACED_RUN = re.compile(UNSPACED.pattern + "+")
_SHORTEST = 2


@dataclass(frozen=True)
class Mark:
    """One of them. `key` is what it is compared by; `weak`: another form of the word will do; `run`: adjacent names share it."""

    kind: str  # name, code, number or quote
    spelled: str
    key: str
    weak: bool = False
    run: int = -1


@dataclass
class Reading:
    """A text, read: its marks in order, and all that marks of other texts may be found in."""

    marks: list[Mark] = field(default_factory=list)
    words: set[str] = field(default_factory=set)
    stems: set[str] = field(default_factory=set)
    numbers: set[str] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)

    def has(self, mark: Mark) -> bool:
        """Whether the text has what another text marks."""
        if mark.kind == "number":
            return mark.key in self.numbers
        if mark.kind == "quote":
            return any(mark.key in text for text in self.texts)
        return mark.key in self.words or (mark.weak and stem(mark.key) in self.stems)

    def add(self, other: "Reading") -> None:
        """Have what another has as well."""
        self.words |= other.words
        self.stems |= other.stems
        self.numbers |= other.numbers
        self.texts += other.texts


def read(text: str) -> Reading:
    """Read a text."""
    text = _normal(text)
    unspaced = UNSPACED.search(text) is not None
    placed: list[tuple[int, Mark]] = [(match.start(), _quote(match)) for match in _QUOTE.finditer(text)]
    whole, text = text, _UNSPACED_RUN.sub(r" \g<0> ", text) if unspaced else text
    rest = _codes(text, placed)
    numbers, rest = find_numbers(rest)
    placed += [(start, Mark("number", spelled, key)) for start, spelled, key in numbers]
    _names(rest, placed, german=is_german(text, "english"))
    reading = Reading(numbers=implied(text, numbers), texts=[" ".join(fold(whole).split())])
    reading.words = _all_words(text)
    if unspaced:
        placed += [
            (max(whole.find(name), 0), Mark("quote", name, " ".join(fold(name).split())))
            for name in find_names(whole)
            if UNSPACED.search(name)
        ]
    placed.sort(key=lambda pair: pair[0])
    reading.marks = [mark for _, mark in placed]
    reading.words.update(mark.key for mark in reading.marks if mark.kind in {"name", "code"})
    reading.stems = {stem(word) for word in reading.words}
    return reading


def _normal(text: str) -> str:
    """A text with one form of every character, digit, hyphen and apostrophe."""
    text = unicodedata.normalize("NFKC", text)
    if text.isascii():
        return text
    return _DIGIT.sub(lambda match: str(unicodedata.decimal(match[0])), text).translate(_LIKE)


def _quote(match: re.Match[str]) -> Mark:
    inner = next(group for group in match.groups() if group)
    return Mark("quote", match[0], " ".join(fold(inner).split()).strip(".,!?;: "))


def _codes(text: str, placed: list[tuple[int, Mark]]) -> str:
    """Addresses, paths, handles and identifiers go to `placed`; the text has blanks in their place."""

    def blank(match: re.Match[str]) -> str:
        code = match[0].rstrip(".,;:!?'")
        if not _is_code(code):
            return match[0]
        placed.append((match.start(), Mark("code", code, fold(code).rstrip("/") or code)))
        return " " * len(code) + match[0][len(code) :]

    return _CODE.sub(blank, text)


def _is_code(word: str) -> bool:
    """Whether a word is spelt like nothing that is only language: user_id, v2beta, HTTP/2, main.py, iPhone, ISO-8601."""
    if "://" in word or word.startswith(("www.", "@", "#", "/", "~/", "./", "../", "_")) or "@" in word:
        return True
    if _QUANTITY.fullmatch(word):
        return False
    if "_" in word or word.endswith(("++", "#")) or any(letter.isdigit() for letter in word):
        return any(letter.isalpha() for letter in word)
    before, dot, after = word.rpartition(".")
    if dot and len(before) >= _SHORTEST and after and not after[0].isupper():
        return True
    return _INNER_CAPITAL.search(word) is not None and "-" not in word and "/" not in word


def _names(text: str, placed: list[tuple[int, Mark]], *, german: bool) -> None:
    """Capitalised words, but for those that only begin a sentence; acronyms with them."""
    run, end, begins = 0, -1, 0
    breaks = iter([*(match.end() for match in _BREAK.finditer(text)), len(text) + 1])
    upcoming = next(breaks)
    first = True
    for match in _WORD.finditer(text):
        while upcoming <= match.start():
            first, begins = True, upcoming
            upcoming = next(breaks)
        word = _POSSESSIVE.sub("", match[0])
        key = _key(word)
        if word[0].isupper() and not _says_nothing(key, first=first or german):
            if not (match.start() == end + 1 and text[end] == " " and end >= begins):
                run += 1
            placed.append((match.start(), Mark("name", word, key, weak=first or german, run=run)))
            end = match.end()
        first = False


def _says_nothing(key: str, *, first: bool) -> bool:
    """Whether a capitalised word is no name: one that carries nothing, or that only begins a sentence; a number is one anyway."""
    return key in COUNTS or key in STOP - {"may", "will"} or (first and is_common(key))


def _key(word: str) -> str:
    """A word as it is compared: an acronym without the s of its plural."""
    if word[-1:] == "s" and len(word) > _SHORTEST and word[:-1].isupper():
        word = word[:-1]
    return fold(word)


def _all_words(text: str) -> set[str]:
    """Every word in every form that a name may be looked for in: with and without its possessive, its hyphens and its plural."""
    words: set[str] = set()
    for match in _WORD.finditer(text):
        word = _POSSESSIVE.sub("", match[0])
        words.update((_key(word), fold(word), *map(_key, word.split("-")), *map(_key, match[0].split("'"))))
    for match in _CODE.finditer(text):
        code = match[0].rstrip(".,;:!?'")
        words.update((fold(code).rstrip("/"), *map(_key, re.findall(r"[^\W_]+", code))))
    words.update(fold(f"{name}-{number}") for name, number in _NUMBERED.findall(text))
    words.discard("")
    return words
