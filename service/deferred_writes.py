"""Notes that reads make beside their answer (the log of recalls, hits of a session), where the server that answered only reads.

Kept in memory until the primary has it: for a few milliseconds, or while the primary is away up to MOST_WAITING_NOTES of them. A
process that is killed loses what it holds; a reply never waits for it.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

import psycopg
from psycopg_pool import PoolClosed, PoolTimeout

from db.cancellation import raise_if_cancelled
from db.errors import Unavailable, translate_error
from db.pool import Note, Origin, Pool, open_transaction
from service.observability.metrics import NOTES, NOTES_LOST

log = logging.getLogger(__name__)
MOST_WAITING_NOTES = 10_000  # notes that wait; the oldest go first
NOTES_PER_TRANSACTION = 100  # in one transaction
RETRY_SECONDS = 1.0  # seconds until the next attempt when the primary is away


@dataclass(frozen=True)
class _Waiting:
    key_hash: bytes | None
    origin: Origin
    note: Note


class PrimaryWriteQueue:
    """Notes on their way to the primary, each as whoever read."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._waiting: deque[_Waiting] = deque()
        self._some = asyncio.Event()
        self._writing = asyncio.Lock()

    def add_notes(self, key_hash: bytes | None, origin: Origin, notes: Iterable[Note]) -> None:
        """Take notes of a read; they are written in order."""
        self._waiting.extend(_Waiting(key_hash, origin, note) for note in notes)
        self._limit_waiting_notes()
        if self._waiting:
            self._some.set()

    async def write_until_end(self) -> None:
        """Write what waits, until cancelled."""
        while True:
            raise_if_cancelled()
            await self._some.wait()
            if not await self.write_waiting_notes():
                await asyncio.sleep(RETRY_SECONDS)

    async def write_waiting_notes(self) -> bool:
        """Write all that waits; False: the primary is away, and some still waits. Notes that it refuses are lost, and counted.

        A caller waits for the work under way, too.
        """
        async with self._writing:
            return await self._write_next_notes()

    async def _write_next_notes(self) -> bool:
        while self._waiting:
            several = self._take_first_of_caller()
            try:
                await self._send_notes(several)
            except (psycopg.Error, PoolTimeout, PoolClosed) as error:
                if isinstance(translate_error(error), Unavailable):
                    self._put_back(several)
                    return False
                await self._one_by_one(several)
            except asyncio.CancelledError:
                self._put_back(several)
                raise
            self._limit_waiting_notes()
        self._some.clear()
        return True

    def _take_first_of_caller(self) -> list[_Waiting]:
        """The first ones, of one caller. Notes under way are no longer among those that wait, which may change meanwhile."""
        _, own = next(groupby(self._waiting, key=lambda each: each.key_hash))
        several = [each for each, _ in zip(own, range(NOTES_PER_TRANSACTION), strict=False)]
        for _ in several:
            self._waiting.popleft()
        return several

    def _put_back(self, several: list[_Waiting]) -> None:
        self._waiting.extendleft(reversed(several))
        self._limit_waiting_notes()

    def _limit_waiting_notes(self) -> None:
        """Drop the oldest beyond MOST_WAITING_NOTES."""
        while len(self._waiting) > MOST_WAITING_NOTES:
            self._waiting.popleft()
            NOTES_LOST.inc()
        NOTES.set(len(self._waiting))

    async def _send_notes(self, several: list[_Waiting]) -> None:
        first = several[0]
        async with open_transaction(self._pool, key_hash=first.key_hash, namespace=None, role=None, origin=first.origin) as tx:
            for each in several:
                await tx.post(each.note.statement, **each.note.parameters)

    async def _one_by_one(self, several: list[_Waiting]) -> None:
        """One of them is refused, as by a namespace that was deleted meanwhile: the others are not."""
        for each in several:
            try:
                await self._send_notes([each])
            except (psycopg.Error, PoolTimeout, PoolClosed) as error:
                NOTES_LOST.inc()
                log.info("a note of %s was not written: %s", each.origin.action, type(error).__name__)
