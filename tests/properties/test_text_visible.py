"""Laws of showing hidden characters, and what scripts need."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.text.hidden_characters import show_hidden_characters, visible_json, visible_values

HIDDEN = st.sampled_from(
    "\x00\x07\x08\x1b\x7f\x85\x9b\xad\u061c\u200b\u200c\u200d\u200e\u202a\u202e\u2028\u2060\u2066\u2069\u3164\ufe0f\ufeff\ufff9\r"
    "\U000e0001\U000e0041\U000e0101"
)
TEXTS = st.text(st.one_of(st.characters(codec="utf-8"), HIDDEN))
MUST = "\x1b\x9b\x08\x7f\u200b\u200e\u202e\u202a\u2066\u2069\u2060\ufeff\u061c\U000e0041\U000e007f"


@given(TEXTS)
def test_nothing_that_steers_or_hides_is_left(text: str) -> None:
    shown = show_hidden_characters(text)
    assert not any(character in shown for character in MUST)
    kept = {character for character in shown if unicodedata.category(character) in {"Cc", "Cf", "Zl", "Zp"}}
    assert kept <= set("\n\t\r\u200c\u200d\u2028\u2029") | {
        character for character in kept if "\u0600" <= character <= "\u08ff" or character > "\U00010000"
    }
    assert "\r" not in shown.replace("\r\n", "")
    assert show_hidden_characters(shown) == shown


@given(st.recursive(TEXTS | st.none() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner)))
def test_escaped_json_has_the_same_value(value: object) -> None:
    for indent in (None, 2):
        shown = visible_json(json.dumps(value, ensure_ascii=False, indent=indent))
        assert json.loads(shown) == value
        assert not any(character in shown for character in MUST)
    assert visible_values(json.loads(json.dumps(visible_values(value)))) == visible_values(value)


@given(st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E)))
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert show_hidden_characters(text) == text
    assert show_hidden_characters(f"{text}\n\t{text}\r\n") == f"{text}\n\t{text}\r\n"


@pytest.mark.parametrize(
    "text",
    [
        "م\u200cخ",
        "क्\u200dष",
        "👩\u200d💻",
        "❤\ufe0f\u200d🔥",
        "👩🏽\u200d🚀",
        "1\ufe0f\u20e3",
        "辻\U000e0100",
        "é ü ß",
        "日本語",
        "😀",
        "نص عربي",
    ],
)
def test_characters_that_scripts_and_emoji_need_stay(text: str) -> None:
    assert show_hidden_characters(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[2Jb", "a\\x1b[2Jb"),
        ("a\rb", "a\\x0db"),
        ("pass\u202edrow", "pass\\u202edrow"),
        ("a\u200db", "a\\u200db"),  # a joiner that joins nothing
        ("é\u200d\u200dé", "é\\u200d\\u200dé"),
        ("😀\ufe0f\ufe0f\ufe0f", "😀\ufe0f\\ufe0f\\ufe0f"),  # a row of them carries data
        ("ok\U000e0068\U000e0069", "ok\\U000e0068\\U000e0069"),
        ("x\U000e0101", "x\\U000e0101"),
    ],
)
def test_the_rest_is_shown_by_its_number(text: str, shown: str) -> None:
    assert show_hidden_characters(text) == shown
