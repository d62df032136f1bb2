"""Which statements tell what is asked, and tell the same."""

from datetime import UTC, datetime, timedelta

import pytest

from service.text.relations import find_asked_relation
from service.text.statements import Statement, match_statements

START = datetime(2024, 1, 1, tzinfo=UTC)
Said = tuple[str, float] | tuple[str, float, str]


def answers(question: str, *said: Said) -> tuple[list[str], list[str]]:
    """Contents that tell what is asked, the latest first, and others about the same; of each content and score, the oldest first."""
    asked = find_asked_relation(question, past=False)
    assert asked is not None
    statements = [
        Statement(nth, each[1], each[0], tuple(each[2:]), (START + timedelta(days=nth), START, nth))
        for nth, each in enumerate(said)
    ]
    found = match_statements(statements, asked)
    return [each.content for each in found.same], [each.content for each in found.others]


def test_a_word_of_change_tells_the_same_with_less_of_a_score() -> None:
    same, others = answers(
        "Which dentist does Nadia see?",
        ("Nadia visits Dr Abel for her teeth", 1.0),
        ("Nadia has Dr Weiss now", 0.5),
        ("Nadia rides with Dr Moll", 0.5),
        ("Nadia has Miso, a new cat", 0.3),
        ("Felix has Dr Kern now", 0.9),
    )
    assert same == ["Nadia has Dr Weiss now", "Nadia visits Dr Abel for her teeth"]
    assert others == []  # no cue tells it: nobody knows that these do not


def test_a_value_of_another_kind_does_not_tell_the_same_whatever_its_score() -> None:
    same, _ = answers(
        "What does the pump draw?",
        ("The pump draws 90 euros", 0.9),
        ("The pump runs at level 4", 1.0),
        ("The pump is at 6 euros", 0.1),
        ("The pump is new", 0.95),
    )
    assert same == ["The pump is at 6 euros", "The pump draws 90 euros"]


def test_words_after_an_article_that_stand_together_name_the_subject() -> None:
    same, _ = answers(
        "When must we hand in the tax report soon?",
        ("The tax report is due on 4 May", 1.0),
        ("We hand in the tax report on 9 May", 0.4),
        ("The tax office opens on 5 May", 0.5),
    )
    assert same == ["We hand in the tax report on 9 May", "The tax report is due on 4 May"]


@pytest.mark.parametrize(
    ("question", "teller"),
    [
        ("Which languages does Nadia study?", "Nadia is studying Welsh"),
        ("Who mentors Nadia?", "The mentor of Nadia is Rosa"),
        ("Welche Sprachen lernt Nadia?", "Nadia findet die Sprache von Wales schön"),
    ],
)
def test_a_word_of_the_question_tells_it_with_any_ending_and_comes_before_a_better_score(question: str, teller: str) -> None:
    assert answers(question, (teller, 0.5), ("Nadia came by tram with Bo", 1.0))[0][-1] == teller


def test_earlier_words_of_a_lineage_match_too() -> None:
    same, others = answers(
        "What diet does Nadia follow?",
        ("Nadia has gone low-salt", 0.4, "Nadia follows a vegan diet"),
        ("Nadia comes by tram now", 0.9, "Nadia comes by bus"),
    )
    assert (same, others) == (["Nadia has gone low-salt"], ["Nadia comes by tram now"])


def test_statements_with_a_cue_come_before_other_statements() -> None:
    told_, others = answers(
        "Where does Nadia live?", ("Nadia has a flat in Graz", 0.3), ("Nadia has a bicycle", 0.5), ("Nadia plays chess", 0.9)
    )
    assert (told_, others) == (["Nadia has a flat in Graz"], ["Nadia plays chess", "Nadia has a bicycle"])


def test_statements_with_and_without_a_name_are_not_the_same_fact() -> None:
    same, _ = answers(
        "Where does Nadia live?",
        ("Nadia lives in Graz", 1.0),
        ("Nadia is a citizen of Porto now", 0.5),
        ("By the way: Nadia starts with espresso now", 0.9),
    )
    assert same == ["Nadia is a citizen of Porto now", "Nadia lives in Graz"]


@pytest.mark.parametrize("question", ["Where do I live?", "Where does the user live?", "Wo wohnt der User?"])
def test_a_first_person_question_is_answered_by_first_person_statements(question: str) -> None:
    same, others = answers(
        question, ("I moved to Bergen last week", 0.3), ("My cat is called Miso", 0.5), ("Bo lives in Graz", 0.9)
    )
    assert (same, others) == (["I moved to Bergen last week"], ["My cat is called Miso"])


def test_a_number_of_the_question_says_of_which() -> None:
    said = [(f"The review of order {number} for Lapwing is held in {place}", 1.0 - number / 10_000) for number, place in
            ((509, "Turku"), (510, "Malmo"), (511, "Jena"), (51, "Oslo"))]  # fmt: skip
    moved = ("Lapwing moved the review of order 510 to Porto", 0.9)
    same, others = answers("Where is the review of order 510 for Lapwing?", *said, moved)
    assert same == [moved[0], said[1][0]]
    assert others == []


def test_a_number_within_a_word_is_no_value() -> None:
    same, others = answers(
        "What does Ada drink in the morning?", ("Ada drinks mate (mk11)", 1.0), ("Ada lives in Malmo (mk11)", 0.3)
    )
    assert (same, others) == (["Ada drinks mate (mk11)"], ["Ada lives in Malmo (mk11)"])
