"""What a ranking is worth, and how sure that is."""

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bench.quality.sets import QuestionSet

Row = dict[str, Any]
METRICS = ("R@5", "R@10", "R@20", "nDCG@10")
EXCHANGE = ("X@5", "X@10")  # the same with a message or the other one of its exchange


def score(found: list[str], evidence: set[str]) -> dict[str, float]:
    """Recall at 5, 10, 20 and nDCG at 10 of one ranking."""
    ranks = {key: rank for rank, key in enumerate(found, start=1) if key in evidence}
    return metrics({key: ranks.get(key) for key in evidence})


def metrics(ranks: dict[str, int | None]) -> dict[str, float]:
    """The same from the rank of each piece of evidence; null: not found."""
    hits = [rank for rank in ranks.values() if rank is not None]
    ideal = sum(1 / math.log2(i + 2) for i in range(min(10, len(ranks))))
    recalls = {f"R@{k}": sum(hit <= k for hit in hits) / len(ranks) for k in (5, 10, 20)}
    return recalls | {"nDCG@10": sum(1 / math.log2(hit + 1) for hit in hits if hit <= 10) / ideal}


def measured(row: Row) -> dict[str, float]:
    """Every measure of one question."""
    values = metrics(row["ranks"])
    if "exchange" in row:
        values |= {f"X@{k}": metrics(row["exchange"])[f"R@{k}"] for k in (5, 10)}
    return values


def as_row(questions: QuestionSet, query: Row, found: list[str], choice: str, ms: float = 0.0) -> Row:
    """What became of one question: the rank of each piece of its evidence, and of its exchange where there is one."""
    place = {key: rank for rank, key in reversed(list(enumerate(found, start=1)))}
    row: Row = {"set": questions.name, "choice": choice, "namespace": query["namespace"], "id": query["id"]}
    row |= {"kind": query["category"], "ms": round(ms, 2)}
    row["ranks"] = {key: place.get(key) for key in query["evidence_ids"]}
    if questions.roles:
        others = {key: questions.exchanges.get((query["namespace"], key), key) for key in query["evidence_ids"]}
        row["exchange"] = {key: min((place[k] for k in (key, other) if k in place), default=None) for key, other in others.items()}
    return row


@dataclass(frozen=True)
class Mean:
    """A mean in per cent, and its standard error."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"{self.value:.1f} ± {self.error:.1f}"

    def signed(self) -> str:
        """As a difference."""
        return f"{self.value:+.1f} ± {self.error:.1f}"

    @property
    def holds(self) -> bool:
        """Whether a difference is nought or more, but for its error."""
        return self.value >= -self.error


def mean(values: Sequence[float], clusters: Iterable[Any]) -> Mean:
    """Mean and standard error; what is in one cluster is not independent (each value its own cluster: the usual error)."""
    middle = statistics.fmean(values)
    residuals: dict[Any, float] = defaultdict(float)
    for value, cluster in zip(values, clusters, strict=True):
        residuals[cluster] += value - middle
    count = len(residuals)
    spread = math.sqrt(count / (count - 1) * sum(r * r for r in residuals.values())) / len(values) if count > 1 else math.nan
    return Mean(100 * middle, 100 * spread)


def clusters(questions: QuestionSet, rows: list[Row]) -> list[str]:
    """What belongs together: a conversation where people speak, else each question alone."""
    return [row["namespace"] if questions.dialogue else row["id"] for row in rows]


def total(questions: QuestionSet, rows: list[Row], metric: str) -> Mean:
    """A measure over rows."""
    return mean([measured(row)[metric] for row in rows], clusters(questions, rows))


def difference(questions: QuestionSet, rows: list[Row], others: list[Row], metric: str) -> Mean:
    """By how much rows are better than those of the same questions asked otherwise: paired."""
    before = {row["id"]: measured(row)[metric] for row in others}
    paired = [row for row in rows if row["id"] in before]
    return mean([measured(row)[metric] - before[row["id"]] for row in paired], clusters(questions, paired))
