"""The folder of Markdown that `loci export --format markdown` writes: a file for each lineage, as the service says them."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import orjson

from service.cli.framework import Failure

FIRST_LINE = b"---\nloci:\n"  # by which files of an export are known again


@dataclass
class Folder:
    """Result of an export to a folder."""

    written: int = 0
    unchanged: int = 0
    removed: int = 0


def write_folder(blocks: Iterator[bytes], target: Path) -> Folder:
    """Write a file for each line, leave what says the same, and remove what earlier exports wrote and is no more.

    Nothing is removed unless the last line came. Raises Failure where it did not.
    """
    target.mkdir(parents=True, exist_ok=True)
    done = Folder()
    kept: set[Path] = set()
    for line in _split_lines(blocks):
        item = orjson.loads(line)
        if item.get("kind") == "end":
            done.removed = _remove_others(target, kept)
            return done
        path = target / _path_inside_folder(item["path"])
        kept.add(path)
        if _write_if_new(path, item["text"]):
            done.written += 1
        else:
            done.unchanged += 1
    raise Failure("the export broke off; no file was removed", "Try again.")


def _path_inside_folder(path: str) -> PurePosixPath:
    """A path within the folder, from any name."""
    inner = PurePosixPath(path)
    if inner.is_absolute() or ".." in inner.parts or inner.suffix != ".md" or "\\" in path or "\x00" in path:
        raise Failure(f"the service names a file outside of the folder: {path}")
    return inner


def _split_lines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for block in blocks:
        *whole, rest = (rest + block).split(b"\n")
        yield from whole


def _remove_others(target: Path, kept: set[Path]) -> int:
    """Remove what earlier exports wrote, and nothing else; how many files."""
    others = [path for path in sorted(target.rglob("*.md")) if path not in kept and not path.is_symlink() and _begins_export(path)]
    for path in others:
        path.unlink()
    return len(others)


def _write_if_new(path: Path, text: str) -> bool:
    """Write a file, unless it says this already: by way of another one, so that nobody sees half of it."""
    data = text.encode()
    if path.is_file() and path.read_bytes() == data:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    partial.write_bytes(data)
    partial.replace(path)
    return True


def _begins_export(path: Path) -> bool:
    with suppress(OSError), path.open("rb") as file:
        return file.read(len(FIRST_LINE)) == FIRST_LINE
    return False
