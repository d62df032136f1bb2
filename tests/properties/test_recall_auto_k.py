"""Laws of how many results are enough, where their number is left open."""

from types import SimpleNamespace
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from service.recall.auto_k import FEWEST, JUDGED_SHARE, SHARE, cut_to_auto_k
from service.recall.fusion import order_by_score
from service.recall.question import DEFAULT_RESULTS, Question
from service.recall.ranking import Ranking
from service.recall.score_plan import Fused

SCORES = st.dictionaries(st.integers(0, 200), st.floats(0.001, 10), min_size=1, max_size=80)


def ranking(scores: dict[int, float], *, auto: bool = True, judged: bool = False) -> Ranking:
    plan = cast("Any", SimpleNamespace(question=Question("When?", k=DEFAULT_RESULTS, auto=auto)))
    notes: dict[int, dict[str, Any]] = {key: {"rerank": {}} for key in scores} if judged else {}
    rest = cast("Any", None)
    return Ranking(plan, order_by_score(scores)[:DEFAULT_RESULTS], Fused(scores, {}), {}, rest, {}, 0.0, rest, notes=notes)


@given(SCORES, st.booleans())
def test_no_less_than_the_fewest_no_more_than_the_most_and_each_in_its_place(scores: dict[int, float], judged: bool) -> None:
    best = cut_to_auto_k(ranking(scores, judged=judged)).best
    assert min(FEWEST, len(scores)) <= len(best) <= DEFAULT_RESULTS
    assert best == order_by_score(scores)[: len(best)]
    least = (JUDGED_SHARE if judged else SHARE) * max(scores.values())
    assert all(scores[key] >= least for key in best[FEWEST:])
    assert len(best) in {FEWEST, DEFAULT_RESULTS} or not any(scores[key] >= least for key in scores.keys() - set(best))


@given(SCORES)
def test_a_stated_number_of_results_is_not_cut(scores: dict[int, float]) -> None:
    made = ranking(scores, auto=False)
    assert cut_to_auto_k(made) is made
