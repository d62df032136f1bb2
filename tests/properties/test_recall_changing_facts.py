"""The generator of facts that change: what it calls right is right, and its halves have nothing in common."""

import json
import re

import pytest

from bench.changing_facts import CHOSEN_ON
from bench.quality import changing


def test_held_out_questions_share_no_subject_and_no_wording_with_the_others() -> None:
    said: dict[bool, set[str]] = {True: set(), False: set()}
    for kind in map(json.loads, changing.KINDS.open(encoding="utf-8")):
        said[kind["half"] in CHOSEN_ON] |= {*kind["subjects"], *kind["first"], *kind["later"], *kind["questions"], *kind["past"]}
    assert said[True]
    assert said[False]
    assert not said[True] & said[False]


@pytest.mark.parametrize("half", ["tune", "held_out"])
def test_a_hundred_questions_a_half_about_fifty_facts_of_ten_kinds_with_three_to_six_versions(half: str) -> None:
    facts = changing.facts(half)
    assert len(facts) == 50
    assert len({fact.kind["kind"] for fact in facts}) == 10
    assert all(3 <= len(fact.versions) <= 6 for fact in facts)
    assert len({version.text for fact in facts for version in fact.versions}) == sum(len(fact.versions) for fact in facts)
    assert len(changing.questions(half, facts)) == 100


@pytest.mark.parametrize("half", ["tune", "held_out"])
def test_at_the_moment_asked_about_the_right_version_is_the_last_that_had_begun(half: str) -> None:
    for question in changing.questions(half, changing.facts(half)):
        if question.as_of is not None:
            begun = [n for n, version in enumerate(question.fact.versions) if version.valid_from <= question.as_of]
            assert max(begun) == question.version
        assert not re.search(r"\b\d", question.text) or question.fact.kind["kind"] not in {
            "port",
            "price",
        }  # no value in a question


@pytest.mark.parametrize("half", ["tune", "second_tune", "third_tune", "held_out", "third_held_out"])
def test_versions_follow_each_other_but_for_one_that_corrects(half: str) -> None:
    for fact in changing.facts(half):
        pairs = list(zip(fact.versions, fact.versions[1:], strict=False))
        assert all((newer.valid_from > older.valid_from) != newer.corrects for older, newer in pairs)
        assert sum(version.corrects for version in fact.versions) == (fact.way == "corrected")
