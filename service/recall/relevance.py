"""How likely it is that what was found answers: a probability for each result. No database here.

Two questions, and the product of their answers. Is this spoken of here at all? A logistic function of five figures, of the twenty
hits with which the search begins. And where the question names one speaker: did that one say it, or another? A logistic function of
one figure. Sources of each coefficient, and how far it can be trusted: docs/design/relevance.md and `bench.recall_quality
--relevance`.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from db.recall.search import Coverage, Hits
from service.recall.sources import by_place, pack_hit, unpack_hit

MEAN_FROM = 20  # vectors of which a mean counts for half
STEEP = 3  # power of a score over the best one: what stands behind answers less often than its score says
FEW_MEMORIES = 100  # memories up to which their number says little


class Topic(NamedTuple):
    """Coefficients of the question whether this is spoken of here."""

    constant: float
    coverage: float  # of the question's terms, by their rarity, by the one memory that has most; times ln(1 + how many there are)
    nearness: float  # of the nearest vector: cosine above the mean of the namespace, over what is left to 1
    unknown: float  # ln(1 + terms of the question that nothing here has)
    memories: float  # ln of how many there are and FEW_MEMORIES more: among many, something always matches


WITH_VECTORS = Topic(0.41, 2.9, 5.09, -1.19, -0.61)
BY_WORDS = Topic(1.99, 3.49, 0.0, -1.64, -0.61)
OTHERS = {"foreign", "role", "namesake"}  # standings of what is about somebody else than the question
OWN = 0.5  # how likely what somebody says of himself answers when he asks of himself, at least
SPEAKER = (-3.5, 9.3)  # constant, and the share of the question that the speaker's memories say, or nobody's, against others'


def sigmoid(z: float) -> float:
    """The logistic function."""
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))


@dataclass(frozen=True)
class Evidence:
    """Figures of the hits in one namespace; see Topic.

    `nearness` None: nothing was found by meaning. `terms`: of the question. `said`: of what says something of the question, the
    share that the speaker whom it names said, or nobody did; None: it names no one speaker, or nothing says a word of it.
    """

    coverage: float
    nearness: float | None
    terms: int
    unknown: int
    memories: int
    said: float | None = None

    @property
    def topic_likelihood(self) -> float:
        """How likely it is that this is spoken of here."""
        by = BY_WORDS if self.nearness is None else WITH_VECTORS
        said = by.coverage * self.coverage * math.log1p(self.terms)
        near = by.nearness * max(0.0, self.nearness or 0.0)
        size = by.unknown * math.log1p(self.unknown) + by.memories * math.log(FEW_MEMORIES + max(1, self.memories))
        return sigmoid(by.constant + said + near + size)

    @property
    def speaker_likelihood(self) -> float:
        """How likely it is that the one whom the question names said it; 1 where it names nobody."""
        return 1.0 if self.said is None else sigmoid(SPEAKER[0] + SPEAKER[1] * self.said)

    @property
    def answer_likelihood(self) -> float:
        """How likely it is that what was found answers the question."""
        return self.topic_likelihood * self.speaker_likelihood

    def to_explanation(self) -> dict[str, float | int | None]:
        """For `explain`."""
        return {**vars(self), "topic": self.topic_likelihood, "speaker": self.speaker_likelihood}


def nearest_by_namespace(vector: Hits | None) -> dict[int, float]:
    """The best cosine by the place of a namespace, of those in which something was found by meaning."""
    best: dict[int, float] = {}
    for key, score in vector.scores.items() if vector else ():
        place = unpack_hit(key)[0]
        best[place] = max(score, best.get(place, -1.0))
    return best


def gather_evidence(
    found: Mapping[int, Coverage],
    near: Mapping[int, float],
    mean: Mapping[int, float],
    sources: Mapping[int, str],
    named: set[str],
    standings: Mapping[int, str] = MappingProxyType({}),
) -> dict[int, Evidence]:
    """The evidence by the place of a namespace. `named`: sources that the question names; what has no source is no other one's."""
    evidence = {}
    others = {key for key, standing in standings.items() if standing in OTHERS}
    if len(named) == 1:
        others |= {key for key, source in sources.items() if source not in named and key not in standings}
    for place, coverage in found.items():
        shares, said, base = coverage.shares, None, pack_hit(place, "memory", 0)
        if (others or len(named) == 1) and (all_ := _root_of_squares(shares.values())):
            said = 1 - _root_of_squares(share for key, share in shares.items() if base | key in others) / all_
        nearness = cosine_above_mean(near[place], mean.get(place, 0.0), coverage.memories) if place in near else None
        most, terms, unknown = max(shares.values(), default=0.0), coverage.terms, coverage.unknown
        evidence[place] = Evidence(most, nearness, terms, unknown, coverage.memories, said)
    return evidence


def raise_own(given: dict[int, float], scores: Mapping[int, float], standings: Mapping[int, str]) -> dict[int, float]:
    """The same, where one asks of oneself: what one said of oneself and stands first answers with OWN, by its share of the score.

    `given`: best first.
    """
    raised = dict(given)
    for key, relevant in given.items():
        if standings.get(key) != "own":
            break
        raised[key] = max(relevant, OWN * scores[key] / scores[next(iter(given))])
    return raised


def _root_of_squares(shares: Iterable[float]) -> float:
    return sum(share * share for share in shares)


def cosine_above_mean(cosine: float, mean: float, memories: int) -> float:
    """How far a cosine stands above the mean of the namespace, over what is left to 1. A mean of few counts less."""
    mean *= memories / (memories + MEAN_FROM)
    return max(0.0, (cosine - mean) / (1 - mean)) if mean < 1 else 0.0


def estimate_relevance(
    best: list[int], scores: Mapping[int, float], evidence: Mapping[int, Evidence], favours: Mapping[int, float]
) -> dict[int, float]:
    """For each memory among the hits, best first: what its namespace answers, times the cube of its score over the best one there.

    So the best has the whole, and none has more than one before it. `favours`: what multiplies some scores because of who said it,
    1 or more. That ranks what somebody says above what others say, and makes nothing answer: a share is of scores without it,
    and at least what stands behind has.
    """
    given = {}
    for place, numbers in by_place(best).items():
        whole = evidence[place].answer_likelihood if place in evidence else 0.0
        keys = [pack_hit(place, "memory", number) for number in numbers]
        top, share = scores[keys[0]], 0.0
        plain = top / favours.get(keys[0], 1.0)
        for key in reversed(keys):
            own = min(scores[key] / top, scores[key] / favours.get(key, 1.0) / plain) if top > 0 else 1.0
            share = max(share, min(1.0, own))
            given[key] = whole * share**STEEP
    return {key: given[key] for key in best if key in given}
