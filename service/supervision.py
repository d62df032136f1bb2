"""Background tasks: each runs by itself; one that ends is seen, and started again."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from db.cancellation import raise_if_cancelled
from db.retries import Backoff
from service.observability.logs import LogContext, log_context
from service.observability.metrics import TASKS_ENDED, TASKS_FAILING

log = logging.getLogger(__name__)
Work = Callable[[], Awaitable[None]]
RESTARTS = Backoff(1.0, 30.0)  # before a task is started again that ends each time soon after
SOUND = 60.0  # seconds for which a task must run until it counts as well again


class Supervisor:
    """Keeps background tasks running until it is closed. None of them is meant to end; the end of one does not take others."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._ended: dict[str, tuple[float, str]] = {}  # when each last ended, and why

    def start_task(self, name: str, work: Work) -> None:
        """Run `work` until closed, again whenever it ends."""
        TASKS_FAILING.labels(name).set(0)
        self._tasks[name] = asyncio.create_task(self._keep_running(name, work), name=name)

    def list_failing_tasks(self) -> dict[str, str]:
        """Tasks that ended a moment ago, by name, and why: they are waiting for their next start, or have just been started."""
        now = time.monotonic()
        for name, (at, _) in list(self._ended.items()):
            if now - at > SOUND:
                del self._ended[name]
                TASKS_FAILING.labels(name).set(0)
        return {name: why for name, (_, why) in sorted(self._ended.items())}

    async def end_tasks(self) -> None:
        """End all tasks, also those that raise at their end."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        self._tasks.clear()

    async def _keep_running(self, name: str, work: Work) -> None:
        failures = 0
        while True:
            raise_if_cancelled()
            began = time.monotonic()
            why = await self._run_once(name, work)
            now = time.monotonic()
            self._ended[name] = (now, why)
            TASKS_ENDED.labels(name).inc()
            TASKS_FAILING.labels(name).set(1)
            failures = 1 if now - began > SOUND else failures + 1
            raise_if_cancelled()
            await asyncio.sleep(RESTARTS.pause_after(failures))

    async def _run_once(self, name: str, work: Work) -> str:
        """Run it to its end, although a task should not end; why it ended. Being cancelled from outside is no such end."""
        with log_context(LogContext(work=name)):
            try:
                await work()
            except asyncio.CancelledError:
                raise_if_cancelled()
                why = "cancelled itself"
                log.error("the background task %s %s; it is started again", name, why)
            except Exception as error:
                why = type(error).__name__  # anybody may ask /readyz, and its words may be those of a memory
                log.exception("the background task %s ended; it is started again", name)
            else:
                why = "returned"
                log.error("the background task %s %s; it is started again", name, why)
            return why
