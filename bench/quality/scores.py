"""What a ranking is worth, and how sure that is."""

from typing import Any

from bench.quality.sets import QuestionSet
from service.recall.ranking_quality import Mean, mean_with_error, measure_ranking, measure_ranks

Row = dict[str, Any]
METRICS = ("R@5", "R@10", "R@20", "nDCG@10")
__all__ = ["Mean", "as_row", "clusters", "difference", "mean_with_error", "measure_ranking", "measure_ranks", "measured", "total"]
EXCHANGE = ("X@5", "X@10")  # the same with a message or the other one of its exchange


def measured(row: Row) -> dict[str, float]:
    """Every measure of one question."""
    values = measure_ranks(row["ranks"])
    if "exchange" in row:
        values |= {f"X@{k}": measure_ranks(row["exchange"])[f"R@{k}"] for k in (5, 10)}
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


def clusters(questions: QuestionSet, rows: list[Row]) -> list[str]:
    """What belongs together: a conversation where people speak in several, else each question alone."""
    several = questions.dialogue and len({row["namespace"] for row in rows}) > 1
    return [row["namespace"] if several else row["id"] for row in rows]


def total(questions: QuestionSet, rows: list[Row], metric: str) -> Mean:
    """A measure over rows."""
    return mean_with_error([measured(row)[metric] for row in rows], clusters(questions, rows))


def difference(questions: QuestionSet, rows: list[Row], others: list[Row], metric: str) -> Mean:
    """By how much rows are better than those of the same questions asked otherwise: paired."""
    before = {row["id"]: measured(row)[metric] for row in others}
    paired = [row for row in rows if row["id"] in before]
    return mean_with_error([measured(row)[metric] - before[row["id"]] for row in paired], clusters(questions, paired))
