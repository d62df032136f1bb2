"""Plain ASGI around the application: request ids, metrics, a limit on bodies.

No BaseHTTPMiddleware: one of those costs as much as a small request.
"""

import re
import time
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

from db.errors import LociError, TooLarge
from service.metrics import REQUEST_SECONDS, REQUESTS
from service.problems import problem_of
from service.replies import dumps

API = "/api/v1"
STREAMED = re.compile(rf"{API}/namespaces/[^/]+/import")  # read line by line, never held
Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class Envelope:
    """Gives each request an id (header X-Request-Id), counts and times it, and refuses bodies over the limit."""

    def __init__(self, app: App, max_body_bytes: int) -> None:
        self._app = app
        self._limit = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        started, status, sent = time.perf_counter(), 500, 0

        async def sending(message: dict[str, Any]) -> None:
            nonlocal status, sent
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", request_id.encode())]
                sent = 1
            await send(message)

        received = 0
        limit = float("inf") if STREAMED.fullmatch(scope["path"]) else self._limit

        async def receiving() -> dict[str, Any]:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit:
                raise TooLarge(f"the body is larger than {self._limit} bytes")
            return message

        try:
            declared = dict(scope["headers"]).get(b"content-length", b"0")
            if declared.isdigit() and int(declared) > limit:
                raise TooLarge(f"the body is {int(declared)} bytes; at most {self._limit} are taken")
            await self._app(scope, receiving, sending)
        except LociError as error:
            if sent:
                raise
            await _respond(sending, error, request_id)
        finally:
            route = getattr(scope.get("route"), "path", "unmatched").replace(":path}", "}")
            if scope["path"].startswith(API) and route != "unmatched" and not route.startswith(API):
                route = API + route  # the route of an included router knows only its own part
            REQUESTS.labels(scope["method"], route, str(status)).inc()
            REQUEST_SECONDS.labels(route).observe(time.perf_counter() - started)


async def _respond(send: Send, error: LociError, request_id: str) -> None:
    body = dumps(problem_of(error, request_id))
    headers = [
        (b"content-type", b"application/problem+json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
