"""A watch: a stream of changes that goes on where it broke off."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any

import httpx

from loci.attempts import AGAIN, CONNECT, Options, pause_after
from loci.errors import LociError, error_of, error_without_reply
from loci.models.operations import Change
from loci.requests import API, Request, nothing
from loci.sse import HEARTBEAT, Parser, status_of

Names = str | Iterable[str]
SILENCE = 3 * HEARTBEAT  # seconds after which a stream is taken for dead


def watching(*, after: str | None = None, kind: Names | None = None, namespace: Names | None = None) -> Request[Any]:
    """The request of a stream of changes; its reply is read as it comes."""
    query = {"after": after, "kind": kind, "namespace": namespace}
    return Request(method="GET", route=API + "/events", query=query, read=nothing)


@dataclass
class Watch:
    """A stream that is opened again where it broke off: what both clients do alike.

    The first connection must come within the client's `retries`; a stream that was open once is looked for as long as it takes.
    """

    options: Options
    request: Request[Any]
    _parser: Parser = field(default_factory=Parser)
    _opened: bool = False
    _failures: int = 0

    @property
    def timeout(self) -> httpx.Timeout:
        """How long a stream may be silent."""
        return httpx.Timeout(SILENCE, connect=CONNECT)

    def next_request(self) -> tuple[Request[Any], list[tuple[bytes, bytes]]]:
        """The next request, and its headers: it goes on where the stream broke off."""
        headers = self.options.headers(self.request)
        if self._parser.last_id is None:
            return self.request, headers
        request = replace(self.request, query={**self.request.query, "after": None})
        return request, [*headers, (b"Last-Event-ID", self._parser.last_id.encode())]

    def refused(self, response: httpx.Response) -> None:
        """Take note of a reply that opens no stream. Raises LociError where trying again is of no use."""
        if response.status_code not in AGAIN:
            raise error_of(response)
        self._failed(error_of(response))

    def lost(self, error: httpx.TransportError) -> None:
        """Take note of a connection that was lost, or never came. Raises LociError where that has happened often enough."""
        self._parser.lost()
        self._failed(error_without_reply(error))

    def changes(self, block: bytes) -> Iterator[Change]:
        """The changes in what has come. Raises LociError where the service says that the rights have ended.

        What the service cannot do for a moment ends the stream too, which is opened again then.
        """
        self._opened, self._failures = True, 0
        for event in self._parser.feed(block):
            if event.name == "problem":
                status = status_of(event.data)
                if status in AGAIN:
                    self._failures = 1
                    continue
                raise error_of(httpx.Response(status or HTTPStatus.INTERNAL_SERVER_ERROR, content=event.data))
            yield Change.model_validate_json(event.data)

    def pause(self) -> float:
        """Seconds until the next attempt."""
        self._parser.lost()
        return pause_after(self._failures + 1)

    def _failed(self, error: LociError) -> None:
        self._failures += 1
        if not self._opened and self._failures > self.options.retries:
            raise error
