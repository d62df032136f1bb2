"""Laws of rank fusion."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from db.recall.search import Hits
from service.recall.fusion import (
    add_weighted_scores,
    lend_to_neighbours,
    normalise_scores,
    order_by_score,
    reciprocal_rank,
    relative_score,
    scores_above_mean,
)
from service.recall.question import Question
from service.recall.ranking import require_similarity
from service.recall.score_plan import Plan
from service.recall.sources import BITS, TIERS, Tier, by_place, hits_at_place, is_memory, join_hits, pack_hit, unpack_hit

IDS = st.integers(0, 12)
RANKING = st.lists(IDS, unique=True, max_size=10)
ARMS = st.lists(st.tuples(RANKING, st.floats(0, 5)), max_size=5)
SCORES = st.dictionaries(IDS, st.floats(0.001, 100), max_size=10)
K = st.floats(0, 100)


@pytest.mark.row("R1")
@given(arms=ARMS, k=K, data=st.data())
def test_the_order_of_arms_is_irrelevant(arms: list[tuple[list[int], float]], k: float, data: Any) -> None:
    shuffled = data.draw(st.permutations(arms))
    assert reciprocal_rank(shuffled, k=k) == pytest.approx(reciprocal_rank(arms, k=k))


@given(arms=st.lists(SCORES, max_size=5), data=st.data())
def test_the_order_of_arms_is_irrelevant_for_relative_scores(arms: list[dict[int, float]], data: Any) -> None:
    assert relative_score(data.draw(st.permutations(arms))) == pytest.approx(relative_score(arms))


@given(arms=ARMS, k=K)
def test_every_document_of_an_arm_is_in_the_result_and_no_other(arms: list[tuple[list[int], float]], k: float) -> None:
    assert set(reciprocal_rank(arms, k=k)) == {key for ranking, _ in arms for key in ranking}


@given(ranking=RANKING, k=K, weight=st.floats(0.1, 5))
def test_a_single_arm_keeps_its_order(ranking: list[int], k: float, weight: float) -> None:
    assert order_by_score(reciprocal_rank([(ranking, weight)], k=k)) == ranking


@given(arms=ARMS, k=K, ranking=st.lists(IDS, unique=True, min_size=2, max_size=10), data=st.data())
def test_rising_in_an_arm_never_costs_score(arms: list[tuple[list[int], float]], k: float, ranking: list[int], data: Any) -> None:
    place = data.draw(st.integers(1, len(ranking) - 1))
    raised = [*ranking[: place - 1], ranking[place], ranking[place - 1], *ranking[place + 1 :]]
    before, after = (reciprocal_rank([*arms, (order, 1.0)], k=k) for order in (ranking, raised))
    assert after[ranking[place]] > before[ranking[place]]


@given(arms=ARMS, k=K, ranking=st.lists(IDS, unique=True, min_size=1, max_size=10))
def test_being_found_by_one_arm_more_never_costs_score(arms: list[tuple[list[int], float]], k: float, ranking: list[int]) -> None:
    before, after = reciprocal_rank(arms, k=k), reciprocal_rank([*arms, (ranking, 1.0)], k=k)
    assert all(after[key] >= score for key, score in before.items())


@given(scores=st.dictionaries(IDS, st.sampled_from([0.0, 1.0, 2.0])), data=st.data())
def test_equal_scores_have_one_order(scores: dict[int, float], data: Any) -> None:
    other = dict(data.draw(st.permutations(list(scores.items()))))
    assert order_by_score(other) == order_by_score(scores)
    assert [scores[key] for key in order_by_score(scores)] == sorted(scores.values(), reverse=True)


@given(arms=st.lists(SCORES, max_size=5))
def test_relative_scores_lie_between_nought_and_one(arms: list[dict[int, float]]) -> None:
    assert all(0 <= score <= 1 for score in relative_score(arms).values())


@given(arms=st.lists(SCORES, min_size=1, max_size=5), factor=st.floats(0.5, 20))
def test_relative_scores_do_not_depend_on_the_scale_of_an_arm(arms: list[dict[int, float]], factor: float) -> None:
    scaled = [{key: score * factor for key, score in arms[0].items()}, *arms[1:]]
    assert relative_score(scaled) == pytest.approx(relative_score(arms))


@pytest.mark.row("R2")
@given(arms=st.lists(SCORES, max_size=5))
def test_a_relative_score_is_the_mean_of_the_normalised_scores_over_the_arms_that_found_anything(
    arms: list[dict[int, float]],
) -> None:
    shares = [{key: score / max(arm.values()) for key, score in arm.items()} for arm in arms if arm]
    for key, score in relative_score(arms).items():
        assert score == pytest.approx(sum(arm.get(key, 0.0) for arm in shares) / len(shares))


@given(arms=st.lists(SCORES, min_size=1, max_size=5), data=st.data())
def test_a_further_match_costs_no_rank_with_relative_scores(arms: list[dict[int, float]], data: Any) -> None:
    assume(any(arms))
    before = relative_score(arms)
    key, place = data.draw(st.sampled_from(sorted(before))), data.draw(st.integers(0, len(arms) - 1))
    assume(key not in arms[place])
    more = {**arms[place], key: data.draw(st.floats(0.01, max(arms[place].values(), default=1.0)))}
    after = relative_score([*arms[:place], more, *arms[place + 1 :]])
    ahead = {other for other, score in before.items() if score < before[key] - 1e-9}
    assert all(after[other] < after[key] for other in ahead)


@given(scores=SCORES)
def test_the_best_of_an_arm_that_is_alone_has_one(scores: dict[int, float]) -> None:
    assert relative_score([scores]) == pytest.approx(normalise_scores(scores))
    assert max(normalise_scores(scores).values(), default=1.0) == 1.0


def fused(plan: Plan, arms: dict[str, Hits]) -> dict[int, float]:
    return plan.fuse_parts(plan.arm_parts(arms, {}))


def test_relative_scores_by_hand() -> None:
    plan = Plan(Question("q", fusion="relative_score"), {"lexical": 9.0}, {"relative_similarity": 0.5})
    arms = {"lexical": Hits({1: 8.0, 2: 4.0, 3: 2.0}, {}), "vector": Hits({2: 0.8, 4: 0.6, 1: 0.5, 3: 0.49, 5: 0.1}, {})}
    assert fused(plan, arms) == pytest.approx({1: (1 + 0.5 / 0.8) / 2, 2: (0.5 + 1) / 2, 3: 0.125, 4: 0.375})


COSINES = st.dictionaries(IDS, st.floats(-1, 1), max_size=10)


@pytest.mark.row("R2")
@given(lexical=SCORES, vector=COSINES, graph=SCORES)
def test_a_cosine_below_the_floor_changes_no_relative_score(
    lexical: dict[int, float], vector: dict[int, float], graph: dict[int, float]
) -> None:
    plan = Plan(Question("q", fusion="relative_score"), {}, {"relative_similarity": 0.5})
    near = {key: score for key, score in vector.items() if score >= 0.5}
    scores = fused(plan, {"lexical": Hits(lexical, {}), "vector": Hits(vector, {}), "graph": Hits(graph, {})})
    assert scores == fused(plan, {"lexical": Hits(lexical, {}), "vector": Hits(near, {}), "graph": Hits(graph, {})})
    assert set(scores) == {*lexical, *near, *graph}
    assert all(0 <= score <= 1 for score in scores.values())


@given(lexical=SCORES, vector=COSINES, names=SCORES, mean=st.floats(-1, 1))
def test_an_arm_adds_at_most_its_weight_and_never_takes_away(
    lexical: dict[int, float], vector: dict[int, float], names: dict[int, float], mean: float
) -> None:
    weights = {"lexical": 1.0, "vector": 0.8, "names": 2.0}
    plan = Plan(Question("q"), weights, {"fusion": "linear"})
    arms = {"lexical": Hits(lexical, {}), "vector": Hits(vector, {}), "names": Hits(names, {})}
    parts = plan.arm_parts(arms, {0: mean})
    for name, part in parts.items():
        assert set(part) == set(arms[name].scores)
        assert all(0 <= score <= weights[name] * (1 + 1e-9) for score in part.values())
        order = order_by_score(arms[name].scores)
        assert all(part[a] >= part[b] for a, b in itertools.pairwise(order))
    assert plan.fuse_parts(parts) == pytest.approx(add_weighted_scores((part, 1.0) for part in parts.values()))


def test_cosines_count_by_how_far_they_stand_above_the_mean_of_their_namespace() -> None:
    assert scores_above_mean({1: 0.9, 2: 0.5, 3: 0.1}, {1: 0.3, 2: 0.2, 3: 0.2}) == pytest.approx({1: 1.0, 2: 0.5, 3: 0.0})
    assert scores_above_mean({1: 0.4}, {1: 0.4}) == {1: 1.0}  # the only one is not nought


@given(lexical=SCORES, vector=COSINES, similarity=st.floats(-1, 1))
def test_only_hits_of_meaning_alone_have_to_be_similar(
    lexical: dict[int, float], vector: dict[int, float], similarity: float
) -> None:
    arms = {"lexical": Hits(dict(lexical), {}), "vector": Hits(dict(vector), {})}
    require_similarity(arms, similarity)
    assert arms["lexical"].scores == lexical
    assert arms["vector"].scores == {key: s for key, s in vector.items() if s >= similarity or key in lexical}


# Hits of many namespaces and tiers in one ranking

PLACES = st.integers(0, 10_000)
NUMBERS = st.integers(0, 2**BITS - 1)


@given(place=PLACES, tier=st.sampled_from(TIERS), number=NUMBERS)
def test_a_hit_keeps_its_namespace_tier_and_number(place: int, tier: Tier, number: int) -> None:
    key = pack_hit(place, tier, number)
    assert unpack_hit(key) == (place, tier, number)
    assert is_memory(key) == (tier == "memory")
    assert by_place([key]) == ({place: [number]} if tier == "memory" else {})
    assert key < 2**63


@given(number=NUMBERS)
def test_memories_of_the_first_namespace_are_their_document_numbers(number: int) -> None:
    assert pack_hit(0, "memory", number) == number


@given(parts=st.lists(SCORES, min_size=1, max_size=5), depth=st.integers(1, 40), data=st.data())
def test_hits_of_many_namespaces_are_one_ranking_in_any_order_of_namespaces(
    parts: list[dict[int, float]], depth: int, data: Any
) -> None:
    hits = [
        hits_at_place(Hits({key: part[key] for key in order_by_score(part)}, dict.fromkeys(part, place)), place)
        for place, part in enumerate(parts)
    ]
    together = join_hits(hits, depth)
    every = {pack_hit(place, "memory", key): score for place, part in enumerate(parts) for key, score in part.items()}
    assert together.scores == {key: every[key] for key in order_by_score(every)[: depth if len(parts) > 1 else None]}
    assert list(together.scores) == order_by_score(together.scores)
    assert list(join_hits(data.draw(st.permutations(hits)), depth).scores) == list(together.scores)
    assert all(together.paths[key] == unpack_hit(key)[0] for key in together.scores)


# Neighbours


@pytest.mark.row("R8")
@given(
    scores=SCORES,
    neighbours=st.dictionaries(IDS, st.lists(st.tuples(IDS, st.floats(0, 1)), max_size=4)),
)
def test_each_neighbour_gets_its_share(scores: dict[int, float], neighbours: dict[int, list[tuple[int, float]]]) -> None:
    away = sum(share * scores[key] for key, near in neighbours.items() if key in scores for _, share in near)
    assert sum(lend_to_neighbours(scores, neighbours).values()) == pytest.approx(away)


@pytest.mark.parametrize(
    "fuse",
    [
        lambda: reciprocal_rank([], k=5),
        lambda: relative_score([]),
        lambda: add_weighted_scores([]),
        lambda: lend_to_neighbours({}, {}),
        lambda: scores_above_mean({}, {}),
    ],
)
def test_nothing_in_is_nothing_out(fuse: Callable[[], dict[int, float]]) -> None:
    assert fuse() == {}


@given(names=SCORES, share=st.floats(0.01, 1))
def test_a_shared_name_counts_less_where_memories_are_long(names: dict[int, float], share: float) -> None:
    plan, arms = Plan(Question("q"), {"names": 3.0}, {"fusion": "linear"}), {"names": Hits(names, {})}
    whole = plan.arm_parts(arms, {})["names"]
    assert plan.arm_parts(arms, {}, {0: share})["names"] == pytest.approx({key: part * share for key, part in whole.items()})
    assert plan.arm_parts(arms, {}, {1: share})["names"] == whole  # another namespace's
