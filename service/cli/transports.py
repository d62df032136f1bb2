"""How requests of commands travel: over the owner's socket of a service, or by httpx over a network or within this process.

The socket is spoken to with the standard library: to load httpx takes as long as all the rest of a command.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlencode

from loci.attempts import Attempts
from loci.errors import Reply, TimedOut, Unavailable, error_of, error_without_reply
from loci.requests import Request
from service.cli.owner_socket import ANSWER_SECONDS, connect_to_socket

if TYPE_CHECKING:
    import httpx

AGENT = "loci-cli"  # by which the operations log knows commands
BLOCK = 64 * 1024
STREAM_SECONDS = 45.0  # without a word on a stream, which has heartbeats
Headers = Sequence[tuple[bytes, bytes]]


class Wire(Protocol):
    """A way to one service."""

    def send(self, request: Request[Any], headers: Headers, attempts: Attempts) -> Reply | float:
        """One attempt: the reply, or how many seconds to wait before the next one. Raises LociError if there is none."""

    def stream(self, request: Request[Any], headers: Headers) -> AbstractContextManager[Iterator[bytes]]:
        """A reply as it comes, in blocks. Raises LociError where it is a refusal."""


@dataclass(frozen=True)
class _Answer:
    """A reply that is here as a whole."""

    status_code: int
    reason_phrase: str
    headers: Mapping[str, str]
    content: bytes

    @property
    def is_success(self) -> bool:
        """Whether the status is one of those that say so."""
        return 200 <= self.status_code < 300  # noqa: PLR2004


class OwnerWire:
    """Requests over the owner's socket, each over a connection of its own: that costs a hundredth of what it asks for."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def send(self, request: Request[Any], headers: Headers, attempts: Attempts) -> Reply | float:
        """One attempt."""
        sent = False
        try:
            with _Connection(self._path) as connection:
                connection.connect()
                sent = True
                return _read_reply(connection.send_request(request, headers))
        except (OSError, HTTPException) as error:
            return attempts.after_failure(_make_unavailable(error), error, sent=sent)

    @contextmanager
    def stream(self, request: Request[Any], headers: Headers) -> Iterator[Iterator[bytes]]:
        """A reply as it comes."""
        with _Connection(self._path, STREAM_SECONDS) as connection:
            try:
                response = connection.send_request(request, headers)
                if response.status >= 300:  # noqa: PLR2004
                    raise error_of(_read_reply(response))
                yield iter(partial(response.read1, BLOCK), b"")
            except TimeoutError as error:
                raise TimedOut("no reply came in time") from error
            except (OSError, HTTPException) as error:
                raise _make_unavailable(error) from error


class _Connection(HTTPConnection):
    """HTTP over the owner's socket. `seconds`: how long it may be silent; None: as long as it takes."""

    def __init__(self, path: Path, seconds: float | None = None) -> None:
        super().__init__("localhost")
        self._path, self._seconds = path, seconds

    def __enter__(self) -> "_Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def connect(self) -> None:
        """Open it."""
        self.sock = connect_to_socket(self._path, ANSWER_SECONDS)
        self.sock.settimeout(self._seconds)

    def send_request(self, request: Request[Any], headers: Headers) -> HTTPResponse:
        """Send a request; returns when the reply begins, which it may before all is sent."""
        query = urlencode(request.pairs)
        content: Any = request.content
        sent: dict[Any, Any] = {b"User-Agent": AGENT.encode(), **dict(headers)}
        with suppress(BrokenPipeError, ConnectionResetError):
            self.request(request.method, f"{request.path}?{query}" if query else request.path, content, sent)
        return self.getresponse()


def _read_reply(response: HTTPResponse) -> _Answer:
    return _Answer(response.status, response.reason, response.headers, response.read())  # type: ignore[arg-type]


def _make_unavailable(error: Exception) -> Unavailable:
    return Unavailable(f"the service cannot be reached: {error or type(error).__name__}")


class HttpxWire:
    """Requests by httpx."""

    def __init__(self, http: "httpx.Client") -> None:
        self._http = http

    def send(self, request: Request[Any], headers: Headers, attempts: Attempts) -> Reply | float:
        """One attempt."""
        import httpx

        content: Any = request.content
        asked = self._http.build_request(
            request.method, request.path, params=request.params, content=content, headers=[*headers], timeout=attempts.timeout()
        )
        try:
            return self._http.send(asked)
        except httpx.TransportError as error:
            return attempts.after_error(error)

    @contextmanager
    def stream(self, request: Request[Any], headers: Headers) -> Iterator[Iterator[bytes]]:
        """A reply as it comes."""
        import httpx

        timeout = httpx.Timeout(STREAM_SECONDS, connect=ANSWER_SECONDS)
        params = request.params
        try:
            with self._http.stream(request.method, request.path, params=params, headers=[*headers], timeout=timeout) as response:
                if not response.is_success:
                    response.read()
                    raise error_of(response)
                yield response.iter_bytes()
        except httpx.TransportError as error:
            raise error_without_reply(error) from error
