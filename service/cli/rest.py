"""The service as commands know it: its REST interface, over the network or in this process. Replies are JSON as it was sent."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from json import loads
from pathlib import Path
from time import sleep
from typing import Any, BinaryIO

import orjson

from loci.attempts import Attempts, Options
from loci.errors import Conflict, LociError, NotFound, Reply
from loci.requests import API, Request
from service.cli.framework import Failure
from service.cli.output import echo
from service.cli.owner_socket import find_service
from service.cli.service_address import base_url, read_target, service_folder, uses_certificates
from service.cli.transports import AGENT, HttpxWire, OwnerWire, Wire

LARGEST_PAGE = 1000
BLOCK = 1024 * 1024
LOOK_EVERY = 0.2  # seconds between looks at a job that is waited for
OPENED = "no service runs here, so this command opens the database itself:"
Json = Any
Parts = Mapping[str, Any]


class Rest:
    """The calls that commands make, in one namespace."""

    def __init__(self, wire: Wire, options: Options) -> None:
        self._wire = wire
        self._options = options

    def get(self, route: str, parts: Parts | None = None, /, **query: Any) -> Json:
        """Read something."""
        return self._build_and_send("GET", route, parts, query)

    def list_items(self, route: str, parts: Parts | None = None, /, *, limit: int | None = None, **query: Any) -> list[Json]:
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
        return self._build_and_send("POST", route, parts, {}, {name: value for name, value in body.items() if value is not None})

    def post_once(self, route: str, parts: Parts | None = None, /, **body: Any) -> Json:
        """The same, and not again where no reply came: what the reply says is never said again."""
        sent = {name: value for name, value in body.items() if value is not None}
        return self._build_and_send("POST", route, parts, {}, sent, once=True)

    def post_without_body(self, route: str, parts: Parts, /, **query: Any) -> Json:
        """Have something done that needs no body."""
        return self._build_and_send("POST", route, parts, query)

    def put(self, route: str, parts: Parts, /, **body: Any) -> Json:
        """Set something."""
        return self._build_and_send("PUT", route, parts, {}, body)

    def patch(self, route: str, parts: Parts, /, **body: Any) -> Json:
        """Change something; None says null."""
        return self._build_and_send("PATCH", route, parts, {}, body)

    def delete(self, route: str, parts: Parts, /, **query: Any) -> Json:
        """Take something away."""
        return self._build_and_send("DELETE", route, parts, query)

    def upload_file(self, route: str, parts: Parts, content: BinaryIO, told: Callable[[int], None], /, **query: Any) -> Json:
        """Send a file; `told` hears how many bytes have gone."""

        def read_blocks() -> Iterator[bytes]:
            while block := content.read(BLOCK):
                yield block
                told(len(block))

        request = Request(
            method="POST", route=API + route, parts=parts, query=query, read=_parse_json, content=read_blocks(),
            media="application/octet-stream", repeatable=False,
        )  # fmt: skip
        return self._send_request(request)

    def wait_for_job(self, job: str, look: Callable[[Json], None] = lambda _: None) -> Json:
        """Wait until a job is over; `look` sees how it stands, again and again."""
        while True:
            found = self.get("/jobs/{id}", {"id": job})
            look(found)
            if found["finished_at"] is not None:
                return found
            sleep(LOOK_EVERY)

    @contextmanager
    def stream_blocks(self, route: str, parts: Parts | None = None, /, **query: Any) -> Iterator[Iterator[bytes]]:
        """Read what comes as it comes, in blocks."""
        with self._open_stream(route, parts, query, {}) as blocks:
            yield blocks

    @contextmanager
    def stream_events(self, after: str | None, /, **query: Any) -> Iterator[Iterator[bytes]]:
        """Read the stream of changes, after the event of this id."""
        with self._open_stream("/events", None, query, {"Last-Event-ID": after} if after else {}) as blocks:
            yield blocks

    def find_namespace_name(self) -> str:
        """The namespace that is acted in, where a call must name it: the one given, that of the key, or default."""
        return self._options.namespace or self.get("/agents/me")["default_namespace"] or "default"

    @contextmanager
    def _open_stream(self, route: str, parts: Parts | None, query: Parts, extra: Mapping[str, str]) -> Iterator[Iterator[bytes]]:
        asked: Request[None] = Request(method="GET", route=API + route, parts=parts or {}, query=query, read=lambda _: None)
        headers = [*self._options.headers(asked), *((name.encode(), value.encode()) for name, value in extra.items())]
        with self._wire.stream(asked, headers) as blocks:
            yield blocks

    def _build_and_send(
        self, method: str, route: str, parts: Parts | None, query: Parts, body: Json = None, *, once: bool = False
    ) -> Json:
        content = None if body is None else orjson.dumps(body, default=_make_plain_value)
        request = Request(
            method=method, route=API + route, parts=parts or {}, query=query, read=_parse_json, content=content, repeatable=not once
        )
        return self._send_request(request)

    def _send_request(self, request: Request[Json]) -> Json:
        attempts, headers = Attempts(self._options, request), self._options.headers(request)
        while True:
            reply = self._wire.send(request, headers, attempts)
            pause = reply if isinstance(reply, float) else attempts.after_reply(reply)
            if pause is None and not isinstance(reply, float):
                return request.read(reply)
            sleep(pause or 0)


@contextmanager
def open_service(namespace: str | None = None, *, worker: bool = False) -> Iterator[Rest]:
    """The service, in a namespace: that of LOCI_URL, else one that left its socket in the data folder, else one in this process.

    The one in this process works on the database that is configured here; `worker`: it does background work, too.
    """
    asked = read_target()
    options = Options(key=asked.key, namespace=namespace or asked.namespace, timeout=None, retries=2)
    if asked.url:
        with _open_remote_wire(asked.url) as wire:
            yield Rest(wire, options)
    elif path := find_service(service_folder()):
        yield Rest(OwnerWire(path), options)
    else:
        with _open_own_wire(worker=worker) as wire:
            yield Rest(wire, options)


@contextmanager
def _open_remote_wire(url: str) -> Iterator[Wire]:
    """The way to the service at LOCI_URL."""
    import httpx

    where = base_url(url)
    if not where.lower().startswith(("http://", "https://")):
        raise Failure(
            f"LOCI_URL is not the address of a service: {where!r}",
            "It begins with http:// or https://, such as http://127.0.0.1:8420.",
        )
    try:
        with httpx.Client(base_url=where, headers={"User-Agent": AGENT}, verify=uses_certificates(where)) as http:
            yield HttpxWire(http)
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise Failure(f"LOCI_URL is not an address: {error}", "It looks like http://127.0.0.1:8420.") from None


@contextmanager
def _open_own_wire(*, worker: bool) -> Iterator[Wire]:
    """The way to a service in this process, which is said where the database is one of a folder that a service could serve."""
    import httpx

    from service.cli.database_session import embedded_folder
    from service.cli.local_service import open_application
    from service.settings import get_settings

    settings = get_settings()
    if not settings.database_url and (folder := embedded_folder(settings)) is not None:
        echo(f"{OPENED} {folder}", err=True)
    with (
        open_application(worker=worker) as transport,
        httpx.Client(base_url="http://localhost", headers={"User-Agent": AGENT}, transport=transport) as http,
    ):
        yield HttpxWire(http)


def _parse_json(reply: Reply) -> Json:
    return loads(reply.content) if reply.content else None  # orjson makes floats of long integers


def _make_plain_value(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    raise TypeError(type(value).__name__)


__all__ = ["Conflict", "LociError", "NotFound", "Rest", "open_service"]
