"""How long the event loop of a service is kept from others, in time of a processor: on a busy machine a clock tells of others."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class Hold:
    """The longest of each, in seconds, between two looks of the loop at what waits.

    `thread`: what the thread of the loop took. `process`: what all threads of the process took, as one that holds the interpreter
    while the loop waits for it.
    """

    thread: float = 0.0
    process: float = 0.0


@contextmanager
def watched(loop: asyncio.AbstractEventLoop) -> Iterator[Hold]:
    """Look all the time until the block ends."""
    most, ended = Hold(), threading.Event()

    async def look() -> None:
        thread, process = time.thread_time(), time.process_time()
        while not ended.is_set():
            await asyncio.sleep(0.001)
            before = thread, process
            thread, process = time.thread_time(), time.process_time()
            most.thread = max(most.thread, thread - before[0])
            most.process = max(most.process, process - before[1])

    looking = asyncio.run_coroutine_threadsafe(look(), loop)
    try:
        yield most
    finally:
        ended.set()
        looking.result(60)


def held_by_a_busy_thread(loop: asyncio.AbstractEventLoop, seconds: float = 0.3) -> float:
    """How long a thread that never holds the interpreter for long keeps the loop waiting on this machine, now: the floor."""

    def spin() -> None:
        ended = time.thread_time() + seconds
        while time.thread_time() < ended:
            pass

    with watched(loop) as most:
        busy = threading.Thread(target=spin)
        busy.start()
        busy.join()
    return most.process
