"""Lists that are read page by page while they are asked for."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Generic, TypeVar

from loci.requests import Page, Request
from loci.senders import AsyncSender, Sender

T = TypeVar("T")
PAGE = 100
LARGEST_PAGE = 1000


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
