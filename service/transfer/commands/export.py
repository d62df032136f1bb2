"""`loci export`: a namespace as JSON lines."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
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
    as_json: Json = False,
) -> None:
    """Export a namespace as JSON lines, as it is at one moment, for `loci import`.

    Memories in all versions with both times, entities, edges and their evidence, the hierarchy, links, aspects, working memory,
    conversations, settings; ids are kept. Not keys and grants. A file appears under its name when it is whole.
    """
    with _target(output) as file, _progress() as advance:
        written = run(lambda session: _write(session, file, namespace, vectors=vectors, advance=advance))
    took = time.perf_counter() - written.started
    if wants_json(context, as_json):
        result = {"namespace": namespace, "lines": written.lines, "bytes": written.bytes, "seconds": round(took, 3)}
        if output == "-":
            echo(orjson.dumps(result).decode(), err=True)
        else:
            print_json(result)
    else:
        echo(f"{written.lines:,} lines, {written.bytes:,} bytes of {namespace} in {took:.1f} s", err=True)


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
