"""What a job costs: asking for one, until its handler begins, and how many a worker does in a second.

    python -m bench.jobs [--quick]

The floor is the same library's worker over the same queue, with trivial tasks that are no jobs of Loci: no row of their own, no transaction
that holds and finishes them.
"""

import asyncio
import time
from contextlib import suppress
from typing import Any

import procrastinate

from bench.database import Database, database
from bench.measure import Figure, Options, milliseconds, options, percentile, report
from db.jobs import jobs
from db.jobs.queue import make_queue
from db.pool import make_pool
from service.jobs.job import Job
from service.jobs.runner import Runner
from service.resources import Resources
from service.settings import Settings

NAME = "jobs"
ONE_BY_ONE = 50
PAUSE = 0.1


class Done:
    """When each job or task began, in the order of beginning."""

    def __init__(self) -> None:
        self.began: list[float] = []

    async def handle(self, work: Resources, job: Job) -> None:
        """A job that only ends."""
        self.began.append(time.perf_counter())
        async with job.hold_alone(work, "bench") as tx:
            await jobs.finish_job(tx, id=job.id)

    async def task(self, context: procrastinate.JobContext, **_: Any) -> None:  # noqa: ARG002 (the library's)
        """A task that does nothing."""
        self.began.append(time.perf_counter())

    async def reached(self, count: int) -> None:
        """Wait until so many have begun."""
        while len(self.began) < count:  # noqa: ASYNC110 (it looks at a list)
            await asyncio.sleep(0.0005)


async def measured(done: Done, running: Any, ask: Any, many: int) -> tuple[list[float], list[float], float]:
    """Milliseconds of asking, and until it began, one by one; and how many of `many` are begun in a second."""
    worker = asyncio.create_task(running)
    try:
        ask(1)
        await done.reached(1)
        asking, waiting = [], []
        for number in range(ONE_BY_ONE):
            await asyncio.sleep(PAUSE)
            started = time.perf_counter()
            ask(1)
            asking.append((time.perf_counter() - started) * 1000)
            await done.reached(number + 2)
            waiting.append((done.began[-1] - started) * 1000)
        started = time.perf_counter()
        ask(many)
        await done.reached(ONE_BY_ONE + 1 + many)
        return asking, waiting, many / (done.began[-1] - started)
    finally:
        worker.cancel()
        with suppress(asyncio.CancelledError):
            await worker


async def of_loci(base: Database, settings: Settings, many: int) -> tuple[list[float], list[float], float]:
    """Jobs as Loci makes and does them."""
    done = Done()
    url = base.server.connection_url("loci_app")
    with base.app() as app:
        async with make_pool(url, size=5) as pool:
            runner = Runner(url, Resources(settings, pool), {"enrich": done.handle})

            def ask(count: int) -> None:
                app.execute(
                    "select count(*) from generate_series(1, %s) n, loci_api.enqueue_job(%s, 'enrich', jsonb_build_object('n', n))",
                    [count, NAME],
                )

            return await measured(done, runner.work_until_end(), ask, many)


async def of_the_library(base: Database, settings: Settings, many: int) -> tuple[list[float], list[float], float]:
    """Tasks of the library alone, in the same tables."""
    done = Done()
    queue = make_queue(base.server.connection_url("loci_app"), done.task, procrastinate.RetryStrategy(max_attempts=1), [])
    with base.owner() as owner:
        owner.execute("set search_path = loci_jobs")

        def ask(count: int) -> None:
            owner.execute(
                """select count(*) from generate_series(1, %s) n, procrastinate_defer_jobs_v1(
                       array[('loci', 'loci.run', 0, null, null, jsonb_build_object('n', n), null)::procrastinate_job_to_defer_v1])""",
                [count],
            )

        async with queue.open_async():
            working = queue.run_worker_async(
                queues=["loci"], concurrency=settings.jobs.concurrency, install_signal_handlers=False, shutdown_graceful_timeout=1
            )
            return await measured(done, working, ask, many)


def run(base: Database, given: Options) -> list[Figure]:
    """Jobs and bare tasks, one after the other."""
    many = given.size(2_000)
    settings = Settings(_env_file=None)
    with base.owner() as owner, base.app() as app:
        app.execute("select loci_api.create_namespace(%s)", [NAME])
        floor = asyncio.run(of_the_library(base, settings, many))
        ours = asyncio.run(of_loci(base, settings, many))
        half = [percentile(values, 0.5) for values in (*ours[:2], *floor[:2])]
        figures = [
            Figure("asking for a job", milliseconds(ours[0]), milliseconds(floor[0]), half[0] / half[2]),
            Figure("… until its handler begins, idle", milliseconds(ours[1]), milliseconds(floor[1]), half[1] / half[3]),
            Figure(
                f"jobs done, {settings.jobs.concurrency} at a time",
                f"{ours[2]:,.0f}/s",
                f"{floor[2]:,.0f}/s (bare tasks)",
                ours[2] / floor[2],
            ),
        ]
        return report("Jobs", owner, figures)


if __name__ == "__main__":
    chosen = options(__doc__)
    with database(chosen) as opened:
        run(opened, chosen)
