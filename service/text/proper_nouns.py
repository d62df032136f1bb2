"""Proper-noun phrases in a text, without a model: what the graph arm links raw texts by.

Spelling conventions carry it. Inside a clause, a capitalised word is a name; where a language writes all nouns so (German), only
several in a row, or one that is spelt like no noun. Names in texts without capitals and spaces (Japanese) are words in another
script, or before a form of address. Languages that mark nothing yield nothing, which costs recall nothing.
"""

import re

CLAUSE = re.compile(r"[.,;:!?()\"\n\[\]]+")  # ASCII texts take the quick one
ANY_CLAUSE = re.compile(r"[.,;:!?()\"“”„\n\[\]、。！？「」『』（）]+")  # noqa: RUF001
POSSESSIVE = re.compile(r"['’]s$")
PARENTHESIS = re.compile(r"\s*\([^)]*\)\s*$")


def _split_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


JOINERS = _split_words("of the and de la le von van der du di da bin al &")
GERMAN_JOINERS = _split_words("von van zu de du di da bin al &")
PRONOUNS = _split_words("i i'm i've i'd i'll i’m i’ve i’d i’ll")
# Words that one of the two languages uses all the time and the other hardly ever: they tell which one a text is in.
ENGLISH = _split_words("the a and is not of to for with that are have has from or if it my we he she at by this")
GERMAN = _split_words(
    "der das den dem des ein eine einen einem einer und ist nicht ich wir mit von auf für zu dass sich auch bei wird nach aus wie "
    "oder wenn noch vom zum zur im mir mich dir dich ihm ihn uns sind haben wurde werden kann muss über unter ohne schon nur aber "
    "mein meine heute gestern jetzt sehr"
)
# A clause that begins with one of these begins with no name.
GERMAN_OPENERS = GERMAN | _split_words(
    "die am in an er sie es du ihr meinen meinem unser unsere unseren unserem unserer sein seine ihre kein keine als da weil "
    "um vor seit bis gegen morgen dann hier dort diese dieser dieses jede jeder jedes beim ins ans so"
)
# The same in English, without what names begin with as well (The Hague, A Christmas Carol, Will, May).
ENGLISH_OPENERS = _split_words(
    "yesterday today tomorrow tonight now then later soon recently lately finally currently meanwhile afterwards earlier also "
    "however therefore maybe perhaps apparently unfortunately luckily actually again once yes no ok okay so but and or if "
    "when while after before since until because although though as at by in on for from with without about to my our his her "
    "their your its this that these those here there hello hi hey dear thanks please what who whom whose where why how which "
    "is are was were am do does did can could should would has have had ask asked tell told call called meet met remind note "
    "reminder todo let let's we he she they it you not only even both either neither"
)
WEEKDAYS = _split_words(
    "monday tuesday wednesday thursday friday saturday sunday montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag"
)
TELLING = 1000  # characters
UNSPACED = re.compile(r"[\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u3005-\u3007\u3040-\u312F\u31F0-\u31FF\u3400-\u9FFF\uAC00-\uD7A3]")
AMONG_UNSPACED = re.compile(
    r"[A-Z][A-Za-z0-9.+#-]*(?: [A-Z][A-Za-z0-9.+#-]*)*"  # a foreign word
    r"|[ァ-ヴー]{4,}(?:[・＝][ァ-ヴー]+)*|[ァ-ヴー]+(?:[・＝][ァ-ヴー]+)+"  # one in katakana  # noqa: RUF001
    r"|[\u4E00-\u9FFF]{1,4}(?:さん|様|氏|先生|ちゃん|くん)"  # a form of address
    r"|[\u4E00-\u9FFF]{2,4}(?:株式会社|大学|高校|病院|銀行|空港|市|駅)"  # a kind of place or body
)
SHORTEST, LONGEST = 2, 100  # the database refuses those shorter than the namespace's setting extracted_length
HEADING_WORDS = 8
MOST_NAMES = 50


