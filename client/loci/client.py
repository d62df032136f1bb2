"""The clients: the same operations, grouped by subject, with a reply or with something to await."""

import copy
import os
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import aclosing, asynccontextmanager, closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, cast

import anyio
import httpx

from loci._methods.access import Access
from loci._methods.dreams import Dreams
from loci._methods.facts import Facts
from loci._methods.graph import Graph
from loci._methods.hierarchy import Hierarchy
from loci._methods.jobs import Jobs
from loci._methods.models import Models
from loci._methods.namespaces import Namespaces
from loci._methods.recall import Recall, Recalls
from loci._methods.retain import Retain
from loci._methods.server import Server
from loci._methods.sessions import Contexts, Sessions
from loci.attempts import Attempts, Options
from loci.descriptors import C
from loci.errors import Conflict, NotFound
from loci.requests import Request
from loci.senders import AsyncSender, Headers, Sender
from loci.streams import (
    AwaitedMemories,
    AwaitedOperations,
    AwaitedTransfer,
    WaitingMemories,
    WaitingOperations,
    WaitingTransfer,
)
from loci.version import __version__

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


class _Base(Retain[C], Recall[C], Contexts[C], Generic[Http, C]):
    """Parts of both clients: verbs, groups of operations, and copies with other options that share the connections."""

    _http: Http
    _options: Options
    _owner = True

    @property
    def hierarchy(self) -> Hierarchy[C]:
        """Memories above and under others."""
        return Hierarchy(self._sender)

    @property
    def recalls(self) -> Recalls[C]:
        """The log of recalls."""
        return Recalls(self._sender)

    @property
    def graph(self) -> Graph[C]:
        """Entities and edges, merges, traversal."""
        return Graph(self._sender)

    @property
    def facts(self) -> Facts[C]:
        """Aspects, attributes and constraints; supersession; the walk."""
        return Facts(self._sender)

    @property
    def sessions(self) -> Sessions[C]:
        """Working memory, conversations, and the ends of sessions."""
        return Sessions(self._sender)

    @property
    def dreams(self) -> Dreams[C]:
        """Passes that use a language model, and the signals that they learn from."""
        return Dreams(self._sender)

    @property
    def jobs(self) -> Jobs[C]:
        """Work that is done later."""
        return Jobs(self._sender)

    @property
    def namespaces(self) -> Namespaces[C]:
        """Namespaces and their settings."""
        return Namespaces(self._sender)

    @property
    def access(self) -> Access[C]:
        """API keys, grants, invitations, and who the caller is."""
        return Access(self._sender)

    @property
    def models(self) -> Models[C]:
        """Embedding models, calls of language models, and their budget."""
        return Models(self._sender)

    @property
    def server(self) -> Server[C]:
        """Whether the service answers and can serve."""
        return Server(self._sender)

    def in_namespace(self, namespace: str, *, create: bool = False) -> Self:
        """The same client in another namespace. `create`: it is made, if it does not exist when it is first used."""
        return self._with(namespace=namespace, create=create)

    def in_space(self, space: str) -> Self:
        """The same client with another own space of working memory."""
        return self._with(space=space)

    def within(self, timeout: float | None) -> Self:
        """The same client with another time, in seconds, for each call with all its attempts; None: as long as it takes."""
        return self._with(timeout=timeout)

    def once(self, idempotency_key: str) -> Self:
        """A client for one write that is done once, whoever sends it how often: later ones get the first one's reply."""
        return self._with(idempotency_key=idempotency_key)

    @property
    def _sender(self) -> C:
        return cast("C", self)

    def _with(self, **changes: Any) -> Self:
        other = copy.copy(self)
        other._options = replace(self._options, **changes)
        other._owner = False
        return other

    def _request(self, request: Request[Any], timeout: httpx.Timeout, headers: Headers, content: Any) -> httpx.Request:
        return self._http.build_request(
            request.method, request.path, params=request.params, content=content, headers=headers, timeout=timeout
        )

    def _missing(self, error: NotFound, request: Request[Any]) -> Request[Any]:
        """Request that makes the namespace which another one needs. Raises the error where that is not it, or was not asked for."""
        name = self._options.namespace
        unknown = any(problem.field == "namespace" for problem in error.errors)
        if not (self._options.create and name and unknown and request.readable and "name" not in request.parts):
            raise error
        return Namespaces.create.request(name)


def _options(
    key: str | None, namespace: str | None, space: str | None, timeout: float | None, retries: int, *, create: bool
) -> Options:
    key, namespace = key or os.environ.get("LOCI_KEY"), namespace or os.environ.get("LOCI_NAMESPACE")
    if create and not namespace:
        raise ValueError("create needs the name of a namespace: namespace=…, or LOCI_NAMESPACE")
    return Options(key=key or None, namespace=namespace or None, space=space, timeout=timeout, retries=retries, create=create)


