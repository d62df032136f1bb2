"""Makes things slow or fast, so that what races something loses the race: LOCI_TEST_PACE names what, with commas.

Standard library only: processes that tests start read it before anything else (see sitecustomize.py), whatever is installed there.
"""

import asyncio
import importlib.abc
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

VARIABLE = "LOCI_TEST_PACE"
ASKED = frozenset(filter(None, os.environ.get(VARIABLE, "").replace(" ", "").split(",")))
FOLDER = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 (read at every start of Python: the cheapest)
CHANCE = random.Random()  # not the one that a run's seed sets
LATE = (1.0, 3.0)  # seconds that each round of the worker, and each job, begins late
EARLY = 0.02  # seconds between its looks, instead of a quarter of a second and more
CALL = (*[0.0] * 4, 0.3)  # seconds before a call over HTTP, one of them
STATEMENT = (*[0.0] * 9, 0.05)  # seconds before a statement that a test sends itself
STALL = (0.2, 0.8)  # seconds for which the service does nothing
BETWEEN = (1.0, 4.0)  # seconds between such stalls


def worker_late(module: ModuleType) -> None:
    """Every round of the background worker begins late."""
    timed = module.Worker._timed

    async def late(self: Any, name: str, step: Any) -> Any:
        await asyncio.sleep(CHANCE.uniform(*LATE))
        return await timed(self, name, step)

    module.Worker._timed = late


def jobs_late(module: ModuleType) -> None:
    """Every job begins late."""
    begin = module.Runner._begin

    async def late(self: Any, trying: Any) -> Any:
        await asyncio.sleep(CHANCE.uniform(*LATE))
        return await begin(self, trying)

    module.Runner._begin = late


def worker_early(module: ModuleType) -> None:
    """The background worker looks all the time, and waits for nothing that may join a batch."""
    start = module.Worker._start

    def early(self: Any, supervisor: Any, name: str, step: Any, idle: float, *, gather: Any = None) -> None:
        del gather
        start(
            self,
            supervisor,
            name,
            step,
            min(idle, EARLY) if name in {"look", "feed", "names", "vectors"} else idle,
            gather=lambda: 0.0,
        )

    module.Worker._start = early


def jobs_early(module: ModuleType) -> None:
    """The queue of jobs is looked at all the time."""
    module.POLL = EARLY  # type: ignore[attr-defined]


def calls_late(module: ModuleType) -> None:
    """Calls of synchronous clients, which are those of tests, are sent late: the worker was there before."""
    send = module.Client.send

    def late(self: Any, *arguments: Any, **options: Any) -> Any:
        time.sleep(CHANCE.choice(CALL))
        return send(self, *arguments, **options)

    module.Client.send = late


def statements_late(module: ModuleType) -> None:
    """Statements that tests send are sent late."""
    execute = module.Cursor.execute

    def late(self: Any, *arguments: Any, **options: Any) -> Any:
        time.sleep(CHANCE.choice(STATEMENT))
        return execute(self, *arguments, **options)

    module.Cursor.execute = late


def stalls(module: ModuleType) -> None:
    """Services stand still now and then, as where the processor is another's."""
    startup = module.GracefulServer.startup

    async def stall() -> None:
        while True:
            await asyncio.sleep(CHANCE.uniform(*BETWEEN))
            time.sleep(CHANCE.uniform(*STALL))  # noqa: ASYNC251 (it is what is asked for)

    async def stalling(self: Any, *arguments: Any, **options: Any) -> None:
        self.stalling = asyncio.create_task(stall())
        await startup(self, *arguments, **options)

    module.GracefulServer.startup = stalling


def take_place() -> None:
    """With one-core everything has one processor, and shares it with somebody who never stops. Processes begin where this one is."""
    if "one-core" not in ASKED:
        return
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    spin = f"import os\nwhile os.getppid() == {os.getpid()}:\n    sum(range(100000))"
    subprocess.Popen([sys.executable, "-S", "-c", spin], env={**os.environ, VARIABLE: ""})


# What each word changes, by module: a module is changed as soon as it is imported.
PACES: dict[str, dict[str, Callable[[ModuleType], None]]] = {
    "worker-late": {"service.worker.worker": worker_late, "service.jobs.runner": jobs_late},
    "worker-early": {"service.worker.worker": worker_early, "service.jobs.runner": jobs_early},
    "calls-late": {"httpx": calls_late},
    "statements-late": {"psycopg": statements_late},
    "stalls": {"service.http.server": stalls},
    "one-core": {},
    "elsewhere": {},  # see tests/steady.py
}


class Changes(importlib.abc.MetaPathFinder):
    """Finds modules as the others do, and has those that are to be changed changed when they have been run."""

    def __init__(self, changes: dict[str, list[Callable[[ModuleType], None]]]) -> None:
        self._changes = changes

    def find_spec(self, fullname: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        """Only for modules that are to be changed."""
        if fullname not in self._changes:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(fullname, path, target)
            if spec is not None and spec.loader is not None:
                self._follow(spec.loader, self._changes[fullname])
                return spec
        return None

    @staticmethod
    def _follow(loader: Any, changes: list[Callable[[ModuleType], None]]) -> None:
        """Have a module changed as soon as its loader has run it."""
        run = loader.exec_module

        def changed(module: ModuleType) -> None:
            run(module)
            for change in changes:
                change(module)

        loader.exec_module = changed


def keep() -> None:
    """Keep the pace that LOCI_TEST_PACE names, in this process and in those that it starts."""
    if unknown := ASKED - set(PACES):
        raise SystemExit(f"{VARIABLE}: {', '.join(sorted(unknown))} is none of {', '.join(PACES)}")
    if not ASKED or getattr(sys, "_loci_pace", False):
        return
    sys._loci_pace = True  # type: ignore[attr-defined]
    changes: dict[str, list[Callable[[ModuleType], None]]] = {}
    for word in sorted(ASKED):
        for name, change in PACES[word].items():
            if name in sys.modules:
                change(sys.modules[name])
            else:
                changes.setdefault(name, []).append(change)
    sys.meta_path.insert(0, Changes(changes))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [FOLDER, os.environ.get("PYTHONPATH")]))
