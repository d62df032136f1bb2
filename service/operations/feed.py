"""The change feed for readers of this process: pages of it, and the waking of those who wait for more.

Nobody holds a connection while waiting. One connection looks for all of them which feeds have grown, while there are any; each
reads for itself, under its own rights, in short transactions. There are no notices: any login could send and hear them.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import psycopg
from psycopg_pool import PoolClosed, PoolTimeout

from db import operations
from db.cancellation import raise_if_cancelled
from db.errors import DeadlineExceeded, LociError, Moved, RateLimited, Unavailable, translate_error
from db.operations import ChangeRow
from db.pool import JsonObject, Transaction

log = logging.getLogger(__name__)
GATHER_SECONDS = 0.05  # seconds from one read of a stream to its next: what comes meanwhile comes together
ALL = ["*"]  # namespaces
INNER = {"more", "place"}  # of a row of the feed: not for readers
LINGER = 30.0  # seconds after which a connection that nobody waits on any more is given back
LOOK_EVERY = 0.1  # seconds between looks at the feeds, for what other processes have written
RETRY_SECONDS = 1.0  # seconds until the next attempt when the database is away, or has no room or no time for one
PASSING = (Unavailable, RateLimited, DeadlineExceeded)  # what another attempt may be spared


@dataclass(frozen=True)
class FeedQuestion:
    """Filter of the changes. `namespaces` None: the caller's own; ["*"]: all that it may read."""

    namespaces: list[str] | None = None
    kinds: list[str] | None = None
    limit: int = 100


@dataclass(frozen=True)
class Place:
    """Where a reader stands in the feed: after `cursor`, as it is shown; `number` is the internal global position."""

    cursor: str
    number: int | None = None


@dataclass(frozen=True)
class Batch:
    """Changes, and how far the feed was read with them: go on after `read_to`. `more`: there are more at once."""

    items: list[JsonObject]
    read_to: Place
    more: bool
    namespace_ids: frozenset[int]


BEGINNING = Place("0")
Read = Callable[[Place | None], Awaitable[Batch]]


async def read_batch(tx: Transaction, question: FeedQuestion, after: Place | None, *, sequence: bool) -> Batch:
    """Changes after a place; None: the end, so that the batch is empty and says where that is.

    With `sequence`, all that was committed before is among them; the end is always behind all that was.
    """
    if sequence or after is None:
        await operations.send_sequence_changes(tx, namespaces=question.namespaces)
    start = after or BEGINNING
    asked = await operations.send_feed_bounds(tx, namespaces=question.namespaces, after=start.cursor, place=start.number)
    items: list[ChangeRow] = []
    if after is not None:
        items = await _list_changes(tx, question, after)
    bounds = await asked.one()  # asked before the list, which has all up to there
    last = Place(bounds["last_cursor"], bounds["last_place"])
    if after is None:  # what cannot be asked is refused now, not when something comes
        await _list_changes(tx, question, last)
    more = bool(items) and items[0]["more"]
    read = Place(items[-1]["cursor"], items[-1]["place"]) if items else Place(start.cursor, bounds["place"])
    if not items and question.namespaces == ALL and _number_of_place(last) < _number_of_place(read):
        read = Place(last.cursor, read.number)  # the namespace of its cursor has gone, and with it what would come before
    read_to = last if after is None else read if more else max(read, last, key=_number_of_place)
    told = [{name: value for name, value in item.items() if name not in INNER} for item in items]
    return Batch(told, read_to, more, frozenset(bounds["namespace_ids"]))


def _number_of_place(place: Place) -> int:
    return place.number or 0


async def _list_changes(tx: Transaction, question: FeedQuestion, after: Place) -> list[ChangeRow]:
    return await operations.read_changes(
        tx,
        namespaces=question.namespaces,
        after=after.cursor,
        place=after.number,
        kinds=question.kinds,
        limit=question.limit,
    )


