"""The service in this process, for commands where no LOCI_URL is set: it listens nowhere, and acts as the operator.

A user who can start it can read the database, so it asks for no key; with LOCI_KEY it has the rights of that key.
"""

import asyncio
import logging
import queue
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import httpx
from anyio.from_thread import BlockingPortal, start_blocking_portal

from service.cli.database_session import find_database_url
from service.cli.loading import pause_garbage_collector

if TYPE_CHECKING:
    from service.settings import Settings

AHEAD = 16  # blocks of a reply that wait for their reader
POOL, WORKER_POOL = 2, 2


@contextmanager
def open_application(*, worker: bool) -> Iterator[httpx.BaseTransport]:
    """The application over the database that is configured, as what requests are sent over."""
    from service.settings import get_settings

    settings = get_settings()
    url, server = find_database_url(settings)
    logs = {log: log.level for log in map(logging.getLogger, ("service", "db", "procrastinate"))}
    for log in logs:
        log.setLevel(logging.ERROR)  # what the service logs about requests is for services
    try:
        with pause_garbage_collector():
            from service.app import create_app

        app = create_app(_adapt_settings_to_command(settings, worker=worker), url)
        with start_blocking_portal() as portal, portal.wrap_async_context_manager(app.router.lifespan_context(app)):
            yield InProcess(app, portal)
    finally:
        for log, level in logs.items():
            log.setLevel(level)
        if server is not None:
            server.leave_server()


def _adapt_settings_to_command(settings: "Settings", *, worker: bool) -> "Settings":
    """The settings of a service that serves one command."""
    changes = {
        "host": "127.0.0.1",
        "require_keys": False,
        "worker": worker,
        "workers": 1,
        "pool_size": POOL,
        "worker_pool_size": WORKER_POOL if worker else 1,
        "rate_limit": None,
    }
    return settings.model_copy(update=changes)


class InProcess(httpx.BaseTransport):
    """Requests to an application whose event loop runs in another thread. Bodies and replies are streamed both ways."""

    def __init__(self, app: Any, portal: BlockingPortal) -> None:
        self._app = app
        self._portal = portal

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; returns when the reply has begun."""
        exchange = _Exchange(self._app, request)
        exchange.running = self._portal.start_task_soon(exchange.run_application)
        status, headers = exchange.wait_for_head()
        return httpx.Response(status, headers=headers, stream=_Reply(exchange, self._portal), request=request)


class _Exchange:
    """A request and what comes back."""

    def __init__(self, app: Any, request: httpx.Request) -> None:
        self._app = app
        self._request = request
        self._body: Any = iter(request.stream)  # type: ignore[arg-type]  # of a client that waits, it is no asynchronous one
        self._sent = False
        self.left = asyncio.Event()
        self.running: Future[None]
        self.parts: queue.Queue[Any] = queue.Queue(AHEAD)

    async def run_application(self) -> None:
        """Let the application answer."""
        url = self._request.url
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": self._request.method,
            "headers": [(name.lower(), value) for name, value in self._request.headers.raw],
            "scheme": url.scheme,
            "path": url.path,
            "raw_path": url.raw_path.split(b"?")[0],
            "query_string": url.query,
            "server": (url.host, url.port),
            "client": ("127.0.0.1", 0),
            "root_path": "",
            "via": "cli",
        }
        try:
            await self._app(scope, self._receive_message, self._send_message)
        finally:
            await self._hand_over_part(None)

    def wait_for_head(self) -> tuple[int, list[tuple[bytes, bytes]]]:
        """Status and headers. Raises what the application raised before."""
        first: tuple[int, list[tuple[bytes, bytes]]] | None = self.parts.get()
        if first is None:
            self.running.result()
            raise httpx.RemoteProtocolError("the application sent no reply", request=self._request)
        return first

    def _put_part(self, part: Any) -> None:
        while not self.left.is_set():
            with suppress(queue.Full):
                self.parts.put(part, timeout=0.1)
                return

    async def _receive_message(self) -> dict[str, Any]:
        if self._sent:
            await self.left.wait()
            return {"type": "http.disconnect"}
        block = await asyncio.to_thread(next, self._body, None)
        self._sent = block is None
        return {"type": "http.request", "body": block or b"", "more_body": not self._sent}

    async def _send_message(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            await self._hand_over_part((message["status"], message["headers"]))
        elif body := message.get("body"):
            await self._hand_over_part(body)

    async def _hand_over_part(self, part: Any) -> None:
        try:
            self.parts.put_nowait(part)
        except queue.Full:
            await asyncio.to_thread(self._put_part, part)


class _Reply(httpx.SyncByteStream):
    """The body of a reply, as it comes."""

    def __init__(self, exchange: _Exchange, portal: BlockingPortal) -> None:
        self._exchange = exchange
        self._portal = portal

    def __iter__(self) -> Iterator[bytes]:
        while (part := self._exchange.parts.get()) is not None:
            yield part

    def close(self) -> None:
        """Leave; an application that still sends is told so."""
        self._portal.call(self._exchange.left.set)
        if not self._exchange.running.done():
            self._exchange.running.cancel()
