"""How many words the texts of a body have: words are what writing costs, not bytes. See docs/design/service.md.

Counted on the bytes of the JSON, before it is parsed, and only where there are enough of them to hold too many words.
"""

import re

from db.errors import TooLarge

INSIDE = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)  # of a string
COLON = re.compile(rb"\s*+:")
STEP_BYTES = 64 * 1024  # bytes that one call looks at, so that others have the interpreter in between
LETTERS = bytes(b for b in range(256) if b >= 0x80 or chr(b).isalnum())  # noqa: PLR2004 (beyond ASCII)
KINDS = bytes(ord("x") if b in LETTERS else ord(" ") for b in range(256))
SINGLE = bytes([0xE0, 0xE1, *range(0xE3, 0xF5)])  # first bytes of letters of scripts that are mostly written without spaces
NO_FEWER = 2  # bytes of a word and what parts it from the next


def count_words(body: bytes) -> int:
    """Words in the strings of JSON, or of JSON lines; names of fields and numbers that are not text do not count.

    A word that lies across the end of a step counts twice.
    """
    words, at = 0, body.find(b'"') + 1
    while at:
        said = 0
        while (end := INSIDE.match(body, at, at + STEP_BYTES).end()) > at:  # type: ignore[union-attr]  # it matches nothing too
            said += words_of(body[at:end])
            at = end
        words += said if COLON.match(body, at + 1, at + STEP_BYTES) is None else 0
        at = body.find(b'"', at + 1) + 1
    return words


def words_of(text: bytes) -> int:
    """Runs of letters and digits in UTF-8; of scripts without spaces each letter is a word."""
    kinds = text.translate(KINDS)
    runs = kinds.count(b" x") + kinds.startswith(b"x")
    return runs if text.isascii() else runs + len(text) - len(text.translate(None, SINGLE))


def check_words(body: bytes, most: int) -> None:
    """Raise TooLarge for a body with more than so many words."""
    if len(body) <= NO_FEWER * most:
        return
    words = count_words(body)
    if words > most:
        raise TooLarge(
            f"the texts have {words:,} words; at most {most:,} are taken at once",
            hint="Send fewer items at a time, or raise LOCI_LIMITS__WORDS.",
        )