def find_names(text: str, *, source: str | None = None, language: str = "english") -> list[str]:
    """Names in a text, at most 50, in order of appearance, without that of the speaker.

    A name is a run of capitalised words inside a clause, joined by small words such as `of`; a lone capitalised word at the
    start of a clause says nothing, nor do the words that open one (Yesterday, On Monday). A short first line without end
    punctuation is a heading, and names its subject. `language` (a text search configuration) decides where the words of the text
    do not.
    """
    found: dict[str, str] = {}
    heading, _, rest = text.partition("\n")
    if rest and len(heading.split()) <= HEADING_WORDS and not heading.rstrip().endswith((".", "!", "?", ":", ";", ",")):
        _keep_name(found, PARENTHESIS.sub("", heading))
    german = is_german(text, language)
    plain = text.isascii()
    spaced = plain or not UNSPACED.search(text)
    for clause in (CLAUSE if plain else ANY_CLAUSE).split(text):
        if not spaced and UNSPACED.search(clause):
            names = AMONG_UNSPACED.findall(clause)
        else:
            names = _german_runs(clause.split()) if german else _find_name_runs(clause.split())
        for name in names:
            _keep_name(found, name)
    found.pop((source or "").lower(), None)
    return list(found.values())[:MOST_NAMES]


def list_name_phrases(names: list[str]) -> list[str]:
    """Possible names in each of these: itself, and what it ends with, from two words on.

    Which capitalised words before a name belong to it, only other texts tell: in "Presumably Maria Gonzalez" and "Professor Maria
    Gonzalez" it is what both have.
    """
    tried: dict[str, str] = {}
    for name in names:
        words = name.split(" ")
        for start in range(max(len(words) - 1, 1)):
            if start == 0 or words[start][:1].isupper():
                tail = " ".join(words[start:])
                tried.setdefault(tail.lower(), tail)
    return list(tried.values())


def _keep_name(found: dict[str, str], name: str) -> None:
    name = " ".join(name.split())
    if SHORTEST <= len(name) <= LONGEST and name.lower() not in PRONOUNS:
        found.setdefault(name.lower(), name)


def is_german(text: str, language: str) -> bool:
    """Whether a text's small words are German; where they do not say, the language of the namespace does."""
    words = set(text[:TELLING].lower().split())
    balance = len(words & GERMAN) - len(words & ENGLISH)
    return balance > 0 or (balance == 0 and language.endswith("german"))


def _find_capital_runs(words: list[str], joiners: frozenset[str]) -> list[tuple[int, list[str]]]:
    """Runs of capitalised words with the place of the first; joiners may stand inside a run, not at its end."""
    spans: list[tuple[int, list[str]]] = []
    run: list[str] = []
    first = 0
    for place, word in enumerate([*words, ""]):
        if word[:1].isupper() or (run and word in joiners):
            if not run:
                first = place
            run.append(POSSESSIVE.sub("", word))
            continue
        while run and run[-1] in joiners:
            run.pop()
        if run:
            spans.append((first, run))
        run = []
    return spans


def _strip_openers(first: int, run: list[str], openers: frozenset[str], joiners: frozenset[str]) -> tuple[int, list[str]]:
    """A run without the words that open its clause, and its place then."""
    start = 0
    while start < len(run) and (
        (first == 0 and run[start].lower() in openers)
        or (run[start].lower() in WEEKDAYS and len(run) - start > (1 if start else 2))  # Friday Harbor is a town
        or (start > 0 and run[start] in joiners)
    ):
        start += 1
    return first + start, run[start:]


def _find_name_runs(words: list[str]) -> list[str]:
    """Names where only names are capitalised."""
    opened = (_strip_openers(first, run, ENGLISH_OPENERS, JOINERS) for first, run in _find_capital_runs(words, JOINERS))
    return [" ".join(run) for first, run in opened if len(run) > 1 or (run and first > 0)]


def _german_runs(words: list[str]) -> list[str]:
    """Names where all nouns are capitalised: several in a row, or one with a capital or a digit inside."""
    names = []
    for first, run in _find_capital_runs(words, GERMAN_JOINERS):
        _, rest = _strip_openers(first, run, GERMAN_OPENERS, GERMAN_JOINERS)
        if len(rest) > 1 or (rest and any(letter.isupper() or letter.isdigit() for letter in rest[0][1:])):
            names.append(" ".join(rest))
    return names
