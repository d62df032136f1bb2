"""Sockets that send slowly, or nothing, or too many at once: each is ended with a reason, and takes nothing from the others."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

import httpx
import pytest

from tests.databases import Database
from tests.services import PATIENCE, Service, eventually, ok, serve

HEAD = b"POST /api/v1/memories HTTP/1.1\r\nHost: localhost\r\ncontent-type: application/json\r\n"


@pytest.fixture(scope="module")
def quick(own_database: Database) -> Iterator[Service]:
    """A service that waits for nobody long."""
    limits = {"head": 0.3, "stall": 0.3, "pace": 1_000_000, "keep_alive": 1}
    with serve(own_database, tcp=True, limits=limits, pool_size=1) as service:
        yield service


@contextmanager
def opened(service: Service, sent: bytes = b"") -> Iterator[socket.socket]:
    """A connection on which something was sent."""
    at = urlsplit(service.url)
    with socket.create_connection((at.hostname or "", at.port or 0), timeout=60) as connection:
        connection.sendall(sent)
        yield connection


def rest(connection: socket.socket) -> bytes:
    """All that comes until the other end closes."""
    parts = bytearray()
    try:
        while part := connection.recv(65536):
            parts += part
    except ConnectionError:
        pass
    return bytes(parts)


@pytest.mark.row("X9")
@pytest.mark.parametrize(
    ("sent", "came"),
    [
        (b"", b""),
        (b"\r\n", b"HTTP/1.1 408 "),
        (b"GET /hea", b"HTTP/1.1 408 "),
        (HEAD, b"HTTP/1.1 408 "),
        (HEAD + b"content-length: 100\r\n\r\n{", b"HTTP/1.1 408 "),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n\r\n", b"HTTP/1.1 200 "),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /heal", b"HTTP/1.1 200 "),
    ],
    ids=[
        "nothing",
        "an empty line",
        "half a line",
        "half a head",
        "half a body",
        "a request and an empty line",
        "half a second one",
    ],
)
def test_an_endless_request_is_ended(quick: Service, sent: bytes, came: bytes) -> None:
    gate = threading.Event()
    assert quick.loop
    quick.loop.call_soon_threadsafe(gate.wait, PATIENCE)  # what is sent is there before anybody counts
    with opened(quick, sent) as connection:
        gate.set()
        said = rest(connection)
    assert said.startswith(came)
    assert bool(said) == bool(came)
    assert (b"urn:loci:problem:too-slow" in said) == (b"408" in came)


def send_drops(connection: socket.socket) -> None:
    """Send far too slowly."""
    for _ in range(600):
        connection.sendall(b" ")
        time.sleep(0.05)


def test_a_body_that_comes_by_drops_is_ended(quick: Service) -> None:
    with opened(quick, HEAD + b"content-length: 1000000\r\n\r\n") as connection, pytest.raises(OSError, match=r"reset|pipe|abort"):
        send_drops(connection)


def test_a_body_that_waits_for_the_service_is_not_slow(start_service: Callable[..., Service]) -> None:
    service = start_service(tcp=True, limits={"stall": 0.3, "pace": 1_000_000_000})
    importing = b"POST /api/v1/namespaces/waits/import HTTP/1.1\r\nHost: localhost\r\ncontent-length: 64000000\r\n\r\n"
    importing += b"x" * 200_000  # more than the service reads of it before it waits
    with service.database.admin() as locker, locker.transaction(force_rollback=True):
        locker.execute("lock table loci_data.namespaces in access exclusive mode")
        with opened(service, importing) as connection:
            connection.settimeout(1.5)
            assert service.loop
            later = service.loop.call_later  # nor is it if all stands still meanwhile
            service.loop.call_soon_threadsafe(later, 0.5, time.sleep, 0.6)
            with pytest.raises(TimeoutError):  # nobody reads it yet
                connection.sendall(b"x" * 63_000_000)
            connection.setblocking(False)
            with pytest.raises(BlockingIOError):  # and nothing is said of that
                connection.recv(1)


def test_one_address_has_so_many_connections_and_others_have_theirs(start_service: Callable[..., Service]) -> None:
    service = start_service(tcp=True, limits={"head": PATIENCE, "connections": 20}, pool_size=1)  # nobody is ended for being slow
    held = [socket.create_connection(("127.0.0.1", urlsplit(service.url).port or 0)) for _ in range(20)]
    with opened(service, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n") as connection:
        came = rest(connection)
    assert came.startswith(b"HTTP/1.1 429")
    assert b"\r\nretry-after: 1\r\n" in came
    with socket.socket() as elsewhere:
        elsewhere.bind(("127.0.0.2", 0))
        elsewhere.connect(("127.0.0.1", urlsplit(service.url).port or 0))
        elsewhere.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nconnection: close\r\n\r\n")
        assert rest(elsewhere).startswith(b"HTTP/1.1 200")
    for one in held:
        one.close()

    def served() -> bool:
        with opened(service, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nconnection: close\r\n\r\n") as again:
            return rest(again).startswith(b"HTTP/1.1 200")

    eventually(served)


def test_a_proxy_brings_the_connections_of_many(start_service: Callable[..., Service]) -> None:
    service = start_service(tcp=True, limits={"head": PATIENCE, "connections": 2}, trusted_proxies="127.0.0.1, ::1", pool_size=1)
    with ExitStack() as stack:
        for _ in range(5):
            stack.enter_context(opened(service))
        with opened(service, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nconnection: close\r\n\r\n") as connection:
            assert rest(connection).startswith(b"HTTP/1.1 200")


@pytest.mark.row("X9")
def test_requests_that_are_half_sent_hold_no_connection_of_the_pool(start_service: Callable[..., Service]) -> None:
    service = start_service(tcp=True, pool_size=1)
    begun = b"Host: localhost\r\nIdempotency-Key: k\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"
    lines = (
        b"POST /api/v1/memories HTTP/1.1\r\n",
        b"DELETE /api/v1/memories/00000000-0000-0000-0000-000000000000 HTTP/1.1\r\n",
        b"POST /api/v1/graph/merge-duplicates HTTP/1.1\r\n",
        b"POST /api/v1/namespaces/half/import HTTP/1.1\r\n",
        b"POST /mcp HTTP/1.1\r\n",
    )
    with ExitStack() as stack, httpx.Client(base_url=f"{service.url}/api/v1", timeout=PATIENCE) as client:
        for line in lines * 3:
            stack.enter_context(opened(service, line + begun))
        for _ in range(5):
            ok(client.get("/memories"))
