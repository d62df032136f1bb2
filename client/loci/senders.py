"""Senders of requests: one waits for the reply, the other is asynchronous."""

from abc import ABC, abstractmethod
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, Self, TypeVar

import httpx

from loci.attempts import Options
from loci.requests import Request

T = TypeVar("T")
Headers = list[tuple[bytes, bytes]]


class Sender(ABC):
    """Sends a request and waits for the reply."""

    _options: Options

    @abstractmethod
    def send(self, request: Request[T]) -> T:
        """Send a request and return what the reply says. Raises LociError."""

    @abstractmethod
    def open(self, request: Request[Any], headers: Headers, timeout: httpx.Timeout) -> AbstractContextManager[httpx.Response]:
        """Send a request once; its reply is read as it comes."""

    @abstractmethod
    def once(self, idempotency_key: str) -> Self:
        """The same for one write that is done once."""


class AsyncSender(ABC):
    """Sends a request asynchronously."""

    _options: Options

    @abstractmethod
    async def send(self, request: Request[T]) -> T:
        """Send a request and return what the reply says. Raises LociError."""

    @abstractmethod
    def open(self, request: Request[Any], headers: Headers, timeout: httpx.Timeout) -> AbstractAsyncContextManager[httpx.Response]:
        """Send a request once; its reply is read as it comes."""

    @abstractmethod
    def once(self, idempotency_key: str) -> Self:
        """The same for one write that is done once."""
