"""So many things at once for one owner: streams of a key, connections of an address."""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from db.errors import TooManyAtOnce


class SlotLimiter:
    """Places that owners take and leave, at most `limit` each; None: any number."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self._taken: dict[Hashable, int] = {}

    def take_place(self, owner: Hashable) -> bool:
        """Take a place, if there is one."""
        taken = self._taken.get(owner, 0)
        if self.limit is not None and taken >= self.limit:
            return False
        self._taken[owner] = taken + 1
        return True

    def leave_place(self, owner: Hashable) -> None:
        """Leave a place that was taken."""
        left = self._taken[owner] - 1
        if left:
            self._taken[owner] = left
        else:
            del self._taken[owner]

    @contextmanager
    def hold_place(self, owner: Hashable, what: str) -> Iterator[None]:
        """Hold a place until the block ends. Raises TooManyAtOnce."""
        if not self.take_place(owner):
            raise TooManyAtOnce(f"{self.limit} {what} are open, which is the limit", hint="Close one of them first.")
        try:
            yield
        finally:
            self.leave_place(owner)
