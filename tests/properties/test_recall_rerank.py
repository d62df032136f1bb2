"""Laws of the second opinion: what a judgement does to an order, how late interaction judges, and what of a reply is believed."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from service.llm.model import InvalidAnswer
from service.recall.rerank import blend_scores, neighbouring_turns, turns_before, weight_of_judgement
from service.recall.rewrite import LONGEST_PART, MOST_QUESTIONS, further_questions
from service.rerank import factory
from service.rerank.endpoint import read_judgement
from service.rerank.factory import make_reranker
from service.rerank.late_interaction import Pieces, score_interactions
from service.settings import RerankSettings

SCORES = st.floats(-1e6, 1e6).map(lambda value: round(value, 3))
JUDGED = st.dictionaries(st.integers(0, 50), st.tuples(SCORES, SCORES), min_size=2)


def order(scores: dict[int, float]) -> list[int]:
    return sorted(scores, key=lambda key: (-scores[key], key))


@given(JUDGED)
def test_the_whole_weight_gives_the_judges_order_and_none_the_own(judged: dict[int, tuple[float, float]]) -> None:
    own, said = ({key: pair[place] for key, pair in judged.items()} for place in (0, 1))
    if len(set(own.values())) > 1:
        kept = blend_scores(own, said, 0.0)
        assert all(kept[a] <= kept[b] for a in own for b in own if own[a] < own[b])
    made = blend_scores(own, said, 1.0)
    assert all(made[a] <= made[b] for a in said for b in said if said[a] < said[b])


@given(JUDGED, st.floats(0, 1))
def test_scores_stay_between_the_lowest_and_the_highest(judged: dict[int, tuple[float, float]], weight: float) -> None:
    own, said = ({key: pair[place] for key, pair in judged.items()} for place in (0, 1))
    made = blend_scores(own, said, weight).values()
    slack = 1e-6 * (1 + max(map(abs, own.values())))
    assert max(made) <= max(own.values()) + slack
    if len(set(own.values())) > 1:
        assert min(made) >= min(own.values()) - slack


def pieces(*ids: int) -> Pieces:
    """Texts whose pieces are axes: the same piece has a cosine of 1, another of 0."""
    return Pieces(np.array(ids, dtype=np.int32), (np.eye(8, dtype=np.int8) * 127)[list(ids)].reshape(-1, 8))


def read_pieces(count: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    dice = np.random.default_rng(seed)
    return dice.integers(0, 30_522, count), dice.normal(scale=dice.uniform(0.01, 10), size=(count, 384)).astype(np.float32)


@given(st.integers(0, 40), st.integers(0, 2**32 - 1))
def test_pieces_come_back_as_they_were_kept(count: int, seed: int) -> None:
    made = Pieces.quantise_pieces(*read_pieces(count, seed))
    back = Pieces.unpack_pieces(made.pack_pieces(), 384)
    assert (back.ids.tolist(), back.vectors.tolist()) == (made.ids.tolist(), made.vectors.tolist())
    assert len(made.pack_pieces()) == 386 * count


@given(st.integers(0, 2**32 - 1))
def test_a_byte_a_dimension_moves_no_cosine_by_a_hundredth(seed: int) -> None:
    ids, states = read_pieces(2, seed)
    a, b = (Pieces.quantise_pieces(ids[n : n + 1], states[n : n + 1]) for n in (0, 1))
    exact = float(states[0] @ states[1] / np.linalg.norm(states[0]) / np.linalg.norm(states[1]))
    assert score_interactions(a, [b]) == [pytest.approx(max(0.0, exact), abs=0.01)]


def test_a_rare_piece_counts_more_than_one_that_all_texts_have() -> None:
    common, rare, neither, both = score_interactions(pieces(1, 2), [pieces(1, 3), pieces(2, 1), pieces(1), pieces(1, 2, 1)])
    assert common == neither < rare == both
    assert both == pytest.approx(1.0)


def test_a_piece_of_the_turn_before_counts_a_little_less_than_one_of_the_text() -> None:
    texts = [pieces(1), pieces(2), pieces(3)]
    said, before, neither = score_interactions(pieces(1), texts, [None, pieces(1, 4), pieces()])
    assert said > before > 0.8 * said > neither == 0
    assert score_interactions(pieces(1), texts, [pieces(1), None, None])[0] == said  # not twice


def test_the_turn_before_is_the_last_of_those_that_were_said_earlier() -> None:
    near: dict[int, list[tuple[int, float]]] = {2: [(1, 0.5), (3, 0.5), (4, 0.25)], 3: [(2, 0.5)], 5: []}
    rows = {key: {"valid_from": f"2020-01-0{key}T00:00:00Z"} for key in (1, 2, 3)}
    assert neighbouring_turns(near) == {2: [1, 3], 3: [2], 5: []}
    assert turns_before(near, rows) == {2: 1, 3: 2}
    rows[3]["valid_from"] = rows[2]["valid_from"]  # at once: in the order in which they were written
    assert turns_before(near, rows) == {2: 1, 3: 2}
    assert turns_before(near, {2: rows[2]}) == {}  # it was not read: hidden, or erased meanwhile


def test_a_text_without_pieces_resembles_nothing() -> None:
    assert score_interactions(pieces(), [pieces(1), pieces()]) == [0.0, 0.0]
    assert score_interactions(pieces(1), [pieces(), pieces(1)]) == [0.0, pytest.approx(1.0)]
    assert score_interactions(pieces(1), []) == []


@pytest.mark.row("R13")
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(["index", "score", "relevance_score", "results", "data", "usage", "total_tokens"]), inner
            )
        ),
    ),
    st.integers(1, 3),
)
def test_only_a_score_for_each_text_is_believed_whatever_the_endpoint_replies(reply: Any, count: int) -> None:
    try:
        made = read_judgement(reply, count)
    except InvalidAnswer:
        return
    assert len(made.scores) == count
    assert all(math.isfinite(score) for score in made.scores)


@given(st.permutations(range(5)), st.lists(SCORES, min_size=5, max_size=5))
def test_scores_go_to_their_texts_in_whatever_order_they_come(places: list[int], scores: list[float]) -> None:
    reply = {"results": [{"index": place, "relevance_score": scores[place]} for place in places]}
    assert read_judgement(reply, 5).scores == scores


@given(st.text(max_size=50), st.lists(st.text(max_size=2 * LONGEST_PART), max_size=10))
def test_further_questions_are_few_short_lines_that_differ(query: str, said: list[str]) -> None:
    made = further_questions(query, said)
    assert len(made) <= MOST_QUESTIONS
    assert all(0 < len(text) <= LONGEST_PART and text == " ".join(text.split()) for text in made)
    folded = [text.casefold() for text in made]
    assert len({*folded, " ".join(query.split()).casefold()}) == len(folded) + 1


def test_nobody_judges_where_the_extra_is_missing_and_no_endpoint_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factory, "is_installed", lambda: False)
    assert make_reranker(RerankSettings()) is None
    assert make_reranker(RerankSettings(endpoint="none")) is None


def test_an_endpoint_comes_before_the_extra_and_none_before_both() -> None:
    made = make_reranker(RerankSettings(endpoint="http://127.0.0.1:1"))
    assert made is not None
    assert made.is_endpoint
    assert make_reranker(RerankSettings(provider="none", endpoint="http://127.0.0.1:1")) is None


@given(st.integers(0, 50), st.integers(0, 50))
def test_a_judgement_counts_by_how_many_of_its_texts_are_turns(turns: int, alone: int) -> None:
    reranker = make_reranker(RerankSettings(endpoint="http://127.0.0.1:1"))
    assert reranker is not None
    reranker.weight, reranker.weight_alone = 0.6, 0.3
    judged = dict.fromkeys(range(turns + alone + 1), 0.5)  # one more stands alone
    near: dict[int, list[tuple[int, float]]] = {key: [(99, 0.5)] for key in range(turns)} | {turns: []}
    assert weight_of_judgement(reranker, judged, near) == pytest.approx((0.6 * turns + 0.3 * (alone + 1)) / len(judged))


@pytest.mark.parametrize(("provider", "weights"), [("minilm", (0.6, 0.3)), ("endpoint", (1.0, 1.0))])
def test_a_stated_weight_counts_for_all_texts(provider: Any, weights: tuple[float, float]) -> None:
    for stated, expected in ((None, weights), (0.8, (0.8, 0.8))):
        made = make_reranker(RerankSettings(provider=provider, endpoint="http://127.0.0.1:1", weight=stated))
        assert made is not None
        assert (made.weight, made.weight_alone) == expected
