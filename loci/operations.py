"""Methods of both clients from one definition: a function that builds a request becomes a method that sends it."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import replace
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from loci.requests import Page, Request

P = ParamSpec("P")
T = TypeVar("T")
PAGE = 100
LARGEST_PAGE = 1000


class Sender(ABC):
    """What sends a request and waits for the reply."""

    @abstractmethod
    def send(self, request: Request[T]) -> T:
        """Send a request and return what the reply says. Raises LociError."""


class AsyncSender(ABC):
    """What sends a request while others go on."""

    @abstractmethod
    async def send(self, request: Request[T]) -> T:
        """Send a request and return what the reply says. Raises LociError."""


class Pages(Generic[T]):
    """The items of a list, read page by page while they are asked for."""

    def __init__(self, sender: Sender, request: Request[Page[T]]) -> None:
        self._sender = sender
        self._request = request

    def __iter__(self) -> Iterator[T]:
        """All items, or as many as `limit` says."""
        request: Request[Page[T]] | None = sized(self._request)
        left = self._request.query.get("limit")
        while request is not None:
            found = self._sender.send(request)
            yield from found.items
            left = None if left is None else left - len(found.items)
            request = following(request, found, left)

    def page(self) -> Page[T]:
        """One page, of at most `limit` items, from `cursor` on: `items` and `next_cursor`."""
        return self._sender.send(sized(self._request))


class AsyncPages(Generic[T]):
    """The items of a list, read page by page while they are asked for."""

    def __init__(self, sender: AsyncSender, request: Request[Page[T]]) -> None:
        self._sender = sender
        self._request = request

    async def __aiter__(self) -> AsyncIterator[T]:
        """All items, or as many as `limit` says."""
        request: Request[Page[T]] | None = sized(self._request)
        left = self._request.query.get("limit")
        while request is not None:
            found = await self._sender.send(request)
            for item in found.items:
                yield item
            left = None if left is None else left - len(found.items)
            request = following(request, found, left)

    async def page(self) -> Page[T]:
        """One page, of at most `limit` items, from `cursor` on: `items` and `next_cursor`."""
        return await self._sender.send(sized(self._request))


def sized(request: Request[Page[T]]) -> Request[Page[T]]:
    """The request of a page that the service takes."""
    limit = request.query.get("limit")
    return replace(request, query={**request.query, "limit": PAGE if limit is None else min(limit, LARGEST_PAGE)})


def following(request: Request[Page[T]], found: Page[T], left: int | None) -> Request[Page[T]] | None:
    """The request of the next page; None: there is no more, or no more is wanted."""
    if found.next_cursor is None or (left is not None and left <= 0):
        return None
    limit = request.query["limit"] if left is None else min(left, LARGEST_PAGE)
    return replace(request, query={**request.query, "cursor": found.next_cursor, "limit": limit})


class operation(Generic[P, T]):  # noqa: N801 (it is used as a decorator)
    """A method that sends a request: it returns the reply, or in the asynchronous client what is awaited for it."""

    def __init__(self, build: Callable[Concatenate[Any, P], Request[T]]) -> None:
        self._build = build
        self.__doc__ = build.__doc__
        self.__wrapped__ = build  # for inspect.signature and help

    def request(self, *args: P.args, **kwargs: P.kwargs) -> Request[T]:
        """The request that the method would send."""
        return self._build(None, *args, **kwargs)

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Sender, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncSender, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, client: Sender | AsyncSender | None, owner: type) -> Any:
        """The method, bound to a client."""
        if client is None:
            return self
        return lambda *args, **kwargs: client.send(self._build(client, *args, **kwargs))


class listing(Generic[P, T]):  # noqa: N801 (it is used as a decorator)
    """A method that lists: what it returns is iterated over, and reads page after page."""

    def __init__(self, build: Callable[Concatenate[Any, P], Request[Page[T]]]) -> None:
        self._build = build
        self.__doc__ = build.__doc__
        self.__wrapped__ = build

    def request(self, *args: P.args, **kwargs: P.kwargs) -> Request[Page[T]]:
        """The request of a page."""
        return sized(self._build(None, *args, **kwargs))

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Sender, owner: type) -> Callable[P, Pages[T]]: ...
    @overload
    def __get__(self, client: AsyncSender, owner: type) -> Callable[P, AsyncPages[T]]: ...
    def __get__(self, client: Sender | AsyncSender | None, owner: type) -> Any:
        """The method, bound to a client."""
        if client is None:
            return self
        pages: Any = Pages if isinstance(client, Sender) else AsyncPages
        return lambda *args, **kwargs: pages(client, self._build(client, *args, **kwargs))
