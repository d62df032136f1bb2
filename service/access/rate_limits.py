"""Rate limits of keys: tokens leased from the database, where all processes of the service share one bucket a key.

A key without a limit costs one look-up every few seconds; a key with one costs a look-up for as many requests as one lease
brings. Only the server's clock measures; this process's measures how long ago it last asked.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from math import ceil
from uuid import UUID

from db.access.keys import Lease

LIMIT_CACHE_SECONDS = 5.0  # seconds after which the limit of a key is looked up again
LEASE_SECONDS = 0.5  # seconds that a lease may be used; loci_api.lease_requests counts on it
KEY_CACHE_SECONDS = 60.0  # seconds without a request after which a key is looked up anew
WRONG_KEY_SECONDS = 60.0  # seconds in which so many wrong keys may come from one source
SOURCES = 10_000
Ask = Callable[[bytes, int, int], Awaitable[Lease | None]]  # hash of a key, requests wanted, requests given back


@dataclass(frozen=True)
class Admission:
    """The limit that a request with a valid key is told.

    Without a `limit` the other fields are meaningless. `wait`: seconds, if it must.

    `key_hash` is the key's own, where a session of a browser stands for it.
    """

    key_id: UUID
    limit: int | None = None
    remaining: int = 0
    full_in: float = 0.0
    full_at: float = 0.0
    wait: float | None = None
    key_hash: bytes | None = None

    def rate_headers(self) -> list[tuple[bytes, bytes]]:
        """RateLimit fields (draft-ietf-httpapi-ratelimit-headers-10), and the older ones that clients read."""
        if self.limit is None:
            return []
        full_in = ceil(self.full_in)
        return [
            (b"ratelimit-policy", b'"key";q=%d;w=60' % self.limit),
            (b"ratelimit", b'"key";r=%d;t=%d' % (self.remaining, full_in)),
            (b"x-ratelimit-limit", b"%d" % self.limit),
            (b"x-ratelimit-remaining", b"%d" % self.remaining),
            (b"x-ratelimit-reset", b"%d" % ceil(self.full_at)),
        ]


@dataclass
class _Allowance:
    """Knowledge of this process about a key, as of `asked`, and the tokens that it holds."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0
    lease: Lease | None = None
    asked: float = 0.0
    used: float = 0.0
    tokens: int = 0

    def make_admission(self, now: float, wait: float | None = None) -> Admission:
        lease = self.lease
        assert lease is not None  # noqa: S101 (asked for before)
        if lease.rate_limit is None:
            return Admission(lease.key_id, key_hash=lease.key_hash)
        full_in = max(0.0, lease.full_in - (now - self.asked))
        remaining = 0 if wait is not None else lease.remaining + self.tokens
        return Admission(lease.key_id, lease.rate_limit, remaining, full_in, lease.clock + lease.full_in, wait, lease.key_hash)


class Limiter:
    """Admits requests by their keys."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._known: dict[bytes, _Allowance] = {}

    def knows_key(self, key_hash: bytes) -> bool:
        """Whether the key was valid a moment ago."""
        allowance = self._known.get(key_hash)
        return allowance is not None and allowance.lease is not None

    def forget_key(self, key_hash: bytes) -> None:
        """The key was refused: look it up again."""
        self._known.pop(key_hash, None)

    async def admit_key(self, key_hash: bytes) -> Admission | None:
        """May a request with this key be answered now? None: the key is not valid."""
        allowance = self._known.get(key_hash) or self._known.setdefault(key_hash, _Allowance())
        allowance.used = time.monotonic()
        decided = self._decide_from_allowance(allowance, allowance.used)
        if decided is not None:
            return decided
        allowance.waiting += 1
        try:
            async with allowance.lock:  # who comes first asks for all that wait
                decided = self._decide_from_allowance(allowance, time.monotonic())
                if decided is None and self._known.get(key_hash) is allowance:  # else the one before was told that it is not valid
                    await self._lease_requests(key_hash, allowance)
                    decided = self._decide_from_allowance(allowance, time.monotonic(), asked=True)
                return decided
        finally:
            allowance.waiting -= 1

    def _decide_from_allowance(self, allowance: _Allowance, now: float, *, asked: bool = False) -> Admission | None:
        """Decide with what is at hand; None if the database must be asked. `asked`: it just was."""
        lease = allowance.lease
        if lease is None or not (asked or now < allowance.asked + LIMIT_CACHE_SECONDS):
            return None
        if lease.rate_limit is None:
            return allowance.make_admission(now)
        if allowance.tokens:
            if not asked and now > allowance.asked + LEASE_SECONDS:
                return None
            allowance.tokens -= 1
            return allowance.make_admission(now)
        wait = allowance.asked + lease.next_in - now
        return allowance.make_admission(now, max(wait, 0.001)) if asked or wait > 0 else None

    async def _lease_requests(self, key_hash: bytes, allowance: _Allowance) -> None:
        returned, allowance.tokens = allowance.tokens, 0
        lease = await self._ask(key_hash, allowance.waiting, returned)
        allowance.lease, allowance.asked = lease, time.monotonic()
        if lease is None:
            self._known.pop(key_hash, None)
        else:
            allowance.tokens = lease.granted

    async def give_back(self, *, everything: bool = False) -> None:
        """Return tokens that were held too long, and forget keys that nobody uses."""
        now = time.monotonic()
        for key_hash, allowance in list(self._known.items()):
            if allowance.tokens and (everything or now > allowance.asked + LEASE_SECONDS) and not allowance.lock.locked():
                returned, allowance.tokens = allowance.tokens, 0
                await self._ask(key_hash, 0, returned)
            if now > allowance.used + KEY_CACHE_SECONDS and not allowance.waiting:
                self._known.pop(key_hash, None)


class WrongKeyLimiter:
    """Wrong keys by source: an address that is the client's, or the beginning of the key, so that guessing is slow.

    It does not concern valid keys: those are never refused for what others send. In memory of each process: what many
    processes allow is still no way to guess 256 bits.
    """

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._left: dict[str, tuple[float, float]] = {}  # guesses left, and when that was so

    def seconds_to_wait(self, source: str) -> float | None:
        """Seconds until another wrong key may come from there; None: now."""
        if self._limit is None or source not in self._left:
            return None
        left = self._refill_tokens(source)
        return None if left >= 1 else (1 - left) * WRONG_KEY_SECONDS / self._limit

    def count_wrong_key(self, source: str) -> None:
        """A wrong key came from there."""
        if self._limit is None:
            return
        left = self._refill_tokens(source) if source in self._left else float(self._limit)
        self._left.pop(source, None)
        self._left[source] = (max(left - 1, 0.0), time.monotonic())  # at the end: the order is that of the last guess
        if len(self._left) > SOURCES:
            del self._left[next(iter(self._left))]

    def _refill_tokens(self, source: str) -> float:
        assert self._limit is not None  # noqa: S101
        left, at = self._left[source]
        return min(float(self._limit), left + (time.monotonic() - at) * self._limit / WRONG_KEY_SECONDS)
