"""Which settings bring back best what a user asks for? Measured in memory, from what one recall of each question found.

A question is asked once. Hits of its arms, their surroundings and their speakers are kept, and hundreds of settings are computed
from that. Settings are never judged by the questions that they were chosen on: they are chosen on four fifths, by the mean of nDCG,
and judged on the other fifth, five times. Neighbours, and arms that start from the best hits (hierarchy, names), are those of
the settings in force. No database here.
"""

import hashlib
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.recall.ranking import LENDERS, Ranking
from service.recall.ranking_quality import Mean, ideal_gain, mean_with_error, rank_gain
from service.recall.score_plan import ABOUT_PART, ASSISTANT, LENT_TO_STANDING, NAMING_ARMS, SUBJECTS
from service.recall.second_arm import ARM as SECOND

Values = NDArray[np.float64]
FEWEST = 20  # questions from which something is proposed
FOLDS = 5
FLIPS = 999  # as many draws of luck
CHANCE = 0.05  # what luck may bring, at most
SPEAKER, AIDE = 1, 2  # why a memory's score has a factor
# Trials of each weight, times the one in force (of an arm that is off: times 1); and in its place.
TIMES = {"vector": (0.0, 0.5, 1.0, 2.0), "graph": (0.0, 1.0), "names": (0.0, 0.4, 1.0), "hierarchy": (0.0, 1.0), "walk": (0.0, 1.0)}
CONSTANTS = (5.0, 10.0, 20.0, 60.0)  # of reciprocal rank fusion


@dataclass(frozen=True)
class Setting:
    """Chosen settings."""

    weights: Mapping[str, float]
    speaker: float
    assistant: float
    rrf_k: float

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> "Setting":
        """Those of a namespace."""
        weights = {arm: float(weight) for arm, weight in settings["weights"].items()}
        return cls(weights, float(settings["speaker_weight"]), float(settings["assistant_weight"]), float(settings["rrf_k"]))

    def list_changes(self, present: "Setting") -> dict[str, Any]:
        """Differences from the present one, as settings of a namespace; `weights`: only changed ones."""
        weights = {arm: weight for arm, weight in self.weights.items() if weight != present.weights[arm]}
        said = {"speaker_weight": "speaker", "assistant_weight": "assistant", "rrf_k": "rrf_k"}
        others = {name: getattr(self, at) for name, at in said.items() if getattr(self, at) != getattr(present, at)}
        return {**({"weights": weights} if weights else {}), **others}


