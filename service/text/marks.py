"""Parts of a text that must not get lost or be made up: names, acronyms, numbers, dates, times, addresses, identifiers and quotes.

Words and numbers are the database's to read (loci_api.text_marks), as it reads them where facts are written. Spelling alone is read
here: capitals, quotation marks, and words that are spelt like no language. In languages that mark no names (Chinese, Arabic), only
words in another script and names that service/text/proper_nouns.py knows are found.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from db.text import TextMarks
from service.text.proper_nouns import UNSPACED, find_names, is_german

Span = tuple[int, int]
T = TypeVar("T")

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
_PART = re.compile(r"[^\W_]+")
_POSSESSIVE = re.compile(r"'s$")
_INNER_CAPITAL = re.compile(r"[^\W\d_][a-zß-ÿ][A-Z]|^[a-z][A-Z]")  # of two letters each: a word may be as long as a text
_QUANTITY = re.compile(r"v?\d+(?:[.,]\d+)*(?:[A-Za-z%µ°]{1,3})?(?:[-/].*)?|\d+(?:st|nd|rd|th)|[\d:./-]+(?:T[\d:.]*)?Z?")
_NUMBERED = re.compile(r"(?<!\w)([A-Z]{2,})[ -]?(\d[\w.]*\w|\d)(?!\w)")
_CONTRACTED = frozenset({"t", "s", "m", "d", "re", "ve", "ll"})
_ALSO_NAMES = frozenset({"may", "will"})  # with a capital, more often than not
_SHORTEST = 2
_CHARACTERS_PER_STATEMENT = 20_000  # characters that one statement reads: a third of a second


@dataclass(frozen=True)
class Mark:
    """One of them. `key` is what it is compared by; one of `forms` will do where there are some; `run`: adjacent names share it."""

    kind: str  # name, code, number or quote
    spelled: str
    key: str
    forms: tuple[str, ...] = ()
    run: int = -1


@dataclass
class Reading:
    """A text, read: its marks in order, and what marks of other texts may be found in. `content`: words that tell, with stems.

    `name` is the text if it is a name, as names are compared; `denials` counts words that deny.
    """

    marks: list[Mark] = field(default_factory=list)
    words: set[str] = field(default_factory=set)
    stems: set[str] = field(default_factory=set)
    numbers: set[str] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)
    content: dict[str, tuple[str, ...]] = field(default_factory=dict)
    name: str = ""
    denials: int = 0

    def has_mark(self, mark: Mark) -> bool:
        """Whether the text has what another text marks."""
        if mark.kind == "number":
            return mark.key in self.numbers
        if mark.kind == "quote":
            return any(mark.key in text for text in self.texts)
        return mark.key in self.words or self.has_any_stem(mark.forms)

    def has_any_stem(self, forms: Iterable[str]) -> bool:
        """Whether the text has a word with one of these stems."""
        return not self.stems.isdisjoint(forms)

    def merge_reading(self, other: "Reading") -> None:
        """Have what another has as well."""
        self.words |= other.words
        self.stems |= other.stems
        self.numbers |= other.numbers
        self.texts += other.texts


Read = Callable[[str], Reading]


class Readings:
    """Texts that were read, by what they say. An unread one is noted as `unread`, and has no marks until then."""

    def __init__(self) -> None:
        self.unread: dict[str, None] = {}
        self._rows: dict[str, TextMarks] = {}
        self._read: dict[str, Reading] = {}

    def __call__(self, text: str) -> Reading:
        """A text, read."""
        if text not in self._read:
            if text not in self._rows:
                self.unread[text] = None
                return Reading()
            self._read[text] = reading_of(self._rows.pop(text))
        return self._read[text]

    async def fetch_unread(self, ask: Callable[[list[str]], Awaitable[list[TextMarks]]]) -> None:
        """Read what is unread. `ask` gives the rows of loci_api.text_marks for texts."""
        texts, self.unread = list(self.unread), {}
        for some in _split_into_portions(texts):
            self._rows.update(zip(some, await ask([strip_unstorable(text) for text in some]), strict=True))


async def with_readings(ask: Callable[[list[str]], Awaitable[list[TextMarks]]], check: Callable[[Read], T]) -> T:
    """The value of a pure function of texts, once all texts are read that it looks at.

    Which these are depends on what others say, so it runs again until it asks for no new one: mostly twice. In a thread: a long
    answer takes seconds, in a process that serves others.
    """
    readings = Readings()
    while True:
        result = await asyncio.to_thread(check, readings)
        if not readings.unread:
            return result
        await readings.fetch_unread(ask)


def strip_unstorable(text: str) -> str:
    """A text without what the database cannot hold: a null character, half of a surrogate pair."""
    return text.replace("\x00", " ").encode("utf-8", "replace").decode()


def _split_into_portions(texts: list[str]) -> Iterator[list[str]]:
    some, length = list[str](), 0
    for text in texts:
        if some and length + len(text) > _CHARACTERS_PER_STATEMENT:
            yield some
            some, length = [], 0
        some.append(text)
        length += len(text)
    if some:
        yield some


def reading_of(row: TextMarks) -> Reading:
    """A row of loci_api.text_marks, with the marks that spelling tells."""
    return _Reader(row).make_reading()


class _Reader:
    """One text while it is read: `plain` as it is spelt, `folded` the same in lower case, character for character."""

    def __init__(self, row: TextMarks) -> None:
        self.plain: str = row["plain"]
        self.folded: str = row["folded"]
        self.known: dict[str, list[str | None]] = row["words"]
        self.numbers: list[tuple[int, str, str]] = row["numbers"]
        self.implied: list[str] = row["implied"]
        self.name: str = row["name"]
        self.placed: list[tuple[int, Mark]] = []
        self.codes: list[Span] = []

    def make_reading(self) -> Reading:
        """All of it."""
        self.placed += [(match.start(), self.make_mark(match)) for match in _QUOTE.finditer(self.plain)]
        rest = self.without_codes()
        for start, spelled, key in self.numbers:
            if not any(first <= start and start + len(spelled) <= end for first, end in self.codes):
                self.placed.append((start, Mark("number", spelled, key)))
            rest = rest[:start] + " " * len(spelled) + rest[start + len(spelled) :]
        self.find_names(rest, german=is_german(self.plain, "english"))
        self.unspaced_names()
        self.placed.sort(key=lambda pair: pair[0])
        marks = [mark for _, mark in self.placed]
        words = self.all_words() | {mark.key for mark in marks if mark.kind in {"name", "code"}}
        stems = {form for word in (*words, *self.known) for form in self.stem_parts(word)}
        content = {word: self.stem_parts(word) for word, (_, _, kind) in self.known.items() if kind not in {"stop", "neg"}}
        texts = [" ".join(self.folded.split())]
        return Reading(marks, words, stems, set(self.implied), texts, content, self.name, self.count_denials())

    def word_kind(self, word: str) -> str | None:
        """Class of a folded word: neg, stop, opening or None; a contraction has the class of its beginning."""
        base, _, ending = word.partition("'")
        return self.known.get(base if ending in _CONTRACTED else word, (None, None, None))[2]

    def count_denials(self) -> int:
        words = [match[0] for match in _WORD.finditer(self.folded)]
        return sum(word.endswith("n't") or self.word_kind(word) == "neg" for word in words)

    def stem_parts(self, word: str) -> tuple[str, ...]:
        """The stems of a folded word, or of the parts that a hyphen joins."""
        if word in self.known:
            english, german, _ = self.known[word]
            return (str(english), str(german))
        return ("-".join(str(self.known.get(part, [part])[0]) for part in word.split("-")),)

    def make_mark(self, match: re.Match[str]) -> Mark:
        start, end = next(match.span(group) for group in range(1, 7) if match[group])
        return Mark("quote", match[0], " ".join(self.folded[start:end].split()).strip(".,!?;: "))

    def without_codes(self) -> str:
        """Addresses, paths, handles and identifiers are marked; the text has blanks in their place."""
        rest = list(self.plain)
        for start, end in _find_codes(self.plain):
            if _is_code(self.plain[start:end]):
                key = self.folded[start:end]
                self.codes.append((start, end))
                self.placed.append((start, Mark("code", self.plain[start:end], key.rstrip("/") or key)))
                rest[start:end] = " " * (end - start)
        return "".join(rest)

    def find_names(self, text: str, *, german: bool) -> None:
        """Capitalised words, but for those that only begin a sentence; acronyms with them."""
        run, last, begins = 0, -1, 0
        breaks = iter([*(match.end() for match in _BREAK.finditer(text)), len(text) + 1])
        upcoming = next(breaks)
        first = True
        for match in _WORD.finditer(text):
            while upcoming <= match.start():
                first, begins = True, upcoming
                upcoming = next(breaks)
            word = _POSSESSIVE.sub("", match[0])
            start, end = match.start(), match.start() + len(word)
            key = self.comparable_word(start, end)
            if word[0].isupper() and not self.says_nothing(key, first=first or german):
                if not (start == last + 1 and text[last] == " " and last >= begins):
                    run += 1
                forms = self.stem_parts(key) if first or german else ()
                self.placed.append((start, Mark("name", word, key, forms, run)))
                last = match.end()
            first = False

    def says_nothing(self, key: str, *, first: bool) -> bool:
        """Whether a capitalised word is no name: a little word, or one that only begins a sentence."""
        kind = self.word_kind(key)
        return key not in _ALSO_NAMES and (kind in {"neg", "stop"} or (first and kind == "opening"))

    def comparable_word(self, start: int, end: int) -> str:
        """A word as it is compared: an acronym without the s of its plural."""
        word = self.plain[start:end]
        if word[-1:] == "s" and len(word) > _SHORTEST and word[:-1].isupper():
            end -= 1
        return self.folded[start:end]

    def unspaced_names(self) -> None:
        if UNSPACED.search(self.plain):
            for name in filter(UNSPACED.search, find_names(self.plain)):
                if (match := re.search(r"\s+".join(map(re.escape, name.split())), self.plain)) is not None:
                    key = " ".join(self.folded[slice(*match.span())].split())
                    self.placed.append((match.start(), Mark("quote", name, key)))

    def all_words(self) -> set[str]:
        """Every word in every form that a name may be looked for in: with and without possessive, hyphens and plural."""
        words: set[str] = set()
        for match in _WORD.finditer(self.plain):
            start, end = match.start(), match.start() + len(_POSSESSIVE.sub("", match[0]))
            words |= {self.comparable_word(start, end), self.folded[start:end]}
            words |= {
                self.comparable_word(start + a, start + b)
                for a, b in (*_find_joined_parts(match[0], "'"), *_find_joined_parts(self.plain[start:end], "-"))
            }
        for start, end in _find_codes(self.plain):
            words.add(self.folded[start:end].rstrip("/"))
            words |= {
                self.comparable_word(start + part.start(), start + part.end()) for part in _PART.finditer(self.plain[start:end])
            }
        words |= {f"{self.folded[slice(*m.span(1))]}-{self.folded[slice(*m.span(2))]}" for m in _NUMBERED.finditer(self.plain)}
        return words - {""}


def _find_codes(text: str) -> Iterator[Span]:
    """Ranges of a text whose spelling follows no language."""
    for match in _CODE.finditer(text):
        yield match.start(), match.start() + len(match[0].rstrip(".,;:!?'"))


def _find_joined_parts(word: str, mark: str) -> Iterator[Span]:
    """Where the parts of a word are that a mark joins."""
    start = 0
    for part in word.split(mark):
        yield start, start + len(part)
        start += len(part) + 1


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
