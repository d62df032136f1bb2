"""Takes jobs off the queue and runs them: procrastinate's worker over connections of its own.

A job is done once: its handler's effects and that it is over are one transaction, which only the worker that has it may
make (lock_job). All else here is when to try again.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import procrastinate
import psycopg
from procrastinate.exceptions import JobAborted
from procrastinate.job_context import AbortReason
from psycopg_pool import PoolTimeout

from db import traces
from db.cancellation import raise_if_cancelled
from db.errors import NeedsModel
from db.jobs import jobs
from db.jobs.jobs import JobFailures
from db.jobs.queue import Outcome, OutcomeWriter, QueueError, Worker, make_queue
from db.pool import OPERATOR, Origin, open_transaction
from db.retries import Backoff
from service.jobs.job import Job, Postponed, Refused
from service.llm.model import ModelError
from service.llm.prompts import BadPrompt
from service.observability.logs import LogContext, described_error, log_context
from service.observability.metrics import FAILURES, JOB_SECONDS, JOBS_ENDED
from service.resources import Resources

log = logging.getLogger(__name__)
Handler = Callable[[Resources, Job], Awaitable[None]]
Away = (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout, QueueError)
FIRST = datetime(2020, 1, 1, tzinfo=UTC)  # places in the queue are seconds since then, negative: the earliest comes first
GRACE = 5.0  # seconds that running jobs get when the process ends; what is not done by then is another worker's at once
POLL = 0.5  # seconds between looks at the queue, for what nobody here knows: a pause that is over, a job of another process
WITHOUT_DATABASE = Backoff(1.0, 60.0)
SOUND = 4  # what ran for so many pauses was sound: the next pause is short again


class Again(Exception):
    """The try came to nothing; the next one is at `at`."""

    def __init__(self, at: datetime) -> None:
        super().__init__("to be tried again")
        self.at = at


class GivenUp(Exception):
    """The job is dead."""


class Unknown(Exception):
    """No handler knows the job's kind."""

    final = True


class _RetryAtRequestedTime(procrastinate.BaseRetryStrategy):
    """Jobs that raise Again are tried again when it says; others are dead."""

    def get_retry_decision(self, *, exception: BaseException, job: Any) -> procrastinate.RetryDecision | None:  # noqa: ARG002
        if not isinstance(exception, Again):
            return None
        later = exception.at > datetime.now(UTC)
        return procrastinate.RetryDecision(retry_at=exception.at, priority=queue_priority(exception.at) if later else None)


def queue_priority(at: datetime) -> int:
    """Where a job stands in the queue that is due at a moment: behind all that is asked for before then (see queue.sql)."""
    return -round((at - FIRST).total_seconds())


@dataclass
class Try:
    """One try of a job: its place in the queue, what it turned out to be, and how it ended."""

    queue_id: int
    attempt: int
    job: Job | None = None
    outcome: str = "over"


