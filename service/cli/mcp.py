"""`loci mcp`: the MCP server on stdin and stdout, for programs that start their servers themselves.

It answers at once; the database is opened when the tools are first asked for, or the service is asked that runs elsewhere.
"""

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.cli.session import reach
from service.cli.shell import Failure, explain

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx

    from service.settings import Settings

ENDED = 0
API = "/api/v1"


def mcp(
    namespace: Annotated[
        str | None,
        typer.Option(
            "--namespace", "-n", envvar="LOCI_NAMESPACE", help="Namespace; default: that of the key; without one default."
        ),
    ] = None,
    space: Annotated[
        str | None, typer.Option(envvar="LOCI_SPACE", help="Own space in working memory, such as session/abc or patrol/heartbeat.")
    ] = None,
    key: Annotated[str | None, typer.Option(envvar="LOCI_KEY", help="API key to act with; better in the environment.")] = None,
    url: Annotated[
        str | None, typer.Option(envvar="LOCI_URL", help="Ask this running service instead of opening the database.")
    ] = None,
) -> None:
    """Serve MCP on stdin and stdout, for Claude and other programs that start MCP servers.

    Without --url it opens the database itself, and without --key it acts as the operator.
    """
    from service.cli.serve import set_up
    from service.settings import get_settings

    settings = get_settings()
    finish = set_up(settings)
    sent = {"x-namespace": namespace, "x-space": space, "authorization": f"Bearer {key}" if key else None}
    asyncio.run(_speak(Backend(settings, url), {name: value for name, value in sent.items() if value}, finish))


async def _speak(backend: "Backend", headers: dict[str, str], finish: "Callable[[], None]") -> None:
    """Serve until stdin ends, or until told to stop; then `finish`."""
    from mcp.server.stdio import stdio_server

    from service.mcp.server import make_server

    server = make_server(backend.client, headers, listing=backend.open)
    told = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, told.set)
    async with stdio_server() as (incoming, outgoing):
        serving = asyncio.create_task(server.run(incoming, outgoing, server.create_initialization_options()))
        stopping = asyncio.create_task(told.wait())
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        await backend.close()
        finish()
        if told.is_set():
            os._exit(ENDED)  # a thread still reads stdin, and nothing but input would end it
        stopping.cancel()
        await serving


class Backend:
    """The REST interface: of the service at `url`, or of an application in this process, opened when it is first needed."""

    def __init__(self, settings: "Settings", url: str | None) -> None:
        self._settings = settings
        self._url = url
        self._opened: asyncio.Future[httpx.AsyncClient] | None = None
        self._task: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()

    async def client(self) -> "httpx.AsyncClient":
        """A client of it. Raises Unreachable, and the next call tries again."""
        return await asyncio.shield(self.open())

    def open(self) -> "asyncio.Future[httpx.AsyncClient]":
        """Begin to open it, unless that has begun."""
        if self._opened is None or self._task is None:
            self._opened = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._hold(self._opened))
        return self._opened

    async def close(self) -> None:
        """Leave the database in order."""
        self._ended.set()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def _hold(self, opened: "asyncio.Future[httpx.AsyncClient]") -> None:
        """Keep it open until the end, in one task."""
        from service.mcp.server import Unreachable

        try:
            async with _remote(self._url) if self._url else _own(self._settings, self._ended) as client:
                opened.set_result(client)
                await self._ended.wait()
        except Exception as error:
            self._task = None
            known = explain(error)
            if known is None:
                logging.getLogger(__name__).exception("the database does not open")
            message, hint = known or ("something went wrong while the database was opened; stderr has it", None)
            if not opened.done():
                opened.set_exception(Unreachable(f"Unavailable: {message}." + (f"\n{hint}" if hint else "")))
                opened.exception()  # nobody need be waiting


@asynccontextmanager
async def _remote(url: str) -> "AsyncIterator[httpx.AsyncClient]":
    import httpx

    from service.http.caller import MCP_AGENT

    base = url.rstrip("/").removesuffix("/mcp").removesuffix(API)
    agent = {"User-Agent": MCP_AGENT}
    async with httpx.AsyncClient(base_url=f"{base}{API}/", headers=agent, timeout=httpx.Timeout(300, connect=5)) as client:
        yield client


@asynccontextmanager
async def _own(settings: "Settings", ended: asyncio.Event) -> "AsyncIterator[httpx.AsyncClient]":
    """An application in this process. It listens nowhere: who can start it can read the database, so it asks for no key."""
    import httpx

    from service.mcp.http import over_mcp

    url, server = await asyncio.to_thread(reach, settings)
    try:
        if ended.is_set():
            raise Failure("ended before it was open")
        app = await asyncio.to_thread(_make_app, settings, url, server)
        transport = httpx.ASGITransport(app=over_mcp(app), raise_app_exceptions=False)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url=f"http://loci{API}/", timeout=None) as client,  # noqa: S113 (in process)
        ):
            yield client
    finally:
        if server is not None:
            await asyncio.to_thread(server.stop)


def _make_app(settings: "Settings", url: str, server: Any) -> Any:
    from service.app import create_app

    return create_app(settings.model_copy(update={"host": "127.0.0.1", "require_keys": False}), url, server)
