"""Subject of a statement: put in front of it, and whether it speaks of its speaker; as SQL tells both."""

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

NOBODY = "user"  # a speaker that is nobody in particular
READ_CHARACTERS = 2000  # characters of a statement that are looked at
_SIGNS = re.compile(r"[\W_]+")
_FIRST_PERSON = re.compile(
    r"\b(?:I|[Mm]e|[Mm]y|[Mm]yself|[Ww]e|us|[Oo]urs?|[Ii]ch|[Mm]ich|[Mm]ir|[Mm]ein(?:e[mnrs]?)?|[Ww]ir|uns|[Uu]nser(?:e[mnrs]?)?)\b"
    r"(?![.)-])|\bi(?:['’ ]|\Z)|\A(?:The |the |Der |Die )?(?:[Uu]ser|Benutzer|Nutzerin?)\b"
)


def text_with_subject(content: str, about: str | None) -> str:
    """A statement with its subject in front, where its words do not name it: `Rosa: Lives in Braga`."""
    if about is None or _pad_words(about) in _pad_words(content[:READ_CHARACTERS]):
        return content
    return f"{about}: {content}"


def format_statement(row: Mapping[str, Any], *, speaker: bool = False) -> str:
    """A memory's text, with its subject in front. `speaker`: who said it is shown beside it, and is not named twice."""
    about, source = row.get("about"), row.get("source")
    known = about is None or about.lower() == NOBODY or (speaker and about == source)
    return text_with_subject(row["content"], None if known else about)


def is_first_person(content: str) -> bool:
    """Whether a statement says I, me, my, we, us or our, or begins with `user`; English and German."""
    return _FIRST_PERSON.search(content[:READ_CHARACTERS]) is not None


def _pad_words(text: str) -> str:
    """The words of a text, whatever their case and the signs between them, with a blank before and after each."""
    folded = unicodedata.normalize("NFC", text).replace("\u0130", "i").lower().replace("\u03c2", "\u03c3")
    return f" {_SIGNS.sub(' ', folded).strip()} "