class Runner:
    """Runs jobs until cancelled. `handlers`: what to do for each kind; each says itself that its job is finished (work.holding)."""

    def __init__(self, url: str, resources: Resources, handlers: dict[str, Handler]) -> None:
        self._url = url
        self._resources = resources
        self._handlers = handlers
        self._settings = resources.settings.jobs
        self._unsaid: list[Outcome] = []
        self._worker: Worker | None = None
        logging.getLogger("procrastinate.worker").setLevel(logging.CRITICAL)  # it says what is said here, and with stacks

    @property
    def job_resources(self) -> Resources:
        """Tools that its jobs are given."""
        return self._resources

    def look_now(self) -> None:
        """Look at the queue now."""
        if self._worker is not None:
            self._worker.look_at_queue()

    async def work_until_end(self) -> None:
        """Work until cancelled. A lost database is waited for, longer each time, a minute at most; other errors are raised."""
        failures = 1
        while True:
            began = time.monotonic()
            pause = WITHOUT_DATABASE.pause_after(failures)
            try:
                with log_context(LogContext(work="jobs")):
                    await self._run_once()
                    log.warning("jobs wait %.0f s: the connection to the queue was lost", pause)
            except Away as error:
                log.warning("jobs wait %.0f s: %s", pause, described_error(error.__cause__ or error))
            FAILURES.labels("jobs").inc()
            raise_if_cancelled()
            await asyncio.sleep(pause)
            failures = 1 if time.monotonic() - began > SOUND * pause else failures + 1

    async def _run_once(self) -> None:
        queue = make_queue(self._url, self._run_job, _RetryAtRequestedTime(), self._unsaid)
        try:
            await queue.open_async()
            raise_if_cancelled()
            async with self._open_transaction("resume_jobs") as tx:
                await jobs.resume_jobs(tx, settings=self._resources.settings.llm.settings_hash)
            raise_if_cancelled()
            worker = Worker(
                app=queue,
                queues=["loci"],
                concurrency=self._settings.concurrency,
                install_signal_handlers=False,
                fetch_job_polling_interval=POLL,
                abort_job_polling_interval=POLL,
                shutdown_graceful_timeout=GRACE,
                update_heartbeat_interval=self._settings.heartbeat,
                stalled_worker_timeout=self._settings.lost_after,
            )
            self._worker = worker
            tending = asyncio.create_task(self._tend_queue(queue, worker))
            tending.add_done_callback(lambda _: worker.stop())  # type: ignore[no-untyped-call]
            try:
                await worker.run()  # type: ignore[no-untyped-call]
            finally:
                tending.cancel()
                await asyncio.wait({tending})  # awaiting it would take a cancellation of this task for its own
            if not tending.cancelled() and (error := tending.exception()) is not None:
                raise error
        finally:
            self._worker = None
            await queue.close_async()  # also what was cancelled while it opened: its pool's tasks would not end by themselves

    async def _tend_queue(self, queue: procrastinate.App, worker: Worker) -> None:
        """Say what could not be said before, and take over jobs of workers that show no sign of life."""
        assert isinstance(queue.job_manager, OutcomeWriter)  # noqa: S101 (make_queue)
        while True:
            try:
                await queue.job_manager.write_unsaved_outcomes()
                await self._take_over_lost_jobs(worker)
            except Away as error:
                log.warning("lost jobs are not looked for: %s", described_error(error.__cause__ or error))
            raise_if_cancelled()
            await asyncio.sleep(self._settings.heartbeat)

    async def _take_over_lost_jobs(self, worker: Worker) -> None:
        settings = self._settings
        async with self._open_transaction("take_over_jobs") as tx:
            lost = await jobs.take_over_jobs(
                tx,
                worker=worker.worker_id,
                lost_after=settings.lost_after,
                attempts=settings.attempts,
                backoff=settings.backoff,
                backoff_limit=settings.backoff_limit,
            )
        for row in lost:
            JOBS_ENDED.labels(row["kind"], "dead" if row["dead"] else "lost").inc()
            log.warning("job %s: its worker was lost; it %s", row["id"], "is dead" if row["dead"] else "waits again")

    async def _run_job(self, context: procrastinate.JobContext, **_: Any) -> None:
        """One try of a job."""
        assert context.job.id is not None  # noqa: S101 (it comes from the queue)
        trying = Try(context.job.id, context.job.attempts)
        began = time.perf_counter()
        try:
            with log_context(LogContext(work="jobs")), traces.mute_spans():
                await self._try_job(trying)
        except (Again, GivenUp):
            raise
        except asyncio.CancelledError:
            if context.abort_reason() == AbortReason.USER_REQUEST:
                trying.outcome = "cancelled"
                raise JobAborted from None
            trying.outcome = "stopped"
            raise Again(datetime.now(UTC)) from None
        except jobs.JobOver:
            trying.outcome = "over"  # another worker has taken it over, or it was deleted
        except Exception as error:
            log.exception("a job's try could not be noted")
            raise self._schedule_retry(1) from error
        finally:
            self._note_end(trying, time.perf_counter() - began)

    async def _try_job(self, trying: Try) -> None:
        try:
            trying.job = await self._begin_job(trying)
            if trying.job is not None:
                await self._handle_job(trying.job)
                trying.outcome = "succeeded"
        except Postponed as reason:
            await self._postpone_job(trying, reason)
        except jobs.JobOver:
            raise
        except (ModelError, NeedsModel, BadPrompt) as error:
            if error.final:
                await self._postpone_job(trying, Refused(str(error)))
            else:
                await self._record_failure(trying, error)
        except Exception as error:
            await self._record_failure(trying, error)

    async def _handle_job(self, job: Job) -> None:
        """Do it, in a span of its own."""
        handler = self._handlers.get(job.kind)
        if handler is None:
            raise Unknown(f"no worker here does jobs of the kind {job.kind}")
        said: dict[str, str | int | float | bool] = {
            "loci.namespace": job.namespace,
            "loci.job": str(job.id),
            "loci.try": job.tries,
        }
        with traces.mute_spans(False), traces.span(f"job {job.kind}", said):
            await handler(self._resources, job)

    async def _begin_job(self, trying: Try) -> Job | None:
        async with self._open_transaction("start_job") as tx:
            row = await jobs.start_job(tx, queue_id=trying.queue_id, attempt=trying.attempt)
        return Job(**row) if row else None

    async def _record_outcome(self, trying: Try, error: str, *, postponed: bool, refused: bool = False) -> JobFailures | None:
        """How often it has failed and was put off; empty: it is over. While the database is away, Again."""
        settings = self._resources.settings.llm.settings_hash if refused else None
        try:
            async with self._open_transaction("record_job_failure") as tx:
                return await jobs.record_job_failure(
                    tx, queue_id=trying.queue_id, attempt=trying.attempt, error=error, postponed=postponed, refused_with=settings
                )
        except Away:
            raise self._schedule_retry(1) from None

    async def _record_failure(self, trying: Try, error: Exception) -> None:
        """Note a failure and raise Again or GivenUp."""
        trying.outcome = "failed"
        known = isinstance(error, (ModelError, Unknown))
        if not known:
            log.error("a job failed", exc_info=error)
        noted = await self._record_outcome(trying, str(error) if known else described_error(error), postponed=False)
        if not noted:
            trying.outcome = "over"
            return
        if noted["failures"] >= self._settings.attempts or getattr(error, "final", False):
            trying.outcome = "dead"
            raise GivenUp from None
        raise self._schedule_retry(noted["failures"], getattr(error, "retry_after", None) or 0.0) from None

    def _schedule_retry(self, failures: int, least: float = 0.0) -> Again:
        """When to try again after so many failures."""
        wait = Backoff(self._settings.backoff, self._settings.backoff_limit, factor=3.0).pause_after(failures)
        return Again(datetime.now(UTC) + timedelta(seconds=max(wait, least)))

    async def _postpone_job(self, trying: Try, reason: Postponed) -> None:
        """Note that it was put off and raise Again; if it was busy too often, the job is skipped."""
        trying.outcome = "postponed"
        noted = await self._record_outcome(trying, str(reason), postponed=True, refused=isinstance(reason, Refused))
        if not noted or trying.job is None:
            trying.outcome = "over"
        elif reason.at is not None:
            raise Again(reason.at) from None
        elif noted["postponed"] <= self._settings.busy_tries:
            wait = Backoff(self._settings.busy_backoff, self._settings.busy_limit).pause_after(noted["postponed"])
            raise Again(datetime.now(UTC) + timedelta(seconds=wait)) from None
        else:
            trying.outcome = "skipped"
            async with trying.job.hold_alone(self._resources, "skip_job") as tx:
                await jobs.finish_job(tx, id=trying.job.id, state="skipped", error=str(reason))

    def _open_transaction(self, action: str) -> Any:
        origin = Origin(action=action, via="worker")
        return open_transaction(self._resources.pool, key_hash=OPERATOR, namespace=None, role=None, origin=origin)

    def _note_end(self, trying: Try, took: float) -> None:
        """Count a try, and say in one line how it ended."""
        job = trying.job
        if job is None:
            return
        JOBS_ENDED.labels(job.kind, trying.outcome).inc()
        JOB_SECONDS.labels(job.kind).observe(took)
        level = logging.ERROR if trying.outcome == "dead" else logging.INFO
        said = {"work": "jobs", "job": str(job.id), "namespace": job.namespace, "try": job.tries, "ms": round(1000 * took, 1)}
        log.log(level, "job %s (%s) %s in %.1f s", job.kind, job.id, trying.outcome, took, extra={"fields": said})
