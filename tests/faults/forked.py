"""Commands of `loci` in processes of their own, forked from one that has loaded the code: to load it takes two seconds each time.

That a command starts by itself is looked at in tests/cli and tests/running.
"""

import multiprocessing
import os
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path

from service.cli.loading import loading

with loading():
    import tests.jobs  # its processes come from the same one, which loads what it was told last
    from service import app
    from service.cli import main, processes
    from service.http import protocol, server

LOADED = [__name__, *(module.__name__ for module in (tests.jobs, app, main, processes, protocol, server))]
_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(LOADED)


def run(arguments: Sequence[str], environment: Mapping[str, str], out: Path, err: Path) -> None:
    """What such a process does."""
    for number, file in ((1, out), (2, err)):
        with file.open("ab") as opened:
            os.dup2(opened.fileno(), number)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["loci", *arguments]
    main.main()


def start(arguments: Sequence[str], environment: Mapping[str, str], out: Path, err: Path | None = None) -> BaseProcess:
    """Start a command, which writes to a file, or to two."""
    process = _processes.Process(target=run, args=(list(arguments), dict(environment), out, err or out), daemon=True)
    process.start()
    return process
