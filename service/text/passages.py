"""Long texts in little room: how much each may take, where one is cut into windows, and the passage around the best of them.

Pure functions; which window answers a question is asked in service/recall/passages.py.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

LEAST_PASSAGE_CHARACTERS = 200  # characters that a long text has of its own at least
MOST_PASSAGE_CHARACTERS = 4000  # and at most, where the room is not larger than four of them
WINDOW = 400  # characters of a window at most
_ENDS = (
    r"(?:(?<=[.!?…।])(?=\s)|(?<=[\u3002\uff01\uff1f])|(?=\n)|\Z)",
    r"(?=\s)",
    "",
)  # of a sentence or a line, of a word, anywhere


@dataclass(frozen=True)
class Passage:
    """A part of a text: the characters from `start` to `end`."""

    text: str
    start: int
    end: int


def fair_share(lengths: Iterable[int], room: int) -> int:
    """The length to which longer texts are cut, so that together they fit into `room`: what short ones leave is shared.

    It is LEAST_PASSAGE_CHARACTERS at least, even where not all fit then; and at most MOST_PASSAGE_CHARACTERS, or a quarter of
    the room, even where all would fit.
    """
    ordered, left, most = sorted(lengths), room, max(MOST_PASSAGE_CHARACTERS, room // 4)
    for nth, length in enumerate(ordered):
        fair = left // (len(ordered) - nth)
        if length > fair:
            return max(LEAST_PASSAGE_CHARACTERS, min(fair, most))
        left -= length
    return most


def cut_windows(text: str, longest: int = WINDOW) -> list[tuple[int, int]]:
    """Where windows of a text begin and end: they end with a sentence, a line or a word, where there is one to end with."""
    return [found.span() for found in _window_pattern(min(longest, WINDOW)).finditer(text)]


@cache
def _window_pattern(longest: int) -> re.Pattern[str]:
    return re.compile("|".join(rf"[\s\S]{{1,{longest}}}{end}" for end in _ENDS))


def passage_around(text: str, windows: Sequence[tuple[int, int]], scores: Sequence[float], longest: int) -> Passage:
    """The window with the best score, the first of equal ones, and its neighbours, the better one first, as long as they fit."""
    best = max(range(len(windows)), key=lambda nth: (scores[nth], -nth))
    first = last = best
    while True:
        start, end = windows[first][0], windows[last][1]
        sides = [nth for nth in (last + 1, first - 1) if 0 <= nth < len(windows)]
        fitting = [nth for nth in sides if end - start + windows[nth][1] - windows[nth][0] <= longest]
        if not fitting:
            break
        chosen = max(fitting, key=lambda nth: scores[nth])
        first, last = min(first, chosen), max(last, chosen)
    part = text[start : min(end, start + longest)]
    start += len(part) - len(part.lstrip())
    part = part.strip()
    return Passage(part, start, start + len(part))


def mark_passage(passage: Passage, length: int, rest: str) -> str:
    """A passage with what says that it is one; `rest`: how to see all of the text, which has this length."""
    before, after = "… " if passage.start else "", " …" if passage.end < length else ""
    return f"{before}{passage.text}{after} (characters {passage.start + 1:,} to {passage.end:,} of {length:,}; {rest})"
