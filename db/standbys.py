"""Standby servers: which of them has replayed enough of the primary's log to answer a read.

A read may ask for a position in the log: that of the last write of whoever reads. A standby that has replayed so far shows that
write, and all before it. A read that asks for none is answered by a standby that is not further behind than is allowed.

How far behind one is, is measured by one clock, that of this process: the primary is asked where its log is, and a standby that
has replayed up to there has all that was committed when the question was sent. A read with a position is no exception: an old one
would be shown by a standby that stands still since.

Positions are places in one log. A promotion begins another from somewhere on (a timeline), and a standby that does not follow it
may hold what only the old log had, so it is asked nothing.
"""

import asyncio
import logging
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from typing import Any, LiteralString, TypeVar

import psycopg
from psycopg import errors as pg
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import DictRow
from psycopg_pool import PoolClosed, PoolTimeout

from db.cancellation import raise_if_cancelled
from db.pool import Pool, position_of, without_head

log = logging.getLogger(__name__)
LOOK_EVERY = 0.1  # seconds between looks at a server
ANSWER_SECONDS = 2.0  # seconds after which one that does not answer counts as down
RETRY_SECONDS = 1.0  # seconds until one that is down is asked again
WAIT_STEP = 0.005  # seconds between looks while a read waits for its own write
PLACE: LiteralString = "select standby, position, timeline from loci_api.log_position()"
MOMENTS = 4000  # that are remembered of the primary's log
T = TypeVar("T")


class LeftOut(Exception):
    """A standby was left out while it was asked."""


# A thing that a standby misses or forbids may be here a moment later: the primary is asked.
ABSENT = (pg.NoDataFound, pg.InvalidAuthorizationSpecification, pg.InsufficientPrivilege)
# Errors of things that a standby cannot do, for now or at all, and the primary can.
ELSEWHERE = (LeftOut, pg.OperationalError, pg.SerializationFailure, pg.ReadOnlySqlTransaction, PoolTimeout, PoolClosed)
Failed = (psycopg.Error, PoolTimeout, PoolClosed, OSError, TimeoutError)


class Log:
    """Where the primary's log was, and when, over the seconds that a standby may be behind.

    `end`: where it was last, `seen`: how often it was asked.
    """

    def __init__(self, staleness: float = 0.0) -> None:
        self._positions: deque[int] = deque(maxlen=MOMENTS)
        self._moments: deque[float] = deque(maxlen=MOMENTS)
        self._apart = max(LOOK_EVERY / 2, 2 * staleness / MOMENTS)
        self.end, self.timeline, self.seen = -1, 0, 0

    def note_position(self, position: int, asked: float, timeline: int = 0) -> None:
        """The log was here when it was asked for. Where nothing was written since, only the moment is newer."""
        if position < self.end or timeline != self.timeline:  # another primary: what was known is of another log
            self._positions.clear()
            self._moments.clear()
        self.end, self.timeline, self.seen = position, timeline, self.seen + 1
        if self._positions and position == self._positions[-1]:
            self._moments[-1] = asked
        elif not self._moments or asked - self._moments[-1] >= self._apart:  # others ask in between
            self._positions.append(position)
            self._moments.append(asked)

    def complete_until(self, replayed: int, timeline: int = 0) -> float:
        """The latest moment known all of whose commits a server has that has replayed so far; -inf: none is."""
        found = bisect_right(self._positions, replayed) if timeline >= self.timeline else 0
        return self._moments[found - 1] if found else -inf


