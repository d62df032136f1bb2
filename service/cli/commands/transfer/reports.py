"""Reports of an import for people."""

from typing import Any

from service.cli.framework import SHOWN_CHARACTERS, complain_of_lines, print_error
from service.cli.output import echo

MOST_PROBLEMS = 100  # after which the service stops reading


def tell_lines(done: dict[str, Any], *, atomic: bool) -> None:
    """Outcome of loose lines."""
    wrong = done["wrong"]
    complain_of_lines([(error["line"], error["reason"]) for error in done["errors"]], wrong)
    rate = sum(done[kind] for kind in ("memories", "entities", "edges")) / max(done["seconds"], 1e-3)
    echo(
        f"{done['memories']:,} memories ({done['duplicates']:,} known already, {done['superseded']:,} replaced an older "
        f"version), {done['entities']:,} entities, {done['edges']:,} edges in {done['seconds']:.1f} s ({rate:,.0f}/s)"
    )
    if done["dry_run"]:
        echo("dry run: nothing was written", err=True)
    for name, meaning in (
        ("ignored", "known already, with fields stated otherwise that were not taken over (on_duplicate)"),
        ("cut_short", "valid only until a later version of their lineage begins, before the stated end"),
    ):
        if done[name]:
            echo(f"{done[name]:,} memories were {meaning}")
    if wrong:
        nothing = "; nothing was written" if atomic and not done["dry_run"] else ""
        print_error(f"{wrong:,} of {done['lines']:,} lines are wrong{nothing}")


def tell_wrong(problems: list[dict[str, Any]]) -> None:
    """Why an export was not restored."""
    complain_of_lines([(problem["line"], problem["reason"]) for problem in problems])
    least = "at least " if len(problems) >= MOST_PROBLEMS else ""
    print_error(f"{least}{_format_number(len(problems), 'line')} cannot be restored; nothing was written")


def tell_restore_report(done: dict[str, Any]) -> None:
    """Result of a restore."""
    for name in done["kept"]:
        echo(f"note: {done['namespace']} keeps its own {name}: the file says otherwise", err=True)
    if done["vectors"] is not None:
        echo(f"note: {done['vectors']}; the worker makes its own", err=True)
    written = sum(done["written"].values())
    parts = ", ".join(f"{count:,} {kind.replace('_', ' ')}" for kind, count in done["written"].items() if count)
    echo(
        f"{_format_number(written, 'row')} written to {done['namespace']}{f' ({parts})' if parts else ''}, "
        f"{sum(done['unchanged'].values()):,} there already, in {done['seconds']:.1f} s "
        f"({written / max(done['seconds'], 1e-3):,.0f}/s)"
    )


def tell_report(report: dict[str, Any], *, atomic: bool) -> None:
    """Result of an import of another system's file: what was written, what was not and why, and what is wrong."""
    for error in report["errors"][:SHOWN_CHARACTERS]:
        echo(f"{error['place']}: {error['reason']}", err=True)
    if report["wrong"] > SHOWN_CHARACTERS:
        echo(f"… and {report['wrong'] - SHOWN_CHARACTERS:,} more", err=True)
    would = "would be " if report["dry_run"] else ""
    counts = _format_counts(report["written"]) or "nothing"
    echo(f"{report['format']}: {counts} {would}written to {report['namespace']} in {report['seconds']:.1f} s")
    for name, meaning in (("merged", f"{would}merged into what says the same"), ("there", "there already")):
        if counts := _format_counts(report[name]):
            echo(f"  {counts} {meaning}")
    for name, meaning in (("skipped", "left out"), ("no_place", "no place in Loci")):
        for what, count in report[name].items():
            echo(f"  {meaning}: {count:,} × {what}")
    for remark in report["remarks"][:SHOWN_CHARACTERS]:
        echo(f"  note: {remark}")
    if report["wrong"]:
        print_error(f"{report['wrong']:,} items are wrong" + ("; nothing was written" if atomic else ""))


def _format_counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {kind}" for kind, count in counts.items() if count)


def _format_number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
