"""Which of some short statements answer a question about somebody, and state the same fact? No grammar, no model.

A statement tells it if a cue of the relation stands in it, or stood in an earlier version of it. If the relation is unknown, the
cues are the question's words beside those that name its subject. Without one it tells the same as the one that tells it best if
they have the same kind of value (a time, a price), or none and nearly the score, or a word that says that something has changed.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from service.text.relations import CHANGED, IDLE, SELF, SELVES, VALUES, Asked

ALIKE = 0.8  # of the best score: what has no cue, value or word of change tells the same
ALIKE_AT_LENGTH = 0.65  # where a question asks for more than one thing of one
LEAST_SHARE_WITH_CHANGE = 0.4  # where a word says that something has changed, or stands in the question
STEM = 4  # letters that are left of a word without its ending
ENDING = re.compile(r"(?:ing|ied|ies|ed|es|ly|er|en|s|e|y|n|t)$")
ROOT = "general"  # the category of what has none: it stands above all
OPENING = frozenset("since as if my our but so because although while when after before no yes".split())  # noqa: SIM905
CAPITALISED = re.compile(r"[^\W_]+(?:[-.'’][^\W_]+)*")


@dataclass(frozen=True)
class Statement:
    """A short memory: its key and score, what it says, what its lineage said before, since when it holds, and its category."""

    key: int
    score: float
    content: str
    earlier: tuple[str, ...]
    since: tuple[datetime, datetime, int]
    category: str = ROOT

    @cached_property
    def all_texts(self) -> tuple[str, ...]:
        """Its present and earlier texts, in small letters."""
        return tuple(text.lower() for text in (self.content, *self.earlier))

    @cached_property
    def value_kind(self) -> int | None:
        """Which kind of value it has; None: none of them."""
        return next((place for place, pattern in enumerate(VALUES) if pattern.search(self.content)), None)

    def matches_pattern(self, pattern: re.Pattern[str] | None) -> bool:
        """Whether the statement, or an earlier version, matches a pattern."""
        return pattern is not None and any(pattern.search(text) for text in self.all_texts)


@dataclass(frozen=True)
class MatchedStatements:
    """Statements about the subject of a question: the answering ones, latest first, and the others, best first."""

    same: list[Statement]
    others: list[Statement]


def match_statements(statements: list[Statement], asked: Asked) -> MatchedStatements:
    """Statements about the subject of the question.

    `others` is empty where the question asks for more than one thing, or nothing tells it by a cue: then these are left as they
    are.
    """
    cues = _compile_alternatives(asked.cues)
    subject, about = _find_about(statements, asked, cues)
    about = _keep_same_numbers(about, asked.numbers)
    if not about:
        return MatchedStatements([], [])
    best = max(each.score for each in about)
    if cues is not None:
        cued = {each.key for each in about if each.matches_pattern(cues)}
    else:
        asks = _compile_alternatives("|".join(_stem_pattern(word) for word in asked.said if word not in subject))
        cued = {each.key for each in about if each.score >= LEAST_SHARE_WITH_CHANGE * best and each.matches_pattern(asks)}
    first = max(about, key=lambda each: (each.key in cued, each.score, -each.key))
    about = [each for each in about if _categories_meet(each.category, first.category)]
    alike = _Alike(asked, first, best, known=first.key in cued, subject=frozenset((*subject, *asked.words)))
    same = [each for each in about if each.key in cued or each is first or alike.matches_statement(each)]
    others = [each for each in about if each not in same] if asked.simple and first.key in cued else []
    same.sort(key=lambda each: each.since, reverse=True)
    return MatchedStatements(same, sorted(others, key=lambda each: (-each.score, each.key)))


@dataclass(frozen=True)
class _Alike:
    """Statements of the same as the first one without a cue. `known`: that one has a cue. `best`: score."""

    asked: Asked
    first: Statement
    best: float
    known: bool
    subject: frozenset[str]

    def matches_statement(self, each: Statement) -> bool:
        """Whether a statement does."""
        if not self.asked.simple:
            return each.score >= ALIKE_AT_LENGTH * self.best
        if not self.asked.numbers:
            if each.value_kind != self.first.value_kind:
                return False
            if each.value_kind is not None:
                return True
        if self.known and (each.earlier or SELF in self.subject):  # no version of it has a cue, or it tells anything of oneself
            return False
        if {_has_name_beside(each.content, self.subject), _has_name_beside(self.first.content, self.subject)} == {True, False}:
            return False
        least = LEAST_SHARE_WITH_CHANGE if CHANGED.search(each.content) else ALIKE
        return each.score >= least * self.best


def _find_about(statements: list[Statement], asked: Asked, cues: re.Pattern[str] | None) -> tuple[set[str], list[Statement]]:
    """The naming words that answering statements have, and the statements that have all of them."""
    words = _find_subject_words(statements, asked)
    patterns = {word: _equal_or_alike(word, statements) for word in words}
    has = {each.key: {word for word, pattern in patterns.items() if pattern.search(each.all_texts[0])} for each in statements}
    tellers = [each for each in statements if has[each.key] and each.matches_pattern(cues)]
    subject: set[str] = set().union(*(has[each.key] for each in tellers or statements))
    return subject, [each for each in statements if has[each.key] >= subject] if subject else []


def _keep_same_numbers(about: list[Statement], numbers: Iterable[str]) -> list[Statement]:
    """Those with the numbers of the question, if there are any: order 510 is another thing than order 509."""
    patterns = [_word_pattern(number) for number in numbers]
    return [each for each in about if all(pattern.search(each.all_texts[0]) for pattern in patterns)] or about


def _find_subject_words(statements: Iterable[Statement], asked: Asked) -> list[str]:
    """The words that say of whom: of a phrase those that stand together in half of what has the first of them."""
    counts: Counter[int] = Counter()
    for size in range(1, len(asked.phrase) + 1):
        together = re.compile(r"(?<![^\W_])" + re.escape(" ".join(asked.phrase[:size])))
        counts[size] = sum(1 for each in statements if together.search(each.all_texts[0]))
    most = max(counts.values(), default=0)
    phrase = asked.phrase[: max((size for size, count in counts.items() if 2 * count >= most), default=0)]
    if asked.cues is None:
        return phrase or asked.words
    return [word for word in asked.words if word in phrase] or asked.words


def _categories_meet(one: str, other: str) -> bool:
    """Whether one of two categories stands in the other."""
    return ROOT in {one, other} or f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def _equal_or_alike(word: str, statements: list[Statement]) -> re.Pattern[str]:
    """A word in the spelling of a statement that has it; another word with its stem is another name (Andreas, Andrea)."""
    exact = re.compile(rf"(?<![^\W_]){re.escape(word)}(?![^\W_])")
    return exact if word != SELF and any(exact.search(each.all_texts[0]) for each in statements) else _word_pattern(word)


def _word_pattern(word: str) -> re.Pattern[str]:
    """A word, or its plural; for the one who asks, any word for oneself."""
    return SELVES if word == SELF else re.compile(rf"(?<![^\W_]){re.escape(word)}(?:s|n|en|es)?(?![^\W_])")


def _compile_alternatives(alternatives: str | None) -> re.Pattern[str] | None:
    return re.compile(rf"(?<![^\W_])(?:{alternatives})(?![^\W_])", re.IGNORECASE) if alternatives else None


def _stem_pattern(word: str) -> str:
    """A pattern of a word with any ending."""
    ending = ENDING.search(word, STEM)
    kept = word[: ending.start()] if ending else word
    return re.escape(kept) + (r"\w{0,4}" if len(kept) >= STEM else "")


def _has_name_beside(text: str, subject: frozenset[str]) -> bool | None:
    """Whether a name stands in a text beside those of its subject; None: only a word that begins a sentence may be one."""
    may_be: bool | None = False
    for found in CAPITALISED.finditer(text):
        word = found.group()
        plain = re.sub(r"['’]s$", "", word.lower())
        if word[0].isupper() and plain not in subject and plain != SELF:
            before = text[: found.start()].rstrip(" \"'(*-")
            if before and before[-1] not in ".!?:;\n":
                return True
            if plain not in IDLE and plain not in OPENING:
                may_be = None
    return may_be