@dataclass(frozen=True)
class Case:
    """A question with what was found: numbers of hits and of their neighbours, and all else in their order.

    `parts`: of each arm the normalised score of each hit; `ranks`: its rank there, 0: not found. `lent`: the share of the score of
    the row's hit that the column's gets. `roles`: SPEAKER or AIDE. `added`, `fixed`: a part and a factor that no setting changes,
    for whom it is about; `least`: what the arms for names add at least. `scale`: times the vector arm's weight, for the model;
    `second`: the same for a second model.
    """

    question: str
    evidence: tuple[int, ...]
    keys: NDArray[np.int64]
    arms: tuple[str, ...]
    parts: Values
    ranks: Values
    lent: Values
    roles: NDArray[np.int8]
    added: Values
    least: Values
    fixed: Values
    scale: float = 1.0
    second: float = 0.0

    @classmethod
    def from_ranking(cls, question: str, evidence: Iterable[int], ranking: Ranking) -> "Case":
        """From a ranking."""
        fused, plan, found = ranking.fused, ranking.plan, ranking.arms
        keys = np.array(sorted({*fused.scores, *(key for hits in found.values() for key in hits.scores)}), dtype=np.int64)
        at = {int(key): place for place, key in enumerate(keys)}
        arms = tuple(found)
        parts, ranks, lent = np.zeros((len(arms), len(keys))), np.zeros((len(arms), len(keys))), np.zeros((len(keys), len(keys)))
        for row, (arm, hits) in enumerate(found.items()):
            for key, value in plan.normalise_arm(arm, hits, ranking.asked.found.mean, fused.shares).items():
                parts[row, at[key]] = value
            for rank, key in enumerate(hits.scores, start=1):
                ranks[row, at[key]] = rank
        for key, others in fused.near.items():
            for other, share in others:
                if key in at and other in at:
                    lent[at[key], at[other]] += share
        roles = np.zeros(len(keys), dtype=np.int8)
        added, least, fixed = np.zeros(len(keys)), np.zeros(len(keys)), np.ones(len(keys))
        for key in fused.standings.keys() & at.keys():
            about = fused.standings[key] == "about"
            added[at[key]], least[at[key]] = (0.0, ABOUT_PART) if about else (fused.added.get(key, 0.0), 0.0)
            lent[:, at[key]] *= LENT_TO_STANDING if fused.standings[key] in SUBJECTS else 1.0
        for key in fused.factors.keys() & at.keys():
            standing, place = fused.standings.get(key), at[key]
            fixed[place], weight = fused.factors[key], 1.0
            if standing in {"told", "said"} and fused.factors[key] > 1:
                roles[place], weight = SPEAKER, float(plan.settings["speaker_weight"])
            elif fused.sources.get(key) == ASSISTANT and standing is None:
                roles[place], weight = AIDE, float(plan.settings["assistant_weight"])
            fixed[place] = fixed[place] / weight if weight else 1.0
        own = float(ranking.asked.settings["weights"].get("vector", 1.0))
        scale = plan.weights.get("vector", own) / own if own else 1.0
        second = plan.weights.get(SECOND, 0.0) / own if own else 0.0
        return cls(question, tuple(evidence), keys, arms, parts, ranks, lent, roles, added, least, fixed, scale, second)

    def _weight(self, setting: Setting, arm: str) -> float:
        if arm == SECOND:
            return setting.weights.get("vector", 1.0) * self.second
        return setting.weights.get(arm, 1.0) * (self.scale if arm == "vector" else 1.0)

    def score_settings(self, settings: list[Setting], fusion: str = "linear") -> Values:
        """Score of each hit by each setting: shape (settings, hits)."""
        times = np.array([[self._weight(s, arm) for arm in self.arms] for s in settings])
        if fusion == "rrf":
            alone = np.zeros((len(settings), len(self.keys)))
            for k in {s.rrf_k for s in settings}:
                of = np.array([s.rrf_k == k for s in settings])
                alone[of] = times[of] @ np.where(self.ranks > 0, 1 / (k + self.ranks), 0.0)
        else:
            alone = times @ self.parts
        lending = alone
        if len(self.keys) > LENDERS:
            least = -np.partition(-alone, LENDERS - 1, axis=1)[:, LENDERS - 1 : LENDERS]
            lending = np.where(alone >= least, alone, 0.0)
        factors = np.tile(self.fixed, (len(settings), 1))
        for role, values in ((SPEAKER, [s.speaker for s in settings]), (AIDE, [s.assistant for s in settings])):
            factors[:, self.roles == role] *= np.array(values)[:, None]
        totals: Values = (alone + lending @ self.lent + (0.0 if fusion == "rrf" else self._standing_factors(times))) * factors
        return totals

    def _standing_factors(self, times: Values) -> Values:
        """Bonus by each setting of a hit's subject and speaker: shape (settings, hits)."""
        names = np.isin(self.arms, list(NAMING_ARMS))
        added: Values = self.added + np.maximum(0.0, self.least - times[:, names] @ self.parts[names])
        return added

    def measure_settings(self, settings: list[Setting], k: int, fusion: str = "linear") -> Values:
        """NDCG and recall among the first k, by each setting: shape (2, settings)."""
        totals, worth = self.score_settings(settings, fusion), np.zeros((2, len(settings)))
        for key in self.evidence:
            place = int(np.searchsorted(self.keys, key))
            if place == len(self.keys) or self.keys[place] != key:
                continue
            own = totals[:, place : place + 1]
            rank = 1 + (totals > own).sum(1) + (totals[:, :place] == own).sum(1)
            worth += np.where(rank <= k, np.stack([np.vectorize(rank_gain)(rank), np.ones(len(settings))]), 0.0)
        shares: Values = worth / np.array([[ideal_gain(len(self.evidence), k)], [len(self.evidence)]])
        return shares


def list_candidates(present: Setting, arms: set[str], fusion: str) -> list[Setting]:
    """Settings to try, the present one first, then those that differ in least. `arms`: those that found something."""
    tried: dict[str, list[float]] = {"lexical": [present.weights["lexical"], 0.0]}
    for arm, times in TIMES.items():
        base = present.weights[arm] or 1.0
        tried[arm] = sorted({present.weights[arm], *(base * factor for factor in times)}) if arm in arms else [present.weights[arm]]
    others = [sorted({present.speaker, 1.0}), sorted({present.assistant, 1.0})]
    constants = sorted({present.rrf_k, *CONSTANTS}) if fusion == "rrf" else [present.rrf_k]
    made = [
        Setting({**present.weights, **dict(zip(tried, weights, strict=True))}, *rest)
        for weights in itertools.product(*tried.values())
        if weights[0] or weights[1]  # words or meaning
        for rest in itertools.product(*others, constants)
    ]
    return sorted(made, key=lambda setting: _count_differences(setting, present))


def _count_differences(setting: Setting, present: Setting) -> int:
    changed = setting.list_changes(present)
    return len(changed) - ("weights" in changed) + len(changed.get("weights", {}))


def fold_key(question: str) -> str:
    """Key that puts questions into folds: the same words fall into the same one."""
    return hashlib.md5(" ".join(question.lower().split()).encode(), usedforsecurity=False).hexdigest()


