"""HTTP as uvicorn speaks it, with limits on what one end can make the other wait for.

uvicorn's parser holds headers of any size, waits for them and for bodies for any time, and takes any number of connections. Here
headers have a size and a time, bodies and replies a pace, and an address a number of connections.
"""

import json
from asyncio import TimerHandle, Transport
from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from db.errors import HeadersTooLarge, LociError, TooManyAtOnce, TooSlow, Unavailable
from service.concurrency import SlotLimiter
from service.http.authority import OWNER
from service.http.problems import headers_of, problem_of
from service.settings import LimitSettings

LONGEST_HEAD = 64 * 1024  # bytes of a request line and its headers, all together
LOOK_EVERY = 0.5  # seconds between looks at the pace of a body, or the stall if that is shorter


class LimitedProtocol(HttpToolsProtocol):
    """Ends a connection that makes others wait. The middleware refuses a first burst of bytes that is longer than a head."""

    limits = LimitSettings()
    addresses = SlotLimiter(LimitSettings().connections)

    proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    owners: frozenset[str] = frozenset()

    _head: int | None = 0  # bytes of a head that is not complete; None: in a body, or after it
    _tail: int | None = None  # bytes since the head of a chunk that has brought no body; the last one is followed by trailers
    _counted = False
    _timer: TimerHandle | None = None  # of a head, or of a body
    _unread: TimerHandle | None = None  # of a reply
    _began = _looked = _waited = 0.0
    _received = 0

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Wait for a head, unless there are too many connections."""
        super().connection_made(transport)
        if len(self.connections) > self.limits.all_connections:
            self._refuse_and_close(Unavailable("the service has too many connections", hint="Try again in a moment."))
        elif self._counts_toward_limit and self.client is not None and not self.addresses.take_slot(self.client[0]):
            self._refuse_and_close(
                TooManyAtOnce(f"{self.addresses.limit} connections from this address are open", hint="Use one for many requests.")
            )
        else:
            self._counted = self._counts_toward_limit
            self._timer = self.loop.call_later(self.limits.head, self._head_is_late)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all clocks."""
        self._stop_timer()
        if self._unread is not None:
            self._unread.cancel()
        if self._counted and self.client is not None:
            self._counted = False
            self.addresses.leave_slot(self.client[0])
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what came. Bytes after a reply that end nothing have the time of a head too."""
        if self.transport.is_closing():
            return
        self._received += len(data)
        if self._tail is not None:
            self._tail += len(data)
        super().data_received(data)
        if self._tail is not None and self._tail > LONGEST_HEAD:
            self._refuse_and_close(HeadersTooLarge(f"trailers are larger than {LONGEST_HEAD} bytes"))
        if self._head is not None:
            self._head += len(data)
            if self._head > LONGEST_HEAD:
                self._refuse_and_close(HeadersTooLarge(f"path and headers are larger than {LONGEST_HEAD} bytes"))
        if self._timer is None and self._is_idle and not self.transport.is_closing():
            self._timer = self.loop.call_later(self.limits.head, self._head_is_late)

    def on_message_begin(self) -> None:
        """Begin to count. Requests over the owner's socket are the owner's."""
        self._head = 0
        super().on_message_begin()
        if self.owners and self.transport.get_extra_info("sockname") in self.owners:
            self.scope[OWNER] = True  # type: ignore[literal-required]

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a field of the head. Those behind a chunked body (trailers) are ignored: a proxy in front may not have seen them."""
        if self._head is not None:
            super().on_header(name, value)

    def on_chunk_header(self) -> None:
        """Count what comes until there is a body."""
        self._tail = 0

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        self._tail = None
        super().on_body(body)

    def on_headers_complete(self) -> None:
        """Stop counting, and look at how the body comes."""
        self._head = None
        self._stop_timer()
        super().on_headers_complete()
        self._began = self._looked = self.loop.time()
        self._waited, self._received = 0.0, 0
        self._timer = self.loop.call_later(self._next_deadline, self._look_at_body)

    def on_message_complete(self) -> None:
        """A request is here."""
        self._stop_timer()
        self._tail = None
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request; the rest of an unwanted body has the time of a head."""
        super().on_response_complete()
        if self._timer is not None and self._is_idle:
            self._stop_timer()
            self._timer = self.loop.call_later(self.limits.head, self._head_is_late)

    def pause_writing(self) -> None:
        """Give a reader that does not read some time."""
        super().pause_writing()
        self._unread = self.loop.call_later(self.limits.stall, self.transport.abort)

    def resume_writing(self) -> None:
        """It has read."""
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
        super().resume_writing()

    @property
    def _counts_toward_limit(self) -> bool:
        """Whether the other end has an address, and is no proxy."""
        if self.client is None or not self.proxies:
            return self.client is not None
        address = ip_address(self.client[0].partition("%")[0])
        return not any(address in network for network in self.proxies)

    @property
    def _is_idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    @property
    def _next_deadline(self) -> float:
        return min(LOOK_EVERY, self.limits.stall / 2)

    def _look_at_body(self) -> None:
        """End a request whose body does not keep up; while nobody reads it, it cannot."""
        now = self.loop.time()  # the loop itself may have stood still since it looked last
        if self.flow.read_paused:
            self._waited += now - self._looked
        self._looked = now
        took = now - self._began - self._waited
        if took > self.limits.stall + self._received / self.limits.pace:
            self._timer = None
            self._refuse_and_close(TooSlow(f"the body comes more slowly than {self.limits.pace} bytes a second"))
        else:
            self._timer = self.loop.call_later(self._next_deadline, self._look_at_body)

    def _head_is_late(self) -> None:
        self._timer = None
        if self._head:
            self._refuse_and_close(TooSlow(f"the headers were not complete after {self.limits.head:g} seconds"))
        else:
            self.transport.close()  # nothing was asked

    def _refuse_and_close(self, error: LociError) -> None:
        """Say why, unless a reply is under way, and close."""
        self._stop_timer()
        if self.transport.is_closing():
            return
        if self._is_idle or not self.cycle.response_started:
            self.transport.write(make_raw_reply(error))
        self.transport.close()
        self._unread = self._unread or self.loop.call_later(self.limits.stall, self.transport.abort)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def make_raw_reply(error: LociError) -> bytes:
    """A whole reply that says what is wrong, before there is a request to answer."""
    body = json.dumps(problem_of(error)).encode()
    fields = {
        "content-type": "application/problem+json",
        "content-length": str(len(body)),
        "connection": "close",
        **headers_of(error),
    }
    lines = [f"HTTP/1.1 {error.status} {error.title}", *(f"{name.lower()}: {value}" for name, value in fields.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def limited_protocol(limits: LimitSettings, proxies: Iterable[str] = (), owners: Iterable[str] = ()) -> type[LimitedProtocol]:
    """The protocol of a service with these limits; its connections are counted together.

    A proxy, known by address or network, carries many callers' connections, so only the limit of all connections holds for it.
    `owners` are paths of
    sockets that only the owner of the data can open.
    """
    networks = tuple(map(ip_network, proxies))
    made: dict[str, Any] = {"limits": limits, "addresses": SlotLimiter(limits.connections), "proxies": networks}
    made["owners"] = frozenset(owners)
    return type("LimitedProtocol", (LimitedProtocol,), made)
