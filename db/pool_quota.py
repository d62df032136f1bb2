"""Shares of a pool: no key and no namespace takes all connections, so that the others go on.

Alone, a caller may hold half of a pool. While others ask too it has fewer, on average: connections are not what runs out first, but
processors are, of the database and of this process, and who is at work in ten places at once slows everybody else tenfold.

Counted in memory, for one process. Several processes have a pool and its shares each: a caller that spreads over n of them holds
n times its share of n times the connections.
"""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from math import exp

from db.errors import TooManyAtOnce

Name = tuple[str, object]  # ("key", its hash) or ("namespace", its name)
HOMES = 10_000  # keys whose namespace is remembered
NOT_NAMED = ""  # the namespace of an operator who names none
ACTIVE_SECONDS = 1.0  # seconds after a request in which a caller counts as one who asks too
MEMORY = 2.0  # seconds over which it is averaged what a caller held
BUSY_CONNECTIONS = {
    "key": 0.25,
    "namespace": 0.5,
}  # connections held on average from which a caller is served behind those who hold less
OF = {"key": "this key", "namespace": "this namespace"}


@dataclass(frozen=True)
class ShareLimits:
    """Parts of a pool that one key and one namespace may hold, at once and (while others ask too) on average.

    Then the seconds to wait in line, and how many may wait.
    """

    key: float = 0.5
    namespace: float = 0.75
    key_among_others: float = 0.1
    namespace_among_others: float = 0.2
    wait: float = 10.0
    waiting: int = 100


@dataclass(eq=False)
class _Use:
    """Connections that a caller holds now, has held on average in the last seconds, and since when that is so."""

    held: int
    average: float
    since: float

    def average_at(self, now: float) -> float:
        """The average at a moment."""
        kept = exp((self.since - now) / MEMORY)
        return self.average * kept + self.held * (1 - kept)

    def change_count(self, by: int, now: float) -> None:
        """Hold more, or less."""
        self.average, self.since = self.average_at(now), now
        self.held += by


@dataclass(eq=False)
class _Waiter:
    names: tuple[Name, ...]
    let_in: asyncio.Future[None]


class PoolQuota:
    """Counts of connections by caller. Callers over their share queue in line; they never block callers under it."""

    def __init__(self, size: int, limits: ShareLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self._wait, self._waiting, self._clock = limits.wait, limits.waiting, clock
        self._most = {"key": max(1, int(size * limits.key)), "namespace": max(1, int(size * limits.namespace))}
        self._among_others = {
            "key": max(1.0, size * limits.key_among_others),
            "namespace": max(1.0, size * limits.namespace_among_others),
        }
        self._uses: dict[str, OrderedDict[Name, _Use]] = {kind: OrderedDict() for kind in self._most}  # the last to ask last
        self._line: deque[_Waiter] = deque()
        self._look: asyncio.TimerHandle | None = None  # while anybody stands in line
        self._homes: dict[bytes, str] = {}

    def list_names(self, key_hash: bytes | None, namespace: str | None) -> tuple[Name, ...]:
        """Names that a caller is counted under. Without a namespace: the one that its key led to before, or one for all unknown."""
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

    def stands_back(self, names: tuple[Name, ...]) -> bool:
        """Whether a caller who holds a place should be served behind others: it is at work much of the time, and they ask too."""
        now = self._clock()
        for name in names:
            uses = self._uses[name[0]]
            use = uses.get(name)
            if use is not None and use.average_at(now) >= BUSY_CONNECTIONS[name[0]] and self._others_ask(name, uses, now):
                return True
        return False

    async def take_place(self, names: tuple[Name, ...]) -> None:
        """Take a connection's place, or wait for one. Raises TooManyAtOnce."""
        full = self._find_full_share(names)
        if full is not None:
            await self._stand_in_line(names, full)
            return
        self._hold_place(names)

    def give_back(self, names: tuple[Name, ...]) -> None:
        """Leave a place to whoever is next and may have it."""
        now = self._clock()
        for name in names:
            self._uses[name[0]][name].change_count(-1, now)
        if self._line:
            self._let_in()

    def _hold_place(self, names: tuple[Name, ...]) -> None:
        now = self._clock()
        for name in names:
            uses = self._uses[name[0]]
            use = uses.get(name)
            if use is None:
                use = uses[name] = _Use(0, 0.0, now)
                self._forget_idle(uses, now)
            uses.move_to_end(name)
            use.change_count(+1, now)

    def _forget_idle(self, uses: OrderedDict[Name, _Use], now: float) -> None:
        """Drop those who have held nothing for a while, as far as they stand in front."""
        while (oldest := next(iter(uses.values()))).held == 0 and now - oldest.since > 10 * MEMORY:
            uses.popitem(last=False)

    def _find_full_share(self, names: tuple[Name, ...]) -> Name | None:
        return next((name for name in names if self._is_full(name)), None)

    def _is_full(self, name: Name) -> bool:
        kind, uses = name[0], self._uses[name[0]]
        use = uses.get(name)
        if use is None or use.held == 0:
            return False
        if use.held >= self._most[kind]:
            return True
        now = self._clock()
        return use.average_at(now) >= self._among_others[kind] and self._others_ask(name, uses, now)

    def _others_ask(self, name: Name, uses: OrderedDict[Name, _Use], now: float) -> bool:
        """Whether another of its kind has asked just now: one of the last two."""
        last_two = zip(range(2), reversed(uses.items()), strict=False)
        return any(other != name and (use.held > 0 or now - use.since < ACTIVE_SECONDS) for _, (other, use) in last_two)

    async def _stand_in_line(self, names: tuple[Name, ...], full: Name) -> None:
        if sum(full in waiter.names for waiter in self._line) >= self._waiting:
            raise self._make_refusal(full)
        waiter = _Waiter(names, asyncio.get_running_loop().create_future())
        self._line.append(waiter)
        self._keep_looking()
        try:
            async with asyncio.timeout(self._wait):
                await waiter.let_in
        except BaseException as error:
            if waiter in self._line:
                self._remove_waiter(waiter)
            else:
                self.give_back(names)  # it was let in at the moment at which it left
            if isinstance(error, TimeoutError):
                raise self._make_refusal(full) from None
            raise

    def _let_in(self) -> None:
        for waiter in list(self._line):
            if not waiter.let_in.done() and self._find_full_share(waiter.names) is None:  # one that is done leaves by itself
                self._remove_waiter(waiter)
                self._hold_place(waiter.names)
                waiter.let_in.set_result(None)

    def _remove_waiter(self, waiter: _Waiter) -> None:
        self._line.remove(waiter)
        if not self._line and self._look is not None:
            self._look.cancel()
            self._look = None

    def _keep_looking(self) -> None:
        """Look at the line from time to time: a share also grows when others have stopped asking, and then nobody gives back."""
        if self._look is None:
            self._look = asyncio.get_running_loop().call_later(ACTIVE_SECONDS, self._look_again)

    def _look_again(self) -> None:
        self._look = None
        self._let_in()
        if self._line:
            self._keep_looking()

    def _make_refusal(self, full: Name) -> TooManyAtOnce:
        use = self._uses[full[0]].get(full)
        return TooManyAtOnce(
            f"{OF[full[0]]} has reached its limit of requests in the database ({use.held if use else 0}), and more wait",
            hint="Send fewer requests at once, and this one again in a moment.",
        )
