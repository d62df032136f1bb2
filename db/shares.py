"""Shares of a pool: no key and no namespace takes all connections, so that the others go on.

Counted in memory, for one process. Several processes have a pool and its shares each: a caller that spreads over n of them holds
n times its share of n times the connections.
"""

import asyncio
from collections import deque
from dataclasses import dataclass

from db.errors import TooManyAtOnce

Name = tuple[str, object]  # ("key", its hash) or ("namespace", its name)
HOMES = 10_000  # keys whose namespace is remembered
NOT_NAMED = ""  # the namespace of an operator who names none
OF = {"key": "this key", "namespace": "this namespace"}


@dataclass(frozen=True)
class ShareLimits:
    """Parts of a pool that one key and one namespace may hold, seconds to wait for one's own, and how many may wait."""

    key: float = 0.5
    namespace: float = 0.75
    wait: float = 10.0
    waiting: int = 100


@dataclass(eq=False)
class _Waiter:
    names: tuple[Name, ...]
    let_in: asyncio.Future[None]


class Shares:
    """Who holds how many connections. Who is beyond a share waits in line, and nobody waits behind it who is not."""

    def __init__(self, size: int, limits: ShareLimits) -> None:
        self._wait, self._waiting = limits.wait, limits.waiting
        self._most = {"key": max(1, int(size * limits.key)), "namespace": max(1, int(size * limits.namespace))}
        self._held: dict[Name, int] = {}
        self._line: deque[_Waiter] = deque()
        self._homes: dict[bytes, str] = {}

    def names(self, key_hash: bytes | None, namespace: str | None) -> tuple[Name, ...]:
        """What a caller is counted under. Without a namespace it is the one that its key led to before, or one for all unknown."""
        if key_hash is None:
            return (("namespace", namespace or NOT_NAMED),)
        return (("key", key_hash), ("namespace", namespace or self._homes.get(key_hash, NOT_NAMED)))

    def knows_home(self, key_hash: bytes | None) -> bool:
        """Whether there is nothing to learn about the namespace of a key that names none."""
        return key_hash is None or key_hash in self._homes

    def learn_home(self, key_hash: bytes, namespace: str) -> None:
        """Remember where a key leads that names no namespace."""
        if len(self._homes) >= HOMES:
            del self._homes[next(iter(self._homes))]
        self._homes[key_hash] = namespace

    async def take(self, names: tuple[Name, ...]) -> None:
        """Take a connection's place, or wait for one. Raises TooManyAtOnce."""
        full = self._full(names)
        if full is not None:
            await self._stand_in_line(names, full)
            return
        for name in names:
            self._held[name] = self._held.get(name, 0) + 1

    def give_back(self, names: tuple[Name, ...]) -> None:
        """Leave a place to whoever is next and may have it."""
        for name in names:
            left = self._held[name] - 1
            if left:
                self._held[name] = left
            else:
                del self._held[name]
        if self._line:
            self._let_in()

    def _full(self, names: tuple[Name, ...]) -> Name | None:
        return next((name for name in names if self._held.get(name, 0) >= self._most[name[0]]), None)

    async def _stand_in_line(self, names: tuple[Name, ...], full: Name) -> None:
        if sum(full in waiter.names for waiter in self._line) >= self._waiting:
            raise self._refusal(full)
        waiter = _Waiter(names, asyncio.get_running_loop().create_future())
        self._line.append(waiter)
        try:
            async with asyncio.timeout(self._wait):
                await waiter.let_in
        except BaseException as error:
            if waiter in self._line:
                self._line.remove(waiter)
            else:
                self.give_back(names)  # it was let in at the moment at which it left
            if isinstance(error, TimeoutError):
                raise self._refusal(full) from None
            raise

    def _let_in(self) -> None:
        for waiter in list(self._line):
            if not waiter.let_in.done() and self._full(waiter.names) is None:  # one that is done leaves by itself
                self._line.remove(waiter)
                for name in waiter.names:
                    self._held[name] = self._held.get(name, 0) + 1
                waiter.let_in.set_result(None)

    def _refusal(self, full: Name) -> TooManyAtOnce:
        most = self._most[full[0]]
        return TooManyAtOnce(
            f"{OF[full[0]]} has {most} requests at work in the database, which is its share, and others wait already",
            hint="Send fewer requests at once, and this one again in a moment.",
        )
