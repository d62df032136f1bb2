"""The background worker: fills vectors behind the writes (row L1) and keeps the lexical index tidy.

It runs inside `loci serve` and as `loci worker`; any number may run, because work is claimed with SKIP LOCKED in the
transaction that completes it. A worker that dies gives its claims back.
"""

import asyncio
import logging
import time

import psycopg
from psycopg_pool import PoolTimeout

from db import embeddings
from db.pool import OPERATOR, Pool, transaction
from service.embedding import EmbeddingError, Provider, RejectedText
from service.metrics import EMBEDDED, EMBEDDING_FAILURES

log = logging.getLogger(__name__)
BATCH = 256
IDLE = 0.25  # seconds between looks at an empty queue: a write of another process waits no longer
TIDY_EVERY = 5.0
LONGEST_PAUSE = 60.0


class Worker:
    """One loop over the embedding queue. `wake` cuts an idle wait short after a write of this process."""

    def __init__(self, pool: Pool, provider: Provider | None) -> None:
        self._pool = pool
        self._provider = provider
        self._woken = asyncio.Event()
        self._registered = False
        self._tidied = time.monotonic()

    def wake(self) -> None:
        """Look at the queue now."""
        self._woken.set()

    async def run(self) -> None:
        """Work until cancelled. Failures are logged and waited out, longer each time, a minute at most."""
        failures = 0
        while True:
            try:
                busy = await self.step()
                failures = 0
            except (EmbeddingError, psycopg.Error, PoolTimeout) as error:
                EMBEDDING_FAILURES.inc()
                failures += 1
                pause = min(0.5 * 2**failures, LONGEST_PAUSE)
                log.warning("worker waits %.0f s: %s", pause, error)
                await asyncio.sleep(pause)
                continue
            if not busy:
                await self._rest()

    async def _rest(self) -> None:
        try:
            await asyncio.wait_for(self._woken.wait(), IDLE)
        except TimeoutError:
            pass
        self._woken.clear()

    async def step(self) -> bool:
        """Embed one batch, or tidy; True if there may be more to do."""
        if self._provider is not None:
            if not self._registered:
                await register(self._pool, self._provider)
                self._registered = True
            if await self._embed_batch(self._provider):
                return True
        if time.monotonic() - self._tidied > TIDY_EVERY:
            self._tidied = time.monotonic()
            async with transaction(self._pool, key_hash=OPERATOR, namespace=None, role=None) as tx:
                return bool((await embeddings.tidy(tx))["folded"])
        return False

    async def _embed_batch(self, provider: Provider) -> bool:
        async with transaction(self._pool, key_hash=OPERATOR, namespace=None, role=None) as tx:
            claimed = await embeddings.claim_embeddings(tx, limit=BATCH)
            if not claimed:
                return False
            try:
                vectors = await provider.embed([row["text"] for row in claimed])
                await embeddings.store_embeddings(tx, claimed=claimed, vectors=vectors)
                EMBEDDED.inc(len(claimed))
            except RejectedText as error:
                log.warning("%s; trying its %d texts one by one", error, len(claimed))
                for row in claimed:
                    try:
                        vectors = await provider.embed([row["text"]])
                        await embeddings.store_embeddings(tx, claimed=[row], vectors=vectors)
                    except RejectedText as refusal:
                        await embeddings.refuse_embedding(tx, claimed=row, error=str(refusal))
        return True


async def register(pool: Pool, provider: Provider) -> None:
    """Make the provider's model the active one in the database."""
    dimensions = await provider.dimensions()
    async with transaction(pool, key_hash=OPERATOR, namespace=None, role=None) as tx:
        await embeddings.register_model(tx, name=provider.name, dimensions=dimensions)