def _secure(url: str) -> bool:
    """Whether certificates will be asked for: reading those of all authorities takes 20 ms, and no redirect is followed."""
    return url.lower().startswith("https:")


def _url(url: str | None) -> str:
    found = url or os.environ.get("LOCI_URL") or URL
    if not found.lower().startswith(("http://", "https://")):
        raise ValueError(f"the url of a service begins with http:// or https://, not so {found!r}, such as {URL}")
    return found


class LociClient(_Base[httpx.Client, Sender], Sender):
    """A client of a Loci service. Its methods return what the service replies, and raise LociError.

    Four verbs stand on top: `remember`, `recall`, `context` and `retain`; everything else is grouped by subject, such as
    `client.memories.list()` and `client.graph.traverse()`. `key`, `namespace` and `url` default to LOCI_KEY, LOCI_NAMESPACE and
    LOCI_URL. `create`: the namespace is made, if it does not exist when it is first used. `timeout` is in seconds, for a call
    with all its attempts. It may be used by several threads, and is closed at the end of a `with`.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        key: str | None = None,
        namespace: str | None = None,
        create: bool = False,
        space: str | None = None,
        timeout: float | None = 30.0,
        retries: int = 3,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        where = _url(url)
        self._http = httpx.Client(base_url=where, transport=transport, headers=AGENT, verify=_secure(where))
        self._options = _options(key, namespace, space, timeout, retries, create=create)

    @property
    def memories(self) -> WaitingMemories:
        """Memories: written, read, changed, forgotten, erased; history, links, categories."""
        return WaitingMemories(self)

    @property
    def operations(self) -> WaitingOperations:
        """The log of operations, undo, and the change feed."""
        return WaitingOperations(self)

    @property
    def transfer(self) -> WaitingTransfer:
        """Export and import."""
        return WaitingTransfer(self)

    def send(self, request: Request[T]) -> T:
        """Send a request of an operation (`LociClient.recall.request(…)`); what fails in passing is sent again."""
        try:
            return self._send(request)
        except NotFound as error:
            making = self._missing(error, request)
        with suppress(Conflict):  # another one has made it meanwhile
            self._with(idempotency_key=None)._send(making)  # the key is that of the request
        return self._send(request)

    @contextmanager
    def open(self, request: Request[Any], headers: Headers, timeout: httpx.Timeout) -> Iterator[httpx.Response]:
        """Send a request once; its reply is read as it comes."""
        response = self._http.send(self._request(request, timeout, headers, None), stream=True)
        with closing(response):
            yield response

    def close(self) -> None:
        """Close the connections; those of a copy are its original's."""
        if self._owner:
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _send(self, request: Request[T]) -> T:
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


class AsyncLociClient(_Base[httpx.AsyncClient, AsyncSender], AsyncSender):
    """The asynchronous client: the methods of LociClient, to be awaited; lists are read with `async for`."""

    def __init__(
        self,
        url: str | None = None,
        *,
        key: str | None = None,
        namespace: str | None = None,
        create: bool = False,
        space: str | None = None,
        timeout: float | None = 30.0,
        retries: int = 3,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        where = _url(url)
        self._http = httpx.AsyncClient(base_url=where, transport=transport, headers=AGENT, verify=_secure(where))
        self._options = _options(key, namespace, space, timeout, retries, create=create)

    @property
    def memories(self) -> AwaitedMemories:
        """Memories: written, read, changed, forgotten, erased; history, links, categories."""
        return AwaitedMemories(self)

    @property
    def operations(self) -> AwaitedOperations:
        """The log of operations, undo, and the change feed."""
        return AwaitedOperations(self)

    @property
    def transfer(self) -> AwaitedTransfer:
        """Export and import."""
        return AwaitedTransfer(self)

    async def send(self, request: Request[T]) -> T:
        """Send a request of an operation (`AsyncLociClient.recall.request(…)`); what fails in passing is sent again."""
        try:
            return await self._send(request)
        except NotFound as error:
            making = self._missing(error, request)
        with suppress(Conflict):  # another one has made it meanwhile
            await self._with(idempotency_key=None)._send(making)  # the key is that of the request
        return await self._send(request)

    @asynccontextmanager
    async def open(self, request: Request[Any], headers: Headers, timeout: httpx.Timeout) -> AsyncIterator[httpx.Response]:
        """Send a request once; its reply is read as it comes."""
        response = await self._http.send(self._request(request, timeout, headers, None), stream=True)
        async with aclosing(response):
            yield response

    async def close(self) -> None:
        """Close the connections; those of a copy are its original's."""
        if self._owner:
            await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def _send(self, request: Request[T]) -> T:
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
