"""Guards over texts that a model proposes: what a merge lost, what nobody said, and whether it still says the same at all.

Pure functions of texts, which `read` gives as they were read. They are strict where they cannot tell: what they refuse stays as it
was.
"""

import re
from collections.abc import Iterable

from service.text.marks import Mark, Read, Reading

_WORD = re.compile(r"\w+(?:['-]\w+)*")


def names_in(read: Read, text: str) -> set[str]:
    """Names, acronyms, identifiers and addresses in a text, as they are spelt there; names that stand together are one."""
    return {name for kind, name in _spell_marks(read(text).marks) if kind in {"name", "code"}}


def numbers_in(read: Read, text: str) -> set[str]:
    """Numbers, dates, times and versions of a text in one form: 1000, 3.5, 10%, 2024-05-01, --05-01 (no year), 14:30, 1.2.3."""
    return {mark.key for mark in read(text).marks if mark.kind == "number"}


def find_missing_marks(read: Read, sources: Iterable[str], text: str) -> list[str]:
    """Names and counts of the sources that a text which is to stand for them lacks, in order, as it is spelt there."""
    there = read(text)
    lost = {mark.key: mark.spelled for source in sources for mark in read(source).marks if not there.has_mark(mark)}
    return list(lost.values())


def find_invented_marks(read: Read, sources: Iterable[str], text: str, allowed: Iterable[str] = ()) -> list[str]:
    """Names and counts of a text that no source has, in order; `allowed`: texts whose names and numbers may stand in it too.

    Names that stand together in the text must do so for one source: Alice Smith does not follow from Alice Jones and Bob Smith.
    """
    readings = [read(source) for source in sources]
    free = Reading()
    for more in allowed:
        free.merge_reading(read(more))
    known = Reading()
    for reading in (*readings, free):
        known.merge_reading(reading)
    found: dict[str, str] = {}
    for run in _group_adjacent_marks(read(text).marks):
        new = [mark for mark in run if not known.has_mark(mark)]
        if (
            not new
            and len(run) > 1
            and not any(all(one.has_mark(mark) or free.has_mark(mark) for mark in run) for one in (*readings, free))
        ):
            found.setdefault(" ".join(mark.key for mark in run), " ".join(mark.spelled for mark in run))
        for mark in new:
            found.setdefault(mark.key, mark.spelled)
    return list(found.values())


def kept_share(read: Read, source: str, text: str) -> float:
    """Share of the words with content in a source that a text still has, in any form; of pairs of characters without spaces."""
    words, there = read(source).content, read(text)
    return sum(map(there.has_any_stem, words.values())) / len(words) if words else 1.0


def same_subject(read: Read, one: str, other: str) -> bool:
    """Whether two texts begin with the same thing: with the same name, or one that is part of the other's; or with the same word.

    Names and words further on say nothing: people join companies, live in towns and know each other.
    """
    (name, word), (other_name, other_word) = _find_beginning(read(one)), _find_beginning(read(other))
    if name or other_name:
        return bool(name and other_name) and (name <= other_name or other_name <= name)
    return not set(word).isdisjoint(other_word)


def _find_beginning(text: Reading) -> tuple[frozenset[str], tuple[str, ...]]:
    """The name that a text begins with, or else the stems of its first word with content."""
    words = (word.partition("'")[0] for word in _WORD.findall(" ".join(text.texts)))
    first = next((word for word in words if word in text.content), "")
    named = next((run for run in _group_adjacent_marks(text.marks) if run[0].kind != "number"), [])
    keys = frozenset(mark.key for mark in named)
    return (keys, ()) if first in keys or not first else (frozenset(), text.content[first])


def _group_adjacent_marks(marks: list[Mark]) -> list[list[Mark]]:
    """Marks, with names that stand together in one list."""
    runs: list[list[Mark]] = []
    for mark in marks:
        if mark.run >= 0 and runs and runs[-1][0].run == mark.run:
            runs[-1].append(mark)
        else:
            runs.append([mark])
    return runs


def _spell_marks(marks: list[Mark]) -> list[tuple[str, str]]:
    return [(run[0].kind, " ".join(mark.spelled for mark in run)) for run in _group_adjacent_marks(marks)]
