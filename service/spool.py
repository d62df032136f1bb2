"""Files between a client and the database: an import waits in one until it is here, an export until its reader has it.

So nobody holds a connection of the pool, or a lock, for as long as somebody else is slow. The files have no name: they end with
the process that has them open.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

from db.errors import TooLarge, TooManyAtOnce, Unavailable
from service.concurrency import FairTurns
from service.settings import LimitSettings

BLOCK_BYTES = 1024 * 1024  # bytes that are written and read at once
KEY_SHARE = 0.5  # of all room
Owner = bytes | None  # hash of a key


class Behind(Exception):
    """A reader does not keep up."""


class Spools:
    """Room on disk for what is under way in this process."""

    def __init__(self, limits: LimitSettings) -> None:
        self.limits = limits
        self._folder: Path | None = limits.spool_dir
        self.most = limits.import_bytes
        self._all = limits.spool_bytes
        self.stall, self.pace = limits.stall, limits.pace
        self._taken: dict[Owner, int] = {}
        self._turns = FairTurns(limits.readers, KEY_SHARE)

    def wait_for_turn(self, owner: Owner) -> AbstractAsyncContextManager[None]:
        """A turn to have a file read: a few are at a time, and a key has half of them."""
        return self._turns.wait_for_turn(owner)

    @contextmanager
    def open_spool(self, owner: Owner, what: str) -> Iterator["Spool"]:
        """A file for `what`, which is gone when the block ends."""
        try:
            file = cast("BinaryIO", tempfile.TemporaryFile(dir=self._folder))  # noqa: SIM115 (closed below)
        except OSError as error:
            raise no_room(error) from None
        spool = Spool(self, owner, what, file)
        try:
            yield spool
        finally:
            spool.give_room_back()

    def take_room(self, owner: Owner, what: str, size: int, before: int) -> None:
        """Count bytes that will be written. Raises TooLarge, TooManyAtOnce, Unavailable."""
        if before + size > self.most:
            raise TooLarge(
                f"the {what} is larger than {self.most:,} bytes", hint="Send it in parts, or raise LOCI_LIMITS__IMPORT_BYTES."
            )
        own = self._taken.get(owner, 0)
        if owner is not None and own + size > max(self._all * KEY_SHARE, self.most):
            raise TooManyAtOnce(
                "imports and exports in progress use all the disk space that one key may use", hint="Wait for one of them to end."
            )
        if sum(self._taken.values()) + size > self._all:
            raise Unavailable(
                "imports and exports in progress use all the disk space for them", hint="Try again when one of them has ended."
            )
        self._taken[owner] = own + size

    def give_back(self, owner: Owner, size: int) -> None:
        """Count them no more."""
        left = self._taken.get(owner, 0) - size
        if left > 0:
            self._taken[owner] = left
        else:
            self._taken.pop(owner, None)


class Spool:
    """A file that is written at its end, and read from its beginning, also while it grows."""

    def __init__(self, room: Spools, owner: Owner, what: str, file: BinaryIO) -> None:
        self._room = room
        self._owner = owner
        self._what = what
        self._file = file
        self._waiting = bytearray()
        self.size = self._written = self._beside = 0
        self._ended = False
        self._failure: BaseException | None = None
        self._grown = asyncio.Event()
        self._filling: asyncio.Task[None] | None = None

    async def write(self, data: bytes) -> None:
        """Add to its end. Raises as Spools.take_room, and Unavailable for a disk that is full."""
        self._room.take_room(self._owner, self._what, len(data), self.size)
        self.size += len(data)
        self._waiting += data
        if len(self._waiting) >= BLOCK_BYTES:
            await self._flush_buffer()

    @property
    def room_limits(self) -> LimitSettings:
        """The limits of the room."""
        return self._room.limits

    def wait_for_turn(self) -> AbstractAsyncContextManager[None]:
        """A turn to have it read."""
        return self._room.wait_for_turn(self._owner)

    def take_beside(self, size: int) -> None:
        """Count bytes that others write for it beside it; a negative number counts bytes that are gone. Raises as Spools.take."""
        if size > 0:
            self._room.take_room(self._owner, f"unpacked {self._what}", size, self._beside)
        else:
            self._room.give_back(self._owner, min(-size, self._beside))
        self._beside = max(0, self._beside + size)

    @property
    def open_file(self) -> BinaryIO:
        """The file, once it has ended: for readers with a position of their own."""
        return self._file

    async def end_writing(self) -> None:
        """Nothing more will be written."""
        await self._flush_buffer()
        self._ended = True
        self._grown.set()

    def start_filling(self, work: Callable[["Spool"], Awaitable[None]]) -> None:
        """Have it written by a task of its own; what that raises is raised where it is read."""
        self._filling = asyncio.create_task(self._run_filling(work))

    async def read_parts(self) -> AsyncIterator[bytes]:
        """Its bytes, from the beginning to the end."""
        place = 0
        while True:
            self._grown.clear()
            if self._failure is not None and place in (0, self._written):  # at once, where nobody has read anything
                raise self._failure
            if place < self._written:
                data = await asyncio.to_thread(os.pread, self._file.fileno(), BLOCK_BYTES, place)
                place += len(data)
                yield data
            elif self._ended:
                return
            else:
                await self._grown.wait()

    async def parts_in_time(self) -> AsyncIterator[bytes]:
        """The same for a reader that must keep up a pace. Raises Behind."""
        behind = self._room.stall
        async for data in self.read_parts():
            behind += len(data) / self._room.pace
            began = time.monotonic()
            yield data
            behind -= time.monotonic() - began
            if behind < 0:
                raise Behind

    def give_room_back(self) -> None:
        """Give its room back."""
        if self._filling is not None:
            self._filling.cancel()
        self._file.close()
        self._room.give_back(self._owner, self.size + self._beside)

    async def _run_filling(self, work: Callable[["Spool"], Awaitable[None]]) -> None:
        try:
            await work(self)
            await self.end_writing()
        except Exception as error:
            with suppress(Exception):
                await self._flush_buffer()
            self._failure = error
            self._grown.set()

    async def _flush_buffer(self) -> None:
        data, self._waiting = bytes(self._waiting), bytearray()
        if not data:
            return
        try:
            await asyncio.to_thread(self._put_bytes, data)
        except OSError as error:
            raise no_room(error) from None
        self._written += len(data)
        self._grown.set()

    def _put_bytes(self, data: bytes) -> None:
        self._file.seek(self._written)
        self._file.write(data)
        self._file.flush()


def no_room(error: OSError) -> Unavailable:
    """The error that a full disk means for a caller."""
    return Unavailable(
        f"no temporary file can be written: {error.strerror}", hint="Try again later, or set LOCI_LIMITS__SPOOL_DIR."
    )
