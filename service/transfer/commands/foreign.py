"""The half of `loci import` that takes what other memory systems have written."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from service.cli.output import console, echo, print_json
from service.cli.session import run
from service.cli.shell import SHOWN, Failure, complain

if TYPE_CHECKING:
    from service.transfer.foreign.formats import Format
    from service.transfer.foreign.sources import Source
    from service.transfer.foreign.write import Report


@dataclass
class Found:
    """A source, and its format."""

    source: "Source"
    format: "Format"


@contextmanager
def find_foreign(file: str, name: str | None) -> Iterator[Found | None]:
    """What another system has written, told by its content or by name; None for lines and exports of Loci."""
    from service.transfer.foreign.formats import FORMATS
    from service.transfer.foreign.records import Unreadable
    from service.transfer.foreign.run import AUTO, format_of
    from service.transfer.foreign.sources import open_source, open_stream

    if name == "list":
        for each in FORMATS.values():
            echo(f"{each.name:<14} {each.title}")
        raise typer.Exit
    stream = file == "-" or (Path(file).exists() and not (Path(file).is_file() or Path(file).is_dir()))  # read once, such as a pipe
    if stream and name is None:
        yield None
        return
    try:
        with tempfile.TemporaryFile() as spool:
            if stream:
                with typer.get_binary_stream("stdin") if file == "-" else Path(file).open("rb") as given:
                    shutil.copyfileobj(given, spool)
                spool.flush()
            source = open_stream(spool) if stream else open_source(Path(file))
            with source.stack:
                known = format_of(source, name or AUTO)
                if known is None and source.single is None:
                    raise Failure(
                        f"{file} is of no format that is known", "`loci import - --from list` lists them; name one with --from."
                    )
                yield Found(source, known) if known is not None else None
    except Unreadable as error:
        raise Failure(f"{file} cannot be imported: {error}") from None


def import_foreign(found: Found, namespace: str, *, in_json: bool, dry_run: bool, atomic: bool, **options: Any) -> None:
    """Import it, and print what that did."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from service.transfer.foreign.run import run_import
    from service.transfer.foreign.write import Report

    err = console(err=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("import", total=None)

        def advance(report: "Report") -> None:
            bar.update(task, description=", ".join(f"{count:,} {kind}" for kind, count in report.written.items()))

        report = Report(found.format.name, namespace, dry_run=dry_run, atomic=atomic)
        run(lambda session: run_import(session.transaction, found.source, found.format, report, advance=advance, **options))
    if in_json:
        print_json(report.counts())
    else:
        print_report(report.counts(), atomic=atomic)
    if report.notes.wrong:
        raise typer.Exit(1)


def print_report(report: dict[str, Any], *, atomic: bool) -> None:
    """What an import did, for people: what was written, what was not and why, and what is wrong."""
    for error in report["errors"][:SHOWN]:
        echo(f"{error['place']}: {error['reason']}", err=True)
    if report["wrong"] > SHOWN:
        echo(f"… and {report['wrong'] - SHOWN:,} more", err=True)
    would = "would be " if report["dry_run"] else ""
    counts = _counts(report["written"]) or "nothing"
    echo(f"{report['format']}: {counts} {would}written to {report['namespace']} in {report['seconds']:.1f} s")
    for name, said in (("merged", f"{would}merged into what says the same"), ("there", "there already")):
        if counts := _counts(report[name]):
            echo(f"  {counts} {said}")
    for name, said in (("skipped", "left out"), ("no_place", "no place in Loci")):
        for what, count in report[name].items():
            echo(f"  {said}: {count:,} × {what}")
    for remark in report["remarks"][:SHOWN]:
        echo(f"  note: {remark}")
    if report["wrong"]:
        complain(f"{report['wrong']:,} items are wrong" + ("; nothing was written" if atomic else ""))


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {kind}" for kind, count in counts.items() if count)
