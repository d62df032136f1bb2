"""Pauses between attempts grow, differ, and are never too long; ruff keeps them in one place (banned-api in pyproject.toml)."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from db import retries
from db.retries import Backoff, try_until_done, with_retries
from loci.attempts import LONGEST_PAUSE, pause_after

BACKOFFS = st.builds(Backoff, st.floats(0.001, 600), st.floats(0.001, 3600), st.floats(1, 10))


@given(BACKOFFS, st.integers(1, 10**9))
def test_no_number_of_failures_makes_a_pause_too_long_or_none_at_all(backoff: Backoff, failures: int) -> None:
    assert 0 < backoff.pause_after(failures) <= backoff.longest
    assert 0 < pause_after(failures) <= LONGEST_PAUSE


@given(BACKOFFS)
def test_pauses_grow_until_the_longest_and_differ(backoff: Backoff) -> None:
    highest = [max(backoff.pause_after(failures) for _ in range(30)) for failures in range(1, 12)]
    assert all(later >= 0.5 * earlier for earlier, later in pairwise(highest))
    assert len({backoff.pause_after(3) for _ in range(10)}) > 1


def failing(times: int, error: BaseException) -> tuple[Callable[[], Awaitable[str]], list[int]]:
    """Work that fails so many times, and its attempts."""
    made: list[int] = []

    async def work() -> str:
        made.append(len(made))
        if len(made) <= times:
            raise error
        return "done"

    return work, made


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that were made, in no time."""
    made: list[float] = []

    async def sleep(seconds: float) -> None:
        made.append(seconds)

    monkeypatch.setattr(retries, "asyncio", type("Asyncio", (), {"sleep": staticmethod(sleep)}))
    return made


@pytest.mark.anyio
@pytest.mark.parametrize("kind", [psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected])
async def test_a_transaction_that_meets_others_is_tried_again_after_pauses(pauses: list[float], kind: Any) -> None:
    work, made = failing(3, kind("met"))
    assert await with_retries(work) == "done"
    assert (len(made), len(pauses)) == (4, 3)
    assert min(pauses) > 0


@pytest.mark.anyio
async def test_a_transaction_is_tried_a_few_times_and_its_last_error_is_raised_as_it_is(pauses: list[float]) -> None:
    error = psycopg.errors.SerializationFailure("met")
    work, made = failing(100, error)
    with pytest.raises(psycopg.errors.SerializationFailure) as raised:
        await with_retries(work)
    assert raised.value is error
    assert (len(made), len(pauses)) == (4, 3)


@pytest.mark.anyio
@pytest.mark.parametrize("error", [psycopg.errors.UniqueViolation("there"), ValueError("wrong"), asyncio.CancelledError()])
async def test_a_permanent_error_is_raised_at_once(pauses: list[float], error: BaseException) -> None:
    work, made = failing(1, error)
    with pytest.raises(type(error)):
        await with_retries(work)
    assert (len(made), pauses) == (1, [])


@pytest.mark.anyio
async def test_a_retry_waits_for_a_busy_writer_as_long_as_it_takes(pauses: list[float]) -> None:
    work, made = failing(3000, TimeoutError())
    assert await try_until_done(work, Backoff(0.1, 2.0), lambda error: isinstance(error, TimeoutError)) == "done"
    assert len(made) == 3001
    assert max(pauses) <= 2.0
