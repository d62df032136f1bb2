"""Methods of both clients from one definition: a function that builds a request becomes a method that sends it."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from functools import cached_property, wraps
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, get_args, overload

from loci.pages import AsyncPages, Pages, sized
from loci.requests import Page, Request
from loci.senders import AsyncSender, Sender

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C", bound=Sender | AsyncSender)


class Methods(ABC, Generic[C]):
    """An object whose methods send requests: a client, or a group of its operations."""

    @property
    @abstractmethod
    def _sender(self) -> C:
        """The sender of its requests."""


class Group(Methods[C]):
    """The operations of a subject, of one client."""

    def __init__(self, client: C) -> None:
        self._client = client

    @property
    def _sender(self) -> C:
        return self._client


class _Method:
    """Common part of operations and lists: for each kind of client a function with the name, text and arguments of the definition.

    They are made when they are first asked for, and are what `help` and `inspect.signature` see, of a class and of an object.
    """

    def __init__(self, build: Callable[..., Any]) -> None:
        self._build = build
        self.__name__ = build.__name__
        self.__qualname__ = build.__qualname__
        self.__module__ = build.__module__
        self.__doc__ = build.__doc__
        self.__wrapped__ = build

    def _get(self, of: Methods[Any] | None, owner: type) -> Any:
        if of is None:
            return self._awaited if issubclass(owner, AsyncSender) else self._waiting
        return MethodType(self._awaited if isinstance(of._sender, AsyncSender) else self._waiting, of)

    def _shown(self, method: Callable[..., Any], kind: Any) -> Callable[..., Any]:
        """A method with the arguments of its definition, that says what it returns, and knows the request."""
        signature = inspect.signature(method).replace(return_annotation=kind)
        vars(method).update(__signature__=signature, request=self.request)
        return method

    def request(self, *args: Any, **kwargs: Any) -> Request[Any]:
        """The request that the method would send."""
        raise NotImplementedError

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
    def __get__(self, of: None, owner: type) -> Self: ...
    @overload
    def __get__(self, of: Methods[Sender], owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, of: Methods[AsyncSender], owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, of: Methods[Any] | None, owner: type) -> Any:
        """The method, bound to a client."""
        return self._get(of, owner)

    @cached_property
    def _waiting(self) -> Callable[..., Any]:
        build = self._build

        @wraps(build)
        def method(self: Methods[Sender], *args: Any, **kwargs: Any) -> Any:
            return self._sender.send(build(self, *args, **kwargs))

        return self._shown(method, _reply(build))

    @cached_property
    def _awaited(self) -> Callable[..., Any]:
        build = self._build

        @wraps(build)
        async def method(self: Methods[AsyncSender], *args: Any, **kwargs: Any) -> Any:
            return await self._sender.send(build(self, *args, **kwargs))

        return self._shown(method, _reply(build))


class listing(_Method, Generic[P, T]):  # noqa: N801 (it is used as a decorator)
    """A method that lists: what it returns is iterated over, and reads page after page."""

    def __init__(self, build: Callable[Concatenate[Any, P], Request[Page[T]]]) -> None:
        super().__init__(build)

    def request(self, *args: P.args, **kwargs: P.kwargs) -> Request[Page[T]]:
        """The request of a page."""
        return sized(self._build(None, *args, **kwargs))

    @overload
    def __get__(self, of: None, owner: type) -> Self: ...
    @overload
    def __get__(self, of: Methods[Sender], owner: type) -> Callable[P, Pages[T]]: ...
    @overload
    def __get__(self, of: Methods[AsyncSender], owner: type) -> Callable[P, AsyncPages[T]]: ...
    def __get__(self, of: Methods[Any] | None, owner: type) -> Any:
        """The method, bound to a client."""
        return self._get(of, owner)

    @cached_property
    def _waiting(self) -> Callable[..., Any]:
        build = self._build

        @wraps(build)
        def method(self: Methods[Sender], *args: Any, **kwargs: Any) -> Any:
            return Pages(self._sender, build(self, *args, **kwargs))

        return self._shown(method, Pages[get_args(_reply(build))[0]])  # type: ignore[misc]  # known at run time alone

    @cached_property
    def _awaited(self) -> Callable[..., Any]:
        build = self._build

        @wraps(build)
        def method(self: Methods[AsyncSender], *args: Any, **kwargs: Any) -> Any:
            return AsyncPages(self._sender, build(self, *args, **kwargs))

        return self._shown(method, AsyncPages[get_args(_reply(build))[0]])  # type: ignore[misc]


def _reply(build: Callable[..., Any]) -> Any:
    """The type that the reply to a definition's request is read as."""
    return get_args(inspect.signature(build).return_annotation)[0]
