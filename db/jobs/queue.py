"""The queue of jobs: procrastinate, reached as loci_worker, which the service's role becomes in connections of their own."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any, LiteralString

import procrastinate
import procrastinate.worker
from procrastinate.exceptions import ConnectorException, UniqueViolation
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager
from psycopg.conninfo import conninfo_to_dict, make_conninfo

QueueError = ConnectorException
WAITS = 5.0  # seconds for a connection to the queue
# Only the worker that has a job, at the try that it has it for, says what becomes of it. Said twice, it counts once.
FINISH: LiteralString = """
select procrastinate_finish_job_v1(q.id, %(status)s, false)
from (select id from procrastinate_jobs where id = %(id)s and attempts = %(attempt)s and status = 'doing' for update) q"""
RETRY: LiteralString = """
select procrastinate_retry_job_v2(q.id, %(retry_at)s, %(priority)s, null, null)
from (select id from procrastinate_jobs where id = %(id)s and attempts = %(attempt)s and status = 'doing' for update) q"""


Outcome = tuple[LiteralString, dict[str, Any]]


def make_queue(
    url: str, work: Callable[..., Awaitable[None]], retry: procrastinate.BaseRetryStrategy, unsaid: list[Outcome]
) -> procrastinate.App:
    """The queue, closed, with its only task: `work(context, namespace_id=…, job_id=…)`, tried again as `retry` says.

    `unsaid` keeps what became of jobs while the database was away; see `write_unsaved_outcomes`.
    """
    given = conninfo_to_dict(url).get("options")
    conninfo = make_conninfo(url, options=f"{given or ''} -c role=loci_worker -c search_path=loci_jobs".strip())
    options = {"application_name": "loci-jobs", "connect_timeout": 5}
    connector = procrastinate.PsycopgConnector(
        conninfo=conninfo, kwargs=options, min_size=1, max_size=2, timeout=WAITS, reconnect_timeout=WAITS
    )
    queue = procrastinate.App(connector=connector)
    queue.job_manager = OutcomeWriter(connector, unsaid)
    queue.task(name="loci.run", pass_context=True, retry=retry)(work)
    return queue


class Worker(procrastinate.worker.Worker):
    """The library's worker, which listens to nobody and ends when one of its side tasks fails: also when that is the heartbeat.

    Any login may send any notice, so none is heard: what is to be done, and what is to stop, is what rows of the queue say.
    `look_at_queue` has it read them now.
    """

    def __init__(self, **arguments: Any) -> None:
        super().__init__(listen_notify=False, **arguments)
        self._asked = asyncio.Event()

    def look_at_queue(self) -> None:
        """Look at the queue now, for jobs and for those that are to stop."""
        self._new_job_event.set()
        self._asked.set()

    async def _update_heartbeat(self) -> None:
        while not _is_under_cancellation():
            await asyncio.sleep(self.update_heartbeat_interval)
            assert self.worker_id is not None  # noqa: S101 (it runs between registering and leaving)
            await self.app.job_manager.update_heartbeat(self.worker_id)

    async def _poll_jobs_to_abort(self) -> None:
        while not _is_under_cancellation():
            with suppress(TimeoutError):
                async with asyncio.timeout(self.abort_job_polling_interval):
                    await self._asked.wait()
            self._asked.clear()
            if self._running_jobs:
                with suppress(ConnectorException):  # a database that is away: the heartbeat says so
                    self._handle_abort_jobs_requested(await self.app.job_manager.list_jobs_to_abort_async())

    async def _periodic_deferrer(self) -> None:
        await asyncio.Event().wait()  # the library watches its side tasks until the first one ends, and this one would at once


def _is_under_cancellation() -> bool:
    """Whether this task was cancelled, also where a pool of connections has swallowed that: it waits with `asyncio.wait_for`."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


class OutcomeWriter(JobManager):
    """Says what became of jobs. Notices that cannot be sent while the database is away are kept, and sent by `settle`."""

    def __init__(self, connector: procrastinate.PsycopgConnector, unsaid: list[Outcome]) -> None:
        super().__init__(connector)
        self.unsaid = unsaid

    async def fetch_job(self, queues: Iterable[str] | None, worker_id: int) -> Job | None:
        """Take the next job; None where there is none, or another worker has just begun one with the same turn."""
        try:
            return await super().fetch_job(queues, worker_id)
        except UniqueViolation:
            return None

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:  # noqa: ARG002 (the library's)
        """The job is over: succeeded, failed or aborted."""
        await self._write_outcome(FINISH, {"id": job.id, "attempt": job.attempts, "status": status.value})

    async def retry_job(self, job: Job, retry_at: Any = None, priority: int | None = None, *_: Any, **__: Any) -> None:
        """The job waits again, until then; with another priority, if one is given."""
        await self._write_outcome(RETRY, {"id": job.id, "attempt": job.attempts, "retry_at": retry_at, "priority": priority})

    async def write_unsaved_outcomes(self) -> None:
        """Say what could not be said. Raises QueueError for the first that still cannot be."""
        for said in list(self.unsaid):
            await self.connector.execute_query_async(said[0], **said[1])
            self.unsaid.remove(said)

    async def _write_outcome(self, query: LiteralString, arguments: dict[str, Any]) -> None:
        try:
            await self.connector.execute_query_async(query, **arguments)
        except QueueError:
            self.unsaid.append((query, arguments))
