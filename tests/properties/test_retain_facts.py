"""Cutting a text into facts: laws that hold for every text, and what a reader expects."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.text.fact_splitting import split_facts

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
MARKS = re.compile(r"(?:[-*+•‣◦▪–—;,:]|\(?\d{1,3}[.)]|\[[xX]?\]|#{1,6}|>)*")


def packed(text: str) -> str:
    """A text without white space."""
    return "".join(text.split())


@given(TEXTS)
def test_every_character_that_is_no_space_and_no_mark_of_a_list_is_in_one_fact_in_order(text: str) -> None:
    rest = packed(text)
    for fact in split_facts(text):
        before, found, rest = rest.partition(packed(fact))
        assert found
        assert MARKS.fullmatch(before)
    assert MARKS.fullmatch(rest)


@given(TEXTS)
def test_no_fact_is_empty_or_has_space_around_it(text: str) -> None:
    assert all(fact and fact == fact.strip() for fact in split_facts(text))


@given(TEXTS)
def test_a_text_that_says_something_has_a_fact(text: str) -> None:
    assert bool(split_facts(text)) == bool(text.strip())


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
        ("i live in rome. can you help me?", ["i live in rome.", "can you help me?"]),
        ("my dog is called rex. he is three. any tips?", ["my dog is called rex.", "he is three.", "any tips?"]),
        ("I live in the U.S. Can you help?", ["I live in the U.S.", "Can you help?"]),
        ("i live in the u.s. can you help?", ["i live in the u.s.", "can you help?"]),
        ("The U.S. Army hires at Acme Inc. and e.g. in Bonn.", ["The U.S. Army hires at Acme Inc. and e.g. in Bonn."]),
        ("Ich wohne in Ulm. kannst du mir helfen?", ["Ich wohne in Ulm.", "kannst du mir helfen?"]),
        ("Vivo en Sevilla. ¿Me puedes ayudar?", ["Vivo en Sevilla.", "¿Me puedes ayudar?"]),
        ("मैं दिल्ली में रहता हूँ। क्या आप मदद कर सकते हैं?", ["मैं दिल्ली में रहता हूँ।", "क्या आप मदद कर सकते हैं?"]),
        ("أعيش في القاهرة. هل يمكنك مساعدتي؟", ["أعيش في القاهرة.", "هل يمكنك مساعدتي؟"]),
        ("میں لاہور میں رہتا ہوں۔ کیا آپ مدد کریں گے؟", ["میں لاہور میں رہتا ہوں۔", "کیا آپ مدد کریں گے؟"]),  # noqa: RUF001
        ("Ես ապրում եմ Երևանում։ Կարո՞ղ եք օգնել։", ["Ես ապրում եմ Երևանում։", "Կարո՞ղ եք օգնել։"]),  # noqa: RUF001
        ("Ζω στην Αθήνα. Μπορείς να βοηθήσεις;", ["Ζω στην Αθήνα.", "Μπορείς να βοηθήσεις;"]),  # noqa: RUF001
        ("I am vegan; can you suggest a recipe?", ["I am vegan", "can you suggest a recipe?"]),
        ("Soy vegano; ¿qué puedo comer?", ["Soy vegano", "¿qué puedo comer?"]),
        ("I have a dog, what should I feed it?", ["I have a dog", "what should I feed it?"]),
        ("If I am vegan, what can I eat?", ["If I am vegan, what can I eat?"]),
        ("Vivo a Roma. puoi aiutarmi?", ["Vivo a Roma.", "puoi aiutarmi?"]),
        ("Trabajo en Repsol. ¿puedes ayudarme?", ["Trabajo en Repsol.", "¿puedes ayudarme?"]),
        ("I live in Rome... can you help me?", ["I live in Rome...", "can you help me?"]),
        ("I am vegan; my wife is not.", ["I am vegan; my wife is not."]),
        ("Do you like tea; coffee; or milk?", ["Do you like tea; coffee; or milk?"]),
        ("---", ["---"]),
        ("", []),
    ],
)
def test_facts_are_the_sentences_that_a_reader_marked(text: str, facts: list[str]) -> None:
    assert split_facts(text) == facts
