"""Commands of `loci` in processes of their own, forked from one that has loaded the code: to load it takes two seconds each time.

That a command starts by itself is looked at in tests/cli and tests/running.
"""

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import IO

from service.cli.loading import pause_garbage_collector
from tests.catalogue import ROOT

with pause_garbage_collector():
    import tests.faults.job_workers  # its processes come from the same one, which loads what it was told last
    from db import migrate
    from service import app
    from service.cli import main, worker_processes
    from service.http import protocol, server

LOADED = [
    __name__,
    *(module.__name__ for module in (tests.faults.job_workers, app, main, worker_processes, protocol, server, migrate)),
]
PROGRAM = str(ROOT / "service" / "cli" / "__main__.py")  # what `python -m service.cli` calls itself
_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(LOADED)


def run(arguments: Sequence[str], environment: Mapping[str, str], streams: Sequence[Connection], folder: Path | None) -> None:
    """What such a process does. It leads a group of its own."""
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream.fileno(), number)
        stream.close()
    sys.stdin = os.fdopen(0, closefd=False)
    if folder is not None:
        os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [PROGRAM, *arguments]
    main.main()


def begin(
    arguments: Sequence[str], environment: Mapping[str, str], streams: Sequence[int], folder: Path | None = None
) -> BaseProcess:
    """Start a command with these as stdin, stdout and stderr, which are closed here."""
    with ExitStack() as stack:
        handed = [stack.enter_context(Connection(stream)) for stream in streams]
        process = _processes.Process(target=run, args=(list(arguments), dict(environment), handed, folder), daemon=True)
        process.start()
    return process


def start(arguments: Sequence[str], environment: Mapping[str, str], out: Path, err: Path | None = None) -> BaseProcess:
    """Start a command, which writes to a file, or to two."""
    files = [os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT) for file in (out, err or out)]
    return begin(arguments, environment, [os.open(os.devnull, os.O_RDONLY), *files])


class Command:
    """A command over three pipes, to be used as a process that `subprocess` has started."""

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str], folder: Path | None = None) -> None:
        (stdin, told), (said, stdout), (warned, stderr) = (os.pipe() for _ in range(3))
        self.stdin: IO[str] | None = os.fdopen(told, "w")
        self.stdout: IO[str] | None = os.fdopen(said)
        self.stderr: IO[str] | None = os.fdopen(warned)
        self._process = begin(arguments, environment, (stdin, stdout, stderr), folder)

    @property
    def pid(self) -> int:
        """Its number."""
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """Its exit code, or the signal that ended it, below zero; None: it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """The same."""
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Tell it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; its exit code."""
        self._process.join(timeout)
        if (code := self.returncode) is None:
            raise subprocess.TimeoutExpired(PROGRAM, timeout or 0)
        return code

    def communicate(self, input: str = "", timeout: float | None = None) -> tuple[str, str]:
        """Write to it, close its stdin, and wait for its end; what it has written to stdout and to stderr since. Late, it is killed."""
        assert self.stdout is not None
        assert self.stderr is not None
        if self.stdout.closed:  # that was before
            return "", ""
        with suppress(BrokenPipeError):
            if self.stdin is not None and not self.stdin.closed:
                self.stdin.write(input)
                self.stdin.close()
        with self.stdout, self.stderr, ThreadPoolExecutor(2) as readers:
            said, warned = (readers.submit(stream.read) for stream in (self.stdout, self.stderr))
            try:
                self.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
            return said.result(), warned.result()
