"""The SDK's own client, for tests that are written one line after the other."""

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from tests.services import PATIENCE, Service

Row = dict[str, Any]
ERAS = ["legacy", "auto"]  # with the handshake, and without it


@dataclass(frozen=True)
class Tools:
    """A connected client."""

    client: Client
    portal: BlockingPortal

    def ask(self, name: str, **arguments: Any) -> CallToolResult:
        """Call a tool, whatever comes of it."""
        return self.portal.call(self.client.call_tool, name, arguments)

    def __call__(self, name: str, **arguments: Any) -> Row:
        """Call a tool that must succeed: its data."""
        result = self.ask(name, **arguments)
        assert not result.is_error, said(result)
        return result.structured_content

    def text(self, name: str, **arguments: Any) -> str:
        """Call a tool that must succeed: its text."""
        result = self.ask(name, **arguments)
        assert not result.is_error, said(result)
        return said(result)

    def error(self, name: str, **arguments: Any) -> str:
        """Call a tool that must fail: what it says."""
        result = self.ask(name, **arguments)
        assert result.is_error, said(result)
        assert "Traceback" not in said(result)
        return said(result)

    def listed(self) -> dict[str, Row]:
        """The tools as a client sees them, by name."""
        tools = self.portal.call(self.client.list_tools).tools
        return {tool.name: tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools}


def said(result: CallToolResult) -> str:
    """The text of a result: exactly one block."""
    (block,) = result.content
    assert block.type == "text"
    return block.text


@contextmanager
def connected(server: Any, mode: str = "auto") -> Iterator[Tools]:
    """A client of a server: a transport, or how to start one."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(server, mode=mode)) as client:
        yield Tools(client, portal)


@contextmanager
def over_http(service: Service, mode: str = "auto", *, profile: str = "", **headers: str) -> Iterator[Tools]:
    """A client of /mcp, or of a profile below it. The service listens on a Unix socket; its name there is localhost."""
    with start_blocking_portal() as portal:
        http: AbstractAsyncContextManager[httpx2.AsyncClient] = httpx2.AsyncClient(
            transport=httpx2.AsyncHTTPTransport(uds=str(service.socket), verify=False),
            headers={name: value.encode("latin-1") for name, value in headers.items()},
            timeout=PATIENCE,
        )
        with portal.wrap_async_context_manager(http) as client:
            transport = streamable_http_client(f"http://localhost/mcp{profile and f'/{profile}'}", http_client=client)
            with portal.wrap_async_context_manager(Client(transport, mode=mode)) as speaker:
                yield Tools(speaker, portal)