class Watch:
    """Questions to one server, sent by one task: all callers that wait share one answer."""

    def __init__(self) -> None:
        self._waiting = 0
        self._hurry, self._answered = asyncio.Event(), asyncio.Event()

    def wake_waiters(self) -> None:
        """There is a new answer, or none to be had."""
        self._answered.set()
        self._answered = asyncio.Event()

    async def wait_for_next_look(self, seconds: float) -> None:
        """Until the next question: so many seconds, or a few milliseconds while somebody waits."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._hurry.wait()
                await asyncio.sleep(WAIT_STEP)

    async def wait_until(self, true: Callable[[], bool], seconds: float) -> bool:
        """Wait for answers until something is true; False: it was not in time."""
        self._waiting += 1
        self._hurry.set()
        try:
            async with asyncio.timeout(seconds):
                while not true():
                    await self._answered.wait()
        except TimeoutError:
            return False
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._hurry.clear()
        return True


@dataclass(eq=False)
class Standby:
    """A server that replays the primary's log. `replayed`: up to where, in which `timeline`. `up`: it answers, and is a standby.

    `watcher`: a connection of its own for that question, so that many reads do not pass for a server that does not answer.
    """

    name: str
    pool: Pool
    watcher: Pool
    replayed: int = -1
    timeline: int = -1
    up: bool = False
    answered: int = field(default=0, repr=False)
    looks: Watch = field(default_factory=Watch, repr=False)
    _reading: set[asyncio.Task[Any]] = field(default_factory=set, repr=False)
    _left_out: asyncio.Event = field(default_factory=asyncio.Event, repr=False)

    async def run_while_in_use(self, work: Coroutine[Any, Any, T]) -> T:
        """Do work that asks this server. Raises LeftOut as soon as it is left out: one that stands still answers nobody."""
        task, gone = asyncio.create_task(work), asyncio.create_task(self._left_out.wait())
        task.add_done_callback(_let_be)
        try:
            await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            self._reading.add(task)  # it ends by itself: to give up a connection may take seconds where nobody answers
            task.add_done_callback(self._reading.discard)
            raise LeftOut(f"the standby {self.name} does not answer")
        finally:
            gone.cancel()
            task.cancel()

    async def ask_position(self) -> None:
        """Ask how far it has come. Raises one of Failed."""
        row = await _read_position(self.watcher)
        self.up = bool(row["standby"]) and None not in (row["position"], row["timeline"])
        self.replayed, self.timeline = (position_of(row["position"]), row["timeline"]) if self.up else (-1, -1)
        if self.up:
            self._left_out.clear()
        self.looks.wake_waiters()

    def leave_out(self, why: str) -> None:
        """Ask it nothing until it has answered a look."""
        if self.up:
            log.warning("reads leave out the standby %s: %s", self.name, why)
        self.up, self.replayed, self.timeline = False, -1, -1
        self._left_out.set()
        self.looks.wake_waiters()


class Standbys:
    """Standbys by URL.

    `staleness`: seconds that one may be behind for a read without a position; `wait`: seconds that one is waited for.
    """

    def __init__(self, primary: Pool, pools: Sequence[tuple[str, Pool, Pool]], *, staleness: float, wait: float) -> None:
        self._primary, self._log, self._looks = primary, Log(staleness), Watch()
        self._staleness, self._wait = staleness, wait
        self.standbys = [Standby(name_of(url, nth), pool, watcher) for nth, (url, pool, watcher) in enumerate(pools)]

    async def open_pools(self) -> None:
        """Open their pools without waiting: a standby may be down."""
        for each in self.standbys:
            await each.pool.open(wait=False)
            await each.watcher.open(wait=False)

    async def close_pools(self) -> None:
        """Close their pools."""
        for each in self.standbys:
            await each.pool.close()
            await each.watcher.close()

    async def watch_primary(self) -> None:
        """Note where the primary's log is, until cancelled. While it is away, standbys grow old."""
        while True:
            raise_if_cancelled()
            asked = time.monotonic()
            try:
                row = await _read_position(self._primary)
                self._log.note_position(without_head(position_of(row["position"])), asked, row["timeline"])
            except Failed as error:
                log.debug("the primary does not say where its log is: %s", type(error).__name__)
            self._looks.wake_waiters()
            await self._looks.wait_for_next_look(LOOK_EVERY)

    async def watch_standby(self, standby: Standby) -> None:
        """Note how far a standby has come, until cancelled; leave it out while it does not answer."""
        while True:
            raise_if_cancelled()
            was = standby.up
            looking = asyncio.create_task(standby.ask_position())
            looking.add_done_callback(_let_be)
            try:
                await asyncio.wait({looking}, timeout=ANSWER_SECONDS)
                if not looking.done():  # to give up its connection may take ten seconds more
                    standby.leave_out(TimeoutError.__name__)
                await looking
                if standby.up and not was:
                    log.info("reads go to the standby %s", standby.name)
            except Failed as error:
                standby.leave_out(type(error).__name__)
            finally:
                looking.cancel()
            await (standby.looks.wait_for_next_look(LOOK_EVERY) if standby.up else asyncio.sleep(RETRY_SECONDS))

    def seconds_behind(self, standby: Standby) -> float:
        """Seconds that a standby is behind at most; inf: not known."""
        return time.monotonic() - self._log.complete_until(standby.replayed, standby.timeline) if standby.up else inf

    async def find_standby(self, position: int | None) -> Standby | None:
        """The standby that should answer a read: of those that may, the one with the fewest requests; None: the primary should."""
        near = [each for each in self.standbys if self.seconds_behind(each) <= self._staleness]
        able = near if position is None else [each for each in near if each.replayed >= position]
        if position is not None and near and not able and self._wait > 0:
            able = await self._wait_for_position(position, near)
        return self._least_busy(able)

    async def _wait_for_position(self, position: int, near: list[Standby]) -> list[Standby]:
        """The standby that is furthest, if it comes so far in time. Positions beyond the primary's own log are not waited for."""
        ends = time.monotonic() + self._wait
        if position > self._log.end and not await self._in_log(position):
            return []
        nearest = max(near, key=lambda each: each.replayed)
        came = await nearest.looks.wait_until(lambda: nearest.replayed >= position or not nearest.up, ends - time.monotonic())
        return [nearest] if came and nearest.up and self.seconds_behind(nearest) <= self._staleness else []

    async def _in_log(self, position: int) -> bool:
        """Whether the primary's log is so far, as it is asked now: another process may have written a moment ago."""
        seen = self._log.seen
        await self._looks.wait_until(lambda: self._log.end >= position or self._log.seen > seen + 1, self._wait)
        return self._log.end >= position

    def _least_busy(self, able: list[Standby]) -> Standby | None:
        chosen = min(able, key=lambda each: (_count_busy(each.pool), each.answered), default=None)
        if chosen is not None:
            chosen.answered += 1
        return chosen


