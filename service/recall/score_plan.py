"""How what the arms found becomes one score: weights, normalisation, and who said it. No database here."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from math import exp, sqrt
from typing import Any

from db.recall.search import Hits
from loci.models.recall import Fusion
from service.recall.fusion import add_weighted_scores, normalise_scores, reciprocal_rank, relative_score, scores_above_mean
from service.recall.question import Question
from service.recall.relevance import OTHERS, Evidence
from service.recall.sources import unpack_hit
from service.text.question_times import Period, period_of
from service.text.relations import IDLE

MEAN_OF_FEW = 5  # hits by meaning with which the mean of the namespace counts for half: of two it says what these mean
NAMES_FULL = 4.0  # score over shared names from which a hit has the whole weight of that arm
ASSISTANT = "assistant"  # the role under which frameworks keep what a model said
NAMING_ARMS = frozenset({"graph", "names"})  # they say that a hit has to do with whom the question names
ABOUT_PART = 0.7  # what these add at least for a memory that is about whom the question names, found by them or not
OWN_PART = 0.25  # what is added for what somebody said of himself, where he asks of himself: his questions share few words with it
SUBJECTS = frozenset({"about", "own"})  # standings of what says something of whom the question is about
LENT_TO_STANDING = 0.3  # share of what neighbours lend that counts where some of these are found: they speak for themselves
ABOUT = 2.0  # what the score of a memory is multiplied by that is about whom the question names, where that one also speaks
TIME_FACTOR = 2.0  # what the score of a memory is multiplied by that began in the time that the question asks about; measured
TIME_PART = 1.0  # and what is added to it, where a question asks of nothing else: what did I do yesterday?
DEEDS = frozenset("done doing happen happened happening habe hatte getan gemacht machte machten passiert geschehen".split())  # noqa: SIM905
BESIDE_TIME = 0.5  # how near to that time is what began just before or after it; it fades with the root of the time's days
SPEECH_WEIGHT = 2.0  # times the weight of a speaker, where the question asks what was said
SPEECH = re.compile(
    r"\b(?:sa(?:y|ys|id)|tell|tells|told|mention\w*|think|thinks|thought|ask|asks|asked|suggest\w*|recommend\w*|propos\w*|opinion|"
    r"according|feel|feels|felt|believe\w*|claim\w*|promise\w*|talk\w*|discuss\w*|express\w*|describe\w*|repl(?:y|ied|ies)|"
    r"sag(?:t|te|ten|en)|gesagt|erzähl\w*|mein(?:t|te|ung)|gemeint|denkt|dachte|hält|erwähn\w*|vorgeschlagen|empf\w+|laut)\b",
    re.IGNORECASE,
)
YOU = re.compile(  # what the one who is asked did or said; "can you", "do you know" ask for something, not of it
    r"\b(?:did|have|had|were) you\b|\byou(?:['’]ve| have| had)? (?:said|told|gave|made|wrote|\w+ed)\b|"
    r"\b(?:hast|hattest|warst) du\b|\b(?:haben|hatten|waren) Sie\b",
    re.IGNORECASE,
)
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def first_word(source: str) -> str:
    """The word by which a question names who said something."""
    return next(iter(WORD.findall(source.lower())), "")


@dataclass(frozen=True)
class Plan:
    """A question with the weights and settings in force."""

    question: Question
    weights: dict[str, float]
    settings: dict[str, Any]

    @property
    def k(self) -> float:
        """K of reciprocal rank fusion."""
        return float(self.settings["rrf_k"] if self.question.rrf_k is None else self.question.rrf_k)

    def fuse_parts(self, parts: Mapping[str, Mapping[int, float]]) -> dict[int, float]:
        """One score a hit from what the arms add."""
        return (
            relative_score(parts.values())
            if self.uses_relative_scores
            else add_weighted_scores((part, 1.0) for part in parts.values())
        )

    @property
    def fusion(self) -> Fusion:
        """How the arms are fused: as the question says, else the namespace's setting."""
        return self.question.fusion or self.settings["fusion"]

    @property
    def uses_relative_scores(self) -> bool:
        """Whether scores are averaged, which leaves weights, k and neighbours out of it."""
        return self.fusion == "relative_score"

    def normalise_arm(self, arm: str, hits: Hits, mean: Mapping[int, float], share: Mapping[int, float]) -> dict[int, float]:
        """Scores of an arm as they are added or averaged, 0 to 1.

        Figures by namespace: `mean` cosine; `share` of a name's weight there. A long memory has many names, so that one
        shared with another says little.
        """
        if self.uses_relative_scores:
            lowest = self.settings["relative_similarity"] if arm == "vector" else 0.0
            return normalise_scores({key: score for key, score in hits.scores.items() if score >= lowest})
        if arm == "vector":
            lowest, few = min(hits.scores.values(), default=0.0), Counter(unpack_hit(key)[0] for key in hits.scores)
            means = {place: mean.get(place, lowest) * n * n / (n * n + MEAN_OF_FEW**2) for place, n in few.items()}
            return scores_above_mean(hits.scores, {key: means[unpack_hit(key)[0]] for key in hits.scores})
        if arm == "names":
            return {key: min(1.0, score / NAMES_FULL) * share.get(unpack_hit(key)[0], 1.0) for key, score in hits.scores.items()}
        return normalise_scores(hits.scores)

    def arm_parts(
        self, arms: Mapping[str, Hits], mean: Mapping[int, float], share: Mapping[int, float] | None = None
    ) -> dict[str, dict[int, float]]:
        """Each arm's part in the score of each hit that it found; with relative_score, the scores that are averaged."""
        if self.fusion == "rrf":
            return {name: reciprocal_rank([(hits.scores, self.arm_weight(name))], k=self.k) for name, hits in arms.items()}
        scores = {name: self.normalise_arm(name, hits, mean, share or {}) for name, hits in arms.items()}
        return (
            scores
            if self.uses_relative_scores
            else {name: add_weighted_scores([(of, self.arm_weight(name))]) for name, of in scores.items()}
        )

    def arm_weight(self, arm: str) -> float:
        """Weight of an arm."""
        return self.weights.get(arm, 1.0)

    def standing_factor(self, source: str | None, standing: str | None, *, several: bool, spoken: bool, own: bool) -> float:
        """Factor of a memory's score for its speaker and its subject.

        `several`: more than one speaker is named. `spoken`: among the hits are some of a speaker who is named; only beside these it
        counts that a memory is about that one. `own`: among the hits are some that the one who asks says of himself; what an
        assistant answered belongs to them.
        """
        named = float(self.settings["speaker_weight"])
        if standing in {"told", "said"}:
            said = named * SPEECH_WEIGHT if self.asks_what_was_said else named if standing == "told" else 1.0
            return 1.0 if several else said
        about = ABOUT if spoken and not self.asks_what_was_said else 1.0
        factors = {"about": about, "own": named * named, **dict.fromkeys(OTHERS, 1 / named)}
        if source == ASSISTANT:
            weight = named if self.asks_the_assistant else float(self.settings["assistant_weight"])
            return factors.get("own" if own else standing or "", 1.0) * weight
        return factors.get(standing or "", 1.0)

    def time_nearness(self, gap: float) -> float:
        """How near a memory that began so many days from the time that the question asks about is to it: 1 within it."""
        if self.question_period is None or not gap:
            return 1.0
        days = (self.question_period.end - self.question_period.start) / timedelta(days=1)
        return BESIDE_TIME * exp(-abs(gap) / sqrt(max(1.0, days)))

    def time_part(self, near: float) -> float:
        """Bonus of a memory that is so near to the time that the question asks about."""
        return TIME_PART * near if self.asks_of_time_alone and self.fusion == "linear" else 0.0

    @cached_property
    def asks_of_time_alone(self) -> bool:
        """Whether a question has a time, and else only words that every question has."""
        if self.question_period is None:
            return False
        beside = self.question.query.lower().replace(self.question_period.said.lower(), " ")
        return {*WORD.findall(beside)} <= IDLE | DEEDS

    def time_factor(self, near: float) -> float:
        """Factor of its score."""
        return 1.0 + (TIME_FACTOR - 1.0) * near

    @cached_property
    def question_period(self) -> Period | None:
        """The time that the question asks about."""
        return period_of(self.question.query, self.question.asked_at)

    def standing_part(self, standing: str, found: float) -> float:
        """Bonus of a memory that stands so to the subject of the question; `found`: the parts of the arms that look for names."""
        if self.fusion != "linear":
            return 0.0
        return max(0.0, ABOUT_PART - found) if standing == "about" else OWN_PART if standing == "own" else 0.0

    @cached_property
    def asks_what_was_said(self) -> bool:
        """Whether the question asks what somebody said or thought."""
        return SPEECH.search(self.question.query) is not None

    @cached_property
    def asks_the_assistant(self) -> bool:
        """Whether the question asks what "you" did or said: in what a user asks, that is the assistant."""
        return YOU.search(self.question.query) is not None


@dataclass(frozen=True)
class Fused:
    """Scores, and what they are made of: (the arms' parts + what neighbours lent) × a factor for who said it.

    With relative_score, the mean of the parts. `evidence`: what says how likely it answers, by the place of a namespace. `near`:
    neighbours of a hit, with the share of its score that each gets; `shares`: by the place of a namespace, what hits lend at most.
    `standings`: how memories stand to whom the question is about; `times`: how near they are to the time that it asks about;
    `added`: what both add.
    """

    scores: dict[int, float]
    parts: dict[str, dict[int, float]]
    lent: dict[int, float] = field(default_factory=dict)
    factors: dict[int, float] = field(default_factory=dict)
    sources: dict[int, str] = field(default_factory=dict)
    evidence: dict[int, Evidence] = field(default_factory=dict)
    near: Mapping[int, list[tuple[int, float]]] = field(default_factory=dict)
    shares: Mapping[int, float] = field(default_factory=dict)
    standings: Mapping[int, str] = field(default_factory=dict)
    added: Mapping[int, float] = field(default_factory=dict)
    times: Mapping[int, float] = field(default_factory=dict)
