"""Speaker and subject of a memory that a system keeps for a user; the subject where its words name nobody."""

import re

from service.text.subject import is_first_person
from service.transfer.foreign.values import choose_subject, shorten_label

WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")


def _split_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


OPENERS = _split_words(
    "name favourite favorite has is was had does likes loves lives works prefers enjoys wants needs uses plays owns speaks hates "
    "dislikes drinks eats drives studies plans reads writes knows thinks follows visits travels takes keeps goes makes"
)
VERBS = _split_words("is was has had will can may would could should does did went got made came")


def said_of_user(text: str, user: object, other: str | None = None) -> tuple[str | None, str | None]:
    """Source and subject of a memory of this user; `other`: who said it, if that is not the user.

    In the first person, or of "the user", it is the user's own words. Else it is about the user, unless it begins with a name.
    An id that is a UUID is no name: it says who speaks, and not whom a statement is about.
    """
    if not isinstance(user, str) or not user.strip():
        return other, None
    name = shorten_label(user)
    if is_first_person(text):
        return name, None
    return other or name, None if begins_with_a_name(text) else choose_subject(name)


def begins_with_a_name(text: str) -> bool:
    """Whether a statement begins with whom it is about (Ada lives …), and not with what is said (Lives …, Allergic to …)."""
    first, second = [*WORD.findall(text[:200])[:2], "", ""][:2]
    if not first[:1].isupper() or first.lower() in OPENERS:
        return False
    return second[:1].isupper() or first.endswith(("'s", "’s")) or second in VERBS or second.endswith(("s", "ed"))
