"""The background worker: fills vectors behind the writes (row L1), finds names (row R9), keeps the lexical index tidy.

It also finishes changes of decay that others began and left (row G10), deletes what has expired in working memory (row W1), and
keeps the log of recalls to its days (row R4).

It runs inside `loci serve` and as `loci worker`; any number may run, because work is claimed with SKIP LOCKED in the
transaction that completes it. A worker that dies gives its claims back.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

import psycopg
from psycopg_pool import PoolTimeout

from db import embeddings, graph, recall_log, working_memory
from db.pool import OPERATOR, Pool, transaction
from service import decay
from service.embedding import EmbeddingError, Provider, RejectedText
from service.embedding.turns import embed_claimed
from service.metrics import EMBEDDED, FAILURES
from service.names import find_names

log = logging.getLogger(__name__)
Claim = Callable[..., Awaitable[list[embeddings.Row]]]
Store = Callable[..., Awaitable[None]]
BATCH = 256
GATHER = 0.1  # seconds after a write in which further ones join its batch: writers keep the processor
IDLE = 0.25  # seconds between looks at an empty queue: a write of another process waits no longer
TIDY_EVERY = 5.0
SWEEP_EVERY = 10.0
START = (0, "")  # before the first key
LOG_EVERY = 60.0
LOG_BATCH = 1000  # logged recalls that one transaction deletes
LONGEST_PAUSE = 60.0


class Worker:
    """Loops over names, vectors and the index, side by side, so that a dead embedding endpoint holds nothing else up.

    `wake` cuts idle waits short after a write of this process.
    """

    def __init__(self, pool: Pool, provider: Provider | None) -> None:
        self._pool = pool
        self._provider = provider
        self._registered = False
        self._swept = START
        self._woken = {step: asyncio.Event() for step in ("names", "vectors", "index", "decay", "sweep", "log")}

    def wake(self) -> None:
        """Look at the queues now."""
        self._woken["names"].set()
        self._woken["vectors"].set()

    async def run(self) -> None:
        """Work until cancelled. Failures are logged and waited out, longer each time, a minute at most."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._repeat("names", self.name_batch, IDLE))
            group.create_task(self._repeat("index", self.tidy, TIDY_EVERY))
            group.create_task(self._repeat("decay", self.fade, TIDY_EVERY))
            group.create_task(self._repeat("sweep", self.sweep, SWEEP_EVERY))
            group.create_task(self._repeat("log", self.sweep_log, LOG_EVERY))
            if self._provider is not None:
                group.create_task(self._repeat("vectors", self.vector_batch, IDLE))

    async def _repeat(self, name: str, step: Callable[[], Awaitable[bool]], idle: float) -> None:
        failures = 0
        while True:
            try:
                busy = await step()
                failures = 0
            except (EmbeddingError, psycopg.Error, PoolTimeout) as error:
                FAILURES.labels(name).inc()
                failures += 1
                pause = min(0.5 * 2**failures, LONGEST_PAUSE)
                log.warning("worker (%s) waits %.0f s: %s", name, pause, error)
                await asyncio.sleep(pause)
                continue
            if not busy:
                with suppress(TimeoutError):
                    async with asyncio.timeout(idle):  # wait_for can swallow a cancellation that comes with the wake-up
                        await self._woken[name].wait()
                    await asyncio.sleep(GATHER)
                self._woken[name].clear()

    async def tidy(self) -> bool:
        """Fold counts and join small posting blocks of one namespace; True if there may be more. New tables get statistics."""
        async with transaction(self._pool, key_hash=OPERATOR, namespace=None, role=None) as tx:
            await embeddings.analyze_new(tx)
            return bool((await embeddings.tidy(tx))["folded"])

    async def fade(self, abandoned: float = decay.ABANDONED) -> bool:
        """Finish one change of decay that nobody has worked at for a while; True if there may be more."""
        async with transaction(self._pool, key_hash=OPERATOR, namespace=None, role=None) as tx:
            left = await graph.waiting_decay(tx, seconds=abandoned)
        if left:
            await decay.finish(
                lambda: transaction(self._pool, key_hash=OPERATOR, namespace=left["namespace"], role="writer"), type=left["type"]
            )
        return bool(left)

    async def sweep(self) -> bool:
        """Delete what has expired in the next part of working memory; False at its end."""
        async with transaction(self._pool, key_hash=OPERATOR, namespace=None, role=None) as tx:
            _, further = await working_memory.sweep_working_memory(tx, after=self._swept)
        self._swept = further or START
        return further is not None

    async def sweep_log(self) -> bool:
        """Delete a batch of logged recalls that are past their days; True if there may be more."""
        async with transaction(self._pool, key_hash=OPERATOR, namespace=None, role=None) as tx:
            return await recall_log.sweep_recalls(tx, limit=LOG_BATCH) == LOG_BATCH

    async def vector_batch(self) -> bool:
        """Embed one batch of memories and one of entities; True if there may be more."""
        if self._provider is None:
            return False
        if not self._registered:
            await register(self._pool, self._provider)
            self._registered = True
        found = await self._embed_batch(self._provider, embeddings.claim_embeddings, embeddings.store_embeddings)
        return await self._embed_batch(self._provider, embeddings.claim_entities, embeddings.store_entities) or found

    async def name_batch(self) -> bool:
        """Find the names of one batch of memories; True if there may be more."""
        async with transaction(self._pool, key_hash=OPERATOR, namespace=None, role=None) as tx:
            claimed = await embeddings.claim_names(tx, limit=BATCH)
            found = [
                (row["namespace_id"], row["memory_id"], name)
                for row in claimed
                for name in find_names(row["content"], source=row["source"], language=row["language"])
            ]
            if claimed:
                read = [(row["namespace_id"], row["memory_id"]) for row in claimed]
                await embeddings.note_names(tx, found=found, read=read)
        return bool(claimed)

    async def _embed_batch(self, provider: Provider, claim: Claim, store: Store) -> bool:
        async with transaction(self._pool, key_hash=OPERATOR, namespace=None, role=None) as tx:
            claimed = await claim(tx, limit=BATCH)
            if not claimed:
                return False
            try:
                vectors = await embed_claimed(provider, claimed)
                await store(tx, claimed=claimed, vectors=vectors)
                EMBEDDED.inc(len(claimed))
            except RejectedText as error:
                log.warning("%s; trying its %d texts one by one", error, len(claimed))
                for row in claimed:
                    try:
                        vectors = await embed_claimed(provider, [row])
                        await store(tx, claimed=[row], vectors=vectors)
                    except RejectedText as refusal:
                        await embeddings.refuse_embedding(tx, claimed=row, error=str(refusal))
        return True


async def register(pool: Pool, provider: Provider) -> None:
    """Make the provider's model the active one in the database."""
    dimensions = await provider.dimensions()
    async with transaction(pool, key_hash=OPERATOR, namespace=None, role=None) as tx:
        await embeddings.register_model(tx, name=provider.name, dimensions=dimensions)
