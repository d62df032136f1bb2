"""A text, cut into facts: lines, bullets and sentences, and what is told before a question in the same sentence.

Nothing is lost: every character of the text that is no white space, no mark of a list and no sign before a question stands in one
fact, in order. In doubt, two sentences stay one fact.
"""

import re

WRAPPED = 50  # characters from which a line goes on in the next, if that begins in lower case
_BULLET = re.compile(r"[ \t]*(?:[-*+•‣◦▪–—][ \t]+|\(?\d{1,3}[.)][ \t]+|\[[ xX]\][ \t]+|#{1,6}[ \t]+|>[ \t]+)*")
_CLOSING = "\"'”’»)]}」』\uff09】"
_FULL = "。\uff01\uff1f｡।॥\u06d4؟\u0589።፧။។៕"  # marks that end a sentence with or without white space behind them
# A run of marks is looked at once, from its start: tried from each of its characters it would cost their square.
_END = re.compile(rf"(?<![.!?…])[.!?…]++[{re.escape(_CLOSING)}]*+(?=\s)|[{_FULL}]++[{re.escape(_CLOSING)}]*+")
_OPENING = re.compile(r"\s*+[\"'“\u2018«(\[¿¡]*+(?=[^\W_])")
_CHARACTERS_AT_MARK = 20  # characters at a mark that are looked at: more than any abbreviation has
_WORD = re.compile(r"\w+")
_WRITTEN_OUT = 4  # letters that a word has which is no abbreviation
_INITIAL = re.compile(r"(?:^|\.)[A-HJ-Z]$")  # J. Smith; I is a word
_SHORT = (
    " mr mrs ms dr prof sr jr st mt rev gen col sgt capt lt hon vs etc e.g i.e eg ie cf al approx inc ltd co corp llc bros dept "
    "est ext jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thurs fri sat sun a.m p.m u.s u.k u.n ph.d "
    "b.sc m.sc d.c bzw usw z.b d.h u.a ca str bspw incl excl min max avg tel yrs "
)
_MAY_END = " etc inc ltd co corp llc jr sr a.m p.m u.s u.k u.n ph.d d.c usw mar dec mon fri sat sun "  # and may end a sentence
_NUMBERED = " no nos nr vol p pp fig figs eq sec ch art "  # no. 5
_STARTS = (
    " a an the i we he she it they this that these those my our his her their your you there in on at but and so can could would "
    "should do does did is are am was were have has what who when where why how which any please "
    "ich du er es wir ihr sie mein meine das der die kannst kann könntest können ist sind hast habe wer wo wie wann warum bitte "
)
# How a question begins, whatever stands before it: its verb in front of its subject, or a word that asks.
_ASKS = re.compile(
    r"(?:(?:and|but|so|und|aber|also),? +)?(?:(?:can|could|would|will|should|may|do|does|did|am|is|are|was|were|have|has)"
    r"(?:n['’]t)? (?:i|you|we|he|she|it|they|there|this|that|my|any\w*)|"
    r"(?:what|where|when|why|how|who|which)(?:['’]s)? \w+|any \w+|"
    r"(?:kann|kannst|könntest|würdest|hast|bist|weißt|magst|soll|darf|muss) (?:du|ich)|(?:können|könnten|würden|haben) sie|"
    r"(?:was|wer|wo|wie|wann|warum|welche\w*) \w+)\b",
    re.IGNORECASE,
)
_BEFORE_QUESTION = re.compile(r"\s*(?:[;,:]|\s[-–—])\s+(?=[\"'“¿]*\w)|\s+(?=(?:and|but|so|und|aber)\s)")
_OF_ONESELF = re.compile(
    r"(?!i (?:wonder|ask|mean|know|guess|see)\b)(?:i|i['’]\w+|my|we|we['’]\w+|our|ich|mein\w*|wir|unser\w*)\s", re.IGNORECASE
)
_ASKED = re.compile(r"[^.!?…]{1,300}[?\uff1f؟]")
_QUESTION = re.compile(rf"[?\uff1f؟][{re.escape(_CLOSING)}]*$")
_TAKES_BACK = re.compile(  # and the next sentence says what is right
    r"(?:(?:oh|wait|actually|sorry|oops|ach|moment),? )*(?:no|nope|nein|correction|korrektur|i was wrong|i misspoke|"
    r"(?:scratch|strike) that|that(?:['’]s| is| was) wrong|my mistake|my bad|das stimmt nicht)[.!]",
    re.IGNORECASE,
)


