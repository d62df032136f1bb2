"""Files of an import: one file, a folder, or an archive, of which nothing is unpacked beside temporary files.

Archives are refused that have links, absolute paths or `..`, or that are larger than they say or than anybody's notes.
"""

import gzip
import io
import json
import lzma
import os
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any

import ijson
import orjson

from service.transfer.foreign.records import Unreadable
from service.transfer.foreign.scratch import SCRATCH

MIB = 1024 * 1024
MOST_MEMBERS = 100_000
MOST_BYTES = 8 * 1024 * MIB  # of all members, unpacked
MOST_RATIO = 200  # of a packed file, once it is larger than this:
SMALL = 16 * MIB
LONGEST_LINE = 256 * MIB
HEAD = 256 * 1024
IN_MEMORY = 64 * MIB  # the largest file that is read whole
DEEPEST_LEVELS = 200  # levels of lists and objects in a file of items
LEVELS = {"start_array": 1, "start_map": 1, "end_array": -1, "end_map": -1}
LONGEST_PATH = 4096  # characters in an archive
MOST_FOLDERS = 100  # that a member lies in
HIDDEN = frozenset({".git", ".trash", "__MACOSX", "auth.json"})  # the last one holds keys of a program beside its memory
FILLED, NEWLINE = re.compile(rb"\S[^\n]*+"), 10
Binary = IO[bytes]


