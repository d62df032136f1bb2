"""Relations that a question asks about as they are: where she lives, what it costs, when it is.

A relation that has one value at a time has cues: words that a question asks by, and words that statements tell by. English and
German. No grammar. Which statements tell it: statements.py.
"""

import itertools
import re
from dataclasses import dataclass


def _any_of(listed: str) -> str:
    """Alternatives of a regular expression: parts between commas."""
    return "|".join(" ".join(part.split()) for part in listed.split(","))


DAYS = "(?:mon|tues|wednes|thurs|fri|satur|sun)days?, (?:mon|diens|donners|frei|sams|sonn)tags?, mittwochs?"
MONTHS = """january, february, march, april, may, june, july, august, september, october, november, december,
    januar, februar, märz, mai, juni, juli, oktober, dezember"""
# For each relation: what questions ask by, and what statements tell by beside it.
RELATIONS: dict[str, tuple[str, str]] = {
    name: (_any_of(asks), _any_of(tells))
    for name, asks, tells in (
        (
            "home",
            """live[sd]?, living, resid(?:e[sd]?|ing), dwell\\w*, at home, address,
            which (?:town|city|village|place|country), wohn\\w*, leb(?:t|en), zuhause""",
            """home, flat, apartment, house, moved, settled, based, relocated, found a place, rents,
            gezogen, umgezogen, zog, wohnung, haus""",
        ),
        (
            "work",
            "works?, working, employ\\w*, company, companies, job, arbeit\\w*, angestellt, firma",
            "hired, joined, started at, quit, position, signed (?:with|on), took a post, wechselte zu, eingestellt",
        ),
        (
            "manager",
            "reports?, manage[rsd]?, boss, supervis\\w+, superior, leads, chef\\w*, vorgesetzt\\w*, berichtet",
            "team of, answers to, reporting to, taken over as, heads, untersteht",
        ),
        (
            "drink",
            "drinks?, drinking, breakfast, beverage, trinkt, trinken, getränk, frühstück\\w*",
            "cup of, coffee, tea, morning, kaffee, tee",
        ),
        (
            "time",
            """when, what time, which (?:day|date|weekday), what (?:day|date), deadline, due, wann, frist, fällig, an welchem tag,
            um wie viel uhr""",
            f"{DAYS}, {MONTHS}, date, postponed, rescheduled, noon, midnight, o'clock, uhr, termin, verlegt",
        ),
        ("port", "ports?", "listens?, answers on"),
        (
            "owner",
            """owns?, owner, owned, responsible, belongs?, (?:whom|who) do i ask, in charge, maintain\\w*, looks? after,
            zuständig, gehört, verantwortlich, betreut""",
            "taken over, took over, takes over, handed, ask, passed (?:on )?to, transferred, accountable, übernommen, übernimmt",
        ),
        (
            "price",
            "costs?, prices?, how much, pay, charged?, fee, rate, kostet, preis, zahlen, wie viel",
            "euros?, dollars?, pounds?, francs?, cents?, eur, usd, gbp, chf, charges?, [$€£]",
        ),
        ("store", "databases?, stor(?:e[sd]?|ing|age), datenbank, speichert", "migrated, backed by, data, daten"),
        ("phone", "phones?, telephone, telefon\\w*, rufnummer, handynummer", "reached (?:at|on|under)"),
        ("email", "e-?mails?", "@"),
        ("version", "versions?, releases?", "upgraded, updated to, runs"),
        ("favourite", "favou?rites?, lieblings\\w*", "prefers"),
    )
}
TIMES = (
    rf"\b(?:{_any_of(DAYS)})\b|\d{{1,2}}(?:st|nd|rd|th|\.)? (?:of )?(?:{_any_of(MONTHS)})\b|\b(?:{_any_of(MONTHS)}) \d|"
    r"\b\d{4}-\d\d-\d\d\b|\b\d{1,2}:\d\d\b|\b\d{1,2}\.\d{1,2}\.(?:\d{4})?(?:\s|$)|\bo'clock\b|\d ?(?:am|pm|uhr)\b"
)
# Kinds of values: of several the first counts.
VALUES = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        TIMES,
        r"[^\s@]@[^\s@]",
        r"\+?\d{2,}[-/ ]\d{2,}",
        r"[$€£] ?\d|\d ?(?:(?:euros?|dollars?|pounds?|francs?|cents?|eur|usd|gbp|chf)\b|[$€£])",
        r"\bv?\d+(?:\.\d+)+",
        r"\b\d",  # within a word it is a part of a name
    )
]
# Words that say that something has changed.
_CHANGED = _any_of(
    """now, nowadays, no longer, any ?more, instead, from now on, since, these days, currently, meanwhile, after all, new,
    (?:mov|switch|chang|replac|updat|rais|lower|shift|postpon|reschedul|migrat|upgrad|transferr|relocat|hand)ed,
    became, become, (?:taken|took|takes) over, went over,
    jetzt, nun, neue[rsnm]?, inzwischen, mittlerweile, seit, statt, nicht mehr, ab sofort, gewechselt, umgezogen, geändert,
    verlegt, verschoben"""
)
CHANGED = re.compile(rf"\b(?:{_CHANGED})\b", re.IGNORECASE)
# A question about what was, or that names its time, is answered by what was said of then.
EARLIER = re.compile(
    r"\b(?:formerly|previous(?:ly)?|before|earlier|original(?:ly)?|first|initial(?:ly)?|used to|last (?:year|month|week)|ago|"
    r"(?:19|20)\d\d|früher|zuvor|vorher|ursprünglich|zuerst|damals)\b",
    re.IGNORECASE,
)
PAST = re.compile(
    r"\b(?:did|was|were|had|has been|have been|war|waren|hatte|hatten|wurde|wurden|(?<!be )(?<!been )\w{3,}ed)\b",
    re.IGNORECASE,
)
NOW = re.compile(
    r"\b(?:who|whom|whose|what|which|where|when|how|is|are|does|wer|wen|wem|wessen|was|wo|wohin|wann|wie|welche[rsnm]?|ist|sind)\b",
    re.IGNORECASE,
)
WORD = re.compile(r"[^\W_]+(?:[-.][^\W_]+)*")
IDLE = frozenset(
    """
    a an the of to in on at for from by with about as is are was were be been do does did has have had will
    would can could should may i me my we us our you your he him his she her it its they them their this that
    these those who whom whose which what when where why how many much must shall reach serve find month week
    year now then today currently present still there here and or not so any some get got go let use used town
    city day date time
    der die das den dem des ein eine einen einem einer ist sind war hat haben wird und oder in im am an auf bei
    von vom zu zum zur mit für wer wen wem wessen was wann wo wohin welche welcher welches welchen wie viel
    jetzt heute gerade aktuell ich du er sie es wir ihr
    """.split()  # noqa: SIM905 (a list of words reads better)
)
LEADING = frozenset("kind sort should long often far user".split())  # noqa: SIM905
SELF = "i"
SELVES = re.compile(r"\b(?:i|me|my|mine|myself|user|ich|mich|mir|mein\w*)\b", re.IGNORECASE)
DETERMINER = re.compile(r"the|an?|my|our|your|his|her|their|d(?:er|ie|as|es|em|en)|vom|zum|zur|beim|im|mein\w*|unser\w*")
NUMBER = re.compile(r"(?<![^\W_])\d+(?:[-.:/]\d+)*(?![^\W_])")
PHRASE = 3  # words
BESIDE = 2  # words beside those that say of whom, of a question that asks one thing


