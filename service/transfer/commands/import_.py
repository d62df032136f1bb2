"""`loci import`: JSON lines in batches, an export restored as a whole, or what another memory system has written."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from service.cli.output import console, echo, print_json
from service.cli.session import run
from service.cli.shell import Failure, Json, Namespace, complain, complain_of_lines, wants_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.transfer.load import Load
    from service.transfer.restore import Restored


def import_(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file, an archive or a folder; - reads standard input.")],
    namespace: Namespace = "default",
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="FORMAT", help="What has written it; default: told by its content. `list` lists them."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Of other systems' files: say what would be written, and write nothing.")
    ] = False,
    account: Annotated[str, typer.Option(help="Of other systems' files: whose they are, to keep those of two people apart.")] = "",
    valid_from_created: Annotated[
        bool, typer.Option("--valid-from-created", help="Of other systems' files: what was written there was true from then on.")
    ] = False,
    atomic: Annotated[bool, typer.Option("--atomic", help="All or nothing: one wrong line, and nothing is written.")] = False,
    batch_size: Annotated[int, typer.Option(min=1, max=10_000, help="Lines a statement.")] = 1000,
    as_json: Json = False,
) -> None:
    """Import memories, entities and edges from JSON lines, what `loci export` wrote, or what another memory system has.

    A line is {"kind": "memory", "content": …}, {"kind": "entity", "name": …} or {"kind": "edge", "source": …, "type": …,
    "target": …} with the fields of the REST API. A line without kind that has content is a memory. A wrong line is
    reported with its number and the rest goes in.

    An export is known by its first line. It is restored as a whole or not at all, into the namespace that it names or the
    one that is given, which is made if there is none; what is there already stays as it is.

    Files of other systems are told by their content: docs/import.md has the list. Run twice, they write nothing.
    """
    from service.transfer.commands.foreign import find_foreign, import_foreign

    in_json = wants_json(context, as_json)
    options: dict[str, Any] = {"dry_run": dry_run, "account": account, "valid_from_created": valid_from_created}
    with find_foreign(file, source) as foreign:
        if foreign is not None:
            import_foreign(foreign, namespace, in_json=in_json, atomic=atomic, **options)
            return
    if any(options.values()):
        raise Failure("--dry-run, --account and --valid-from-created are for other systems' files, which this is not")
    named = context.get_parameter_source("namespace")
    given = named is not None and named.name != "DEFAULT"
    _import_lines(file, namespace, given=given, atomic=atomic, batch_size=batch_size, in_json=in_json)


def _import_lines(file: str, namespace: str, *, given: bool, atomic: bool, batch_size: int, in_json: bool) -> None:
    """Lines in batches, or an export as a whole, into the namespace that it names unless one was `given`."""
    from service.transfer.commands.restore import report_restored, restore_lines
    from service.transfer.load import load
    from service.transfer.restore import begins_export

    with _opened(file) as (stream, size), _progress(size) as advance:
        first = stream.readline()
        lines = chain([first], stream)
        restored = loaded = None
        if begins_export(first):
            restored = run(lambda session: restore_lines(session, lines, namespace if given else None, batch_size, advance))
        else:
            loaded = run(
                lambda session: load(
                    session.transaction, lines, namespace=namespace, atomic=atomic, batch_size=batch_size, advance=advance
                )
            )
    if restored is not None:
        report_restored(restored, in_json=in_json)
    if loaded is not None:
        _report(loaded, atomic=atomic, in_json=in_json)


@contextmanager
def _opened(file: str) -> Iterator[tuple[BinaryIO, int | None]]:
    """The file and its size in bytes; standard input has none."""
    if file == "-":
        yield typer.get_binary_stream("stdin"), None
        return
    path = Path(file)
    with path.open("rb") as stream:
        yield stream, path.stat().st_size if path.is_file() else None


@contextmanager
def _progress(size: int | None) -> "Iterator[Callable[[int, Load | Restored], None]]":
    """A bar on stderr, if that is a terminal; call it with the bytes read and what is done."""
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        BarColumn(),
        TextColumn("{task.fields[lines]:,} lines, {task.fields[rate]:,.0f}/s"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console(err=True), transient=True, disable=not console(err=True).is_terminal) as bar:
        task = bar.add_task("import", total=size, lines=0, rate=0.0)

        def advance(read: int, loaded: "Load | Restored") -> None:
            bar.update(task, completed=read, lines=loaded.lines, rate=loaded.lines / max(loaded.seconds, 1e-9))

        yield advance


def _report(loaded: "Load", *, atomic: bool, in_json: bool) -> None:
    counts = loaded.counts()
    if in_json:
        print_json(counts)
    else:
        complain_of_lines([(error.line, error.reason) for error in loaded.errors])
        rate = sum(counts[kind] for kind in ("memories", "entities", "edges")) / max(loaded.seconds, 1e-9)
        echo(
            f"{counts['memories']:,} memories ({counts['duplicates']:,} known already, {counts['superseded']:,} replaced an older "
            f"version), {counts['entities']:,} entities, {counts['edges']:,} edges in {loaded.seconds:.1f} s ({rate:,.0f}/s)"
        )
        for count, said in (
            (loaded.ignored, "known already, with fields stated otherwise that were not taken over (on_duplicate)"),
            (loaded.cut_short, "valid only until a later version of their lineage begins, before the stated end"),
        ):
            if count:
                echo(f"{count:,} memories were {said}")
        if loaded.errors:
            nothing = "; nothing was written" if atomic else ""
            complain(f"{len(loaded.errors):,} of {loaded.lines:,} lines are wrong{nothing}")
    if loaded.errors:
        raise typer.Exit(1)
