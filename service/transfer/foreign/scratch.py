"""Room on disk for what an import unpacks: it is asked for before anything is written, and its files have no name."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, BinaryIO, cast

BLOCK_BYTES = 4 * 1024 * 1024  # bytes that are asked for, and written, at once
SORTED = 2  # a database may write so many times its size beside itself, to sort its rows


class Scratch:
    """Where copies lie. `ask` gets bytes that will be written, or a negative number of freed ones; it raises or returns."""

    def __init__(self) -> None:
        self.folder: str | None = None
        self.ask: Callable[[int], None] = lambda _: None

    def make_file(self) -> BinaryIO:
        """A new file. A writer asks for room first."""
        return cast("BinaryIO", tempfile.TemporaryFile(dir=self.folder))

    def copy_stream(self, stream: IO[bytes]) -> BinaryIO:
        """A copy that can be read from anywhere in it."""
        target = self.make_file()
        while part := stream.read(BLOCK_BYTES):
            self.ask(len(part))
            target.write(part)
        target.flush()
        target.seek(0)
        return target

    @contextmanager
    def copy_with_path(self, stream: IO[bytes], size: int) -> Iterator[str]:
        """The path of a copy, for a library that opens files by their names; its room is given back."""
        room = size * (1 + SORTED)
        self.ask(room)
        try:
            with tempfile.NamedTemporaryFile(dir=self.folder, suffix=".db") as target:
                shutil.copyfileobj(stream, target, BLOCK_BYTES)
                target.flush()
                if os.fstat(target.fileno()).st_size > size:
                    raise OSError("the file is larger than it says")
                yield target.name
        finally:
            self.ask(-room)


SCRATCH = Scratch()  # of this process