@dataclass(frozen=True)
class Asked:
    """The asked relation.

    `words` say of whom; SELF: the one who asks. `phrase`: the words after the last article; its first words count where there is
    no name. `cues`: a pattern of what tells it; None: no relation that is known. `simple`: it asks one thing of one, so that
    values of one kind, and words of change, tell the same. `numbers`: those of the question; with a number, values do not decide.
    `said`:
    words that are not little, where it is simple; those that do not say of whom tell it.
    """

    words: list[str]
    phrase: list[str]
    cues: str | None
    simple: bool
    numbers: list[str]
    said: list[str]


def find_asked_relation(question: str, *, past: bool) -> Asked | None:
    """Subject and relation of a question about something as it is; None for other questions, or for ones about the past.

    `past`: the question is about a past moment, so tense does not matter.
    """
    if not NOW.search(question) or EARLIER.search(question) or (not past and PAST.search(question)):
        return None
    plain = rest = question.replace("’", "'").replace("'s", " ")
    of = " +".join(map(re.escape, _find_phrase(plain)))  # a relation is not asked for by the name of what has it
    found = _find_relations(re.sub(rf"\b{of}\b", " ", plain, flags=re.IGNORECASE)) or _find_relations(plain)
    for cues in found:
        rest = re.sub(rf"\b(?:{'|'.join(cues)})\b", " ", rest, flags=re.IGNORECASE)
    words = [word for word in WORD.findall(rest) if word.lower() not in IDLE and len(word) > 1]
    known = "|".join("|".join(cues) for cues in found) or None
    numbers = NUMBER.findall(question)
    if found and _lower_words(words) in ([], ["user"]) and SELVES.search(plain):
        return Asked([SELF], [], known, simple=True, numbers=numbers, said=_content_words(plain))
    names = [word for word in words if word != word.lower()]
    if not words or (not found and len(names) == len(words)):  # "Who is Bob?" asks for nothing that has one value
        return None
    start = WORD.match(plain.lstrip())
    meant = [word for word in names if start is None or word != start.group()] or names
    phrase = [] if meant else _find_phrase(plain)
    simple = len(words) - len(meant or set(phrase).intersection(words)) <= BESIDE
    if not simple:
        return Asked(_lower_words(words if found else names or words), [], known, simple=False, numbers=numbers, said=[])
    return Asked(_lower_words(meant or words), phrase, known, simple=True, numbers=numbers, said=_content_words(plain))


def _find_relations(question: str) -> list[tuple[str, str]]:
    """Cues of the relations that a question asks by."""
    return [cues for cues in RELATIONS.values() if re.search(rf"\b(?:{cues[0]})\b", question, re.IGNORECASE)]


def _content_words(question: str) -> list[str]:
    """Words that are not little."""
    words = [word for word in _lower_words(WORD.findall(question)) if len(word) > 2]  # noqa: PLR2004 (little)
    return [word for word in words if word not in IDLE and word not in LEADING]


def _lower_words(words: list[str]) -> list[str]:
    return [*dict.fromkeys(word.lower() for word in words)]


def _find_phrase(question: str) -> list[str]:
    """Up to three words after the last article that some follow, none of them little."""
    words = [word.lower() for word in WORD.findall(question)]
    last: list[str] = []
    for place, word in enumerate(words):
        if DETERMINER.fullmatch(word):
            following = itertools.takewhile(lambda word: word not in IDLE, words[place + 1 : place + 1 + PHRASE])
            last = list(following) or last
    return last
