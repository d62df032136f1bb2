"""Laws of relevance: a probability that grows with what speaks for an answer."""

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from db.recall.search import Coverage, Hits
from service.recall.relevance import Evidence, estimate_relevance, gather_evidence, nearest_by_namespace
from service.recall.sources import pack_hit

SHARES = st.floats(0, 1)
EVIDENCE = st.builds(
    Evidence,
    SHARES,
    st.none() | st.floats(0, 1),
    st.integers(0, 10_000),
    st.integers(0, 10_000),
    st.integers(0, 10**12),
    st.none() | SHARES,
)


@given(EVIDENCE)
def test_it_is_a_probability(evidence: Evidence) -> None:
    assert 0 <= evidence.answer_likelihood <= 1


@pytest.mark.row("R11")
@pytest.mark.parametrize("name", ["coverage", "nearness", "said"])
@given(EVIDENCE, SHARES, SHARES)
def test_more_that_speaks_for_an_answer_never_makes_it_less_likely(name: str, evidence: Evidence, one: float, other: float) -> None:
    less, more = (replace(evidence, **{name: value}) for value in sorted((one, other)))
    assert less.answer_likelihood <= more.answer_likelihood


@given(EVIDENCE, st.integers(0, 10_000))
def test_as_large_a_share_of_a_longer_question_never_says_less(evidence: Evidence, more: int) -> None:
    assert replace(evidence, terms=evidence.terms + more).answer_likelihood >= evidence.answer_likelihood


@pytest.mark.parametrize("name", ["unknown", "memories"])
@given(EVIDENCE, st.integers(0, 10**9))
def test_unknown_words_and_more_memories_never_raise_relevance(name: str, evidence: Evidence, more: int) -> None:
    changed: dict[str, Any] = {name: getattr(evidence, name) + more}
    assert replace(evidence, **changed).answer_likelihood <= evidence.answer_likelihood


@pytest.mark.row("R11")
@given(
    EVIDENCE,
    st.dictionaries(st.integers(0, 50), st.floats(-5, 5, allow_subnormal=False), min_size=1, max_size=20),
    st.sets(st.integers(0, 50)),
)
def test_the_best_has_the_whole_and_none_has_more_than_one_before_it(
    evidence: Evidence, scores: dict[int, float], favoured: set[int]
) -> None:
    best = sorted(scores, key=lambda key: -scores[key])
    given_ = [estimate_relevance(best, scores, {0: evidence}, dict.fromkeys(favoured, 2.0))[key] for key in best]
    assert given_[0] == pytest.approx(evidence.answer_likelihood)
    assert given_ == sorted(given_, reverse=True)
    assert all(0 <= value <= 1 for value in given_)


def test_each_namespace_is_judged_by_what_is_in_it_and_other_tiers_not_at_all() -> None:
    here, there, turn = pack_hit(0, "memory", 7), pack_hit(1, "memory", 7), pack_hit(0, "conversation", 0)
    knows, does_not = Evidence(1.0, 0.6, 4, 0, 100), Evidence(0.0, 0.1, 4, 4, 100)
    found = estimate_relevance([here, there, turn], {here: 2.0, there: 1.0, turn: 0.5}, {0: knows, 1: does_not}, {})
    assert found == {here: pytest.approx(knows.answer_likelihood), there: pytest.approx(does_not.answer_likelihood)}
    assert (knows.answer_likelihood > 0.9, does_not.answer_likelihood < 0.1) == (True, True)


def test_a_statement_of_another_speaks_against_the_named_speaker() -> None:
    found = {0: Coverage({1: 0.9, 2: 0.3}, 4, 0, 500)}
    near = nearest_by_namespace(Hits({1: 0.6, 2: 0.2}, {}))
    by_her = gather_evidence(found, near, {}, {1: "Ana", 2: "Ben"}, {"Ana"})[0]
    by_him = gather_evidence(found, near, {}, {1: "Ben", 2: "Ana"}, {"Ana"})[0]
    unnamed = gather_evidence(found, near, {}, {1: "Ben", 2: "Ana"}, set())[0]
    assert (by_her.speaker_likelihood > 0.9, by_him.speaker_likelihood < 0.2, unnamed.speaker_likelihood) == (True, True, 1.0)
    unsaid = gather_evidence(found, near, {}, {2: "Ana"}, {"Ana"})[0]  # what nobody said is not another one's word
    assert unsaid.said == 1
    assert by_her.topic_likelihood == by_him.topic_likelihood == unnamed.topic_likelihood


def test_the_mean_of_a_namespace_is_taken_off_so_that_a_model_with_high_cosines_is_no_surer() -> None:
    low = gather_evidence({0: Coverage({1: 0.5}, 4, 1, 10_000)}, {0: 0.4}, {0: 0.0}, {}, set())[0]
    high = gather_evidence({0: Coverage({1: 0.5}, 4, 1, 10_000)}, {0: 0.88}, {0: 0.8}, {}, set())[0]
    assert high.nearness is not None
    assert low.nearness is not None
    assert math.isclose(high.nearness, low.nearness, abs_tol=0.01)
