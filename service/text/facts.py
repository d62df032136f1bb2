"""A text, cut into facts: lines, bullets and sentences.

Nothing is lost: every character of the text that is no white space and no mark of a list stands in one fact, in order. In doubt,
two sentences stay one fact.
"""

import re

WRAPPED = 50  # characters from which a line goes on in the next, if that begins in lower case
_BULLET = re.compile(r"[ \t]*(?:[-*+•‣◦▪–—][ \t]+|\(?\d{1,3}[.)][ \t]+|\[[ xX]\][ \t]+|#{1,6}[ \t]+|>[ \t]+)*")
_CLOSING = "\"'”’»)]}」』\uff09】"
# A run of marks is looked at once, from its start: tried from each of its characters it would cost their square.
_END = re.compile(rf"(?<![.!?…])[.!?…]++[{re.escape(_CLOSING)}]*+(?=\s)|[。\uff01\uff1f｡]++[{re.escape(_CLOSING)}]*+")
_OPENING = re.compile(r"\s*+[\"'“\u2018«(\[]*+(?=[^\W_])")
_LONGEST = 20  # characters at a mark that are looked at: more than any abbreviation has
_WORD = re.compile(r"\w+")
_INITIAL = re.compile(r"(?:^|\.)[A-HJ-Z]$")  # J. Smith; I is a word
_SHORT = (
    " mr mrs ms dr prof sr jr st mt rev gen col sgt capt lt hon vs etc e.g i.e eg ie cf al approx inc ltd co corp llc bros dept "
    "est ext jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thurs fri sat sun a.m p.m u.s u.k u.n ph.d "
    "b.sc m.sc d.c bzw usw z.b d.h u.a ca str bspw "
)
_MAY_END = " etc inc ltd co corp llc jr sr a.m p.m u.s u.k u.n ph.d d.c usw mar dec mon fri sat sun "  # and may end a sentence
_NUMBERED = " no nos nr vol p pp fig figs eq sec ch art "  # no. 5
_STARTS = " a an the i we he she it they this that these those my our his her their your you there in on at but and so "


def split(text: str) -> list[str]:
    """Facts of a text in order, without white space around them. Lines of wrapped prose are one."""
    lines: list[str] = []
    wrapped = False  # whether the line before looks as if it went on
    for line in text.splitlines():
        said = line[_marks(line) :].strip()
        if wrapped and said == line.strip() and said[:1].islower():
            lines[-1] += f" {said}"
        else:
            lines.append(said)
        wrapped = len(said) >= WRAPPED and said[-1] not in ".!?:;"
    return [fact for line in lines for fact in _sentences(line) if fact]


def _marks(line: str) -> int:
    """Length of the marks of a list that a line begins with; a line of nothing else has none."""
    found = _BULLET.match(line)
    length = found.end() if found else 0
    return length if line[length:].strip() else 0


def _sentences(line: str) -> list[str]:
    facts, start = [], 0
    for end in _END.finditer(line):
        if end.start() >= start and _ends(line, start, end):
            facts.append(line[start : end.end()].strip())
            start = end.end()
    return [*facts, line[start:].strip()]


def _ends(line: str, start: int, end: re.Match[str]) -> bool:
    """Whether a sentence that begins at `start` ends at a mark."""
    mark = end.group()
    if mark[0] in "。\uff01\uff1f｡":
        return end.end() < len(line)  # which has no white space at its end
    opening = _OPENING.match(line, end.end())
    if opening is None:
        return False
    first = line[opening.end() : opening.end() + _LONGEST]
    if first[0].islower() and (mark[-1] in _CLOSING or mark[0] in ".…"):
        return False  # an abbreviation, an ellipsis, a quotation within the sentence
    before = line[max(start, end.start() - _LONGEST) : end.start()]
    return mark[0] != "." or mark.startswith("..") or not _goes_on(re.split(r"[\s(\"'“\u2018]", before)[-1], first)


def _goes_on(word: str, first: str) -> bool:
    """Whether a full stop after a word belongs to the word: an abbreviation or an initial. `first` is what comes then."""
    if f" {word.lower()} " in _NUMBERED:
        return first[0].isdigit()
    if f" {word.lower()} " in _SHORT:
        return f" {word.lower()} " not in _MAY_END or f" {_WORD.findall(first)[0].lower()} " not in _STARTS
    return bool(_INITIAL.search(word))
