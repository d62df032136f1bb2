"""Plain ASGI around the application: request ids, metrics, spans, a line in the log, limits, an end for what nobody wants.

No BaseHTTPMiddleware: one of those costs as much as a small request.
"""

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable
from math import inf
from typing import Any
from uuid import uuid4

from db.errors import DeadlineExceeded, HeadersTooLarge, LociError, TooLarge, TooManyAtOnce, TooSlow, Unavailable
from service.http.deadlines import kind_of, seconds_for
from service.http.json_replies import dump_json
from service.http.problems import headers_of, problem_of
from service.http.protocol import LONGEST_HEAD
from service.http.request_cancellation import Presence
from service.http.security_headers import add_protective_headers
from service.observability.logs import LogContext, log_context
from service.observability.metrics import REQUEST_SECONDS, REQUESTS, REQUESTS_OPEN
from service.observability.tracing import record_answer, request_span
from service.settings import DeadlineSettings

log = logging.getLogger("service.requests")
API = "/api/v1"
STREAM = b"text/event-stream; charset=utf-8"
STREAMED = re.compile(rf"{API}/namespaces/[^/]+/import")  # read line by line, never held
SANE_ID = re.compile(rb"[A-Za-z0-9._:@/+=-]{1,128}")  # a request id that is taken from a caller
TRACE = re.compile(rb"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
SLOW_REQUEST_SECONDS = 1.0  # seconds from which a request is worth a line at INFO
FAILED, BROKEN = 400, 500
SAID = (
    (b"x-loci-position", "position"),
    (b"x-loci-server", "server"),
    (b"x-loci-cell", "cell"),
)  # headers of what the work has left in the state
LEFT = 499  # in metrics and logs: the client did not wait for the reply
BODY_ROOM_BYTES = 256 * 1024 * 1024  # bytes of bodies in memory
OWN = 0.5  # of the room for bodies, for one key (or address, without one)
SMALL = 64 * 1024  # bytes of a body that are not counted among those in memory
Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class RequestMiddleware:
    """Gives each request an id (header X-Request-Id, the caller's own where it is sane), counts, times, traces and logs it.

    Bodies over the limit are refused. The line in the log stands at DEBUG; at INFO if the request was refused or took a second, at
    WARNING if the service failed.
    """

    def __init__(
        self,
        app: App,
        deadlines: DeadlineSettings,
        max_body_bytes: int,
        max_bodies_bytes: int = BODY_ROOM_BYTES,
        body_seconds: float = 180.0,
    ) -> None:
        self._app = app
        self._deadlines = deadlines
        self.body_seconds = body_seconds
        self._limit = max_body_bytes
        self._room = max_bodies_bytes
        self._held: dict[object, int] = {}  # bytes of the bodies of requests that are being answered, by whose they are

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        subject = log_context_of(headers)
        with log_context(subject), request_span(scope) as span:
            scope.setdefault("state", {})["request_id"] = subject.request_id
            started, status = time.perf_counter(), 500
            REQUESTS_OPEN.inc()
            try:
                status = await self._answer_request(scope, receive, send, headers)
            finally:
                REQUESTS_OPEN.dec()
                seconds = time.perf_counter() - started
                route = route_of(scope)
                if "endless" not in scope["state"]:
                    REQUESTS.labels(scope["method"], route, str(status)).inc()
                    REQUEST_SECONDS.labels(route).observe(seconds)
                if span.is_recording():
                    record_answer(span, scope["method"], route, status, request_facts(subject))
                log_request(subject, scope["method"], route, status, seconds)

    async def _answer_request(self, scope: Scope, receive: Receive, send: Send, headers: dict[bytes, bytes]) -> int:
        """Pass a request on; the status of the reply, 500 where there is none, 499 where nobody waited for one."""
        presence = scope["state"]["presence"] = Presence(receive, headers)
        presence.arm_deadline(seconds_for(kind_of("", scope["method"]), self._deadlines))  # until the route says which kind it is
        reply = Reply(scope, send, presence)
        body = scope["state"]["body"] = Body(
            self, scope, presence, self._limit, streamed=STREAMED.fullmatch(scope["path"]) is not None
        )
        try:
            body.check_sizes(scope, headers)
            await self._app(scope, body.receive_message, reply.send_message)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if presence.ended is None or task is None:
                raise
            task.uncancel()
            await presence.wait_for_late_reply()
        except LociError as error:
            if reply.begun:
                raise
            await send_problem(reply.send_message, error, scope, (b"connection", b"close"))  # the rest of the body is not read
        finally:
            presence.end_request()
            body.release_bytes()
        return LEFT if presence.ended == "left" and not reply.begun else reply.status

    def hold_body_bytes(self, owner: object, size: int) -> None:
        """Count bytes of a body that are in memory, half of the room for one owner. Raises TooManyAtOnce, Unavailable."""
        own, held = self._held.get(owner, 0) + size, sum(self._held.values()) + size
        if own > max(self._room * OWN, self._limit):
            raise TooManyAtOnce(
                "your requests in progress use all the memory that one caller may use", hint="Send them one by one."
            )
        if held > self._room:
            raise Unavailable("requests in progress use all the memory for request bodies", hint="Send it again in a moment.")
        self._held[owner] = own

    def let_go(self, owner: object, size: int) -> None:
        """Count them no more."""
        left = self._held.pop(owner, 0) - size
        if left > 0:
            self._held[owner] = left


class Reply:
    """Sends a reply, and knows whether that has begun."""

    def __init__(self, scope: Scope, send: Send, presence: Presence) -> None:
        self._scope = scope
        self._send = send
        self._presence = presence
        self.status, self.begun = BROKEN, False
        self._late = False
        presence.answer_late = self.say_late

    async def send_message(self, message: dict[str, Any]) -> None:
        """Pass a message on. A stream is counted when it opens; how long it lasts is nobody's waiting."""
        if not self._late:  # then the client has its answer
            await self._pass_on(message)

    async def say_late(self) -> None:
        """Answer that the time is up, unless there is an answer."""
        if not self.begun:
            self._late = True
            close = [(b"connection", b"close")] if self._presence.body_is_unread else []
            await send_problem(self._pass_on, DeadlineExceeded(), self._scope, *close)

    async def _pass_on(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self._presence.disarm_deadline()
            self.status, self.begun = message["status"], True
            state = self._scope["state"]
            said = [(name, state[field].encode()) for name, field in SAID if field in state]
            message["headers"] = [
                *add_protective_headers(message["headers"]),
                (b"x-request-id", state["request_id"].encode()),
                *said,
            ]
            if (b"content-type", STREAM) in message["headers"]:
                self._scope["state"]["endless"] = True
                REQUESTS.labels(self._scope["method"], route_of(self._scope), str(self.status)).inc()
        elif not message.get("more_body", False):
            self._presence.let_finish()
        await self._send(message)


class Body:
    """Receives a body, within its limit and, unless it is `streamed`, within the room that all bodies have."""

    def __init__(self, room: "RequestMiddleware", scope: Scope, presence: Presence, limit: int, *, streamed: bool) -> None:
        self._room = room
        self._scope = scope
        self._owner: object = None
        self._presence = presence
        self._limit = limit
        self._streamed = streamed
        self.size = self._counted = 0
        self.declared = 0.0  # bytes, as far as the headers say it

    def check_sizes(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        """Refuse a body whose stated length is too large. Raises HeadersTooLarge, TooLarge."""
        if len(scope["path"]) + len(scope["query_string"]) + sum(len(n) + len(v) for n, v in scope["headers"]) > LONGEST_HEAD:
            raise HeadersTooLarge(f"path and headers are larger than {LONGEST_HEAD} bytes")
        declared = headers.get(b"content-length", b"0")
        self.declared = inf if b"transfer-encoding" in headers else float(declared) if declared.isdigit() else 0.0
        if declared.isdigit() and int(declared) > self._limit and not self._streamed:
            raise TooLarge(f"the body is {int(declared)} bytes; at most {self._limit} are taken")

    async def receive_message(self) -> dict[str, Any]:
        """The next message. Raises TooLarge, TooManyAtOnce, TooSlow, Unavailable."""
        message = await self._presence.receive_message()
        size = len(message.get("body", b""))
        if size and not self._streamed:
            self.size += size
            if self.size > self._limit:
                raise TooLarge(f"the body is larger than {self._limit} bytes")
            if self._presence.waited > self._room.body_seconds:
                raise TooSlow(f"the body was not complete after {self._room.body_seconds:g} seconds")
            if self.size > SMALL:
                self._owner = self._owner or owner_of(self._scope)
                self._room.hold_body_bytes(self._owner, self.size - SMALL - self._counted)
                self._counted = self.size - SMALL
        return message

    def release_bytes(self) -> None:
        """The request is answered, and its body no longer needed."""
        self._room.let_go(self._owner, self._counted)


def owner_of(scope: Scope) -> object:
    """Owner of a request: the admitted key, however it was sent; without one its address."""
    return scope["state"].get("owner") or (scope.get("client") or (None,))[0]


def log_context_of(headers: dict[bytes, bytes]) -> LogContext:
    """Fields that all log lines of a request share: its id, and the trace that its caller is in."""
    given, parent = headers.get(b"x-request-id", b""), TRACE.fullmatch(headers.get(b"traceparent", b""))
    request_id = given.decode() if SANE_ID.fullmatch(given) else uuid4().hex
    return LogContext(request_id=request_id, trace_id=parent[1].decode() if parent else None)


def route_of(scope: Scope) -> str:
    """The route that a request has taken, with its parameters unfilled."""
    route: str = getattr(scope.get("route"), "path", "unmatched").replace(":path}", "}")
    if scope["path"].startswith(API) and route != "unmatched" and not route.startswith(API):
        return API + route  # the route of an included router knows only its own part
    return route


def request_facts(subject: LogContext) -> dict[str, str | None]:
    """Caller and request, by ids and names alone."""
    return {
        "request_id": subject.request_id,
        "namespace": subject.namespace,
        "agent_id": subject.agent_id(),
        "operation_id": subject.operation_id,
    }


def log_request(subject: LogContext, method: str, route: str, status: int, seconds: float) -> None:
    """Log a request that was answered."""
    level = (
        logging.WARNING
        if status >= BROKEN
        else logging.INFO
        if status >= FAILED or seconds > SLOW_REQUEST_SECONDS
        else logging.DEBUG
    )
    if not log.isEnabledFor(level):
        return
    took = round(1000 * seconds, 2)
    fields = {"method": method, "route": route, "status": status, "ms": took, **request_facts(subject)}
    log.log(level, "%s %s %d in %.1f ms", method, route, status, took, extra={"fields": fields})


async def send_problem(send: Send, error: LociError, scope: Scope, *headers: tuple[bytes, bytes]) -> None:
    """Answer with the problem document of an error."""
    body = dump_json(problem_of(error, scope["state"]["request_id"]))
    headers = (
        (b"content-type", b"application/problem+json"),
        (b"content-length", str(len(body)).encode()),
        *((name.lower().encode(), value.encode()) for name, value in headers_of(error).items()),
        *headers,
    )
    await send({"type": "http.response.start", "status": error.status, "headers": [*headers]})
    await send({"type": "http.response.body", "body": body})