@dataclass(eq=False)
class Waiter:
    """Somebody who waits for changes in some namespaces; None: in any."""

    woken: asyncio.Event = field(default_factory=asyncio.Event)
    namespace_ids: frozenset[int] | None = None

    async def wait_for_change(self, seconds: float) -> None:
        """Return when there may be more, or after so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                await self.woken.wait()
        except TimeoutError:
            pass


class Feed:
    """Wakes the readers of this process."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._waiters: set[Waiter] = set()
        self._wanted = asyncio.Event()
        self._grown = asyncio.Event()
        self.closed = False

    async def look_until_end(self) -> None:
        """Look at the feeds while anybody waits, until cancelled. While the database is away, readers see for themselves."""
        while True:
            raise_if_cancelled()
            await self._wanted.wait()
            try:
                async with operations.glance_at_feeds(self._url) as glance:
                    await self._look_again_and_again(glance)
            except (psycopg.Error, OSError) as error:
                log.warning("nobody looks for changes: %s", error)
                self.wake_waiters(None)
                await asyncio.sleep(RETRY_SECONDS)

    async def _look_again_and_again(self, glance: operations.FeedGlance) -> None:
        """Look again and again, at once when this process has made a feed grow, until nobody has waited for a while."""
        await glance.find_grown_feeds()
        self.wake_waiters(None)  # what came before the first look
        last_waited = time.monotonic()
        while self._waiters or time.monotonic() - last_waited < LINGER:
            raise_if_cancelled()
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_EVERY):
                    await self._grown.wait()
            self._grown.clear()
            if self._waiters:
                last_waited = time.monotonic()
                self.wake_waiters(await glance.find_grown_feeds())
                await asyncio.sleep(4 * (time.monotonic() - last_waited))  # the more feeds, the longer a look takes
        self._wanted.clear()

    def look_now(self) -> None:
        """Look now: this process has made a feed grow."""
        self._grown.set()

    def is_awaited(self) -> bool:
        """Whether anybody waits here."""
        return bool(self._waiters)

    def wake_waiters(self, namespace_ids: frozenset[int] | None) -> None:
        """Wake those who wait for changes in these namespaces; None: all."""
        for waiter in self._waiters:
            if namespace_ids is None or waiter.namespace_ids is None or waiter.namespace_ids & namespace_ids:
                waiter.woken.set()

    def close(self) -> None:
        """End all waiting, for good."""
        self.closed = True
        self.wake_waiters(None)

    @contextmanager
    def add_waiter(self) -> Iterator[Waiter]:
        """Be woken until the block ends."""
        waiter = Waiter()
        self._waiters.add(waiter)
        self._wanted.set()
        try:
            yield waiter
        finally:
            self._waiters.discard(waiter)

    async def poll_changes(self, read: Read, after: Place | None, wait: float) -> Batch:
        """Changes since then; without any, wait so many seconds for one."""
        if wait <= 0:
            return await read(after)
        ends = time.monotonic() + wait
        with self.add_waiter() as waiter:
            while True:
                waiter.woken.clear()
                batch = await read(after)
                left = ends - time.monotonic()
                if batch.items or left <= 0 or self.closed:
                    return batch
                after, waiter.namespace_ids = batch.read_to, batch.namespace_ids
                await waiter.wait_for_change(left)

    async def follow_changes(self, read: Read, after: Place | None, *, idle: float, all_namespaces: bool) -> AsyncGenerator[Batch]:
        """Batch after batch as changes come, first one at once; an empty one after `idle` seconds in which nothing came.

        A database that is away is waited for, and so is one that has no room or no time. Ends when the feed is closed. Raises
        what `read` raises otherwise.
        """
        told = float("-inf")
        with self.add_waiter() as waiter:
            while not self.closed:
                began = time.monotonic()
                waiter.woken.clear()
                batch = await self._read_batch(read, after, first=told < 0)
                if batch is not None:
                    after, waiter.namespace_ids = batch.read_to, None if all_namespaces else batch.namespace_ids
                if batch is not None and (batch.items or time.monotonic() - told >= idle):
                    yield batch
                    told = time.monotonic()
                if batch is None or not batch.more:
                    await waiter.wait_for_change(RETRY_SECONDS if batch is None else max(told + idle - time.monotonic(), 0))
                    await asyncio.sleep(max(began + GATHER_SECONDS - time.monotonic(), 0))

    async def _read_batch(self, read: Read, after: Place | None, *, first: bool) -> Batch | None:
        """A batch; None: not now, which the first read of a stream raises: the database is away, or there is too much to do.

        A namespace that has moved to another cell is no longer read here: its reader finds it there.
        """
        try:
            return await read(after)
        except (LociError, psycopg.Error, PoolTimeout, PoolClosed) as error:
            known = error if isinstance(error, LociError) else translate_error(error)
            if first or self.closed or not isinstance(known, PASSING) or isinstance(known, Moved):
                raise
            log.warning("a stream of changes waits for the database: %s", error)
            return None
