"""Markdown tables of results."""

import statistics
from typing import Any

from bench.quality.baselines import BARE, DATED
from bench.quality.scores import EXCHANGE, METRICS, Mean, difference, measured, total
from bench.quality.sets import QuestionSet, counted
from service.recall.question import ARMS

Row = dict[str, Any]
Results = dict[str, list[Row]]  # by way to ask


def print_results(questions: QuestionSet, results: Results) -> None:
    """Every way by kind of question. Errors: by conversation where people speak, else by question."""
    shown = (*METRICS, *EXCHANGE) if questions.roles else METRICS
    print(f"\n### {questions.name}\n")
    print("| way | kind | n | " + " | ".join(shown) + " | ms p50 |\n|---|---|---|" + "---|" * (len(shown) + 1))
    for choice, rows in results.items():
        for kind, members in questions.groups(rows).items():
            cells = [cell(questions, members, metric) for metric in shown]
            spent = f"{statistics.median(row['ms'] for row in members):.1f}" if any(row["ms"] for row in members) else ""
            print(f"| {choice} | {kind} | {len(members)} | {' | '.join(cells)} | {spent} |", flush=True)


def cell(questions: QuestionSet, rows: list[Row], metric: str) -> str:
    """A figure; those that the set is judged by, and those of exchanges, with their error."""
    if metric in questions.headline or metric in EXCHANGE:
        return str(total(questions, rows, metric))
    return f"{100 * statistics.fmean(measured(row)[metric] for row in rows):.1f}"


VERDICT_HEADER = """
### Is the default at least the best single arm, and at least BM25?

A difference is paired; it holds if it is not below nought by more than its standard error.

| set | kind | measure | default | best single arm | default less it | best BM25 | default less it | |
|---|---|---|---|---|---|---|---|---|"""


def verdicts(questions: QuestionSet, results: Results, default: str) -> list[str]:
    """A line for each kind of question: what the default is worth beside single arms and BM25."""
    singles = [choice for choice in results if choice in ARMS]
    plain = [choice for choice in (BARE, DATED) if choice in results]
    lines = []
    for kind, rows in questions.groups(results[default]).items():
        for metric in questions.headline:
            cells, holds = [], True
            for others in (singles, plain):
                best = best_of(questions, results, others, kind, metric)
                if best is None:
                    cells += ["", ""]
                    continue
                name, value, members = best
                gap = difference(questions, rows, members, metric)
                holds = holds and gap.is_no_loss
                cells += [f"{name} {value.value:.1f}", gap.format_difference()]
            verdict = "holds" if holds else "**falls short**"
            lines.append(
                f"| {questions.name} | {kind} | {metric} | {total(questions, rows, metric)} | {' | '.join(cells)} | {verdict} |"
            )
    return lines


def best_of(
    questions: QuestionSet, results: Results, choices: list[str], kind: str, metric: str
) -> tuple[str, Mean, list[Row]] | None:
    """The best of some ways on a kind of question."""
    groups = {choice: questions.groups(results[choice])[kind] for choice in choices}
    values = {choice: total(questions, rows, metric) for choice, rows in groups.items()}
    if not values:
        return None
    name = max(values, key=lambda choice: values[choice].value)
    return name, values[name], groups[name]


def print_summary(sets: list[QuestionSet], found: dict[str, Results]) -> None:
    """Every way over all questions of every set: what the sets are judged by."""
    shown = [(questions, metric) for questions in sets for metric in questions.headline]
    print("\n### All ways\n\n| way | " + " | ".join(f"{questions.name} {metric}" for questions, metric in shown) + " |")
    print("|---|" + "---|" * len(shown))
    for choice in dict.fromkeys(choice for results in found.values() for choice in results):
        cells = []
        for questions, metric in shown:
            rows = found[questions.name].get(choice)
            cells.append(str(total(questions, counted(rows), metric)) if rows else "")
        print(f"| {choice} | {' | '.join(cells)} |", flush=True)


def print_differences(questions: QuestionSet, before: list[Row], after: list[Row], title: str) -> None:
    """One way less another, question by question. The header is the caller's."""
    groups = questions.groups(before)
    for kind, rows in questions.groups(after).items():
        for metric in (*questions.headline, *(EXCHANGE if questions.roles else ())):
            first, second = (total(questions, members, metric) for members in (groups[kind], rows))
            gap = difference(questions, rows, groups[kind], metric)
            mark = "" if abs(gap.value) <= 2 * gap.error else "better" if gap.value > 0 else "worse"
            print(
                f"| {questions.name} | {kind} | {metric} | {title} | {first.value:.1f} | {second.value:.1f} | {gap.format_difference()} | {mark} |",
                flush=True,
            )


DIFFERENCE_HEADER = """
| set | kind | measure | way | before | after | difference | beyond two errors |
|---|---|---|---|---|---|---|---|"""