def split_facts(text: str) -> list[str]:
    """Facts of a text in order, without white space around them. Lines of wrapped prose are one."""
    lines: list[str] = []
    wrapped = False  # whether the line before looks as if it went on
    for line in text.splitlines():
        said = line[_count_list_marks(line) :].strip()
        if wrapped and said == line.strip() and said[:1].islower():
            lines[-1] += f" {said}"
        else:
            lines.append(said)
        wrapped = len(said) >= WRAPPED and said[-1] not in ".!?:;"
    return [fact for line in lines for fact in _split_sentences(line) if fact]


def _count_list_marks(line: str) -> int:
    """Length of the marks of a list that a line begins with; a line of nothing else has none."""
    found = _BULLET.match(line)
    length = found.end() if found else 0
    return length if line[length:].strip() else 0


def _split_sentences(line: str) -> list[str]:
    facts, start = [], 0
    for end in _END.finditer(line):
        sentence = line[start : end.end()].strip()
        if end.start() >= start and _ends_sentence(line, start, end) and not _TAKES_BACK.fullmatch(sentence):
            facts += _split_off_question(sentence)
            start = end.end()
    return [*facts, *_split_off_question(line[start:].strip())]


def _split_off_question(sentence: str) -> list[str]:
    """A sentence, or what it tells and what it asks then, as in "I am vegan; can you suggest a recipe?".

    A comma, a dash or `and` stands between the two only where one speaks of oneself: If I am vegan, what can I eat?
    """
    if not _QUESTION.search(sentence) or _ASKS.match(sentence) or sentence[0] == "¿":
        return [sentence]
    own = _OF_ONESELF.match(sentence) is not None
    for found in _BEFORE_QUESTION.finditer(sentence):
        if ";" in found.group() or (own and _ASKS.match(sentence, found.end())):
            return [sentence[: found.start()], sentence[found.end() :]]
    return [sentence]


def _ends_sentence(line: str, start: int, end: re.Match[str]) -> bool:
    """Whether a sentence that begins at `start` ends at a mark."""
    mark = end.group()
    if mark[0] in _FULL:
        return end.end() < len(line)  # which has no white space at its end
    opening = _OPENING.match(line, end.end())
    if opening is None:
        return False
    first = line[opening.end() : opening.end() + _CHARACTERS_AT_MARK]
    before = line[max(start, end.start() - _CHARACTERS_AT_MARK) : end.start()]
    word = re.split(r"[\s(\"'“\u2018]", before)[-1]
    if first[0].islower() and (mark[-1] in _CLOSING or mark[0] in ".…") and not set(opening.group()) & set("¿¡"):
        return (
            _starts_small(line, start, word, opening.end()) if mark == "." else mark[0] in ".…" and _ASKS.match(first) is not None
        )
    return mark[0] != "." or mark.startswith("..") or not _goes_on(word, first)


def _starts_small(line: str, start: int, word: str, place: int) -> bool:
    """Whether a sentence begins at a place with a small letter, after a full stop: not after an abbreviation, unless it asks."""
    first = line[place : place + _CHARACTERS_AT_MARK]
    if _goes_on(word, first) or f" {word.lower()} " in _SHORT:
        return f" {word.lower()} " in _MAY_END and bool(_ASKS.match(first))
    if f" {_WORD.findall(first)[0]} " in _STARTS:
        return True
    small = line[start : start + 1].islower() or _ASKED.match(line, place) is not None  # all is written small, or this one asks
    return small and len(word) >= _WRITTEN_OUT


def _goes_on(word: str, first: str) -> bool:
    """Whether a full stop after a word belongs to the word: an abbreviation or an initial. `first` is what comes then."""
    if f" {word.lower()} " in _NUMBERED:
        return first[0].isdigit()
    if f" {word.lower()} " in _SHORT:
        return f" {word.lower()} " not in _MAY_END or f" {_WORD.findall(first)[0].lower()} " not in _STARTS
    return bool(_INITIAL.search(word))
