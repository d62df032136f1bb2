"""Rank fusion: many rankings in, one out. Pure functions over ids, so that their laws can be tested."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

Id = TypeVar("Id", int, str)
Neighbours = Mapping[Id, Sequence[tuple[Id, float]]]


def order_by_score(scores: Mapping[Id, float]) -> list[Id]:
    """Ids by falling score; equal scores by id, so that the order never depends on the input's."""
    return sorted(sorted(scores), key=scores.__getitem__, reverse=True)  # both sorts keep what is equal in its order; no pairs


def reciprocal_rank(rankings: Iterable[tuple[Iterable[Id], float]], *, k: float) -> dict[Id, float]:
    """Fuse (ranking, weight) pairs: each id gets the sum of weight / (k + rank), rank from 1 (Cormack et al., SIGIR 2009)."""
    fused: dict[Id, float] = {}
    for ranking, weight in rankings:
        for rank, key in enumerate(ranking, start=1):
            fused[key] = fused.get(key, 0.0) + weight / (k + rank)
    return fused


def normalise_scores(scores: Mapping[Id, float]) -> dict[Id, float]:
    """Scores of an arm over its best: 0 to 1."""
    best = max(scores.values(), default=0.0)
    return {key: score / best if best > 0 else 0.0 for key, score in scores.items()}


def relative_score(arms: Iterable[Mapping[Id, float]]) -> dict[Id, float]:
    """Fuse arms by the mean of their normalised scores, over all arms that found anything; 0 where an arm has not found the id.

    So a further match never costs an id its rank.
    """
    hit = [normalise_scores(scores) for scores in arms if scores]
    return add_weighted_scores((scores, 1 / len(hit)) for scores in hit)


def add_weighted_scores(arms: Iterable[tuple[Mapping[Id, float], float]]) -> dict[Id, float]:
    """Fuse (scores, weight) pairs: each id gets the sum of weight × score (Bruch, Gai and Ingber, TOIS 2023)."""
    fused: dict[Id, float] = {}
    for scores, weight in arms:
        for key, score in scores.items():
            fused[key] = fused.get(key, 0.0) + weight * score
    return fused


def scores_above_mean(scores: Mapping[Id, float], mean: Mapping[Id, float]) -> dict[Id, float]:
    """Scores by how far they stand above their mean, over the largest such distance: 0 to 1."""
    over = {key: max(0.0, score - mean[key]) for key, score in scores.items()}
    if not any(over.values()):
        return dict.fromkeys(scores, 1.0)
    return normalise_scores(over)


def lend_to_neighbours(scores: Mapping[Id, float], neighbours: Neighbours[Id]) -> dict[Id, float]:
    """Score that each id gets from its neighbours: the share that each lends. Neighbours may be ids that were not found.

    In a conversation the answer often stands beside the turn that has the words.
    """
    given: dict[Id, float] = defaultdict(float)
    for key, score in scores.items():
        for other, share in neighbours.get(key, ()):
            given[other] += share * score
    return dict(given)
