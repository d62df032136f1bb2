"""Trying again: the one place that says how long to wait before, and how often.

Pauses grow, end at a longest one, and are drawn by lot, so that those who met once do not meet again at the same moment.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import psycopg
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, stop_never

from db.errors import is_retryable

T = TypeVar("T")
ATTEMPTS = 4  # of a transaction that meets others
GROWING = 100  # failures after which no pause is longer than the one before


@dataclass(frozen=True)
class Backoff:
    """Pauses in seconds: the first, then each `factor` times as long until the longest; each is drawn from its upper half."""

    first: float
    longest: float
    factor: float = 2.0

    def pause_after(self, failures: int) -> float:
        """Seconds to wait after so many failures in a row."""
        pause = min(self.first * self.factor ** min(failures - 1, GROWING), self.longest)
        return pause * random.uniform(0.5, 1.0)  # noqa: S311 (jitter)

    def __call__(self, state: RetryCallState) -> float:
        """The same, as tenacity asks for it."""
        return self.pause_after(state.attempt_number)


BESIDE_OTHERS = Backoff(0.01, 0.2)  # of transactions that write the same rows at the same moment


async def try_until_done(
    work: Callable[[], Awaitable[T]],
    pause: Callable[[RetryCallState], float],
    again: Callable[[BaseException], bool],
    *,
    stop: Callable[[RetryCallState], bool] = stop_never,
) -> T:
    """The result of `work`; done again after a pause for each error that `again` says yes to, until `stop` does.

    The last error is raised as it is.
    """
    async for attempt in AsyncRetrying(wait=pause, retry=retry_if_exception(again), stop=stop, sleep=asyncio.sleep, reraise=True):
        with attempt:
            return await work()
    raise AssertionError("tenacity raises, or goes on")


async def with_retries(transaction: Callable[[], Awaitable[T]]) -> T:
    """The result of a whole transaction; one that failed because others wrote at the same moment is tried again, a few times."""
    try:
        return await transaction()
    except psycopg.Error as error:  # most succeed at once, and pay nothing
        if not is_retryable(error):
            raise
    await asyncio.sleep(BESIDE_OTHERS.pause_after(1))
    return await try_until_done(transaction, BESIDE_OTHERS, _met_others, stop=stop_after_attempt(ATTEMPTS - 1))


def _met_others(error: BaseException) -> bool:
    return isinstance(error, psycopg.Error) and is_retryable(error)
