"""When a request is sent again, and how long to wait before: the part of both clients that decides."""

import random
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from loci.errors import LociError, Reply, error_of, error_without_reply
from loci.requests import Request

if TYPE_CHECKING:
    import httpx

CONNECT = 5.0  # seconds for a connection; a service that is there answers sooner
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0
AGAIN = {429, 502, 503, 504}
NOT_FOUND = 404
POSITION = "X-Loci-Position"
TOO_MANY = 429


class Position:
    """How far the log of the database was after the last write of a client, where there are standbys: reads must show it."""

    def __init__(self) -> None:
        self.shown: str | None = None
        self._number = -1

    def note(self, response: Reply) -> None:
        """Keep what a reply says, if it is further."""
        shown = response.headers.get(POSITION)
        if shown is None:
            return
        with suppress(ValueError):
            high, low = shown.split("/")
            number = (int(high, 16) << 32) + int(low, 16)
            if number > self._number:
                self.shown, self._number = shown, number


@dataclass(frozen=True, kw_only=True)
class Options:
    """Headers of every request of a client, and how long it tries."""

    key: str | None = field(default=None, repr=False)
    namespace: str | None = None
    create: bool = False
    space: str | None = None
    timeout: float | None = 30.0
    retries: int = 3
    idempotency_key: str | None = None
    position: Position = field(default_factory=Position, repr=False, compare=False)

    def headers(self, request: Request[Any]) -> list[tuple[bytes, bytes]]:
        """The headers of a request, in UTF-8; those of a write carry an Idempotency-Key, the same in every attempt."""
        named = {
            "Authorization": self.key and f"Bearer {self.key}",
            "X-Namespace": self.namespace,
            "X-Space": self.space,
            POSITION: self.position.shown,
            "Idempotency-Key": (self.idempotency_key or str(uuid4())) if request.writes else None,
            "Content-Type": request.media if request.content is not None else None,
        }
        return [(name.encode(), value.encode()) for name, value in named.items() if value]


class Attempts:
    """The attempts of one request within its time. After a failed one it says how long to wait, or raises."""

    def __init__(self, options: Options, request: Request[Any]) -> None:
        self._request = request
        self._position = options.position
        self._left = options.retries
        self._failures = 0
        self._ends = None if options.timeout is None else time.monotonic() + options.timeout
        self._open = False  # whether an attempt before may have been done

    def timeout(self) -> "httpx.Timeout":
        """Seconds that are left for the next attempt."""
        import httpx

        left = self._remaining()
        return httpx.Timeout(left, connect=CONNECT if left is None else min(left, CONNECT))

    def after_error(self, error: "httpx.TransportError") -> float:
        """Seconds until the next attempt after no reply came. Raises LociError if there is none."""
        import httpx

        sent = not isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout))
        never = isinstance(error, (httpx.LocalProtocolError, httpx.UnsupportedProtocol))
        return self.after_failure(error_without_reply(error), error, sent=sent, never=never)

    def after_failure(self, failure: LociError, cause: Exception, *, sent: bool, never: bool = False) -> float:
        """The same for any way of sending: `sent`: it may have been done; `never`: another attempt would fail as well."""
        self._open = self._open or sent
        wait = None if never or (sent and not self._request.repeatable) else self._pause(None)
        if wait is None:
            raise failure from cause
        return wait

    def after_reply(self, response: Reply) -> float | None:
        """Seconds until the next attempt after a reply; None: the reply is good. Raises LociError if it says no for good."""
        self._position.note(response)
        if response.is_success or response.status_code == self._request.told:
            return None
        if response.status_code == NOT_FOUND and self._request.gone and self._open:
            return None
        refused = response.status_code == TOO_MANY  # before anything was done
        again = response.status_code in AGAIN and (self._request.repeatable or (refused and self._request.readable))
        self._open = self._open or (again and not refused)
        wait = self._pause(response.headers.get("Retry-After")) if again else None
        if wait is None:
            raise error_of(response)
        return wait

    def _pause(self, asked: str | None) -> float | None:
        """A pause that fits into what is left."""
        if self._left == 0:
            return None
        self._left -= 1
        self._failures += 1
        pause = max(pause_after(self._failures), _seconds(asked))
        left = self._remaining()
        return pause if left is None or pause < left else None

    def _remaining(self) -> float | None:
        return None if self._ends is None else max(self._ends - time.monotonic(), 0.001)


def pause_after(failures: int) -> float:
    """Seconds to wait after so many failures in a row, jittered, so that many clients do not come back at once."""
    return min(FIRST_PAUSE * 2.0 ** min(failures - 1, 10), LONGEST_PAUSE) * random.uniform(0.5, 1)  # noqa: S311 (no secret)


def _seconds(retry_after: str | None) -> float:
    """Seconds of a Retry-After header, which states seconds or a date; 0 where it cannot be read."""
    if retry_after is None:
        return 0.0
    if retry_after.isascii() and retry_after.isdigit():
        return float(retry_after)
    try:
        return (parsedate_to_datetime(retry_after) - datetime.now(UTC)).total_seconds()
    except (TypeError, ValueError):
        return 0.0
