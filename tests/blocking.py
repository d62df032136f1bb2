"""Sessions that wait for each other: a test goes on when one does, not when time has passed."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import psycopg

from tests.services import eventually

T = TypeVar("T")


def waits(connection: psycopg.Connection[Any], watcher: psycopg.Connection[Any]) -> bool:
    """Whether a session's statement waits for a lock."""
    asked = "select from pg_locks where pid = %s and not granted"
    return watcher.execute(asked, [connection.info.backend_pid]).rowcount > 0


def started(
    pool: ThreadPoolExecutor, watcher: psycopg.Connection[Any], connection: psycopg.Connection[Any], work: Callable[[], T]
) -> Future[T]:
    """Start what a session does, and return once it is done or waits for a lock."""
    future = pool.submit(work)
    eventually(lambda: future.done() or waits(connection, watcher))
    return future


def blocked(
    pool: ThreadPoolExecutor, watcher: psycopg.Connection[Any], connection: psycopg.Connection[Any], work: Callable[[], T]
) -> Future[T]:
    """Start what a session cannot do at once, and return when it waits."""
    future = started(pool, watcher, connection, work)
    assert not future.done(), f"it did not have to wait: {future.exception() or future.result()}"
    return future
