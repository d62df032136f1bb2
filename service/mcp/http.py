"""`/mcp`: streamable HTTP beside REST, with its keys, its headers and its limit on bodies.

Each request stands for itself: there are no sessions to keep, so several processes can share the work, and a client that
asks for a stream of the server's own (GET) is told that there is none. The SDK is loaded when the first request comes.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any

import httpx
from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.routing import Route

from db.errors import TooLarge
from service.http.authority import OWNER
from service.http.caller import get_caller
from service.http.large_bodies import beside_loop, check_parts
from service.json_parts import is_small
from service.observability.logs import current_log_context
from service.observability.metrics import TASKS_ENDED
from service.observability.tracing import trace_headers
from service.settings import Settings

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from starlette.types import ASGIApp, Receive, Scope, Send

log = logging.getLogger(__name__)
PATH = "/mcp"
OTHERS = ("small", "reference-memory", "claude-memory")  # profiles, each at a path of its own below /mcp
LARGEST_CALL = 2 * 1024 * 1024  # bytes; the SDK reads a body at once, on the event loop
BASE = "http://loci/api/v1/"
OWNERS = f"Owner {token_urlsafe(32)}"  # says on the way to a tool's call that it came over the owner's socket


class Endpoint:
    """The ASGI application at /mcp, or of a profile below it; it serves while `run_endpoint`."""

    def __init__(self, app: FastAPI, settings: Settings, profile: str = "loci") -> None:
        self._app = app
        self._profile = profile
        self._settings = settings
        self._started: asyncio.Future[StreamableHTTPSessionManager] | None = None
        self._ended = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        path, name = (f"{PATH}/{profile}", f"mcp_{profile.replace('-', '_')}") if profile in OTHERS else (PATH, "mcp")
        self.route = Route(path, endpoint=self, name=name, include_in_schema=False)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request, once it is known who sends it."""
        scope["route"] = self.route  # what the metrics call it
        request = Request(scope, receive)
        if request.method != "POST":
            raise HTTPException(405, "MCP is spoken by POST here; there is no stream and no session", {"Allow": "POST"})
        await self._admit_request(request)
        body = await request.body()
        if len(body) > LARGEST_CALL:
            raise TooLarge(f"the call of a tool is {len(body):,} bytes; at most {LARGEST_CALL:,} are taken")
        if not is_small(body):
            await beside_loop(request, check_parts, body)
        manager = await self._get_manager()
        await manager.handle_request(mark_scope(scope), _receive_body_once(body, receive), send)

    @asynccontextmanager
    async def run_endpoint(self) -> AsyncIterator[None]:
        """Serve until the block ends."""
        self._ended.clear()
        try:
            yield
        finally:
            self._ended.set()
            if self._task is not None:
                await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _admit_request(self, request: Request) -> None:
        """Raise Unauthorized for a key that is missing or not valid."""
        sent = request.headers
        caller = await get_caller(request, sent.get("authorization"), sent.get("x-namespace"))
        if caller.key_hash is not None:
            async with caller.transaction(None):
                pass

    async def _get_manager(self) -> "StreamableHTTPSessionManager":
        """The SDK's manager, started by whoever comes first."""
        if self._task is None:
            self._started = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._hold_manager_open(self._started))
        assert self._started is not None  # noqa: S101
        return await asyncio.shield(self._started)

    async def _hold_manager_open(self, started: "asyncio.Future[StreamableHTTPSessionManager]") -> None:
        """Hold the manager open. It must be entered and left in one task."""
        transport = httpx.ASGITransport(app=over_mcp(self._app), raise_app_exceptions=False)
        try:
            async with httpx.AsyncClient(transport=transport, base_url=BASE, timeout=None) as client:  # noqa: S113 (in process)
                manager = await asyncio.to_thread(_make_manager, client, self._settings, self._profile)
                async with manager.run():
                    started.set_result(manager)
                    await self._ended.wait()
        except Exception as error:
            self._task = None  # the next request starts it again
            if not started.done():
                started.set_exception(error)
            TASKS_ENDED.labels("mcp").inc()
            log.exception("the background task mcp ended; the next request starts it again")


def _receive_body_once(body: bytes, receive: "Receive") -> "Receive":
    """Receive a body that is here already, and then what comes after it."""
    left = [body]

    async def receive_next() -> Any:
        return {"type": "http.request", "body": left.pop(), "more_body": False} if left else await receive()

    return receive_next


def mark_scope(scope: "Scope") -> "Scope":
    """A request whose headers carry its id and trace on to the calls that tools make: those run in other tasks."""
    known = current_log_context()
    said = {**trace_headers(), **({"x-request-id": known.request_id} if known is not None and known.request_id else {})}
    if scope.get(OWNER) and all(name != b"authorization" for name, _ in scope["headers"]):
        said["authorization"] = OWNERS
    names = {name.encode() for name in said}
    kept = [(name, value) for name, value in scope["headers"] if name not in names]
    return {**scope, "headers": [*kept, *((name.encode(), value.encode()) for name, value in said.items())]}


def over_mcp(app: "ASGIApp") -> "ASGIApp":
    """The application for requests that tools make: the operations log says that they came over MCP."""

    async def from_tool(scope: "Scope", receive: "Receive", send: "Send") -> None:
        headers = [header for header in scope["headers"] if header != (b"authorization", OWNERS.encode())]
        await app({**scope, "via": "mcp", "headers": headers, OWNER: len(headers) < len(scope["headers"])}, receive, send)

    return from_tool


def _make_manager(client: httpx.AsyncClient, settings: Settings, profile: str) -> "StreamableHTTPSessionManager":
    """The server over a client of REST. Loading the SDK takes half a second: not for the event loop."""
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.server.transport_security import TransportSecuritySettings

    from service.mcp.profiles.catalogue import PROFILES
    from service.mcp.server import make_server

    async def make_client() -> httpx.AsyncClient:
        return client

    return StreamableHTTPSessionManager(
        app=make_server(make_client, profile=PROFILES[profile], max_chars=settings.max_chars),
        stateless=True,
        max_request_body_size=settings.max_body_bytes,
        # service/http/allowed_hosts.py checks names, as for REST.
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