def assign_folds(questions: list[str]) -> NDArray[np.int64]:
    """Five folds of equal size."""
    places = {key: nth % FOLDS for nth, key in enumerate(sorted({fold_key(question) for question in questions}))}
    return np.array([places[fold_key(question)] for question in questions])


def find_best_setting(values: Values) -> int:
    """The setting that is best on these questions; the first one, where none is better than that by more than its error.

    `values`: a row a question, a column a setting. The one that differs least wins among equals.
    """
    means = values.mean(0)
    chosen = int(np.argmax(means >= means.max() - 1e-9))
    better = mean_with_error(list(values[:, chosen] - values[:, 0]), range(len(values))) if len(values) > 1 else Mean(0, 0)
    return chosen if better.is_clear_gain else 0


def out_of_fold(values: Values, questions: list[str]) -> tuple[Mean, int]:
    """Gain of choosing on questions that took no part in it; and in how many folds something was chosen."""
    of = assign_folds(questions)
    chosen = {int(nth): find_best_setting(values[of != nth]) for nth in np.unique(of)}
    gained = [values[row, chosen[int(nth)]] - values[row, 0] for row, nth in enumerate(of)]
    return mean_with_error(gained, range(len(gained))), sum(place != 0 for place in chosen.values())


def estimate_luck(values: Values) -> float:
    """Probability that chance alone makes some setting look as good as the best one does (Westfall and Young's maxT).

    Where none is better, the differences of a question are as likely the other way round, for all settings together. So however
    many settings are tried, and however alike they are, the best of them is compared with the best that luck brings.
    """
    gains = values - values[:, :1]
    gains = gains[:, gains.any(0)]
    if gains.shape[1] == 0:
        return 1.0
    squares = (gains * gains).sum(0)

    def highest_gain(sums: Values) -> Values:
        most: Values = (sums / np.sqrt(np.maximum(squares - sums * sums / len(gains), 1e-12))).max(-1)
        return most

    signs = np.random.default_rng(0).choice([-1.0, 1.0], (FLIPS, len(gains)))
    as_high = highest_gain(signs @ gains) >= highest_gain(gains.sum(0)) - 1e-9
    return float((1 + as_high.sum()) / (FLIPS + 1))


def settings_of_single_arms(present: Setting, arms: Iterable[str]) -> list[Setting]:
    """Each arm by itself."""
    return [replace(present, weights={**dict.fromkeys(present.weights, 0.0), arm: 1.0}) for arm in arms]


def make_report(cases: list[Case], present: Setting, *, k: int, fusion: str) -> dict[str, Any]:
    """The measurement and the proposal: `settings`, null for none. Figures are per cent."""
    said: dict[str, Any] = {"questions": len(cases), "k": k, "fusion": fusion, "settings": None, "gain": None, "applied": False}
    if len(cases) < FEWEST:
        said["said"] = f"{len(cases)} questions with their answers are too few to say anything: at least {FEWEST} are needed"
        return {**said, "verdict": "too few"}
    arms = sorted({arm for case in cases for arm in case.arms if arm in present.weights})
    tried = list_candidates(present, set(arms), fusion)
    singles = settings_of_single_arms(present, arms)
    worth = np.stack([case.measure_settings([*tried, *singles], k, fusion) for case in cases])
    values = worth[:, 0, : len(tried)]
    gained, changed = out_of_fold(values, [case.question for case in cases])
    chosen, chance = find_best_setting(values), estimate_luck(values)
    figures = 100 * worth.mean(0)
    said |= {
        "tried": len(tried),
        "present": _make_figures(figures, 0, k),
        "arms": {arm: _make_figures(figures, len(tried) + nth, k) for nth, arm in enumerate(arms)},
        "gain": {"value": round(gained.value, 2), "error": round(gained.error, 2), "folds": FOLDS, "folds_changed": changed},
        "luck": round(chance, 3),
    }
    if chosen == 0 or not gained.is_clear_gain or chance > CHANCE:
        why = f"the best choice gains {gained.format_difference()} on questions kept apart"
        if gained.is_clear_gain:
            why += f", and luck makes one look as good in {100 * chance:.0f} of 100 cases"
        return {**said, "verdict": "keep", "said": f"keep what you have: {why}"}
    said |= {"settings": tried[chosen].list_changes(present), "proposed": _make_figures(figures, chosen, k)}
    return {
        **said,
        "verdict": "change",
        "said": f"nDCG@{k} gains {gained.format_difference()} on questions that took no part in the choice",
    }


def _make_figures(figures: Values, place: int, k: int) -> dict[str, float]:
    return {f"nDCG@{k}": round(float(figures[0, place]), 1), f"recall@{k}": round(float(figures[1, place]), 1)}
