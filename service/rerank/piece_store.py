"""Readings of memories are kept in the database, so that neither a restart nor another process reads them again.

It is asked for with the memories and written when the answer is out, as the operator: it stands under the policies of its
namespace, and goes with its memory. A text that has changed is known by its hash.
"""

import asyncio
import hashlib
import logging
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import psycopg
from psycopg_pool import PoolClosed, PoolTimeout

from db.cancellation import raise_if_cancelled
from db.errors import LociError
from db.models.memory_pieces import store_memory_pieces
from db.pool import OPERATOR, Origin, Pool, open_transaction
from service.llm.model import ModelError
from service.rerank.reranker import Read

log = logging.getLogger(__name__)
WAITING = 64  # readings that are to be written; a further one is not, and its texts are read again when they are asked about
MEMORIES_PER_STATEMENT = 20  # memories that one statement writes: some 300 kB


@dataclass(frozen=True)
class Kept:
    """A reading of a memory, and the hash of its text."""

    text_hash: bytes
    pieces: bytes


def hash_text(text: str) -> bytes:
    """The hash that a text is known by."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def find_stored_pieces(texts: Mapping[int, str], kept: Mapping[int, Kept]) -> Read:
    """The texts of which was kept what was read of just these, by their hits."""
    return {text: kept[key].pieces for key, text in texts.items() if key in kept and kept[key].text_hash == hash_text(text)}


def finished_reading(read: Read) -> asyncio.Future[Read]:
    """An earlier reading."""
    made: asyncio.Future[Read] = asyncio.get_running_loop().create_future()
    made.set_result(read)
    return made


@dataclass(frozen=True)
class Reading:
    """Texts that are being read: where each belongs (namespace, document number), for which model, and what comes of it."""

    model: str
    places: Mapping[str, list[tuple[str, int]]]
    read: asyncio.Future[Read]


class PieceStore:
    """Writes what was read, one reading after the other, in the background."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._queue: asyncio.Queue[Reading] = asyncio.Queue(WAITING)

    def put_reading(self, reading: Reading) -> None:
        """Have it written as soon as it is there. Where much waits it is not."""
        if reading.places and not self._queue.full():
            self._queue.put_nowait(reading)

    async def write_until_end(self) -> None:
        """Write until cancelled."""
        while True:
            reading = await self._queue.get()
            try:
                await self._write_reading(reading)
            except (ModelError, LociError, psycopg.Error, PoolTimeout, PoolClosed) as error:
                log.info("what a reranker has read is not kept (%s)", type(error).__name__)
            finally:
                self._queue.task_done()
            raise_if_cancelled()

    async def wait_until_empty(self) -> None:
        """Wait until all that was put is written."""
        await self._queue.join()

    async def _write_reading(self, reading: Reading) -> None:
        by_namespace: dict[str, dict[int, tuple[bytes, bytes]]] = defaultdict(dict)
        for text, packed in (await asyncio.shield(reading.read)).items():
            for namespace, document in reading.places.get(text, ()):
                by_namespace[namespace][document] = hash_text(text), packed
        for namespace, pieces in by_namespace.items():
            for start in range(0, len(pieces), MEMORIES_PER_STATEMENT):
                part = dict(list(pieces.items())[start : start + MEMORIES_PER_STATEMENT])
                origin = Origin(action="keep_pieces", via="worker")
                async with open_transaction(self._pool, key_hash=OPERATOR, namespace=namespace, role="reader", origin=origin) as tx:
                    await store_memory_pieces(tx, model=reading.model, pieces=part)
