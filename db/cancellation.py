"""Cancellation that a library keeps from being heard, and work that is not cut off by it."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def finish_despite_cancel(work: Coroutine[Any, Any, T], within: float | None = None) -> T:
    """Return what `work` does. Where the caller is cancelled, `work` comes to its end first, if that takes no more seconds."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    finally:
        done, _ = await asyncio.wait({task}, timeout=within)
        for each in done:
            _ = each.cancelled() or each.exception()  # raised to who waits, or to nobody


def raise_if_cancelled() -> None:
    """Raise CancelledError where this task was cancelled and something that it called has swallowed that.

    `asyncio.wait_for` of Python 3.11 does so, where what it waits for ends at the same moment; pools of connections wait with it.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
