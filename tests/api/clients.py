"""Clients of running services, which insist that their models know every field of a reply."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

import httpx
from pydantic_core import to_jsonable_python

from loci import AsyncLociClient, LociClient
from loci.requests import Request
from tests.services import Service

T = TypeVar("T")


class StrictClient(LociClient):
    """A client that fails where a reply has a field that its model has not."""

    def send(self, request: Request[T]) -> T:
        """Send a request and compare the reply with what was read of it."""

        def read(response: httpx.Response) -> T:
            value = request.read(response)
            if response.headers.get("content-type") == "application/json":
                known(response.json(), to_jsonable_python(value))
            return value

        return super().send(replace(request, read=read))


def known(said: Any, seen: Any, path: str = "reply") -> None:
    """Fail where something that was said is not seen."""
    if isinstance(said, Mapping):
        assert set(said) <= set(seen), f"{path}: {set(said) - set(seen)}"
        for name, value in said.items():
            known(value, seen[name], f"{path}.{name}")
    elif isinstance(said, list):
        for place, value in enumerate(said):
            known(value, seen[place], f"{path}[{place}]")


def client_of(service: Service, namespace: str, **options: Any) -> LociClient:
    """A strict client of a service, over its Unix socket."""
    transport = httpx.HTTPTransport(uds=str(service.socket), verify=False)
    return StrictClient("http://loci", namespace=namespace, **{"transport": transport, **options})


def async_client_of(service: Service, namespace: str, **options: Any) -> AsyncLociClient:
    """An asynchronous client of a service, over its Unix socket."""
    transport = httpx.AsyncHTTPTransport(uds=str(service.socket), verify=False)
    return AsyncLociClient("http://loci", namespace=namespace, **{"transport": transport, **options})