@dataclass(frozen=True)
class File:
    """A file by its path inside of what was given; a file that was given by itself has no path."""

    path: str
    size: int
    opener: Callable[[], Binary] = field(repr=False)

    @contextmanager
    def open(self) -> Iterator[Binary]:
        """The bytes, from the beginning, after a byte order mark. Raises Unreadable where they are damaged."""
        try:
            with self.opener() as stream:
                start = stream.read(3)
                if start != b"\xef\xbb\xbf":
                    stream.seek(0)
                yield stream
        except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError, EOFError, tarfile.TarError) as error:
            raise Unreadable(f"is damaged: {error}", self.describe_place()) from None

    def describe_place(self, inner: str = "") -> str:
        """How errors name it, or something in it."""
        return f"{self.path}: {inner}" if self.path and inner else self.path or inner or "the file"

    def read_head(self, size: int = HEAD) -> bytes:
        """How it begins."""
        with self.open() as stream:
            return stream.read(size)

    def iterate_lines(self) -> Iterator[tuple[int, bytes]]:
        """Its lines that are not blank, numbered from 1."""
        with self.open() as stream:
            for number, line in FilledLines(stream, LONGEST_LINE):
                if line is None:
                    raise Unreadable(f"is longer than {LONGEST_LINE:,} bytes", self.describe_place(f"line {number}"))
                yield number, line

    def read_text(self) -> str:
        """All of it as text; bytes that are no UTF-8 become U+FFFD."""
        return self._read_all().decode("utf-8", "replace")

    def read_json(self) -> Any:
        """All of it as JSON."""
        return parse_json(self._read_all(), self.describe_place())

    def iterate_items(self, path: str) -> Iterator[Any]:
        """The items of a list in it, one by one, whatever its size: `item`, `results.item`. Raises Unreadable."""
        number = 0
        with self.open() as stream:
            try:
                events = ijson.parse(self._limit_depth(ijson.basic_parse(stream, use_float=True)))
                for value in ijson.items(events, path):
                    yield value
                    number += 1
            except (ijson.JSONError, UnicodeDecodeError, OverflowError, RecursionError) as error:
                place = self.describe_place(f"{path.removesuffix('item').removesuffix('.')}[{number}]")
                raise Unreadable(f"is no JSON from here on: {str(error).splitlines()[0]}", place) from None

    def _limit_depth(self, events: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
        """Events of a parser, of so many levels at most: it names each by its way through all of them. Raises Unreadable."""
        level = 0
        for event in events:
            level += LEVELS.get(event[0], 0)
            if level > DEEPEST_LEVELS:
                raise Unreadable(f"has more than {DEEPEST_LEVELS} levels", self.describe_place())
            yield event

    def _read_all(self) -> bytes:
        with self.open() as stream:
            data = stream.read(IN_MEMORY + 1)
        if len(data) > IN_MEMORY:
            raise Unreadable(f"is larger than the {IN_MEMORY // MIB} MiB that a file of this kind may have", self.describe_place())
        return data


def numbered_lines(stream: Binary, longest: int) -> Iterator[tuple[int, bytes | None]]:
    """The lines of a file from 1, with their ends; None for one that is too long to be held."""
    number, whole = 0, True
    while line := stream.readline(longest):
        ends = line.endswith(b"\n") or len(line) < longest
        if whole:
            number += 1
            yield number, line if ends else None
        whole = ends


class FilledLines:
    """The lines of a file that are not blank, numbered from 1; None for one that is too long. Blank ones cost next to nothing."""

    def __init__(self, stream: Binary, longest: int) -> None:
        self._stream, self._longest = stream, longest
        self.count = 0  # lines that were read, blank ones too

    def __iter__(self) -> Iterator[tuple[int, bytes | None]]:
        """Each with its number and its end."""
        held = bytearray()  # of a line that goes on in the next block; of one that is too long, as much as shows it
        while block := self._stream.read(MIB):
            start = 0
            if held:
                start = block.find(b"\n") + 1 or len(block)
                held += block[:start][: self._longest + 1 - len(held)]
                if block[start - 1] != NEWLINE:
                    continue
                yield from self._yield_filled_line(held)
                held.clear()
                self.count += 1
            last = max(start, block.rfind(b"\n") + 1)
            place = start
            for found in FILLED.finditer(block, start, last):
                self.count += block.count(b"\n", place, found.start())
                place = found.end()
                yield from self._yield_filled_line(block[max(start, block.rfind(b"\n", start, found.start()) + 1) : place + 1])
            self.count += block.count(b"\n", place, last)
            held += block[last:]
        if held:
            yield from self._yield_filled_line(held)
            self.count += 1

    def _yield_filled_line(self, line: bytes | bytearray) -> Iterator[tuple[int, bytes | None]]:
        if len(line) > self._longest:
            yield self.count + 1, None
        elif not line.isspace():
            yield self.count + 1, bytes(line)


def parse_json(data: bytes, place: str) -> Any:
    """JSON, also with halves of surrogates, which are replaced later. Raises Unreadable."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        try:
            return json.loads(data.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            raise Unreadable(f"is no JSON: {error}", place) from None


@dataclass
class Source:
    """The files of an import, in order of their paths. Close it at the end."""

    files: list[File]
    folders: set[str] = field(default_factory=set)  # of a folder; those of an archive are in the paths of its files
    skipped: int = 0  # links in a folder
    stack: ExitStack = field(default_factory=ExitStack)

    @property
    def only_file(self) -> File | None:
        """The file, if one was given by itself."""
        return self.files[0] if len(self.files) == 1 and not self.files[0].path else None

    def lies_in(self, name: str) -> bool:
        """Whether a folder of this name is among those that the files lie in."""
        return any(name in file.path.split("/")[:-1] for file in self.files) or any(
            folder.rpartition("/")[2] == name for folder in self.folders
        )

    def files_with_ending(self, *endings: str) -> list[File]:
        """Files whose names end so."""
        return [file for file in self.files if file.path.lower().endswith(endings)]


def open_source(path: Path) -> Source:
    """A file, an archive or a folder on disk."""
    if path.is_dir():
        return _read_folder(path)
    return unpack_file(File("", path.stat().st_size, lambda: path.open("rb")))


def open_stream(stream: Binary) -> Source:
    """A file that is open already, such as what a request brought."""
    stream.seek(0, os.SEEK_END)
    size = stream.tell()
    return unpack_file(File("", size, lambda: _share_position(stream)))


class _Positioned(io.RawIOBase):
    """A file that others read too, with a position of its own. The opener closes it."""

    def __init__(self, number: int) -> None:
        self._number, self._place = number, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._place}.get(whence)
        self._place = offset + (os.fstat(self._number).st_size if start is None else start)
        return self._place

    def readinto(self, buffer: Any) -> int:
        data = os.pread(self._number, len(buffer), self._place)
        buffer[: len(data)] = data
        self._place += len(data)
        return len(data)


def _share_position(stream: Binary) -> Binary:
    return io.BufferedReader(_Positioned(stream.fileno()))


def unpack_file(file: File) -> Source:
    """Contents of a file: its members, if it is an archive; else the file."""
    start = file.read_head(4)
    if start[:4] == b"PK\x03\x04":
        return _open_zip(file)
    if start[:2] == b"\x1f\x8b":
        return _open_gzip(file)
    source = Source([file])
    with file.open() as stream:
        stream.seek(257)
        if stream.read(5) == b"ustar":
            return _open_tar(file, source)
    return source


def _read_folder(path: Path) -> Source:
    source = Source([])
    for root, folders, names in os.walk(path):
        relative = Path(root).relative_to(path)
        folders[:] = sorted(name for name in folders if name not in HIDDEN and not (Path(root) / name).is_symlink())
        source.folders.update((relative / name).as_posix() for name in folders)
        for name in sorted(set(names) - HIDDEN):
            found = Path(root) / name
            if not found.is_file() or found.is_symlink():
                source.skipped += 1
                continue
            inner = (relative / name).as_posix()
            source.files.append(File(inner, found.stat().st_size, lambda found=found: found.open("rb")))  # type: ignore[misc]
            if len(source.files) > MOST_MEMBERS:
                raise Unreadable(f"has more than {MOST_MEMBERS:,} files", "the folder")
    source.files.sort(key=lambda file: file.path)
    return source


def _inner_path(name: str) -> str:
    """A path inside of an archive. Raises Unreadable for one that leaves it, or is longer than any system's."""
    if len(name) > LONGEST_PATH or name.count("/") > MOST_FOLDERS:
        raise Unreadable(
            f"is longer than {LONGEST_PATH:,} characters, or lies in more than {MOST_FOLDERS} folders", repr(name[:100])
        )
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in str(path)[:2]:
        raise Unreadable("leads out of the archive, which is refused", repr(name))
    return path.as_posix()


def _open_zip(file: File, depth: int = 0) -> Source:
    source = Source([])
    try:
        archive = source.stack.enter_context(zipfile.ZipFile(source.stack.enter_context(file.opener())))
    except zipfile.BadZipFile as error:
        raise Unreadable(f"is a damaged zip archive: {error}", file.describe_place()) from None
    members = archive.infolist()
    _check_sizes(len(members), sum(member.file_size for member in members), file.size)
    for member in members:
        inner = _inner_path(member.filename)
        if stat.S_ISLNK(member.external_attr >> 16):
            raise Unreadable("is a link, and links in archives are refused", repr(member.filename))
        if member.flag_bits & 1:
            raise Unreadable("is encrypted", repr(member.filename))
        if member.is_dir() or set(PurePosixPath(inner).parts) & HIDDEN:
            continue
        found = File(inner, member.file_size, lambda member=member: archive.open(member))  # type: ignore[misc]
        if inner.lower().endswith(".zip") and depth == 0:
            with found.open() as stream:
                copy = source.stack.enter_context(SCRATCH.copy_stream(stream))
            found = File(inner, found.size, lambda copy=copy: _share_position(copy))  # type: ignore[misc]
            nested = _open_zip(found, depth=1)
            source.stack.push(nested.stack)
            source.files += [File(f"{inner}/{each.path}", each.size, each.opener) for each in nested.files]
        else:
            source.files.append(found)
    source.files.sort(key=lambda each: each.path)
    return source


def _open_gzip(file: File) -> Source:
    """The kind of a packed file: a tar archive, or a file of lines.

    It is unpacked to a temporary file, and no further than it may.
    """
    target = SCRATCH.make_file()
    size = 0
    try:
        with file.opener() as packed, gzip.GzipFile(fileobj=packed) as stream:
            while part := stream.read(MIB):
                size += len(part)
                _check_sizes(1, size, file.size)
                SCRATCH.ask(len(part))
                target.write(part)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        target.close()
        raise Unreadable(f"is damaged: {error}", file.describe_place()) from None
    target.flush()
    inner = File("", size, lambda: _share_position(target))
    source = Source([inner])
    source.stack.callback(target.close)
    with inner.open() as stream:
        stream.seek(257)
        if stream.read(5) == b"ustar":
            return _open_tar(inner, source)
    return source


def _open_tar(file: File, source: Source) -> Source:
    source.files = []
    try:
        stream = source.stack.enter_context(file.opener())
        archive = source.stack.enter_context(tarfile.TarFile(fileobj=stream))
        members = archive.getmembers()
    except tarfile.TarError as error:
        raise Unreadable(f"is a damaged tar archive: {error}", file.describe_place()) from None
    _check_sizes(len(members), sum(member.size for member in members), file.size * MOST_RATIO)
    for member in members:
        inner = _inner_path(member.name)
        if member.isdir():
            continue
        if not member.isreg():
            raise Unreadable("is no file, and links in archives are refused", repr(member.name))
        source.files.append(File(inner, member.size, lambda member=member: archive.extractfile(member) or io.BytesIO()))  # type: ignore[misc]
    source.files.sort(key=lambda each: each.path)
    return source


def _check_sizes(members: int, size: int, packed: int) -> None:
    if members > MOST_MEMBERS:
        raise Unreadable(f"has more than {MOST_MEMBERS:,} members", "the archive")
    if size > MOST_BYTES:
        raise Unreadable(f"holds more than {MOST_BYTES // MIB:,} MiB", "the archive")
    if size > SMALL and size > packed * MOST_RATIO:
        raise Unreadable(f"would grow more than {MOST_RATIO}-fold, which is refused", "the archive")
