"""Methods of both clients from one definition: a function that builds a request becomes a method that sends it."""

import inspect
from collections.abc import Callable, Coroutine
from functools import cached_property, wraps
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, get_args, overload

from loci.pages import AsyncPages, Pages, sized
from loci.requests import AsyncSender, Page, Request, Sender

P = ParamSpec("P")
T = TypeVar("T")


class _Method:
    """What operations and lists have alike: for each kind of client a function with the name, text and arguments of the definition.

    They are made when they are first asked for, and are what `help` and `inspect.signature` see.
    """

    def __init__(self, build: Callable[..., Any]) -> None:
        self._build = build
        self.__name__ = build.__name__
        self.__qualname__ = build.__qualname__
        self.__module__ = build.__module__
        self.__doc__ = build.__doc__
        self.__wrapped__ = build

    def __call__(self, client: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call the method of a client, as `LociClient.recall(client, …)`."""
        return self._of(client)(client, *args, **kwargs)

    @cached_property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self._waiting)

    def _of(self, client: Any) -> Callable[..., Any]:
        return self._awaited if isinstance(client, AsyncSender) else self._waiting

    @cached_property
    def _waiting(self) -> Callable[..., Any]:
        raise NotImplementedError

    @cached_property
    def _awaited(self) -> Callable[..., Any]:
        raise NotImplementedError


class operation(_Method, Generic[P, T]):  # noqa: N801 (it is used as a decorator)
    """A method that sends a request: it returns the reply, or in the asynchronous client what is awaited for it."""

    def __init__(self, build: Callable[Concatenate[Any, P], Request[T]]) -> None:
        super().__init__(build)

    def request(self, *args: P.args, **kwargs: P.kwargs) -> Request[T]:
        """The request that the method would send."""
        request: Request[T] = self._build(None, *args, **kwargs)
        return request

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Sender, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncSender, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, client: Sender | AsyncSender | None, owner: type) -> Any:
        """The method, bound to a client."""
        return self if client is None else MethodType(self._of(client), client)

    @cached_property
    def _waiting(self) -> Callable[..., Any]:
        build = self._build

        @wraps(build)
        def method(self: Sender, *args: Any, **kwargs: Any) -> Any:
            return self.send(build(self, *args, **kwargs))

        return _returning(method, _reply(build))

    @cached_property
    def _awaited(self) -> Callable[..., Any]:
        build = self._build

        @wraps(build)
        async def method(self: AsyncSender, *args: Any, **kwargs: Any) -> Any:
            return await self.send(build(self, *args, **kwargs))

        return _returning(method, _reply(build))


class listing(_Method, Generic[P, T]):  # noqa: N801 (it is used as a decorator)
    """A method that lists: what it returns is iterated over, and reads page after page."""

    def __init__(self, build: Callable[Concatenate[Any, P], Request[Page[T]]]) -> None:
        super().__init__(build)

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
        return self if client is None else MethodType(self._of(client), client)

    @cached_property
    def _waiting(self) -> Callable[..., Any]:
        build = self._build

        @wraps(build)
        def method(self: Sender, *args: Any, **kwargs: Any) -> Any:
            return Pages(self, build(self, *args, **kwargs))

        return _returning(method, Pages[get_args(_reply(build))[0]])  # type: ignore[misc]  # known at run time alone

    @cached_property
    def _awaited(self) -> Callable[..., Any]:
        build = self._build

        @wraps(build)
        def method(self: AsyncSender, *args: Any, **kwargs: Any) -> Any:
            return AsyncPages(self, build(self, *args, **kwargs))

        return _returning(method, AsyncPages[get_args(_reply(build))[0]])  # type: ignore[misc]


def _reply(build: Callable[..., Any]) -> Any:
    """What the request of a definition is read as."""
    return get_args(inspect.signature(build).return_annotation)[0]


def _returning(method: Callable[..., Any], kind: Any) -> Callable[..., Any]:
    """A method with the arguments of its definition, that says what it returns."""
    signature = inspect.signature(method).replace(return_annotation=kind)
    vars(method)["__signature__"] = signature
    return method
