"""The half of `loci import` that restores what `loci export` wrote."""

from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import asdict

import typer

from service.cli.output import echo, print_json
from service.cli.session import Session
from service.cli.shell import complain, complain_of_lines
from service.transfer.restore import MOST_PROBLEMS, Refused, Restored, restore


async def restore_lines(
    session: Session, lines: Iterable[bytes], namespace: str | None, batch_size: int, advance: Callable[[int, Restored], None]
) -> Restored | Refused:
    """Restore the lines of a file, or say why nothing was written."""
    try:
        return await restore(
            lambda into: session.transaction(into, None), _each(lines), namespace=namespace, batch_size=batch_size, advance=advance
        )
    except Refused as refused:
        return refused


async def _each(lines: Iterable[bytes]) -> AsyncIterator[bytes]:
    for line in lines:
        yield line


def report_restored(done: Restored | Refused, *, in_json: bool) -> None:
    """Print what a restore did; exit code 1 when it did nothing because of the file."""
    if isinstance(done, Refused):
        if in_json:
            print_json({"errors": [asdict(problem) for problem in done.problems]})
        else:
            complain_of_lines([(problem.line, problem.reason) for problem in done.problems])
            least = "at least " if len(done.problems) == MOST_PROBLEMS else ""
            complain(f"{least}{_number(len(done.problems), 'line')} cannot be restored; nothing was written")
        raise typer.Exit(1)
    if in_json:
        print_json(done.counts())
        return
    for name in done.kept:
        echo(f"note: {done.namespace} keeps its own {name}: the file says otherwise", err=True)
    if done.vectors is not None:
        echo(f"note: {done.vectors}; the worker makes its own", err=True)
    written = sum(done.written.values())
    parts = ", ".join(f"{count:,} {kind.replace('_', ' ')}" for kind, count in done.written.items() if count)
    echo(
        f"{_number(written, 'row')} written to {done.namespace}{f' ({parts})' if parts else ''}, "
        f"{sum(done.unchanged.values()):,} there already, in {done.seconds:.1f} s ({written / max(done.seconds, 1e-9):,.0f}/s)"
    )


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
