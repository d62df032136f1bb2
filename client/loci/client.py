"""The clients: the same operations, with a reply or with something to await."""

import copy
import os
import time
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from contextlib import aclosing, closing
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import anyio
import httpx

from loci._methods.access import Access
from loci._methods.dreams import Dreams
from loci._methods.facts import Facts
from loci._methods.graph import Graph
from loci._methods.hierarchy import Hierarchy
from loci._methods.jobs import Jobs
from loci._methods.memories import Memories
from loci._methods.models import Models
from loci._methods.namespaces import Namespaces
from loci._methods.operations import Operations
from loci._methods.recall import Recall
from loci._methods.retain import Retain
from loci._methods.server import Server
from loci._methods.sessions import Sessions
from loci._methods.transfer import Transfer, exporting
from loci.attempts import Attempts, Options
from loci.batches import Chunk, achunks, chunks
from loci.errors import error_of, error_without_reply
from loci.models.memories import ItemWritten, MemoryInput
from loci.models.operations import Change
from loci.requests import AsyncSender, Json, Request, Sender
from loci.version import __version__
from loci.watch import Names, Watch, watching

T = TypeVar("T")
Http = TypeVar("Http", httpx.Client, httpx.AsyncClient)
URL = "http://127.0.0.1:8420"
AGENT = {"User-Agent": f"loci-python/{__version__}"}
BLOCK = 1024 * 1024


def _body(content: bytes | Path | Iterable[bytes] | None) -> Any:
    """Content as httpx takes it, anew for every attempt."""
    return _blocks(content) if isinstance(content, Path) else content


def _abody(content: bytes | Path | Iterable[bytes] | None) -> Any:
    if content is None or isinstance(content, bytes):
        return content
    return _ablocks(_blocks(content) if isinstance(content, Path) else content)


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            yield block


async def _ablocks(blocks: Iterable[bytes]) -> AsyncIterator[bytes]:
    for block in blocks:
        yield block


class _Base(
    Memories,
    Hierarchy,
    Recall,
    Retain,
    Sessions,
    Graph,
    Facts,
    Operations,
    Namespaces,
    Transfer,
    Access,
    Models,
    Jobs,
    Dreams,
    Server,
    Generic[Http],
):
    """What both clients have: all operations, and copies with other options that share the connections."""

    _http: Http
    _options: Options
    _owner = True

    def in_namespace(self, namespace: str) -> Self:
        """The same client in another namespace."""
        return self._with(namespace=namespace)

    def in_space(self, space: str) -> Self:
        """The same client with another own space of working memory."""
        return self._with(space=space)

    def within(self, timeout: float | None) -> Self:
        """The same client with another time, in seconds, for each call with all its attempts; None: as long as it takes."""
        return self._with(timeout=timeout)

    def once(self, idempotency_key: str) -> Self:
        """A client for one write that is done once, whoever sends it how often: later ones get the first one's reply."""
        return self._with(idempotency_key=idempotency_key)

    def _with(self, **changes: Any) -> Self:
        other = copy.copy(self)
        other._options = replace(self._options, **changes)
        other._owner = False
        return other

    def _request(
        self, request: Request[Any], timeout: httpx.Timeout, headers: list[tuple[bytes, bytes]], content: Any
    ) -> httpx.Request:
        return self._http.build_request(
            request.method, request.path, params=request.params, content=content, headers=headers, timeout=timeout
        )


def _options(key: str | None, namespace: str | None, space: str | None, timeout: float | None, retries: int) -> Options:
    key, namespace = key or os.environ.get("LOCI_KEY"), namespace or os.environ.get("LOCI_NAMESPACE")
    return Options(key=key or None, namespace=namespace or None, space=space, timeout=timeout, retries=retries)


def _url(url: str | None) -> str:
    return url or os.environ.get("LOCI_URL") or URL


