"""Limits on what runs at once: slots of one owner (streams of a key, connections of an address), and turns that owners wait for."""

import asyncio
from collections.abc import AsyncIterator, Hashable, Iterator
from contextlib import asynccontextmanager, contextmanager
from weakref import WeakValueDictionary

from db.errors import TooManyAtOnce


class SlotLimiter:
    """Slots that owners take and leave, at most `limit` each; None: any number."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self._taken: dict[Hashable, int] = {}

    def take_slot(self, owner: Hashable) -> bool:
        """Take a slot, if one is free."""
        taken = self._taken.get(owner, 0)
        if self.limit is not None and taken >= self.limit:
            return False
        self._taken[owner] = taken + 1
        return True

    def leave_slot(self, owner: Hashable) -> None:
        """Leave a slot that was taken."""
        left = self._taken[owner] - 1
        if left:
            self._taken[owner] = left
        else:
            del self._taken[owner]

    @contextmanager
    def hold_slot(self, owner: Hashable, what: str) -> Iterator[None]:
        """Hold a slot until the block ends. Raises TooManyAtOnce."""
        if not self.take_slot(owner):
            raise TooManyAtOnce(f"{self.limit} {what} are open, which is the limit", hint="Close one of them first.")
        try:
            yield
        finally:
            self.leave_slot(owner)


class FairTurns:
    """So many turns at a time; `share` of them, and one at least, for one owner."""

    def __init__(self, number: int, share: float) -> None:
        self._own = max(1, int(number * share))
        self._all = number
        self._turns = asyncio.Semaphore(number)
        self._own_turns: WeakValueDictionary[object, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def wait_for_turn(self, owner: object) -> AsyncIterator[None]:
        """Wait for a turn. Without an owner, all slots may be taken."""
        own = self._own_turns.get(owner)
        if own is None:
            own = self._own_turns[owner] = asyncio.Semaphore(self._all if owner is None else self._own)
        async with own, self._turns:
            yield
