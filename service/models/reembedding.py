"""Changing the embedding model while it serves: fill another behind it, build its indexes, switch, drop the old one.

Every step may be repeated: a killed run goes on where it was. Several processes may fill one model together; one of them
builds.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from psycopg.errors import DeadlockDetected, LockNotAvailable
from tenacity import stop_after_attempt

from db.models import reembedding
from db.models.reembedding import EmbeddingModelRow
from db.pool import JsonObject, Transaction
from db.retries import Backoff, try_until_done
from service.embedding.provider import EmbeddingError, Provider, RejectedText
from service.models.vector_batches import QUEUES, embed_batch

log = logging.getLogger(__name__)
Begin = Callable[[str], AbstractAsyncContextManager[Transaction]]
Connect = Callable[[], AbstractAsyncContextManager[reembedding.IndexBuilder]]
Told = Callable[[str, int, int], None]
FEW_TEXTS = 64  # texts that are embedded while writers wait, at most
HOLD = 2.0  # seconds that writers wait for that, at most
LOCK_WAIT_SECONDS = (0.1, 0.2, 0.4, 0.8)  # seconds of waiting for a lock, during which others wait behind it
LOOK_EVERY = 1.0
PROVIDER_TRIES = 8  # failures of the provider, one after the other, after which filling stops
DROP = 5000
FIRST = (0, UUID(int=0))
LOCKED = (LockNotAvailable, DeadlockDetected)
FOR_WRITERS, FOR_PROVIDER = Backoff(0.1, 2.0), Backoff(0.5, 60.0)


class Stopped(Exception):
    """The model cannot be filled on; the message says why. Finished work stays."""

    def __init__(self, message: str, *, cancelled: bool = False) -> None:
        super().__init__(message)
        self.cancelled = cancelled


@dataclass
class Reembedding:
    """One process that changes the model to that of `provider`. `model`: its name, dimensions, those that an endpoint is asked for.

    `owner` connects as who may build and drop indexes; without one they are made while writers of vectors wait.
    `told` is called with progress: the step, how much is done, and of how much.
    """

    transaction: Begin
    provider: Provider
    model: JsonObject
    owner: Connect | None = None
    chosen: bool = True
    parallel: int = 2
    told: Told = lambda *_: None
    _total: int = field(default=0, init=False)

    async def run_to_end(self) -> JsonObject:
        """Do all of it, or the rest of it: which models, how many vectors this process made, and how long each part took."""
        await self._clean_retired_models()
        was = await self._active_name()
        report: JsonObject = {
            "model": self.model["name"],
            "was": was,
            "changed": was != self.model["name"],
            "vectors": 0,
            "seconds": {},
        }
        if report["changed"]:
            number = await self.begin_filling()
            report["seconds"]["queue"] = await _measure_seconds(self._queue_rows(number))
            started = time.monotonic()
            report["vectors"] = await self._fill_vectors(number)
            report["seconds"]["fill"] = round(time.monotonic() - started, 3)
            report["seconds"]["index"] = await _measure_seconds(self._build_indexes(number))
            started = time.monotonic()
            report["held_ms"] = await self._switch_model(number)
            report["seconds"]["switch"] = round(time.monotonic() - started, 3)
            report["seconds"]["drop"] = await _measure_seconds(self._clean_retired_models())
        return report

    async def begin_filling(self) -> int:
        """Begin, or join in, as soon as writers let go for a moment; the number of the model."""

        async def begin_once() -> int:
            async with self.transaction("begin_reembedding") as tx:
                return await reembedding.begin_reembedding(tx, model=self.model, chosen=self.chosen, indexes=self.owner is None)

        def is_held(error: BaseException) -> bool:
            if isinstance(error, LOCKED):
                log.info("the beginning waits: %s", type(error).__name__)
                self.told("waiting for writers", 0, 1)
            return isinstance(error, LOCKED)

        return await try_until_done(begin_once, FOR_WRITERS, is_held)

    async def _active_name(self) -> str | None:
        async with self.transaction("begin_reembedding") as tx:
            return next((row["name"] for row in await reembedding.embedding_models_in_use(tx) if row["state"] == "active"), None)

    async def _read_state(self, number: int) -> EmbeddingModelRow | None:
        """The model as it stands; None: it was dropped."""
        async with self.transaction("reembed") as tx:
            return next((row for row in await reembedding.list_embedding_models(tx) if row["id"] == number), None)

    async def _still_filling(self, number: int) -> bool:
        """False where another process has switched already. Raises Stopped where somebody has cancelled it."""
        row = await self._read_state(number)
        if row is None or row["state"] not in {"filling", "active"}:
            raise Stopped(f"filling the model {self.model['name']} was cancelled", cancelled=True)
        return row["state"] == "filling"

    async def _queue_rows(self, number: int) -> None:
        row = await self._read_state(number)
        if row is None or row["queued_at"] is not None:
            return
        after: int | None = None
        while True:
            async with self.transaction("queue_reembedding") as tx:
                after = await reembedding.queue_reembedding(tx, model=number, after=after)
            if after is None:
                return

    async def _fill_vectors(self, number: int) -> int:
        """Embed all that waits, until nothing can be claimed; how many vectors this process made."""
        made = 0
        looked = 0.0

        async def fill_in_turns() -> None:
            nonlocal made, looked
            while (stored := await self._fill_batch(number)) is not None:
                made += stored
                if time.monotonic() - looked > LOOK_EVERY:
                    looked = time.monotonic()
                    row = await self._read_state(number)
                    waiting = row["waiting"] if row else 0
                    self._total = max(self._total, waiting)
                    self.told("filling", self._total - waiting, self._total)

        while True:
            async with asyncio.TaskGroup() as group:
                for _ in range(self.parallel):
                    group.create_task(fill_in_turns())
            row = await self._read_state(number)
            if row is None or row["state"] != "filling" or row["waiting"] <= FEW_TEXTS:
                return made
            await asyncio.sleep(0.2)  # others hold the rest, or a namespace is being erased

    async def _fill_batch(self, number: int) -> int | None:
        """Embed one batch of memories, else one of entities; None: there is none to be had. Waits out a provider that fails."""

        async def fill_batch_once() -> int | None:
            async with self.transaction("store_memory_vectors") as tx:
                return await self._store_vectors(tx, number)

        def has_failed(error: BaseException) -> bool:
            failed = isinstance(error, EmbeddingError) and not isinstance(error, RejectedText)
            if failed:
                log.warning("filling the model waits: %s", error)
            return failed

        try:
            return await try_until_done(fill_batch_once, FOR_PROVIDER, has_failed, stop=stop_after_attempt(PROVIDER_TRIES))
        except RejectedText:
            raise
        except EmbeddingError as error:
            raise Stopped(f"{error}; what was filled stays, go on with the same command") from error

    async def _store_vectors(self, tx: Transaction, number: int) -> int | None:
        for queue in QUEUES:
            if (stored := await embed_batch(tx, queue, self.provider, model=number)) is not None:
                return stored
        return None

    async def _build_indexes(self, number: int) -> None:
        """Build the indexes that are missing or were cut short, one process at a time."""
        if self.owner is None:
            async with self.transaction("create_model_indexes") as tx:
                await reembedding.create_model_indexes(tx, model=number)
            return
        async with self.owner() as owner:
            while not await owner.try_lock():  # noqa: ASYNC110 (another process holds it)
                await asyncio.sleep(LOOK_EVERY)
            indexes = await owner.list_indexes(number)
            for place, index in enumerate(indexes):
                self.told("building indexes", place, len(indexes))
                if not index["valid"]:
                    if not await self._still_filling(number):
                        break
                    await owner.build_index(index)

    async def _switch_model(self, number: int) -> float:
        """Make the model the active one; for how many milliseconds writers were held."""
        tries = 0
        while await self._still_filling(number):
            await self._fill_vectors(number)  # what was written meanwhile
            self.told("switching", 0, 1)
            try:
                async with asyncio.timeout(HOLD + 1), self.transaction("switch_model") as tx:
                    await reembedding.set_lock_timeout(tx, seconds=LOCK_WAIT_SECONDS[min(tries, len(LOCK_WAIT_SECONDS) - 1)])
                    waiting = await reembedding.finish_reembedding(tx, model=number)
                    held = time.monotonic()
                    if 0 < waiting <= FEW_TEXTS:
                        async with asyncio.timeout(HOLD):
                            while await self._store_vectors(tx, number) is not None:
                                pass
                        waiting = await reembedding.finish_reembedding(tx, model=number)
                if waiting == 0:
                    return round(1000 * (time.monotonic() - held), 2)
            except (*LOCKED, TimeoutError, EmbeddingError) as error:
                log.info("the switch waits: %s", type(error).__name__)
            tries += 1
            await asyncio.sleep(FOR_WRITERS.pause_after(tries))
        return 0.0

    async def _clean_retired_models(self) -> None:
        await drop_retired_models(self.transaction, self.owner, self.told)


async def drop_retired_models(transaction: Begin, owner: Connect | None, told: Told) -> None:
    """Drop what is left of models that are not in use."""
    async with transaction("drop_model") as tx:
        retired = [row for row in await reembedding.list_embedding_models(tx) if row["state"] == "retired"]
    for row in retired:
        await _drop_retired_model(transaction, row, owner, told)


async def _drop_retired_model(transaction: Begin, row: EmbeddingModelRow, owner: Connect | None, told: Told) -> None:
    """Drop the indexes and vectors of a retired model. Nobody asks for them: who began to before the switch still sees them."""
    if owner is not None:
        async with owner() as connected:
            while not await connected.try_lock():  # noqa: ASYNC110 (another process holds it)
                await asyncio.sleep(LOOK_EVERY)
            indexes = await connected.list_indexes(row["id"])
            for place, index in enumerate(indexes):
                told("dropping indexes", place, len(indexes))
                if index["valid"] is not None:
                    await connected.drop_index(index)
    dropped = 0
    for table in reembedding.TABLES:
        after: tuple[int, UUID] = FIRST
        while True:
            async with transaction("drop_model") as tx:
                found = await reembedding.delete_retired_vectors(tx, model=row["id"], table=table, after=after, limit=DROP)
            if found is None:
                break
            after = (found["namespace_id"], found["id"])
            dropped += found["dropped"]
            told("dropping vectors", dropped, dropped)
    await _forget_model(transaction, row["id"])


async def _forget_model(transaction: Begin, number: int) -> None:
    taken = 1
    while taken:
        async with transaction("drop_model") as tx:
            taken = await reembedding.clear_model_queues(tx, model=number)
    tries, gone = 0, False
    while not gone:
        try:
            async with transaction("drop_model") as tx:
                await reembedding.set_lock_timeout(tx, seconds=LOCK_WAIT_SECONDS[min(tries, len(LOCK_WAIT_SECONDS) - 1)])
                gone = await reembedding.drop_retired_model(tx, model=number)
            tries = 0
        except LOCKED:
            tries += 1
            await asyncio.sleep(FOR_WRITERS.pause_after(tries))


async def _measure_seconds(work: Any) -> float:
    started = time.monotonic()
    await work
    return round(time.monotonic() - started, 3)
