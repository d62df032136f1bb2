"""Proper-noun phrases in a text, without a model (row R9): what the graph arm links raw texts by.

English spelling conventions carry it: inside a clause a capitalised word is a name. Languages that write without capitals
yield nothing, which costs recall nothing.
"""

import re

CLAUSE = re.compile(r"[.,;:!?()\"“”\n\[\]]+")
POSSESSIVE = re.compile(r"['’]s$")
PARENTHESIS = re.compile(r"\s*\([^)]*\)\s*$")
JOINERS = frozenset({"of", "the", "and", "de", "la", "le", "von", "van", "der", "du", "di", "da", "bin", "al", "&"})
PRONOUNS = frozenset({"i", "i'm", "i've", "i'd", "i'll", "i’m", "i’ve", "i’d", "i’ll"})
SHORTEST, LONGEST = 2, 100  # the database refuses those shorter than the namespace's setting extracted_length
HEADING_WORDS = 8
MOST = 50


def find_names(text: str, *, source: str | None = None) -> list[str]:
    """Names in a text, at most 50, in order of appearance, without that of the speaker.

    A name is a run of capitalised words inside a clause, joined by small words such as `of`; a lone capitalised word at the
    start of a clause says nothing. A short first line without end punctuation is a heading, and names its subject.
    """
    found: dict[str, str] = {}
    heading, _, rest = text.partition("\n")
    if rest and len(heading.split()) <= HEADING_WORDS and not heading.rstrip().endswith((".", "!", "?", ":", ";", ",")):
        _keep(found, PARENTHESIS.sub("", heading))
    for clause in CLAUSE.split(text):
        for name in _runs(clause.split()):
            _keep(found, name)
    found.pop((source or "").lower(), None)
    return list(found.values())[:MOST]


def _keep(found: dict[str, str], name: str) -> None:
    name = " ".join(name.split())
    if SHORTEST <= len(name) <= LONGEST and name.lower() not in PRONOUNS:
        found.setdefault(name.lower(), name)


def _runs(words: list[str]) -> list[str]:
    """Runs of capitalised words; joiners may stand inside a run, not at its end."""
    runs: list[list[str]] = []
    run: list[str] = []
    first = 0
    for place, word in enumerate([*words, ""]):
        if word[:1].isupper() or (run and word in JOINERS):
            if not run:
                first = place
            run.append(POSSESSIVE.sub("", word))
            continue
        while run and run[-1] in JOINERS:
            run.pop()
        if len(run) > 1 or (run and first > 0):
            runs.append(run)
        run = []
    return [" ".join(run) for run in runs]
