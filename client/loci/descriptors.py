"""Methods of both clients from one definition: a function that builds a request becomes a method that sends it."""

from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from loci.pages import AsyncPages, Pages, sized
from loci.requests import AsyncSender, Page, Request, Sender

P = ParamSpec("P")
T = TypeVar("T")


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
