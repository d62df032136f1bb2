"""`loci mcp`: the MCP server on stdin and stdout, for programs that start their servers themselves.

It answers at once; the database is opened when the tools are first asked for, or the service is asked that runs elsewhere.
"""

import asyncio
import dataclasses
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.cli.database_session import embedded_folder, find_database_url
from service.cli.framework import Failure, explain_error
from service.cli.loading import pause_garbage_collector
from service.cli.mcp_relay import relay_messages
from service.cli.owner_socket import answers_request, find_service, folder_of, short_path
from service.cli.service_address import base_url, find_stated_value, service_folder, uses_certificates

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import httpx

    from service.mcp.profiles.profile import Profile
    from service.settings import Settings

ENDED = 0
API = "/api/v1"
LOOK_SECONDS = 10.0  # where nothing listens, it is refused at once


class Profiles(StrEnum):
    """Names of profiles; service/mcp/profiles/catalogue.py has what they are."""

    LOCI = "loci"
    SMALL = "small"
    REFERENCE_MEMORY = "reference-memory"
    CLAUDE_MEMORY = "claude-memory"


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
    user: Annotated[
        str | None, typer.Option(envvar="LOCI_USER", help="The user for whom the agent speaks and asks; default: that of the key.")
    ] = None,
    key: Annotated[str | None, typer.Option(envvar="LOCI_KEY", help="API key to act with; better in the environment.")] = None,
    url: Annotated[
        str | None, typer.Option(envvar="LOCI_URL", help="Ask this running service instead of opening the database.")
    ] = None,
    profile: Annotated[
        Profiles,
        typer.Option(envvar="LOCI_PROFILE", help="Whose tools: Loci's, the eight of them that most need, or another server's."),
    ] = Profiles.LOCI,
) -> None:
    """Serve MCP on stdin and stdout, for programs that start it.

    Such as Claude. Without --url it asks the service that runs on the database that is configured; where none does it opens that
    database, or asks the service of this machine where there is no database. Without --key it acts as the operator.
    """
    sent = headers_of(namespace=namespace, space=space, user=user, key=key)
    if route := _find_relay_address(url, profile, sent):
        relay_messages(lambda: find_service(service_folder()), route, sent)
        return
    with pause_garbage_collector():
        from service.cli.serve import set_up
        from service.mcp.profiles.catalogue import PROFILES
        from service.settings import get_settings

    settings = get_settings()
    finish = set_up(settings)
    backend, headers = prepare_backend(settings, namespace=namespace, space=space, user=user, key=key, url=url)
    asyncio.run(_serve_until_end(backend, headers, finish, PROFILES[profile], settings.max_chars))


def headers_of(
    *, namespace: str | None = None, space: str | None = None, user: str | None = None, key: str | None = None
) -> dict[str, str]:
    """The headers that say for whom. Options that are not given come from the environment or the file .env."""
    key = key or find_stated_value("LOCI_KEY")
    sent = {
        "x-namespace": namespace or find_stated_value("LOCI_NAMESPACE"),
        "x-space": space or find_stated_value("LOCI_SPACE"),
        "x-user": user or find_stated_value("LOCI_USER"),
        "authorization": f"Bearer {key}" if key else None,
    }
    return {name: value for name, value in sent.items() if value}


def _find_relay_address(url: str | None, profile: Profiles, headers: "Mapping[str, str]") -> str | None:
    """Address of a service on this machine for this profile, if it accepts these headers.

    It keeps no connection that could be told of changes, so a profile whose resource changes is served by this process.
    """
    if url or find_stated_value("LOCI_URL") or profile is Profiles.REFERENCE_MEMORY:
        return None
    path = find_service(service_folder())
    if path is None or not answers_request(path, f"{API}/agents/me", headers):
        return None
    return "/mcp" if profile is Profiles.LOCI else f"/mcp/{profile}"


def prepare_backend(
    settings: "Settings",
    *,
    namespace: str | None = None,
    space: str | None = None,
    user: str | None = None,
    key: str | None = None,
    url: str | None = None,
) -> "tuple[Backend, dict[str, str]]":
    """The service that the tools ask, and the headers that say for whom."""
    headers = headers_of(namespace=namespace, space=space, user=user, key=key)
    return Backend(settings, url or find_stated_value("LOCI_URL"), keyed="authorization" in headers), headers


