"""`loci export`: a namespace as JSON lines, or as a folder of Markdown."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, BinaryIO

import orjson
import typer

from service.cli.commands.transfer.folder import write_folder
from service.cli.framework import Failure, Namespace, message_printer, tell_result, wants_json
from service.cli.output import echo, make_console, print_json
from service.cli.rest import open_service
from service.text.hidden_characters import visible_json


class Form(StrEnum):
    """How an export is written."""

    JSONL = "jsonl"
    MARKDOWN = "markdown"


@dataclass
class Written:
    """Result of an export."""

    namespace: str
    lines: int = 0
    bytes: int = 0
    started: float = field(default_factory=time.perf_counter)


def export_(
    namespace: Namespace = None,
    output: Annotated[
        str, typer.Option("--output", "-o", "--to", metavar="PATH", help="File, or folder of Markdown; -: standard output.")
    ] = "-",
    vectors: Annotated[
        bool, typer.Option("--vectors", help="With the vectors of the active model; without, they are made anew.")
    ] = False,
    format: Annotated[Form, typer.Option(help="jsonl, all of it; markdown, a file for each lineage as it is now.")] = Form.JSONL,
) -> None:
    """Export a namespace as JSON lines, for `loci import`.

    As it is at one moment: memories in all versions with both times, entities, edges and their evidence, the hierarchy, links,
    aspects, working memory, conversations, settings; ids are kept. Not keys and grants. A file appears under its name when it is
    whole.

    As Markdown, what is believed now is a folder that git can hold: a file that says the same is left alone, one whose lineage
    is no more is removed. `loci import` takes it back, with what was edited.
    """
    if format is Form.MARKDOWN:
        if output == "-" or vectors:
            raise Failure("--format markdown writes a folder: name it with --output, and leave out --vectors")
        _write_folder(namespace, Path(output))
        return
    if output != "-" and Path(output).is_dir():
        raise Failure(f"{output} is a folder", "Name a file, or write Markdown into it with --format markdown.")
    with open_service(namespace) as rest:
        written = Written(rest.find_namespace_name())
        with (
            rest.stream_blocks("/namespaces/{name}/export", {"name": written.namespace}, vectors=vectors or None) as blocks,
            _open_target(output) as file,
            _show_progress() as advance,
        ):
            _write_blocks(blocks, file, written, advance)
    took = time.perf_counter() - written.started
    if wants_json():
        result = {"namespace": written.namespace, "lines": written.lines, "bytes": written.bytes, "seconds": round(took, 3)}
        if output == "-":
            echo(orjson.dumps(result).decode(), err=True)
        else:
            print_json(result)
    else:
        echo(f"{written.lines:,} lines, {written.bytes:,} bytes of {written.namespace} in {took:.1f} s", err=True)


def _write_folder(namespace: str | None, to: Path) -> None:
    """Write the folder, and say what that changed in it."""
    with open_service(namespace) as rest:
        name = rest.find_namespace_name()
        with rest.stream_blocks("/namespaces/{name}/export", {"name": name}, format="markdown") as blocks:
            done = write_folder(blocks, to)
    counts = f"{done.written:,} files written to {to}, {done.unchanged:,} unchanged, {done.removed:,} removed"
    tell_result({"namespace": name, **asdict(done)}, message_printer(counts))


def _write_blocks(blocks: Iterator[bytes], file: BinaryIO, written: Written, advance: Callable[[int], None]) -> None:
    """Write what comes. Raises Failure where it breaks off before its last line."""
    last = rest = b""
    shown = file.isatty()
    for block in blocks:
        head, found, tail = block.rpartition(b"\n")
        if not found:
            rest += block
            continue
        whole, rest = rest + head + found, tail
        file.write(visible_json(whole.decode()).encode() if shown else whole)  # for eyes: the same JSON
        last = whole[whole.rfind(b"\n", 0, -1) + 1 :]
        written.lines += whole.count(b"\n")
        written.bytes += len(whole)
        advance(written.bytes)
    if not last.startswith(b'{"kind":"end"'):
        raise Failure("the export broke off before its end", "Try again.")


@contextmanager
def _open_target(output: str) -> Iterator[BinaryIO]:
    """Standard output, or a file beside the target that takes its name at the end, when all of it is on disk."""
    if output == "-":
        stream = typer.get_binary_stream("stdout")
        yield stream
        stream.flush()
        return
    path = Path(output)
    if path.is_dir():
        raise Failure(f"{output} is a folder", "Name a file in it.")
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def _show_progress() -> Iterator[Callable[[int], None]]:
    """A count on stderr, if that is a terminal; call it with the bytes that have come."""
    err = make_console(err=True)
    if not err.is_terminal:
        yield lambda _: None
        return
    from rich.progress import DownloadColumn, Progress, SpinnerColumn, TimeElapsedColumn

    with Progress(SpinnerColumn(), DownloadColumn(), TimeElapsedColumn(), console=err, transient=True) as bar:
        task = bar.add_task("export", total=None)
        yield lambda came: bar.update(task, completed=came)
