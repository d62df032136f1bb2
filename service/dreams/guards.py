"""The guards that hold for every pass, whatever a model is asked about: what it may write and where, and what rows forbid.

Each pass adds what only its own question needs; none has rules of its own for categories, tags, or texts that stand for others.
"""

import re
from typing import Annotated

from service.llm.schemas import at_most, text_of
from service.text.guards import find_invented_marks, find_missing_marks, kept_share
from service.text.marks import Read

Fault = tuple[str, str]  # the guard, and its reason
Tags = Annotated[list[Annotated[str, text_of(50, least=15)]], at_most(10)]
Path = Annotated[str, text_of(100)]
CATEGORY = re.compile(r"[^/\s][^/]*(/[^/\s][^/]*)*")
MOST_TAGS, LONGEST_TAG, LONGEST_CATEGORY = 100, 255, 255
ALIKE = 0.5  # share of a source's words that a text in its place must still have
EXTRA_CHARACTERS = 100  # characters by which such a text may be longer than all its sources
INFERRED, ANTI_PATTERNS = "user-preferences/inferred", "anti-patterns"
OWN = (
    ANTI_PATTERNS,
    INFERRED,
)  # categories of what one pass has counted evidence for: no other files anything there, or takes it away
LASTING = {"anti-pattern", "inferred"}  # tags of which the same holds
QUOTED_WORDS = 5  # words that a refusal names at most

# Guards that SQL asks of rows, by name, and what their refusal says. Those of memories say it themselves, with their ids.
OF_ROWS = {
    "gone": "it, or what it rests on, was removed, forgotten or erased meanwhile",
    "changed": "it was written or observed since the model saw it",
    "short": "a new name is shorter than the setting extracted_length",
    "end": "one of its ends was refused",
    "loop": "both ends are one entity",
    "confident": "its confidence is protected_confidence or more",
    "redundant": "nothing that stays says the same",
    "recent": "it was observed within dream_entity_days",
    "person": "people are never removed",
    "pinned": "it is pinned",
    "referenced": "it has been referenced",
    "mentioned": "memories in force or facts rest on it",
    "young": "it is younger than dream_entity_days",
    "connected": "it has edges that stay",
    "share": "more would go than dream_removed_share allows: the next pass may remove it",
}


def category_fault(category: str | None, before: list[str] | None = None) -> Fault | None:
    """Why a category cannot be used; `before`: those that it takes the place of."""
    if category is None:
        return None
    if "\x00" in category or len(category) > LONGEST_CATEGORY or not CATEGORY.fullmatch(category):
        return "category", "the category is no path of words separated by slashes"
    if before is not None and _find_pass_category(category) not in map(_find_pass_category, before):
        return "category", "what is inferred or learned is told from the rest by its category"
    return None


def _find_pass_category(category: str) -> str | None:
    """The category of a pass that a category lies in, or looks as if it did."""
    path = "/".join(step.strip().casefold() for step in category.split("/"))
    return next((own for own in OWN if path == own or path.startswith(own + "/")), None)


def tags_fault(tags: Tags) -> Fault | None:
    """Why tags cannot be used."""
    if len(tags) > MOST_TAGS or any(not tag.strip() or "\x00" in tag or len(tag) > LONGEST_TAG for tag in tags):
        return "tags", "a tag is empty or too long, or there are too many"
    return None


def unique_tags(tags: Tags) -> Tags:
    """Tags as they are stored, each once."""
    return list(dict.fromkeys(tag.strip() for tag in tags))


def free_tags(tags: Tags) -> Tags:
    """The same without those that say where a memory comes from."""
    return [tag for tag in unique_tags(tags) if tag.casefold() not in LASTING]


def text_fault(read: Read, sources: list[str], text: str) -> Fault | None:
    """Why a text cannot stand for its sources: it lost something, says something new, or is another text altogether."""
    if not text:
        return "empty", "the text is empty"
    if len(text) > sum(map(len, sources)) + EXTRA_CHARACTERS:
        return "long", "the text is longer than all its sources together"
    if lost := find_missing_marks(read, sources, text):
        return "coverage", f"the text lost {quote_first_words(lost)}"
    if new := find_invented_marks(read, sources, text):
        return "invented", f"no source says {quote_first_words(new)}"
    if min(kept_share(read, source, text) for source in sources) < ALIKE:
        return "unlike", "the text says less than half of what one of its sources says"
    return None


def quote_first_words(words: list[str]) -> str:
    """Words for a refusal, the first few."""
    return ", ".join(words[:QUOTED_WORDS]) + (f" and {len(words) - QUOTED_WORDS} more" if len(words) > QUOTED_WORDS else "")