async def _serve_until_end(
    backend: "Backend", headers: dict[str, str], finish: "Callable[[], None]", profile: "Profile", max_chars: int
) -> None:
    """Serve until stdin ends, or until told to stop; then `finish`."""
    with pause_garbage_collector():
        from mcp.server.stdio import stdio_server

        from service.mcp.server import make_server

    missing = await backend.explain_missing_backend()
    if missing is not None:
        logging.getLogger(__name__).warning("%s. %s", *missing)
        said = f"Loci has nothing to work on: {missing[0]}. {missing[1]} Until then every tool says so; tell the user."
        profile = dataclasses.replace(profile, instructions="\n\n".join(filter(None, (said, profile.instructions))))
    server = make_server(backend.get_client, headers, listing=backend.begin_opening, profile=profile, max_chars=max_chars)
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
    """The REST interface: of the service at `url`, or of an application in this process, opened when it is first needed.

    With neither a `url` nor a database, the service of this machine is asked, unless a folder was named or a key is set: a key
    goes to no service that was not named.
    """

    def __init__(self, settings: "Settings", url: str | None, *, keyed: bool) -> None:
        self._settings = settings
        self._url = url
        self._keyed = keyed
        self._opened: asyncio.Future[httpx.AsyncClient] | None = None
        self._task: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()

    async def get_client(self) -> "httpx.AsyncClient":
        """A client of it. Raises Unreachable, and the next call tries again."""
        return await asyncio.shield(self.begin_opening())

    def begin_opening(self) -> "asyncio.Future[httpx.AsyncClient]":
        """Begin to open it, unless that has begun."""
        if self._opened is None or self._task is None:
            self._opened = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._hold_open(self._opened))
        return self._opened

    async def close(self) -> None:
        """Leave the database in order."""
        self._ended.set()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def explain_missing_backend(self) -> tuple[str, str] | None:
        """The error, and its remedy, where there is neither a database nor a service to ask."""
        usual, folder = self._guess_usual_address(), self._settings.data_dir.expanduser().resolve()
        lacks = f"there is no database in {folder}"
        if self._is_stated():
            return None
        if find_stated_value("LOCI_DATA_DIR"):
            return (
                lacks,
                f"Run `LOCI_DATA_DIR={folder} {_name_program()} serve`, or leave LOCI_DATA_DIR out: then {usual} is asked.",
            )
        if self._keyed:
            return f"{lacks}, and LOCI_KEY is sent to no service that was not named", (
                f"Set LOCI_URL where the client's configuration has `env`: {usual} for the service of this machine."
            )
        if await _is_loci(usual):
            return None
        return f"{lacks}, and no service answers at {usual}", (
            f"Run `{_name_program()} serve`: it is found from the next call on, and nothing has to be started again. "
            "For another one "
            "set LOCI_URL, DATABASE_URL or LOCI_DATA_DIR where the client's configuration has `env`."
        )

    async def _find_address(self) -> str | None:
        """The address of the service to ask; None: one that runs here, or the database. Raises Failure where there is none."""
        if self._is_stated():
            return self._url
        if missing := await self.explain_missing_backend():
            raise Failure(*missing)
        return self._guess_usual_address()

    def _is_stated(self) -> bool:
        """Whether it was said where to look, or a database is here."""
        return bool(self._url or self._settings.database_url or embedded_folder(self._settings))

    def _guess_usual_address(self) -> str:
        """Where `loci serve` of this machine listens, with these settings."""
        from service.cli.serve import reached_at

        return f"http://{reached_at(self._settings.host)}:{self._settings.port}"

    async def _hold_open(self, opened: "asyncio.Future[httpx.AsyncClient]") -> None:
        """Keep it open until the end, in one task."""
        from service.mcp.server import Unreachable

        try:
            url = await self._find_address()
            async with _open_remote_client(url) if url else _open_local_client(self._settings, self._ended) as client:
                opened.set_result(client)
                await self._ended.wait()
        except Exception as error:
            self._task = None
            known = explain_error(error)
            if known is None:
                logging.getLogger(__name__).exception("the database does not open")
            message, hint = known or ("something went wrong while the database was opened; stderr has it", None)
            if not opened.done():
                opened.set_exception(Unreachable(f"Unavailable: {message}." + (f"\n{hint}" if hint else "")))
                opened.exception()  # nobody need be waiting


async def _is_loci(url: str) -> bool:
    """Whether a service of Loci answers there, with or without knowing who asks."""
    import httpx

    try:
        async with httpx.AsyncClient(trust_env=False, timeout=LOOK_SECONDS, verify=uses_certificates(url)) as client:
            said = (await client.get(f"{url}{API}/agents/me")).json()
    except (httpx.HTTPError, ValueError):
        return False
    return isinstance(said, dict) and ("agent_id" in said or str(said.get("type")).startswith("urn:loci:"))


def _name_program() -> str:
    """The started program, as it can be started from anywhere."""
    started = Path(sys.argv[0]).resolve()
    return str(started) if started.name == "loci" else "loci"


@asynccontextmanager
async def _open_remote_client(url: str) -> "AsyncIterator[httpx.AsyncClient]":
    import httpx

    from service.http.caller import MCP_AGENT

    agent = {"User-Agent": MCP_AGENT}
    where, timeout = base_url(url), httpx.Timeout(300, connect=5)
    async with httpx.AsyncClient(
        base_url=f"{where}{API}/", headers=agent, timeout=timeout, verify=uses_certificates(where)
    ) as client:
        yield client


@asynccontextmanager
async def _open_local_client(settings: "Settings", ended: "asyncio.Event") -> "AsyncIterator[httpx.AsyncClient]":
    """The service that runs on the database which is configured, else an application of this process."""
    import httpx

    path = find_service(folder_of(settings.data_dir, settings.database_url))
    if path is None:
        async with _open_own_application(settings, ended) as client:
            yield client
        return
    from service.http.caller import MCP_AGENT

    transport, timeout = httpx.AsyncHTTPTransport(uds=short_path(path)), httpx.Timeout(300, connect=5)
    agent = {"User-Agent": MCP_AGENT}
    async with httpx.AsyncClient(transport=transport, base_url=f"http://localhost{API}/", headers=agent, timeout=timeout) as client:
        yield client


@asynccontextmanager
async def _open_own_application(settings: "Settings", ended: asyncio.Event) -> "AsyncIterator[httpx.AsyncClient]":
    """An application in this process. It listens nowhere: who can start it can read the database, so it asks for no key."""
    import httpx

    from service.mcp.http import over_mcp

    url, server = await asyncio.to_thread(find_database_url, settings)
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
            await asyncio.to_thread(server.leave_server)


def _make_app(settings: "Settings", url: str, server: Any) -> Any:
    with pause_garbage_collector():
        from service.app import create_app

    return create_app(settings.model_copy(update={"host": "127.0.0.1", "require_keys": False}), url, server)
