"""Requests to endpoints that may be busy, dead or hostile: asked again, later, or not for a while; heard so far and no further."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from email.utils import parsedate_to_datetime
from typing import TypeVar

import httpx
from tenacity import RetryCallState

from db.retries import Backoff, try_until_done

T = TypeVar("T")
AFTER_FAILURES = Backoff(1.0, 60.0)  # where the endpoint does not say how long to wait
COOL_DOWN = 10.0  # seconds during which a dead endpoint is not asked by those who wait for it
AT_A_TIME = 0.005  # seconds of the event loop's thread in which pieces of a reply are read, before others have it


class TemporaryFailure(Exception):
    """A failure that may pass. `wait`: seconds that the endpoint asked to wait; None: it did not say."""

    def __init__(self, message: str, *, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


class RetryPolicy:
    """How often an endpoint is asked, with growing pauses that keep to Retry-After, and whether it failed a moment ago.

    `name`: what a refusal begins with, where nobody else says who it was. `longest`: seconds of a pause at most, whatever the
    endpoint asks for; None: as it asks.
    """

    def __init__(self, name: str = "", *, longest: float | None = None) -> None:
        self._name = name
        self._longest = longest
        self._dead_until = 0.0

    async def ask_until_success(
        self, once: Callable[[], Awaitable[T]], *, attempts: int, hurried: bool = False, until: float | None = None
    ) -> T:
        """Try until it succeeds, `attempts` times at most and never past `until` (of time.monotonic). Raises Passing.

        A `hurried` call does not ask an endpoint that has just failed.
        """
        if hurried and time.monotonic() < self._dead_until:
            raise TemporaryFailure(f"{self._name} failed a moment ago".lstrip())

        def is_over(state: RetryCallState) -> bool:
            late = until is not None and time.monotonic() + state.upcoming_sleep >= until
            return late or state.attempt_number >= attempts

        try:
            made = await try_until_done(once, self._next_pause, lambda error: isinstance(error, TemporaryFailure), stop=is_over)
        except TemporaryFailure:
            self.note_failure()
            raise
        self._dead_until = 0.0  # whoever asks next need not wait for what has just answered another
        return made

    def _next_pause(self, state: RetryCallState) -> float:
        error = state.outcome and state.outcome.exception()
        asked = error.wait if isinstance(error, TemporaryFailure) else None
        pause = AFTER_FAILURES.pause_after(state.attempt_number) if asked is None else asked
        return pause if self._longest is None else min(pause, self._longest)

    def note_failure(self) -> None:
        """Note that the endpoint is dead for now."""
        self._dead_until = time.monotonic() + COOL_DOWN


class TooMuch(ValueError):
    """A reply that is longer than may be, or may become so when it is unpacked."""


async def stream_reply_bytes(reply: httpx.Response, most: int) -> AsyncIterator[bytes]:
    """The bytes of a reply, as they come. Others have their turn in between, however small the pieces are. Raises TooMuch.

    They come as they are, as `client_for` asks: what is packed may be a thousand times as long.
    """
    if (packed := reply.headers.get("content-encoding", "identity").strip().lower()) != "identity":
        raise TooMuch(f"the reply is packed ({packed[:20]}), which was not asked for")
    size, began = 0, time.thread_time()
    async for piece in reply.aiter_bytes():
        size += len(piece)
        if size > most:
            raise TooMuch(f"the reply is longer than {most} bytes")
        if time.thread_time() - began > AT_A_TIME:
            await asyncio.sleep(0)
            began = time.thread_time()
        yield piece


def retry_after(reply: httpx.Response) -> float | None:
    """Seconds that a Retry-After header asks for, as a number or a date."""
    value = reply.headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit():
        return float(value[:9])
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError):
        return None


def client_for(
    url: str, key: str | None, setting: str, *, timeout: httpx.Timeout | float, transport: httpx.AsyncBaseTransport | None = None
) -> httpx.AsyncClient:
    """A client that sends a key to an endpoint. Raises RuntimeError, without the key, for one that no header can carry.

    Certificates are read where they will be asked for: those of all authorities take 35 ms, and no redirect is followed.
    """
    secure = url.lower().startswith("https:")
    headers = {"Accept-Encoding": "identity", **_bearer_header(key, setting)}
    return httpx.AsyncClient(headers=headers, timeout=timeout, transport=transport, verify=secure)


def _bearer_header(key: str | None, setting: str) -> dict[str, str]:
    key = (key or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise RuntimeError(f"{setting} holds something else than printable ASCII")
    return {"Authorization": f"Bearer {key}"} if key else {}
