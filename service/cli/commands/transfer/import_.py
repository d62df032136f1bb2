"""`loci import`: JSON lines, an export restored as a whole, or what another memory system has written."""

import json
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, BinaryIO, get_args

import typer

from service.cli.commands.transfer.reports import tell_lines, tell_report, tell_restore_report, tell_wrong
from service.cli.framework import Failure, Namespace, tell_result, wants_json
from service.cli.output import echo, make_console
from service.cli.rest import Conflict, LociError, Rest, open_service
from service.cli.service_address import as_bytes_shown, read_target

HEAD = 64 * 1024
LIST = "list"


def import_(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file, an archive or a folder; - reads standard input.")],
    namespace: Namespace = None,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="FORMAT", help="What has written it; default: told by its content. `list` lists them."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be written, and write nothing; not of an export.")
    ] = False,
    account: Annotated[str, typer.Option(help="Of other systems' files: whose they are, to keep those of two people apart.")] = "",
    valid_from_created: Annotated[
        bool, typer.Option("--valid-from-created", help="Of other systems' files: what was written there was true from then on.")
    ] = False,
    atomic: Annotated[bool, typer.Option("--atomic", help="All or nothing: one wrong line, and nothing is written.")] = False,
) -> None:
    """Import JSON lines, an export, or another system's files.

    A line is {"kind": "memory", "content": …}, {"kind": "entity", "name": …} or {"kind": "edge", "source": …, "type": …,
    "target": …} with the fields of the REST API. A line without kind that has content is a memory. A wrong line is
    reported with its number and the rest goes in.

    An export is known by its first line. It is restored as a whole or not at all, into the namespace that it names or the
    one that is given, which is made if there is none; what is there already stays as it is.

    Files of other systems are told by their content: docs/transfer.md has the list. Run twice, they write nothing.
    """
    if source == LIST:
        _tell_formats()
        return
    _check_format(source)
    options = {"dry_run": dry_run, "account": account, "valid_from_created": valid_from_created}
    stated = {name: value for name, value in options.items() if value}
    with _open_input(file) as (content, size), open_service(namespace) as rest:
        head = content.read(HEAD)
        content.seek(0)
        exported = _exported_name(head) if source in (None, "loci") else None
        if exported is not None:
            if stated:
                raise Failure("--dry-run, --account and --valid-from-created are not for an export, which is all or nothing")
            into = namespace or read_target().namespace or exported
            _restore_export(rest, into, content, size)
            return
        into = rest.find_namespace_name()
        with _show_progress(size) as told:
            route, parts = "/namespaces/{name}/import", {"name": into}
            report = rest.upload_file(route, parts, content, told, format=source or "auto", atomic=atomic or None, **stated)
    _tell_report(report, atomic=atomic)


def _tell_report(report: dict[str, Any], *, atomic: bool) -> None:
    """Say what became of lines, or of another system's file; exit code 1 where something is wrong."""
    foreign = "format" in report
    tell_result(report, lambda: tell_report(report, atomic=atomic) if foreign else tell_lines(report, atomic=atomic))
    if report["errors"]:
        raise typer.Exit(1)


def _restore_export(rest: Rest, into: str, content: BinaryIO, size: int | None) -> None:
    """Restore an export; exit code 1 when nothing was written because of the file."""
    try:
        with _show_progress(size) as told:
            done = rest.upload_file("/namespaces/{name}/import", {"name": into}, content, told, format="loci")
    except LociError as error:
        if not any(each.field.startswith("line ") for each in error.errors):
            raise
        at = [(int(each.field.removeprefix("line ")), each.message) for each in error.errors]
        problems = [{"line": line, "reason": reason, "conflict": isinstance(error, Conflict)} for line, reason in at]
        tell_result({"errors": problems}, lambda: tell_wrong(problems))
        raise typer.Exit(1) from None
    tell_result(done, lambda: tell_restore_report(done))


def _check_format(name: str | None) -> None:
    from loci.models.transfer import ImportFormat

    known = get_args(ImportFormat)
    if name is not None and name not in known:
        near = get_close_matches(name, known, 1)
        raise Failure(f"no format is called {name!r}", f"Did you mean {near[0]}?" if near else f"Formats: {', '.join(known)}.")


def _tell_formats() -> None:
    from service.transfer.foreign.formats import FORMATS

    rows = [{"name": each.name, "title": each.title} for each in FORMATS.values()]

    def print_formats() -> None:
        for row in rows:
            echo(f"{row['name']:<14} {row['title']}")

    tell_result(rows, print_formats)


def _exported_name(head: bytes) -> str | None:
    """The namespace that an export names in its first line; None if it is no export."""
    try:
        item = json.loads(head.split(b"\n", 1)[0])
    except ValueError:
        return None
    if not isinstance(item, dict) or item.get("kind") != "namespace":
        return None
    return str(item.get("name") or "default")


@contextmanager
def _open_input(file: str) -> Iterator[tuple[BinaryIO, int | None]]:
    """The bytes of a file, from the beginning, and how many they are. A folder is packed, what is read once is kept meanwhile."""
    path = Path(file)
    if file != "-" and path.is_file():
        with path.open("rb") as stream:
            yield stream, path.stat().st_size
        return
    with tempfile.TemporaryFile() as spool:
        if file != "-" and path.is_dir():
            _pack_folder(path, spool)
        else:
            with typer.get_binary_stream("stdin") if file == "-" else path.open("rb") as given:
                shutil.copyfileobj(given, spool)
        size = spool.tell()
        spool.seek(0)
        yield spool, size


def _pack_folder(folder: Path, target: BinaryIO) -> None:
    """Pack the files of a folder, in order; links are not followed."""
    from service.transfer.foreign.sources import open_source

    source = open_source(folder)
    for name in (*source.folders, *(file.path for file in source.files)):
        if (shown := as_bytes_shown(name)) is not None:
            raise typer.BadParameter(f"a name in the folder is not UTF-8 text: '{shown}'", param_hint="FILE")
    with source.stack, zipfile.ZipFile(target, "w") as archive:
        for inner in sorted(source.folders):
            archive.mkdir(inner)
        for file in source.files:
            with file.opener() as stream, archive.open(zipfile.ZipInfo(file.path), "w", force_zip64=True) as member:
                shutil.copyfileobj(stream, member)
    if not source.files:
        raise Failure(f"there are no files in {folder}")
    if source.skipped and not wants_json():
        echo(f"note: {source.skipped:,} links in the folder are not followed", err=True)


@contextmanager
def _show_progress(size: int | None) -> Iterator[Callable[[int], None]]:
    """A bar on stderr, if that is a terminal; call it with the bytes that were sent."""
    err = make_console(err=True)
    if not err.is_terminal:
        yield lambda _: None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, SpinnerColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("import", total=size)
        yield lambda sent: bar.advance(task, sent)
