"""Turns at work of which little may be done at once: an owner has a share of them, and others wait in line."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary


class Turns:
    """So many turns at a time; `share` of them, and one at least, for one owner."""

    def __init__(self, number: int, share: float) -> None:
        self._own = max(1, int(number * share))
        self._all = number
        self._turns = asyncio.Semaphore(number)
        self._own_turns: WeakValueDictionary[object, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def wait_for_turn(self, owner: object) -> AsyncIterator[None]:
        """Wait for a turn. Without an owner, all of them may be had."""
        own = self._own_turns.get(owner)
        if own is None:
            own = self._own_turns[owner] = asyncio.Semaphore(self._all if owner is None else self._own)
        async with own, self._turns:
            yield
