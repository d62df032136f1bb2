"""`loci serve --workers N`: processes that share one listening socket, and the one that keeps them there.

It serves nothing itself. A process that dies is started again. SIGHUP starts a successor for each in turn, and ends the old one
once the new one serves. SIGTERM and SIGINT end all, in order. If the parent is killed, its children notice and end.
"""

import asyncio
import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from db.retries import Backoff
from service.cli.framework import Failure
from service.supervision import Supervisor

log = logging.getLogger(__name__)
FOLDER = "PROMETHEUS_MULTIPROC_DIR"
READY_SECONDS = 60.0
END_SECONDS = 20.0  # beyond what a process gives its requests, see serving.DRAIN_SECONDS
RESTARTS = Backoff(0.1, 30.0, factor=7.0)  # before a process that keeps dying is started again
STEADY_SECONDS = 30.0  # a process that lived so long was no failure to start


@dataclass
class Child:
    """A process and the socket that it says on when it serves."""

    process: asyncio.subprocess.Process
    channel: socket.socket
    began: float
    was_late: bool = False

    async def wait_until_ready(self) -> bool:
        """Wait until it serves; False if it ends before, or takes too long."""
        try:
            async with asyncio.timeout(READY_SECONDS):
                return await asyncio.get_running_loop().sock_recv(self.channel, 1) == b"1"
        except TimeoutError:
            self.was_late = True
        except OSError:
            pass
        return False

    async def end_process(self) -> None:
        """Tell it to end, and see to it."""
        with suppress(ProcessLookupError):
            self.process.terminate()
        try:
            async with asyncio.timeout(END_SECONDS):
                await self.process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                self.process.kill()
            await self.process.wait()
        self.channel.close()


class Group:
    """So many processes over the same listening sockets."""

    def __init__(self, count: int, listeners: Sequence[socket.socket], environment: Mapping[str, str]) -> None:
        self._listeners = listeners
        self._environment = {**os.environ, **environment}
        self._children: list[Child | None] = [None] * count
        self._ending = asyncio.Event()
        self._renewing = asyncio.Event()

    @asynccontextmanager
    async def run_processes(self) -> AsyncIterator[None]:
        """Start all, and keep them there until the block ends. Raises Failure when one does not get to serve."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._ending.set)
        loop.add_signal_handler(signal.SIGHUP, self._renewing.set)
        background = Supervisor()
        try:
            for place in range(len(self._children)):
                self._children[place] = await self._start_child()
            for child in self._list_living():
                if not await self._or_end(child.wait_until_ready()) and not self._ending.is_set():
                    if child.was_late:
                        raise Failure(f"a process was not ready within {READY_SECONDS:.0f} s")
                    raise Failure("a process ended before it was ready; the reason is printed above")
            for place in range(len(self._children)):
                background.start_task(f"process {place}", partial(self._keep_running, place))
            background.start_task("renewal", self._renew_children)
            yield
        finally:
            self._ending.set()
            await background.end_tasks()
            await asyncio.gather(*(child.end_process() for child in self._list_living()))

    async def wait_for_end(self) -> None:
        """Wait until the group is told to end."""
        await self._ending.wait()

    def _list_living(self) -> list[Child]:
        return [child for child in self._children if child is not None]

    async def _or_end(self, waiting: Coroutine[None, None, bool]) -> bool:
        """The awaited value, or False when the group is told to end."""
        task = asyncio.create_task(waiting)
        told = asyncio.create_task(self._ending.wait())
        await asyncio.wait({task, told}, return_when=asyncio.FIRST_COMPLETED)
        told.cancel()
        if not task.done():
            task.cancel()
            return False
        return bool(task.result())

    async def _start_child(self) -> Child:
        ours, theirs = socket.socketpair()
        with theirs:
            ours.setblocking(False)
            handed = [theirs.fileno(), *(listener.fileno() for listener in self._listeners)]
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "service.cli", "serve", "--inherit", ",".join(map(str, handed)),
                pass_fds=handed, env=self._environment, stdin=asyncio.subprocess.DEVNULL,
            )  # fmt: skip
        return Child(process, ours, time.monotonic())

    async def _keep_running(self, place: int) -> None:
        """Start a process again when it has died."""
        failures = 0
        while True:
            child = self._children[place]
            if child is None:
                child = self._children[place] = await self._start_child()
            code = await child.process.wait()
            if self._children[place] is not child:
                continue  # it has a successor
            child.channel.close()
            failures = 1 if time.monotonic() - child.began > STEADY_SECONDS else failures + 1
            log.warning("process %d ended with code %d; another takes its place", child.process.pid, code)
            await asyncio.sleep(RESTARTS.pause_after(failures))
            if self._children[place] is child:
                self._children[place] = None

    async def _renew_children(self) -> None:
        """On SIGHUP give each process a successor, one after the other."""
        while True:
            await self._renewing.wait()
            self._renewing.clear()
            for place, old in enumerate(list(self._children)):
                new = await self._start_child()
                if not await new.wait_until_ready():
                    log.error("a new process does not get to serve; the others stay as they are")
                    await new.end_process()
                    break
                self._children[place] = new
                if old is not None:
                    await old.end_process()
            else:
                log.info("all %d processes are new", len(self._children))


@contextmanager
def metrics_folder() -> Iterator[str]:
    """The folder in which processes count together: the configured one, emptied, or one of its own."""
    given = os.environ.get(FOLDER)
    folder = given or tempfile.mkdtemp(prefix="loci-metrics-")
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for file in Path(folder).glob("*.db"):
            file.unlink(missing_ok=True)
        yield folder
    finally:
        if given is None:
            shutil.rmtree(folder, ignore_errors=True)
