"""Slots of an endpoint: so many calls at once, requests before jobs."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Slots:
    """Slots that calls take and leave, `limit` of them; None: any number."""

    def __init__(self, limit: int | None) -> None:
        self._free = limit
        self._requests: deque[asyncio.Future[None]] = deque()
        self._jobs: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def hold_slot(self, *, by_request: bool) -> AsyncIterator[None]:
        """Hold a slot until the block ends; wait for one as long as it takes."""
        if self._free is None:
            yield
            return
        if self._free > 0:
            self._free -= 1
        else:
            await self._wait_for_slot(self._requests if by_request else self._jobs)
        try:
            yield
        finally:
            self._release_slot()

    async def _wait_for_slot(self, queue: deque[asyncio.Future[None]]) -> None:
        """Wait until a slot is handed over."""
        mine = asyncio.get_running_loop().create_future()
        queue.append(mine)
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():  # it was handed over in this moment
                self._release_slot()
            elif mine in queue:
                queue.remove(mine)
            raise

    def _release_slot(self) -> None:
        """Hand a slot over to a waiting call, or free it."""
        for queue in (self._requests, self._jobs):
            while queue:
                if not (first := queue.popleft()).done():
                    first.set_result(None)
                    return
        assert self._free is not None  # noqa: S101 (a slot was taken)
        self._free += 1
