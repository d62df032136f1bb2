"""Ending loops that a library keeps from hearing that they shall end."""

import asyncio


def hear_cancellation() -> None:
    """Raise CancelledError where this task was cancelled and something that it called has swallowed that.

    `asyncio.wait_for` of Python 3.11 does so, where what it waits for ends at the same moment; pools of connections wait with it.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
