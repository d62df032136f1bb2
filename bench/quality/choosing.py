"""Choosing among ways to ask, and what the choice is worth on questions that took no part in it.

Each fold is judged by the way that is best on all the others, of this set and of every other: one choice for all sets, as
defaults are. A conversation is a fold by itself (its questions are about the same turns); questions about paragraphs fall
into folds by their id. What a fold is not asked about is chosen by the mean, over sets, of each set's own measure. Whole families
of sets are left out as well: dialogues, chats with an assistant, paragraphs.
"""

import hashlib
import statistics
from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from bench.quality.scores import clusters, mean_with_error, measured
from bench.quality.sets import QuestionSet, counted

Row = dict[str, Any]
Fold = tuple[str, str]  # set, and conversation or number


@dataclass(frozen=True)
class Choices:
    """Results of every way, by set: sums by fold, so that leaving one out costs a subtraction."""

    sets: dict[str, QuestionSet]
    rows: dict[str, dict[str, list[Row]]]  # by set, by way
    folds: int

    def fold(self, questions: QuestionSet, row: Row) -> Fold:
        """Where a question belongs."""
        if questions.dialogue:
            return questions.name, row["namespace"]
        return questions.name, str(int(hashlib.md5(row["id"].encode(), usedforsecurity=False).hexdigest(), 16) % self.folds)

    def by_fold(self, name: str, way: str) -> dict[Fold, list[Row]]:
        """The rows of a way by fold."""
        found: dict[Fold, list[Row]] = defaultdict(list)
        for row in counted(self.rows[name][way]):
            found[self.fold(self.sets[name], row)].append(row)
        return dict(sorted(found.items()))


def value(questions: QuestionSet, row: Row) -> float:
    """What a question counts when ways are compared: the mean of what the set is judged by."""
    values = measured(row)
    return statistics.fmean(values[metric] for metric in questions.headline)


@dataclass(frozen=True)
class Worth:
    """What each way is worth in each fold: the sum of its questions' values, and how many they are."""

    sums: dict[str, dict[Fold, tuple[float, int]]]  # by way

    @classmethod
    def of(cls, choices: Choices) -> "Worth":
        """Of every way and every fold."""
        ways = next(iter(choices.rows.values()))
        return cls(
            {
                way: {
                    fold: (sum(value(choices.sets[name], row) for row in rows), len(rows))
                    for name in choices.rows
                    for fold, rows in choices.by_fold(name, way).items()
                }
                for way in ways
            }
        )

    @property
    def folds(self) -> list[Fold]:
        """Every fold."""
        return list(next(iter(self.sums.values())))

    def best(self, without: Collection[Fold] = ()) -> str:
        """The way that is best without some folds: by the mean, over sets, of what is left of them."""

        def mean_over_sets(way: str) -> float:
            kept: dict[str, list[tuple[float, int]]] = defaultdict(list)
            for fold, pair in self.sums[way].items():
                if fold not in without:
                    kept[fold[0]].append(pair)
            return statistics.fmean(sum(total for total, _ in pairs) / sum(count for _, count in pairs) for pairs in kept.values())

        return max(self.sums, key=mean_over_sets)


def choose(choices: Choices) -> dict[Fold | None, str]:
    """For each fold the way that is best without it; for none the way that is best on everything."""
    worth = Worth.of(choices)
    return {None: worth.best(), **{fold: worth.best({fold}) for fold in worth.folds}}


def family(questions: QuestionSet) -> str:
    """What kind of texts a set asks about."""
    return "chats with an assistant" if questions.roles else "dialogues" if questions.dialogue else "paragraphs"


def choose_without_family(choices: Choices) -> dict[str, str]:
    """For each family of sets the way that is best on the other families. Empty where there is one alone."""
    worth, families = Worth.of(choices), {name: family(questions) for name, questions in choices.sets.items()}
    each = sorted(set(families.values()))
    return {one: worth.best({fold for fold in worth.folds if families[fold[0]] == one}) for one in each} if len(each) > 1 else {}


def print_choices(choices: Choices, default: str) -> list[Row]:
    """Fold by fold the choice and its worth; then each set's figure beside those in sample and by default. Returns rows out of fold."""
    chosen = choose(choices)
    in_sample = chosen[None]
    print(f"\n### Chosen on other folds\n\nBest on all of it: {in_sample}\n")
    print("| set | fold | n | chosen on the others | out of fold | best in sample |\n|---|---|---|---|---|---|")
    out: list[Row] = []
    for name, questions in choices.sets.items():
        best = choices.by_fold(name, in_sample)
        for fold in best:
            rows = choices.by_fold(name, chosen[fold])[fold]
            figures = [figure(questions, members) for members in (rows, best[fold])]
            print(f"| {name} | {fold[1]} | {len(rows)} | {chosen[fold]} | {figures[0]} | {figures[1]} |")
            out += [{**row, "choice": "chosen on other folds"} for row in rows]
    print("\n| set | measure | out of fold | in sample | by default | kinds of choices |\n|---|---|---|---|---|---|")
    for name, questions in choices.sets.items():
        picks = Counter(way for fold, way in chosen.items() if fold is not None and fold[0] == name)
        for metric in questions.headline:
            ways = ([row for row in out if row["set"] == name], *(counted(choices.rows[name][way]) for way in (in_sample, default)))
            cells = [str(mean_with_error([measured(row)[metric] for row in rows], clusters(questions, rows))) for rows in ways]
            print(f"| {name} | {metric} | {' | '.join(cells)} | {', '.join(f'{n} × {way}' for way, n in picks.most_common(3))} |")
    print_families(choices)
    return out


def print_families(choices: Choices) -> None:
    """What is best on the other families of sets, and what it is worth on the one that took no part."""
    print("\n| family left out | chosen on the others | set | worth |\n|---|---|---|---|")
    for one, way in choose_without_family(choices).items():
        for name, questions in choices.sets.items():
            if family(questions) == one:
                rows = counted(choices.rows[name][way])
                figures = [
                    mean_with_error([measured(row)[m] for row in rows], clusters(questions, rows)) for m in questions.headline
                ]
                print(f"| {one} | {way} | {name} | {' / '.join(map(str, figures))} |")


def figure(questions: QuestionSet, rows: list[Row]) -> str:
    """What the set is judged by, over the rows of a fold."""
    return " / ".join(f"{100 * statistics.fmean(measured(row)[metric] for row in rows):.1f}" for metric in questions.headline)