class LociClient(_Base[httpx.Client], Sender):
    """A client of a Loci service. Its methods return what the service replies, and raise LociError.

    `timeout` is in seconds, for a call with all its attempts. `key`, `namespace` and `url` default to LOCI_KEY, LOCI_NAMESPACE
    and LOCI_URL. It may be used by several threads, and is closed at the end of a `with`.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        key: str | None = None,
        namespace: str | None = None,
        space: str | None = None,
        timeout: float | None = 30.0,
        retries: int = 3,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._http = httpx.Client(base_url=_url(url), transport=transport, headers=AGENT)
        self._options = _options(key, namespace, space, timeout, retries)

    def send(self, request: Request[T]) -> T:
        """Send a request of an operation (`LociClient.recall.request(…)`); what fails in passing is sent again."""
        attempts, headers = Attempts(self._options, request), self._options.headers(request)
        while True:
            try:
                response = self._http.send(self._request(request, attempts.timeout(), headers, _body(request.content)))
            except httpx.TransportError as error:
                pause: float | None = attempts.after_error(error)
            else:
                pause = attempts.after_reply(response)
                if pause is None:
                    return request.read(response)
            time.sleep(pause or 0)

    def write_memories(
        self, items: Iterable[MemoryInput | Json], *, atomic: bool = False, size: int = 1000
    ) -> Iterator[ItemWritten]:
        """Write any number of memories, `size` a request; results come in order, while the next items are read.

        `atomic`: each request is all or nothing, and the first that fails raises.
        """
        for chunk in chunks(items, size, atomic=atomic):
            yield from self._chunked(chunk).send(chunk.request).items

    def export_namespace(self, name: str, *, vectors: bool | None = None) -> Iterator[bytes]:
        """Everything in a namespace as JSON lines, in blocks of bytes. Admin. Raises Unavailable if it breaks off."""
        request = exporting(name, vectors=vectors)
        http = self._request(request, httpx.Timeout(self._options.timeout), self._options.headers(request), None)
        try:
            response = self._http.send(http, stream=True)
            with closing(response):
                if not response.is_success:
                    response.read()
                    raise error_of(response)
                yield from response.iter_bytes(BLOCK)
        except httpx.TransportError as error:
            raise error_without_reply(error) from error

    def watch(self, *, after: str = "latest", kind: Names | None = None, namespace: Names | None = None) -> Iterator[Change]:
        """Changes as they come, each once and in order, from now on or after a cursor; without end.

        A connection that breaks, or a service that starts anew, is waited for, and nothing is missed. Raises LociError where the
        first connection fails, the rights end, or changes were swept while it was away.
        """
        watch = Watch(self._options, watching(after=after, kind=kind, namespace=namespace))
        while True:
            request, headers = watch.next_request()
            try:
                response = self._http.send(self._request(request, watch.timeout, headers, None), stream=True)
                with closing(response):
                    if response.is_success:
                        for block in response.iter_bytes():
                            yield from watch.changes(block)
                    else:
                        response.read()
                        watch.refused(response)
            except httpx.TransportError as error:
                watch.lost(error)
            time.sleep(watch.pause())

    def close(self) -> None:
        """Close the connections; those of a copy are its original's."""
        if self._owner:
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _chunked(self, chunk: Chunk) -> Self:
        key = self._options.idempotency_key
        return self if key is None else self.once(f"{key}/{chunk.number}")


class AsyncLociClient(_Base[httpx.AsyncClient], AsyncSender):
    """The asynchronous client: the methods of LociClient, to be awaited; lists are read with `async for`."""

    def __init__(
        self,
        url: str | None = None,
        *,
        key: str | None = None,
        namespace: str | None = None,
        space: str | None = None,
        timeout: float | None = 30.0,
        retries: int = 3,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._http = httpx.AsyncClient(base_url=_url(url), transport=transport, headers=AGENT)
        self._options = _options(key, namespace, space, timeout, retries)

    async def send(self, request: Request[T]) -> T:
        """Send a request of an operation (`AsyncLociClient.recall.request(…)`); what fails in passing is sent again."""
        attempts, headers = Attempts(self._options, request), self._options.headers(request)
        while True:
            try:
                response = await self._http.send(self._request(request, attempts.timeout(), headers, _abody(request.content)))
            except httpx.TransportError as error:
                pause: float | None = attempts.after_error(error)
            else:
                pause = attempts.after_reply(response)
                if pause is None:
                    return request.read(response)
            await anyio.sleep(pause or 0)

    async def write_memories(
        self,
        items: Iterable[MemoryInput | Json] | AsyncIterable[MemoryInput | Json],
        *,
        atomic: bool = False,
        size: int = 1000,
    ) -> AsyncIterator[ItemWritten]:
        """Write any number of memories, `size` a request; see LociClient.write_memories."""
        async with aclosing(achunks(items, size, atomic=atomic)) as all_chunks:
            async for chunk in all_chunks:
                key = self._options.idempotency_key
                client = self if key is None else self.once(f"{key}/{chunk.number}")
                for item in (await client.send(chunk.request)).items:
                    yield item

    async def export_namespace(self, name: str, *, vectors: bool | None = None) -> AsyncIterator[bytes]:
        """Everything in a namespace as JSON lines, in blocks of bytes. Admin. Raises Unavailable if it breaks off."""
        request = exporting(name, vectors=vectors)
        http = self._request(request, httpx.Timeout(self._options.timeout), self._options.headers(request), None)
        try:
            response = await self._http.send(http, stream=True)
            async with aclosing(response):
                if not response.is_success:
                    await response.aread()
                    raise error_of(response)
                async for block in response.aiter_bytes(BLOCK):
                    yield block
        except httpx.TransportError as error:
            raise error_without_reply(error) from error

    async def watch(
        self, *, after: str = "latest", kind: Names | None = None, namespace: Names | None = None
    ) -> AsyncIterator[Change]:
        """Changes as they come, each once and in order; see LociClient.watch."""
        watch = Watch(self._options, watching(after=after, kind=kind, namespace=namespace))
        while True:
            request, headers = watch.next_request()
            try:
                response = await self._http.send(self._request(request, watch.timeout, headers, None), stream=True)
                async with aclosing(response):
                    if response.is_success:
                        async for block in response.aiter_bytes():
                            for change in watch.changes(block):
                                yield change
                    else:
                        await response.aread()
                        watch.refused(response)
            except httpx.TransportError as error:
                watch.lost(error)
            await anyio.sleep(watch.pause())

    async def close(self) -> None:
        """Close the connections; those of a copy are its original's."""
        if self._owner:
            await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()
