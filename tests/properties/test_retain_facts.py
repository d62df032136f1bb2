"""Cutting a text into facts: laws that hold for every text, and what a reader expects."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.text.facts import split

PIECES = st.sampled_from(
    [
        *"abAB I.!?…。\uff01\n \t-*•1.)>#\"'”」(",
        "Dr.",
        "e.g.",
        "3.14",
        "https://a.b/c?d=e.f",
        "- ",
        "2) ",
        "Alice lives in Oslo.",
        "我住在柏林。",
        "\r\n",
    ]
)
TEXTS = st.one_of(st.text(), st.lists(PIECES).map("".join))
MARKS = re.compile(r"(?:[-*+•‣◦▪–—]|\(?\d{1,3}[.)]|\[[xX]?\]|#{1,6}|>)*")


def packed(text: str) -> str:
    """A text without white space."""
    return "".join(text.split())


@given(TEXTS)
def test_every_character_that_is_no_space_and_no_mark_of_a_list_is_in_one_fact_in_order(text: str) -> None:
    rest = packed(text)
    for fact in split(text):
        before, found, rest = rest.partition(packed(fact))
        assert found
        assert MARKS.fullmatch(before)
    assert MARKS.fullmatch(rest)


@given(TEXTS)
def test_no_fact_is_empty_or_has_space_around_it(text: str) -> None:
    assert all(fact and fact == fact.strip() for fact in split(text))


@given(TEXTS)
def test_a_text_that_says_something_has_a_fact(text: str) -> None:
    assert bool(split(text)) == bool(text.strip())


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("Alice lives in Oslo. Bob likes tea! Does he?", ["Alice lives in Oslo.", "Bob likes tea!", "Does he?"]),
        ("Alice lives in Oslo\nBob likes tea", ["Alice lives in Oslo", "Bob likes tea"]),
        ("likes tea\nlives in Oslo", ["likes tea", "lives in Oslo"]),
        (
            "Alice has lived in Oslo for as long as anyone of her\nfriends can remember. Bob\nlikes tea",
            ["Alice has lived in Oslo for as long as anyone of her friends can remember.", "Bob", "likes tea"],
        ),
        ("- Alice lives in Oslo\n* Bob likes tea\n3) Carol sings", ["Alice lives in Oslo", "Bob likes tea", "Carol sings"]),
        ("## Tools\n- [x] uses Vim\n> quoted", ["Tools", "uses Vim", "quoted"]),
        ("Dr. Smith, e.g., met J. R. Jones at 5 p.m. on Monday.", ["Dr. Smith, e.g., met J. R. Jones at 5 p.m. on Monday."]),
        ("He joined Acme Inc. He left Globex Corp. The end.", ["He joined Acme Inc.", "He left Globex Corp.", "The end."]),
        ("Pi is 3.14. Version 2.1.0 is out.", ["Pi is 3.14.", "Version 2.1.0 is out."]),
        ("See https://a.b/c.d?e=f. It is short.", ["See https://a.b/c.d?e=f.", "It is short."]),
        ('She said "I live in Rome." Then she left.', ['She said "I live in Rome."', "Then she left."]),
        ("It was me and I. Nobody else.", ["It was me and I.", "Nobody else."]),
        ("我住在柏林。他喜欢茶\uff01真的吗\uff1f", ["我住在柏林。", "他喜欢茶\uff01", "真的吗\uff1f"]),
        ("「行くよ。」と彼は言った。", ["「行くよ。」", "と彼は言った。"]),
        ("Wait... what? Yes.", ["Wait... what?", "Yes."]),
        ("The answer is no. See fig. 3 and no. 5.", ["The answer is no.", "See fig. 3 and no. 5."]),
        ("---", ["---"]),
        ("", []),
    ],
)
def test_facts_are_what_a_reader_takes_for_them(text: str, facts: list[str]) -> None:
    assert split(text) == facts
