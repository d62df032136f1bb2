"""What commands know of the service: its REST interface, over the network or in this process. Replies are JSON as it was sent."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Any, BinaryIO

import orjson
from pydantic_core import from_json

from loci.attempts import Attempts, Options
from loci.errors import Conflict, LociError, NotFound, error_of, error_without_reply
from loci.requests import API, Request
from service.cli.shell import Failure
from service.cli.target import base_url, secure, target

if TYPE_CHECKING:
    import httpx

AGENT = "loci-cli"  # by which the operations log knows commands
CONNECT = 5.0  # seconds; what a command asks for may take as long as it takes
LARGEST_PAGE = 1000
BLOCK = 1024 * 1024
LOOK_EVERY = 0.2  # seconds between looks at a job that is waited for
STREAM = 45.0  # seconds without a word on a stream, which has heartbeats
Json = Any
Parts = Mapping[str, Any]


class Rest:
    """The calls that commands make, in one namespace."""

    def __init__(self, http: "httpx.Client", options: Options, where: str) -> None:
        self._http = http
        self._options = options
        self._where = where

    def get(self, route: str, parts: Parts | None = None, /, **query: Any) -> Json:
        """Read something."""
        return self._send("GET", route, parts, query)

    def items(self, route: str, parts: Parts | None = None, /, *, limit: int | None = None, **query: Any) -> list[Json]:
        """Items of a list, page after page: all, or at most `limit`."""
        found: list[Json] = []
        cursor = None
        while limit is None or len(found) < limit:
            size = LARGEST_PAGE if limit is None else min(limit - len(found), LARGEST_PAGE)
            page = self.get(route, parts, **query, limit=size, cursor=cursor)
            found += page["items"]
            if (cursor := page["next_cursor"]) is None:
                break
        return found

    def post(self, route: str, parts: Parts | None = None, /, **body: Any) -> Json:
        """Send what is not None."""
        return self._send("POST", route, parts, {}, {name: value for name, value in body.items() if value is not None})

    def post_once(self, route: str, parts: Parts | None = None, /, **body: Any) -> Json:
        """The same, and not again where no reply came: what the reply says is never said again."""
        sent = {name: value for name, value in body.items() if value is not None}
        return self._send("POST", route, parts, {}, sent, once=True)

    def act(self, route: str, parts: Parts, /, **query: Any) -> Json:
        """Have something done that needs no body."""
        return self._send("POST", route, parts, query)

    def put(self, route: str, parts: Parts, /, **body: Any) -> Json:
        """Set something."""
        return self._send("PUT", route, parts, {}, body)

    def patch(self, route: str, parts: Parts, /, **body: Any) -> Json:
        """Change something; None says null."""
        return self._send("PATCH", route, parts, {}, body)

    def delete(self, route: str, parts: Parts, /, **query: Any) -> Json:
        """Take something away."""
        return self._send("DELETE", route, parts, query)

    def upload(self, route: str, parts: Parts, content: BinaryIO, told: Callable[[int], None], /, **query: Any) -> Json:
        """Send a file; `told` hears how many bytes have gone."""

        def blocks() -> Iterator[bytes]:
            while block := content.read(BLOCK):
                yield block
                told(len(block))

        request = Request(
            method="POST", route=API + route, parts=parts, query=query, read=_json, content=blocks(),
            media="application/octet-stream", repeatable=False,
        )  # fmt: skip
        return self._sent(request)

    def finished(self, job: str, look: Callable[[Json], None] = lambda _: None) -> Json:
        """Wait until a job is over; `look` sees how it stands, again and again."""
        while True:
            found = self.get("/jobs/{id}", {"id": job})
            look(found)
            if found["finished_at"] is not None:
                return found
            sleep(LOOK_EVERY)

    @contextmanager
    def stream(self, route: str, parts: Parts | None = None, /, **query: Any) -> Iterator[Iterator[bytes]]:
        """Read what comes as it comes, in blocks."""
        with self._streamed(route, parts, query, {}) as blocks:
            yield blocks

    @contextmanager
    def events(self, after: str | None, /, **query: Any) -> Iterator[Iterator[bytes]]:
        """Read the stream of changes, after the event of this id."""
        with self._streamed("/events", None, query, {"Last-Event-ID": after} if after else {}) as blocks:
            yield blocks

    def name(self) -> str:
        """The namespace that is acted in, where a call must name it: the one given, that of the key, or default."""
        return self._options.namespace or self.get("/agents/me")["default_namespace"] or "default"

    @contextmanager
    def _streamed(self, route: str, parts: Parts | None, query: Parts, extra: Mapping[str, str]) -> Iterator[Iterator[bytes]]:
        import httpx

        asked: Request[None] = Request(method="GET", route=API + route, parts=parts or {}, query=query, read=lambda _: None)
        headers = [*self._options.headers(asked), *((name.encode(), value.encode()) for name, value in extra.items())]
        timeout = httpx.Timeout(STREAM, connect=CONNECT)
        try:
            with self._http.stream("GET", asked.path, params=asked.params, headers=headers, timeout=timeout) as response:
                if not response.is_success:
                    response.read()
                    raise error_of(response)
                yield response.iter_bytes()
        except httpx.TransportError as error:
            raise error_without_reply(error) from error

    def _send(self, method: str, route: str, parts: Parts | None, query: Parts, body: Json = None, *, once: bool = False) -> Json:
        content = None if body is None else orjson.dumps(body, default=_plain)
        request = Request(
            method=method, route=API + route, parts=parts or {}, query=query, read=_json, content=content, repeatable=not once
        )
        return self._sent(request)

    def _sent(self, request: Request[Json]) -> Json:
        import httpx

        attempts, headers = Attempts(self._options, request), self._options.headers(request)
        while True:
            content: Any = request.content
            http = self._http.build_request(
                request.method, request.path, params=request.params, content=content, headers=headers, timeout=attempts.timeout()
            )
            try:
                response = self._http.send(http)
            except httpx.TransportError as error:
                pause: float | None = attempts.after_error(error)
            else:
                pause = attempts.after_reply(response)
                if pause is None:
                    return request.read(response)
            sleep(pause or 0)


@contextmanager
def service(namespace: str | None = None, *, worker: bool = False) -> Iterator[Rest]:
    """The service, in a namespace: that of LOCI_URL, else one in this process over the database that is configured here.

    `worker`: the one in this process does background work, too.
    """
    import httpx

    asked = target()
    options = Options(key=asked.key, namespace=namespace or asked.namespace, timeout=None, retries=2)
    headers = {"User-Agent": AGENT}
    try:
        if asked.url:
            where = base_url(asked.url)
            if not where.lower().startswith(("http://", "https://")):
                raise Failure(
                    f"LOCI_URL is no address of a service: {where!r}",
                    "It begins with http:// or https://, such as http://127.0.0.1:8420.",
                )
            with httpx.Client(base_url=where, headers=headers, verify=secure(where)) as http:
                yield Rest(http, options, where)
            return
        from service.cli.local import application

        with (
            application(worker=worker) as transport,
            httpx.Client(base_url="http://localhost", headers=headers, transport=transport) as http,
        ):
            yield Rest(http, options, "here")
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise Failure(f"LOCI_URL is no address: {error}", "It looks like http://127.0.0.1:8420.") from None


def _json(response: "httpx.Response") -> Json:
    return from_json(response.content) if response.content else None  # orjson makes floats of long integers


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    raise TypeError(type(value).__name__)


__all__ = ["Conflict", "LociError", "NotFound", "Rest", "service"]