def _let_be(task: asyncio.Task[Any]) -> None:
    """Nobody may wait any more for a question that was given up: how it ended is seen, and of no interest."""
    if not task.cancelled():
        task.exception()


async def _read_position(pool: Pool) -> DictRow:
    """Where a server is in its log. Raises one of Failed."""
    async with asyncio.timeout(ANSWER_SECONDS), pool.connection(timeout=ANSWER_SECONDS) as connection:
        row = await (await connection.execute(PLACE)).fetchone()
    assert row is not None  # noqa: S101 (one row always)
    return row


def _count_busy(pool: Pool) -> int:
    """Connections of a pool that are lent, and requests that wait for one."""
    stats = pool.get_stats()
    return stats.get("pool_size", 0) - stats.get("pool_available", 0) + stats.get("requests_waiting", 0)


def should_ask_primary(standby: Standby, error: BaseException) -> bool:
    """Whether the primary should be asked what a standby failed at; one whose connection was lost is left out from now on."""
    if isinstance(error, ABSENT):
        return True
    if not isinstance(error, ELSEWHERE) or isinstance(error, pg.QueryCanceled):
        return False
    if isinstance(error, psycopg.OperationalError) and (error.sqlstate is None or error.sqlstate.startswith(("57P", "08"))):
        standby.leave_out(type(error).__name__)
    return True


def name_of(url: str, nth: int) -> str:
    """The name of a standby in logs and metrics: its number in the list, host and port, and nothing secret."""
    stated = conninfo_to_dict(url)
    place = [str(stated[each]) for each in ("host", "port") if stated.get(each)]
    return f"{nth + 1}:{':'.join(place) or 'local'}"
