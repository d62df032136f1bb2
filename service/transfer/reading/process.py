"""The service's end of a process that reads an import: it starts it, takes what it says, counts its room on disk, and ends it."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from typing import Any, BinaryIO

from db.errors import FieldError, Invalid, LociError, TooLarge, Unavailable
from service.exact_json import read_exact_json
from service.spool import Spool, no_room
from service.transfer.reading.job import Job
from service.transfer.reading.output import LONGEST_LINE_BYTES

MODULE = "service.transfer.reading"
LARGE = 64 * 1024  # bytes of what is said, whose reading is a turn of its own
TURN = 0.005  # seconds of this process after which others are served
RAISE_MEMORY = "Send it in parts, or raise LOCI_LIMITS__READER_BYTES."
RAISE_TIME = "Send it in parts, or raise LOCI_LIMITS__READER_SECONDS."
Frame = list[Any]


class Reading:
    """A message of a process about a file. Its room on disk is counted with that of the file."""

    def __init__(self, spool: Spool, pipe: asyncio.StreamReader, process: subprocess.Popen[bytes]) -> None:
        self._spool, self._pipe, self._process = spool, pipe, process
        self._since = time.perf_counter()
        self.size = 0  # bytes of what was said last

    async def read_frames(self) -> AsyncIterator[Frame]:
        """Its messages, one after the other, until the end. Raises what keeps it from reading."""
        while True:
            frame = await self._read_frame()
            if frame[0] == "room":
                await self._give_room(frame[1])
            elif frame[0] == "refused":
                raise _make_reader_error(frame[1], frame[2])
            else:
                yield frame
                if frame[0] == "end":
                    return

    async def read_raw_line(self) -> bytes:
        """The line that follows what was said last, as it was read."""
        return await self._pipe.readuntil()

    async def _read_frame(self) -> Frame:
        if time.perf_counter() - self._since > TURN:
            await asyncio.sleep(0)
            self._since = time.perf_counter()
        try:
            line = await self._pipe.readuntil()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            raise await self._explain_early_end() from None
        self.size = len(line)
        frame: Frame = read_exact_json(line)
        if self.size > LARGE:
            await asyncio.sleep(0)
        return frame

    async def _give_room(self, size: int) -> None:
        """Count what it wants to write, and say yes. Raises as Spools.take."""
        self._spool.take_beside(size)
        if size > 0:
            assert self._process.stdin is not None  # noqa: S101 (it is a pipe)
            with suppress(BrokenPipeError):  # it has ended, which is seen next
                os.write(self._process.stdin.fileno(), b"+")

    async def _explain_early_end(self) -> LociError:
        """The meaning of an early end of the process."""
        code = await asyncio.to_thread(self._process.wait)
        if code == -signal.SIGXCPU:
            return _make_invalid("reading it takes more processor time than it may take", RAISE_TIME)
        return _make_invalid("reading it broke off: it takes more memory than it may take, or is damaged", RAISE_MEMORY)


def _make_reader_error(kind: str, reason: str) -> LociError:
    """The error that something stands for, as the process says it."""
    if kind == "disk":
        return no_room(OSError(0, reason))
    if kind == "large":
        return TooLarge(f"the import is refused: {reason}")
    if kind == "unknown":
        return Invalid("the body is of no format that is known", [FieldError("body", reason)])
    return _make_invalid(reason, RAISE_MEMORY if kind == "memory" else None)


def _make_invalid(reason: str, hint: str | None = None) -> Invalid:
    return Invalid(f"the body cannot be imported: {reason}", [FieldError("body", reason)], hint=hint)


@asynccontextmanager
async def start_reading(spool: Spool, format: str) -> AsyncIterator[Reading]:
    """Have a file read by a process of its own, which is gone when the block ends, however that is."""
    async with spool.wait_for_turn():
        limits = spool.room_limits
        folder = str(limits.spool_dir or tempfile.gettempdir())
        job = Job(spool.open_file.fileno(), format, folder, limits.reader_bytes, limits.reader_seconds, limits.import_bytes)
        try:
            process = _start_process(job, folder)
        except OSError as error:
            raise Unavailable(f"no process can be started to read it: {error.strerror}", hint="Try again in a moment.") from None
        try:
            assert process.stdout is not None  # noqa: S101 (it is a pipe)
            pipe, transport = await _connect_pipe(process.stdout)
            try:
                yield Reading(spool, pipe, process)
            finally:
                transport.close()
        finally:
            process.kill()
            _reap_process(process)


def _start_process(job: Job, folder: str) -> subprocess.Popen[bytes]:
    """Start it with nothing of this process but the file: no environment, no other open file."""
    return subprocess.Popen(  # noqa: S603 (nothing of it is a caller's but the name of a format, which is one of ours)
        [sys.executable, "-I", "-B", "-m", MODULE, json.dumps(asdict(job))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        pass_fds=(job.file,),
        cwd="/",
        env={"LC_ALL": "C.UTF-8", "TMPDIR": folder, "SQLITE_TMPDIR": folder},
        start_new_session=True,
    )


async def _connect_pipe(pipe: BinaryIO | Any) -> tuple[asyncio.StreamReader, asyncio.ReadTransport]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LONGEST_LINE_BYTES + 64 * 1024)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    return reader, transport


def _reap_process(process: subprocess.Popen[bytes]) -> None:
    """Let the system forget a process that was killed: in a thread, because nothing is awaited where a request is cancelled."""
    if process.stdin is not None:
        process.stdin.close()
    with suppress(RuntimeError):  # the service itself is at its end
        asyncio.get_running_loop().run_in_executor(None, process.wait)
