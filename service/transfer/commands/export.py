"""`loci export`: a namespace as JSON lines, or as a folder of Markdown."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import orjson
import typer

from service.cli.output import console, echo, print_json
from service.cli.session import Session, run
from service.cli.shell import Failure, Json, Namespace, wants_json
from service.text.visible import visible_json

if TYPE_CHECKING:
    from service.transfer.export import Part


class Form(StrEnum):
    """How an export is written."""

    JSONL = "jsonl"
    MARKDOWN = "markdown"


@dataclass
class Written:
    """What an export wrote."""

    namespace: str
    lines: int = 0
    bytes: int = 0
    started: float = field(default_factory=time.perf_counter)


def export_(
    context: typer.Context,
    namespace: Namespace = "default",
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Where to; - is standard output.")] = "-",
    vectors: Annotated[
        bool, typer.Option("--vectors", help="With the vectors of the active model; without, they are made anew.")
    ] = False,
    format: Annotated[Form, typer.Option(help="jsonl, all of it; markdown, a file for each lineage as it is now.")] = Form.JSONL,
    to: Annotated[Path | None, typer.Option("--to", metavar="DIR", help="The folder of --format markdown.")] = None,
    as_json: Json = False,
) -> None:
    """Export a namespace as JSON lines, as it is at one moment, for `loci import`.

    Memories in all versions with both times, entities, edges and their evidence, the hierarchy, links, aspects, working memory,
    conversations, settings; ids are kept. Not keys and grants. A file appears under its name when it is whole.

    As Markdown, what is believed now is a folder that git can hold: a file that says the same is left alone, one whose lineage
    is no more is removed. `loci import` takes it back, with what was edited.
    """
    in_json = wants_json(context, as_json)
    if format is Form.MARKDOWN or to is not None:
        if format is not Form.MARKDOWN or to is None or output != "-" or vectors:
            raise Failure("--format markdown and --to DIR belong together, without --output and --vectors")
        _write_folder(namespace, to, in_json=in_json)
        return
    with _target(output) as file, _progress() as advance:
        written = run(lambda session: _write(session, file, namespace, vectors=vectors, advance=advance))
    took = time.perf_counter() - written.started
    if in_json:
        result = {"namespace": namespace, "lines": written.lines, "bytes": written.bytes, "seconds": round(took, 3)}
        if output == "-":
            echo(orjson.dumps(result).decode(), err=True)
        else:
            print_json(result)
    else:
        echo(f"{written.lines:,} lines, {written.bytes:,} bytes of {namespace} in {took:.1f} s", err=True)


def _write_folder(namespace: str, target: Path, *, in_json: bool) -> None:
    """Write the folder, and say what that changed in it."""
    from service.transfer.markdown import Folder, write_folder

    target.mkdir(parents=True, exist_ok=True)

    async def work(session: Session) -> Folder:
        async with session.transaction(namespace, "reader", snapshot=True) as tx:
            return await write_folder(tx, target, lambda _: None)

    done = run(work)
    if in_json:
        print_json({"namespace": namespace, **asdict(done)})
    else:
        echo(f"{done.written:,} files written to {target}, {done.unchanged:,} unchanged, {done.removed:,} removed", err=True)


async def _write(session: Session, file: BinaryIO, namespace: str, *, vectors: bool, advance: "Callable[[Part], None]") -> Written:
    from service.transfer.export import export_lines

    written = Written(namespace)
    async with session.transaction(namespace, "admin", snapshot=True) as tx:
        async for part in export_lines(tx, vectors=vectors):
            file.write(visible_json(part.data.decode()).encode() if file.isatty() else part.data)  # for eyes: the same JSON
            written.lines += part.data.count(b"\n")
            written.bytes += len(part.data)
            advance(part)
    return written


@contextmanager
def _target(output: str) -> Iterator[BinaryIO]:
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
def _progress() -> "Iterator[Callable[[Part], None]]":
    """A bar on stderr, if that is a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console(err=True), transient=True, disable=not console(err=True).is_terminal) as bar:
        task = bar.add_task("export", total=None)
        yield lambda part: bar.update(task, total=part.total, advance=part.rows)
