"""Laws of tuning: what is reckoned is what a recall does, and nothing is proposed for luck."""

import asyncio
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loci.models.recall import TuneInput
from service.recall.tuning import measure_questions
from service.recall.tuning_statistics import (
    CHANCE,
    FEWEST,
    SPEAKER,
    Case,
    Setting,
    assign_folds,
    estimate_luck,
    find_best_setting,
    list_candidates,
    make_report,
    out_of_fold,
)
from service.resources import Resources

PRESENT = Setting({"lexical": 1.0, "vector": 0.8, "graph": 0.7, "names": 2.5, "hierarchy": 0.5, "walk": 0.35}, 1.5, 0.5, 5.0)


def case(question: str, *, right: int = 2, names: float = 1.0, about: float = 0.0) -> Case:
    """Hit 2 has the words and is about whom it asks for, hit 1 a name, hit 3 stands beside hit 1 and was said by who is named."""
    parts = np.array([[0.1, 1.0, 0.0], [names, 0.0, 0.0]])
    lent = np.zeros((3, 3))
    lent[0, 2] = 0.4
    return Case(question, (right,), np.array([1, 2, 3]), ("lexical", "names"), parts, (parts > 0).astype(float), lent,
                np.array([0, 0, SPEAKER], dtype=np.int8), np.zeros(3), np.array([0.0, about, 0.0]), np.ones(3))  # fmt: skip


def test_a_score_is_the_parts_by_their_weights_with_whose_it_is_and_what_neighbours_lend_times_who_said_it() -> None:
    assert case("q", about=0.7).score_settings([PRESENT]).tolist() == [pytest.approx([2.6, 1.0 + 0.7, 0.4 * 2.6 * 1.5])]
    ranked = case("q", about=0.7).score_settings([PRESENT], "rrf")[0]
    assert ranked.tolist() == pytest.approx([(1 + 2.5) / 6, 1 / 6, 0.4 * (1 + 2.5) / 6 * 1.5])


def test_a_right_result_counts_by_its_rank_and_not_at_all_behind_k() -> None:
    silent = Setting({**PRESENT.weights, "names": 0.0}, 1.5, 0.5, 5.0)
    worth = case("q").measure_settings([PRESENT, silent], 10)
    assert worth.tolist() == [pytest.approx([0.5, 1.0]), pytest.approx([1.0, 1.0])]
    assert case("q").measure_settings([PRESENT, silent], 1).tolist() == [[0.0, 1.0], [0.0, 1.0]]
    assert case("q", right=9).measure_settings([PRESENT], 10).tolist() == [[0.0], [0.0]]


def test_misleading_names_are_weighed_down_and_the_gain_says_so() -> None:
    said = make_report([case(f"question {n}") for n in range(FEWEST)], PRESENT, k=1, fusion="linear")
    assert (said["verdict"], said["settings"]) == ("change", {"weights": {"names": 0.0}})
    assert (said["gain"]["value"], said["present"]["recall@1"], said["proposed"]["recall@1"]) == (100, 0, 100)


def test_a_few_questions_are_too_few_whatever_they_say() -> None:
    said = make_report([case(f"question {n}") for n in range(FEWEST - 1)], PRESENT, k=1, fusion="linear")
    assert (said["verdict"], said["settings"]) == ("too few", None)


@pytest.mark.row("R14")
def test_luck_is_seldom_proposed() -> None:
    draw = np.random.default_rng(7)
    questions = [f"question {n}" for n in range(60)]
    proposed = 0
    for _ in range(40):
        values = draw.integers(0, 2, (60, 200)).astype(float)
        gained, _ = out_of_fold(values, questions)
        proposed += find_best_setting(values) != 0 and gained.is_clear_gain and estimate_luck(values) <= CHANCE
    assert proposed <= 2  # one in twenty


def test_tuning_tells_a_gain_from_luck_however_many_settings_are_tried() -> None:
    draw = np.random.default_rng(7)
    values = draw.integers(0, 2, (60, 200)).astype(float)
    assert estimate_luck(values) > CHANCE
    values[:, 5] = np.maximum(values[:, 5], draw.random(60) < 0.9)
    assert estimate_luck(values) <= CHANCE
    assert estimate_luck(values[:, :1]) == 1  # nothing else was tried


@pytest.mark.row("R14")
def test_a_gain_that_luck_brings_as_often_is_not_proposed() -> None:
    some = [case(f"question {n}", right=2 if n < 25 else 1) for n in range(40)]
    said = make_report(some, PRESENT, k=1, fusion="linear")
    assert said["gain"]["value"] > said["gain"]["error"]
    assert (said["verdict"], said["settings"]) == ("keep", None)
    assert "luck" in said["said"]


def test_the_present_settings_come_first_and_each_try_is_another() -> None:
    tried = list_candidates(PRESENT, set(PRESENT.weights), "rrf")
    assert tried[0] == PRESENT
    assert len({str(setting) for setting in tried}) == len(tried)
    assert all(setting.list_changes(PRESENT) for setting in tried[1:])
    assert {setting.weights["names"] for setting in list_candidates(PRESENT, {"lexical", "vector"}, "linear")} == {2.5}


@given(st.lists(st.text(min_size=1, max_size=5), min_size=5, max_size=60))
def test_a_question_that_is_asked_twice_is_in_one_fold(questions: list[str]) -> None:
    of = assign_folds([*questions, *(f" {question.upper().lower()} " for question in questions)])
    same = [question == question.upper().lower() for question in questions]
    assert all(a == b for a, b, equal in zip(of[: len(questions)], of[len(questions) :], same, strict=True) if equal)


@pytest.mark.row("R14")
def test_how_many_questions_were_asked_is_told_on_the_way() -> None:
    rows, told = [{"question": f"question {n}"} for n in range(45)], []

    async def read(step: Any) -> Any:
        settings = {"weights": PRESENT.weights, "speaker_weight": 1.5, "assistant_weight": 0.5, "rrf_k": 5.0}
        return [case(row["question"]) for row in step.keywords["rows"]], settings

    async def asked(count: int) -> None:
        told.append(count)

    said = asyncio.run(measure_questions(cast("Resources", None), read, rows, TuneInput(k=1), asked))
    assert (told, said["questions"]) == ([20, 40, 45], 45)
