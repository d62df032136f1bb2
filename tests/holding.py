"""How long the event loop of a service is kept from others, by its own processor time and by the clock."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class Hold:
    """The longest of each, in seconds, between two looks of the loop at what waits.

    `processor`: of the thread of the loop, however busy the machine is. `clock`: with all waits for the interpreter, and for a
    processor.
    """

    processor: float = 0.0
    clock: float = 0.0


@contextmanager
def watched(loop: asyncio.AbstractEventLoop) -> Iterator[Hold]:
    """Look all the time until the block ends."""
    most, ended = Hold(), threading.Event()

    async def look() -> None:
        processor, clock = time.thread_time(), time.perf_counter()
        while not ended.is_set():
            await asyncio.sleep(0.001)
            before = processor, clock
            processor, clock = time.thread_time(), time.perf_counter()
            most.processor = max(most.processor, processor - before[0])
            most.clock = max(most.clock, clock - before[1])

    looking = asyncio.run_coroutine_threadsafe(look(), loop)
    try:
        yield most
    finally:
        ended.set()
        looking.result(60)


def floor(loop: asyncio.AbstractEventLoop) -> float:
    """The longest by the clock while a thread of this process counts and does nothing else: no work beside a loop is kinder."""
    ended = threading.Event()

    def count() -> None:
        while not ended.is_set():
            sum(range(100))

    thread = threading.Thread(target=count)
    with watched(loop) as most:
        thread.start()
        time.sleep(0.5)
        ended.set()
        thread.join()
    return most.clock
