"""The background worker: fills vectors behind the writes, finds names, keeps the lexical index tidy.

It also finishes changes of decay that others began and left, deletes what has expired in working memory, keeps
the change feed and the logs of recalls, operations, jobs, calls of models and uses of keys to their days, and
stops what analysts let run for too long. Jobs are run beside all that; those of schedules are made when due.

It runs inside `loci serve` and as `loci worker`; any number may run, because work is claimed with SKIP LOCKED in the
transaction that completes it. A worker that dies gives its claims back.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial

import psycopg
from psycopg_pool import PoolTimeout

from db import facts, operations, statistics, traces
from db.access import analysts
from db.cancellation import raise_if_cancelled
from db.graph import decay as db_decay
from db.graph import names
from db.graph.names import MemoryToName
from db.models import calls, embeddings
from db.models.embeddings import EntityToEmbed, MemoryToEmbed
from db.pool import OPERATOR, Origin, Pool, Transaction, open_transaction
from db.recall import lexical_index
from db.retries import Backoff
from db.sessions import working_memory
from service.embedding.active_model import UNKNOWN, ActiveProvider, find_active_model
from service.embedding.provider import EmbeddingError, Provider
from service.embedding.second_model import SecondModel
from service.graph import decay
from service.jobs.runner import Runner
from service.jobs.schedules import Schedules
from service.models.embedding_models import read_corpus
from service.models.reembedding import Reembedding, Stopped
from service.models.second_model import begin_second, embed_second_batch
from service.models.vector_batches import BATCH_TEXTS, ENTITIES, MEMORIES, C, Queue, embed_and_store
from service.observability.logs import LogContext, described_error, log_context
from service.observability.metrics import EMBEDDED, FAILURES, WORK_ROWS, WORK_SECONDS, WORKED_AT
from service.supervision import Supervisor
from service.text.proper_nouns import find_names, list_name_phrases
from service.worker.process_priority import Priorities

log = logging.getLogger(__name__)
GATHER_SECONDS = 0.1  # seconds after a write in which further ones join its batch: writers keep the processor
GATHER_FEED = 0.01  # the same for the change feed, where a reader of this process waits
LOOK_EVERY = 0.25  # seconds between looks at the queues: a write of another process waits no longer, and GATHER_SECONDS
LOOK_SELDOM = 1.0  # the same where nothing was found for QUIET seconds, and no reader of this process waits for changes
QUIET = 60.0
TIDY_EVERY = 5.0
FOLLOW_EVERY = 5.0  # a recall says by itself which model it needs: a look only has the next one ready
MODEL_EVERY = 60.0
SWEEP_EVERY = 10.0
FACTS_EVERY = 30.0  # seconds between looks for facts that are to be compared anew
START = (0, "")  # before the first key
LOG_EVERY = 60.0
LOG_BATCH = 1000  # logged recalls, or changes and operations, that one transaction deletes
AFTER_FAILURES = Backoff(1.0, 60.0)
STOP_EVERY = 2.0
STOP_SELDOM = 10.0  # where there is no analyst
LOWER_EVERY = 0.1
SCHEDULE_EVERY = 20.0
SEQUENCED = 10_000  # changes that one transaction moves into the feed
Step = Callable[[], Awaitable[bool]]
Pause = Callable[[], float]  # seconds


class Worker:
    """Loops over names, vectors and the index, side by side, so that a dead embedding endpoint holds nothing else up.

    `wake_queues` cuts idle waits short after a write of this process. `grown` is called when the change feed has grown,
    and `awaited` says whether anybody waits for that here.
    """

    def __init__(
        self,
        pool: Pool,
        provider: Provider | None,
        runner: Runner | None = None,
        grown: Callable[[], None] = lambda: None,
        awaited: Callable[[], bool] = lambda: True,
    ) -> None:
        self._pool = pool
        self._provider = provider
        self._runner = runner
        self._grown = grown
        self._awaited = awaited
        self._registered = False
        self._settled = False
        self._begun = False
        self._priorities = Priorities()
        self._swept = START
        self._found_at = time.monotonic()  # when work of another process was found last
        self._woken = {step: asyncio.Event() for step in ("feed", "names", "vectors", "second")}

    def wake_queues(self, *, jobs: bool = True) -> None:
        """Look at the queues now; at that of jobs, where one was asked for."""
        self._woken["feed"].set()
        self._woken["names"].set()
        self._woken["vectors"].set()
        self._woken["second"].set()
        if jobs and self._runner is not None:
            self._runner.look_now()

    def start_steps(self, supervisor: Supervisor) -> None:
        """Have all of it done, each step by itself. Failures are logged and waited out, longer each time, a minute at most."""
        self._start_step(supervisor, "look", self.wake_for_other_processes, self.look_pause)
        self._start_step(supervisor, "feed", self.sequence_changes, TIDY_EVERY, gather=self._gather_feed)
        self._start_step(supervisor, "names", self.name_batch, TIDY_EVERY)
        self._start_step(supervisor, "index", self.tidy_indexes, TIDY_EVERY)
        self._start_step(supervisor, "decay", self.continue_decay, TIDY_EVERY)
        self._start_step(supervisor, "sweep", self.sweep_working_memory, SWEEP_EVERY)
        self._start_step(supervisor, "facts", self.sweep_facts, FACTS_EVERY)
        self._start_step(supervisor, "calls", self.settle_calls, SWEEP_EVERY)
        self._start_step(supervisor, "log", self.sweep_log, LOG_EVERY)
        self._start_step(supervisor, "analysts", self.stop_analysts, lambda: STOP_EVERY if self._priorities.wanted else STOP_SELDOM)
        self._start_step(
            supervisor, "priorities", self.lower_priorities, lambda: LOWER_EVERY if self._priorities.wanted else STOP_EVERY
        )
        if self._runner is not None:
            supervisor.start_task("jobs", self._runner.work_until_end)
            self._start_step(supervisor, "schedule", Schedules(self._runner.job_resources).run_due_schedules, SCHEDULE_EVERY)
        if self._provider is not None:
            self._start_step(supervisor, "vectors", self.vector_batch, TIDY_EVERY)
            self._start_step(supervisor, "follow", self.follow_active_model, FOLLOW_EVERY)
            self._start_step(supervisor, "model", self.change_model, MODEL_EVERY)
        if isinstance(self._provider, ActiveProvider) and self._provider.second is not None:
            self._start_step(supervisor, "second", partial(self.second_batch, self._provider, self._provider.second), TIDY_EVERY)

    def start_feed(self, supervisor: Supervisor) -> None:
        """Only give changes their positions and follow the embedding model: other processes do the other work."""
        self._start_step(supervisor, "feed", self.sequence_changes, TIDY_EVERY, gather=self._gather_feed)
        if self._provider is not None:
            self._start_step(supervisor, "follow", self.follow_active_model, FOLLOW_EVERY)

    def _gather_feed(self) -> float:
        return GATHER_FEED if self._awaited() else GATHER_SECONDS

    def look_pause(self) -> float:
        """Seconds until the next look at the queues, of which readers of changes here notice nothing."""
        return LOOK_EVERY if self._awaited() or time.monotonic() - self._found_at < QUIET else LOOK_SELDOM

    def _start_step(
        self, supervisor: Supervisor, name: str, step: Step, idle: Pause | float, *, gather: Pause = lambda: GATHER_SECONDS
    ) -> None:
        pause = idle if callable(idle) else lambda: idle
        supervisor.start_task(name, lambda: self._repeat_step(name, step, pause, gather))

    async def _repeat_step(self, name: str, step: Step, idle: Pause, gather: Pause) -> None:
        failures = 0
        woken = self._woken.setdefault(name, asyncio.Event())
        while True:
            raise_if_cancelled()
            began = time.monotonic()
            try:
                busy = await self._run_timed_step(name, step)
                failures = 0
            except (EmbeddingError, psycopg.Error, PoolTimeout) as error:
                FAILURES.labels(name).inc()
                failures += 1
                pause = AFTER_FAILURES.pause_after(failures)
                with log_context(LogContext(work=name)):
                    log.warning("worker (%s) waits %.0f s: %s", name, pause, described_error(error))
                raise_if_cancelled()
                await asyncio.sleep(pause)
                continue
            raise_if_cancelled()  # before the wait, which may be a minute
            took = time.monotonic() - began  # a look that takes long, as behind an old transaction, is made less often
            if not busy:
                with suppress(TimeoutError):
                    async with asyncio.timeout(max(idle(), 5 * took)):  # wait_for can swallow a cancellation
                        await woken.wait()
                    await asyncio.sleep(max(gather(), took))
                woken.clear()

    async def _run_timed_step(self, name: str, step: Step) -> bool:
        """Run a step. Its log lines say whose they are; looks at an empty queue leave no spans."""
        started = time.perf_counter()
        with log_context(LogContext(work=name)), traces.mute_spans():
            busy = await step()
        WORK_SECONDS.labels(name).observe(time.perf_counter() - started)
        WORKED_AT.labels(name).set_to_current_time()
        return busy

    def _open_transaction(
        self, action: str, namespace: str | None = None, role: str | None = None, *, behind: bool = False, single: bool = False
    ) -> AbstractAsyncContextManager[Transaction]:
        """`behind`: by the low-priority pool, if configured. `single`: of one statement."""
        origin = Origin(action=action, via="worker")
        pool = self._pool.behind if behind and self._pool.behind is not None else self._pool
        return open_transaction(pool, key_hash=OPERATOR, namespace=namespace, role=role, origin=origin, single=single)

    async def wake_for_other_processes(self) -> bool:
        """Wake what has something to do, because another process wrote it: one question for all of it."""
        async with self._open_transaction("look", single=True) as tx:
            waiting = await operations.waiting_work(tx)
        for step, waits in waiting.items():
            if waits:
                self._found_at = time.monotonic()
                self._woken[step].set()
        if waiting["vectors"]:
            self._woken["second"].set()
        return False

    async def sequence_changes(self) -> bool:
        """Give committed changes their positions in the feed; True if there may be more."""
        async with self._open_transaction("sequence_changes", single=True) as tx:
            moved = await operations.sequence_changes(tx)
        WORK_ROWS.labels("feed").inc(moved)
        if moved:
            self._grown()
        return bool(moved == SEQUENCED)

    async def tidy_indexes(self) -> bool:
        """Fold counts and join posting blocks of one namespace, and write a range of a large one; True if there may be more.

        New tables get statistics.
        """
        async with self._open_transaction("tidy") as tx:
            await statistics.analyze_new_tables(tx)
            folded = (await lexical_index.compact_lexical_index(tx))["folded"]
        # by itself: it locks the index at its end, and only for that
        async with self._open_transaction("join_ranges", single=True) as tx:
            return bool(await lexical_index.join_lexical_ranges(tx) or folded)

    async def continue_decay(self, abandoned: float = decay.ABANDONED_SECONDS) -> bool:
        """Finish one change of decay that nobody has worked at for a while; True if there may be more."""
        async with self._open_transaction("fade_edges", single=True) as tx:
            left = await db_decay.next_unfinished_decay(tx, seconds=abandoned)
        if left:
            await decay.finish_decay_change(
                lambda: self._open_transaction("fade_edges", left["namespace"], "writer"), type=left["type"]
            )
        return bool(left)

    async def sweep_working_memory(self) -> bool:
        """Delete what has expired in the next part of working memory; False at its end."""
        async with self._open_transaction("sweep_working_memory", single=True) as tx:
            swept, further = await working_memory.sweep_working_memory(tx, after=self._swept)
        WORK_ROWS.labels("sweep").inc(swept)
        self._swept = further or START
        return further is not None

    async def sweep_facts(self) -> bool:
        """Compare the facts of one aspect anew, where something has changed what was compared; True if there may be more."""
        async with self._open_transaction("sweep_facts", single=True) as tx:
            swept = await facts.sweep_aspects(tx)
        WORK_ROWS.labels("facts").inc(swept["visited"])
        return swept["aspect_id"] is not None

    async def settle_calls(self) -> bool:
        """End calls of language models whose process was lost."""
        async with self._open_transaction("settle_model_calls", single=True) as tx:
            WORK_ROWS.labels("calls").inc(await calls.settle_model_calls(tx))
        return False

    async def sweep_log(self) -> bool:
        """Delete a batch of expired rows of each log and of the change feed; True if there may be more."""
        swept = []
        for name in operations.LOGS:
            async with self._open_transaction(f"sweep_{name}", single=True) as tx:
                swept.append(await operations.sweep_log(tx, log=name, limit=LOG_BATCH))
        async with self._open_transaction("sweep_operations", single=True) as tx:
            swept.append(await operations.sweep_operations(tx, limit=LOG_BATCH))
        WORK_ROWS.labels("log").inc(sum(swept))
        return max(swept) == LOG_BATCH

    async def stop_analysts(self) -> bool:
        """Stop what analysts let run, or hold, past their limits."""
        async with self._open_transaction("stop_analysts") as tx:
            self._priorities.lower_logins(row["login"] for row in await analysts.list_analysts(tx))
            self._priorities.find_server(tx.connection.info.backend_pid)
            for row in await analysts.stop_analysts(tx):
                done = "ended" if row["ended"] else "statement cancelled"
                log.warning("analyst %s, session %s: %s (%s)", row["login"], row["pid"], done, row["reason"])
        return False

    async def lower_priorities(self) -> bool:
        """Lower the priority of analysts' sessions below that of requests. Reads files of the system, not the database."""
        self._priorities.lower_new_sessions()
        return False

    async def vector_batch(self) -> bool:
        """Embed one batch of memories and one of entities; True if there may be more."""
        if self._provider is None:
            return False
        if not self._registered and not isinstance(self._provider, ActiveProvider):  # see change_model
            await register_model(self._pool, self._provider)
            self._registered = True
        found = await self._embed_batch(self._provider, MEMORIES)
        return await self._embed_batch(self._provider, ENTITIES) or found

    async def change_model(self) -> bool:
        """Make the configured model the active one where there is none, or one that nobody chose by name serves a small corpus.

        Once. Texts that wait for the active model do not wait for this: its endpoint may be another.
        """
        if self._settled or not isinstance(self._provider, ActiveProvider):
            return False
        await register_model(self._pool, self._provider)
        async with self._open_transaction("reembed") as tx:
            corpus = await read_corpus(tx)
        configured, active, filling = self._provider.configured, corpus.models["active"], corpus.models.get("filling")
        in_use = {row["name"] for row in corpus.models.values()}
        ours = configured.name in in_use or not (active["chosen"] or filling)
        if corpus.vector_count <= self._provider.automatic_limit and ours:
            model = self._provider.describe_model(await configured.dimensions())
            try:
                await Reembedding(self._open_transaction, configured, model, chosen=False, parallel=1).run_to_end()
            except Stopped as stopped:
                log.warning("%s", stopped)
                self._settled = stopped.cancelled
                return False
        elif configured.name != active["name"]:
            log.warning("%s is configured, and %s serves: `loci reembed` changes that", configured.name, active["name"])
        self._settled = True
        return False

    async def second_batch(self, provider: ActiveProvider, second: SecondModel) -> bool:
        """Make the configured second model known, once, then embed a batch of memories with it; True if there may be more.

        By itself: a slow second model holds up no vector of the first.
        """
        self._begun = self._begun or await begin_second(self._open_transaction, second)
        async with self._open_transaction("store_memory_vectors", behind=True) as tx:
            await provider.follow_active_model(tx)
            stored = await embed_second_batch(tx, second)
        EMBEDDED.inc(stored)
        WORK_ROWS.labels("second").inc(stored)
        return stored > 0

    async def follow_active_model(self) -> bool:
        """Look which embedding model is active, also where nothing waits for vectors: questions are asked of it."""
        async with self._open_transaction("follow_model", single=True) as tx:
            await find_active_model(self._provider, tx)
        return False

    async def name_batch(self) -> bool:
        """Find the names of one batch of memories; True if there may be more."""
        async with self._open_transaction("find_names", behind=True) as tx:
            claimed = await names.claim_memories_to_name(tx, limit=BATCH_TEXTS)
            if not claimed:
                return False
            with traces.mute_spans(False), traces.span("worker names", {"loci.rows": len(claimed)}):
                found = [
                    (row["namespace_id"], row["memory_id"], name)
                    for row in claimed
                    for name in list_name_phrases(find_names(row["content"], source=row["source"], language=row["language"]))
                ]
                read = [(row["namespace_id"], row["memory_id"]) for row in claimed]
                await names.store_found_names(tx, found=found, read=read)
        WORK_ROWS.labels("names").inc(len(claimed))
        return _fills_share(claimed)

    async def _embed_batch(self, provider: Provider, queue: Queue[C]) -> bool:
        async with self._open_transaction("store_memory_vectors", behind=True) as tx:
            used = await find_active_model(provider, tx)
            if used.provider is None or used.model == UNKNOWN:
                return False
            claimed = await queue.claim(tx, limit=BATCH_TEXTS, model=used.model)
            if not claimed:
                return False
            with traces.mute_spans(False), traces.span("worker vectors", {"loci.rows": len(claimed)}):
                stored = await embed_and_store(tx, queue, used.provider, claimed)
        EMBEDDED.inc(stored)
        WORK_ROWS.labels("vectors").inc(stored)
        return stored > 0 and _fills_share(claimed)  # what is being changed is not tried again at once


def _fills_share(claimed: Sequence[MemoryToEmbed | EntityToEmbed | MemoryToName]) -> bool:
    """Whether more can wait behind a batch: a namespace of it has as many rows as its share is, where all of them wait."""
    rows = Counter(row["namespace_id"] for row in claimed)
    return max(rows.values()) >= BATCH_TEXTS // len(rows)


async def register_model(pool: Pool, provider: Provider) -> int | None:
    """Say which model is configured: it becomes the active one, unless another has made vectors; its number, None if so."""
    configured = provider.configured if isinstance(provider, ActiveProvider) else provider
    dimensions = await configured.dimensions()
    model = (
        provider.describe_model(dimensions)
        if isinstance(provider, ActiveProvider)
        else {"name": provider.name, "dimensions": dimensions}
    )
    async with open_transaction(pool, key_hash=OPERATOR, namespace=None, role=None) as tx:
        return await embeddings.register_model(tx, **model)
