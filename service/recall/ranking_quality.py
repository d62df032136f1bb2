"""Worth of a ranking, and how sure that is. No database here."""

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any


def measure_ranking(found: list[str], evidence: set[str]) -> dict[str, float]:
    """Recall at 5, 10, 20 and nDCG at 10 of one ranking."""
    ranks = {key: rank for rank, key in enumerate(found, start=1) if key in evidence}
    return measure_ranks({key: ranks.get(key) for key in evidence})


def measure_ranks(ranks: dict[str, int | None]) -> dict[str, float]:
    """The same from the rank of each piece of evidence; null: not found."""
    hits = [rank for rank in ranks.values() if rank is not None]
    recalls = {f"R@{k}": sum(hit <= k for hit in hits) / len(ranks) for k in (5, 10, 20)}
    return recalls | {"nDCG@10": sum(rank_gain(hit) for hit in hits if hit <= 10) / ideal_gain(len(ranks), 10)}  # noqa: PLR2004


def rank_gain(rank: int) -> float:
    """Worth of a piece of evidence at a rank (nDCG: Järvelin and Kekäläinen, TOIS 2002)."""
    return 1 / math.log2(rank + 1)


def ideal_gain(pieces: int, k: int) -> float:
    """Worth of the best ranking of so many pieces among the first k."""
    return sum(rank_gain(rank) for rank in range(1, min(k, pieces) + 1))


@dataclass(frozen=True)
class Mean:
    """A mean in per cent, and its standard error."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"{self.value:.1f} ± {self.error:.1f}"

    def format_difference(self) -> str:
        """As a difference."""
        return f"{self.value:+.1f} ± {self.error:.1f}"

    @property
    def is_no_loss(self) -> bool:
        """Whether a difference is at least 0, within its error."""
        return self.value >= -self.error

    @property
    def is_clear_gain(self) -> bool:
        """Whether a difference is more than its error."""
        return self.value > max(self.error, 1e-9)


def mean_with_error(values: Sequence[float], clusters: Iterable[Any]) -> Mean:
    """Mean and standard error; values of one cluster are not independent (each value its own cluster: the usual error)."""
    middle = statistics.fmean(values)
    residuals: dict[Any, float] = defaultdict(float)
    for value, cluster in zip(values, clusters, strict=True):
        residuals[cluster] += value - middle
    count = len(residuals)
    spread = math.sqrt(count / (count - 1) * sum(r * r for r in residuals.values())) / len(values) if count > 1 else math.nan
    return Mean(100 * middle, 100 * spread)
