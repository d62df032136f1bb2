r"""Characters that nobody sees, shown: what is stored may hold them, and what a person or a model reads shows them escaped.

Control characters move the cursor of a terminal and rewrite what stands there; others turn the order of letters around, take no
room, or carry hidden text (tags, rows of variation selectors). Line breaks and tabs stay. So do joiners and selectors where scripts
and emoji need them: one at a time, behind a letter, mark or symbol beyond ASCII.
"""

import re
import unicodedata
from typing import Any

_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]|\r(?!\n)"
)
_JOINERS, _SELECTORS = "\u200c\u200d", "\ufe0e\ufe0f"
_KEYCAP = "\u20e3"
_IDEOGRAPHS = 0x3400  # where they begin; their selectors are in _VARIANTS
_VARIANTS = range(0xE0100, 0xE01F0)
_BYTE, _PLANE = 0x100, 0x10000


def show_hidden_characters(text: str) -> str:
    r"""A text for people and models: hidden characters as \x1b, \u202e or \U000e0041."""
    return text if text.isascii() and text.isprintable() else _HIDDEN.sub(_escape_character, text)


def visible_json(text: str) -> str:
    r"""The same for JSON as text: as \u001b or \ud83d\ude00, so that it says what it said."""
    return text if text.isascii() else _HIDDEN.sub(_escape_if_needless, text)


def visible_values(value: Any) -> Any:
    """JSON whose texts, names of fields among them, are visible."""
    if isinstance(value, str):
        return show_hidden_characters(value)
    if isinstance(value, dict):
        return {show_hidden_characters(name): visible_values(part) for name, part in value.items()}
    return [visible_values(part) for part in value] if isinstance(value, list) else value


def _escape_character(match: re.Match[str]) -> str:
    code = ord(match[0])
    if _must_stay(match):
        return match[0]
    return f"\\x{code:02x}" if code < _BYTE else f"\\u{code:04x}" if code < _PLANE else f"\\U{code:08x}"


def _escape_if_needless(match: re.Match[str]) -> str:
    if _must_stay(match) or match[0] == "\r":  # JSON holds none but between its parts
        return match[0]
    units = match[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))


def _must_stay(match: re.Match[str]) -> bool:
    """Whether a script or an emoji needs it where it stands."""
    text, place = match.string, match.start()
    before, after = text[place - 1 : place], text[place + 1 : place + 2]
    if match[0] in _SELECTORS:
        return _can_be_joiner_neighbour(before) or (before in "0123456789#*" and after == _KEYCAP)
    if match[0] in _JOINERS:
        if before and before in _SELECTORS:
            before = text[place - 2 : place - 1]
        return _can_be_joiner_neighbour(before) and _can_be_joiner_neighbour(after)
    return ord(match[0]) in _VARIANTS and before >= chr(_IDEOGRAPHS) and _can_be_joiner_neighbour(before)


def _can_be_joiner_neighbour(character: str) -> bool:
    """Whether it is a letter, a mark or a symbol beyond ASCII, and seen."""
    return (
        character != ""
        and not character.isascii()
        and unicodedata.category(character)[0] in "LMS"
        and not _HIDDEN.fullmatch(character)
    )
