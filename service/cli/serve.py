"""`loci serve` and `loci worker`: processes that run until they are told to stop."""

import asyncio
import gc
import logging
import math
import resource
import signal
import socket
import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.cli.database_session import (
    Session,
    check_revision,
    command_origin,
    find_database_url,
    open_pool,
    prepare_embedded,
    start_embedded,
)
from service.cli.framework import Failure
from service.cli.loading import pause_garbage_collector
from service.cli.output import echo
from service.cli.owner_socket import OwnerSocket, leave_socket

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastapi import FastAPI

    from db.embedded import EmbeddedServer
    from service.observability.gauges import Monitor
    from service.settings import Settings

BACKLOG = 2048
DRAIN_SECONDS = 10
REQUEST_SECONDS = 5
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 (compared): where what listens everywhere is found from here


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on; default 127.0.0.1 (LOCI_HOST).")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port; default 8420 (LOCI_PORT).")] = None,
    workers: Annotated[int | None, typer.Option(min=1, max=100, help="Processes on this port; default 1 (LOCI_WORKERS).")] = None,
    no_worker: Annotated[bool, typer.Option("--no-worker", help="Leave background work to `loci worker`.")] = False,
    demo: Annotated[bool, typer.Option("--demo", help="Load the demo into the namespace default first.")] = False,
    inherit: Annotated[str | None, typer.Option(hidden=True)] = None,
) -> None:
    """Serve REST, MCP and the page, and work in the background.

    Without DATABASE_URL this starts the embedded PostgreSQL, makes it where there is none, and migrates it.
    """
    from service.settings import get_settings

    settings = get_settings()
    settings = settings.model_copy(
        update={
            "host": host or settings.host,
            "port": settings.port if port is None else port,
            "worker": settings.worker and not no_worker,
            "workers": workers or settings.workers,
        }
    )
    finish = set_up(settings)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        if inherit is not None:
            _serve_inherited(settings, inherit)
        else:
            _serve_own(settings, demo=demo)
    finally:
        finish()


def set_up(settings: "Settings") -> "Callable[[], None]":
    """Begin to log and, if it is configured, to trace; the function returned sends the last spans."""
    from service.observability.logs import set_up_logging
    from service.observability.tracing import NotInstalled, set_up_tracing

    set_up_logging(settings.log_level, settings.log_format)
    try:
        return set_up_tracing()
    except NotInstalled as error:
        raise Failure(str(error)) from None


def _serve_own(settings: "Settings", *, demo: bool) -> None:
    """Listen, open the database, and serve: in this process, or in several."""
    with bind_socket(settings.host, settings.port) as listener:
        settings = settings.model_copy(update={"port": listener.getsockname()[1]})
        url, server = _open_database(settings)
        owners = leave_socket(settings.data_dir, settings.database_url, settings.port)
        try:
            if settings.workers > 1:
                asyncio.run(_serve_many(settings, url, server, listener, owners, demo=demo))
            else:
                _run_service(settings, url, server, listener, owners, demo=demo)
        finally:
            if owners is not None:
                owners.close()
            if server is not None:
                server.leave_server()


def _serve_inherited(settings: "Settings", inherit: str) -> None:
    """Serve on sockets that another process listens on, which has opened the database too."""
    talking, *listening = (socket.socket(fileno=int(number)) for number in inherit.split(","))
    talking.setblocking(False)
    assert settings.database_url is not None  # noqa: S101 (it is handed down)
    try:
        _run_on(settings, settings.database_url, None, listening, channel=talking)
    finally:
        for each in (talking, *listening):
            each.close()


async def _serve_many(
    settings: "Settings",
    url: str,
    server: "EmbeddedServer | None",
    listener: socket.socket,
    owners: OwnerSocket | None,
    *,
    demo: bool,
) -> None:
    """Check once, load the demo, and keep the processes running until told to end."""
    with pause_garbage_collector():
        from service.app import check_before_serving, restart_dead_server
        from service.cli.demo import load_demo
        from service.cli.worker_processes import FOLDER, Group, metrics_folder
        from service.supervision import Supervisor

    async with open_pool(url) as pool:
        await check_before_serving(pool, settings)
        if demo:
            await load_demo(Session(settings, pool, command_origin()))
    background = Supervisor()
    if server is not None:
        background.start_task("embedded server", partial(restart_dead_server, server))
    with metrics_folder() as folder:
        handed_down = {
            "LOCI_DATABASE_URL": url,
            "LOCI_HOST": settings.host,
            "LOCI_PORT": str(settings.port),
            "LOCI_WORKER": str(settings.worker),
            "LOCI_WORKERS": "1",
            FOLDER: folder,
        }
        sockets = [listener] if owners is None else [listener, owners.listener]
        group = Group(settings.workers, sockets, handed_down)
        async with group.run_processes():
            if owners is not None:
                owners.publish_socket()
            announce_address(settings, demo=demo)
            await group.wait_for_end()
    await background.end_tasks()


def bind_socket(host: str, port: int) -> socket.socket:
    """A socket bound to an address, before anything slow starts. Raises Failure when the port is taken."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise Failure(f"cannot listen on {host}: {error.strerror}") from None
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise Failure(f"cannot listen on {host}:{port}: {error.strerror}", "Choose another port with --port.") from None
    return listener


def _open_database(settings: "Settings") -> "tuple[str, EmbeddedServer | None]":
    """The URL to serve over: an embedded database is brought to this version's schema, a configured one must be there."""
    if settings.database_url:
        asyncio.run(check_revision(settings.database_url))
        return settings.database_url, None
    server = start_embedded(settings)
    try:
        prepare_embedded(server)
    except BaseException:
        server.leave_server()
        raise
    return server.connection_url("loci_app"), server


def _run_service(
    settings: "Settings",
    url: str,
    server: "EmbeddedServer | None",
    listener: socket.socket,
    owners: OwnerSocket | None,
    *,
    demo: bool,
) -> None:
    """Serve in this process."""
    sockets = [listener] if owners is None else [listener, owners.listener]

    def announce_start() -> None:
        listener.listen(BACKLOG)  # whoever reads that it listens may connect at once
        if owners is not None:
            owners.publish_socket()
        announce_address(settings, demo=demo)

    _run_on(settings, url, server, sockets, announce_start, demo=demo)


def _run_on(
    settings: "Settings",
    url: str,
    server: "EmbeddedServer | None",
    sockets: list[socket.socket],
    begin: "Callable[[], None]" = lambda: None,
    *,
    demo: bool = False,
    channel: socket.socket | None = None,
) -> None:
    """Serve on sockets in this process: TCP first, then the owner's if there is one; `begin` is called when it is ready to."""
    with pause_garbage_collector():
        import uvicorn

        from service.app import create_app
        from service.http.protocol import limited_protocol
        from service.http.server import GracefulServer

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # many systems begin with fewer than there may be connections
    app = create_app(settings, url, server)
    config = uvicorn.Config(
        app,
        http=limited_protocol(settings.limits, settings.trusted_proxies or (), {each.getsockname() for each in sockets[1:]}),
        forwarded_allow_ips=settings.trusted_proxies,
        lifespan="off",  # entered below, so that a refusal is one line and not a traceback
        access_log=False,
        log_config=None,
        backlog=BACKLOG,
        timeout_keep_alive=math.ceil(settings.limits.keep_alive),
        timeout_graceful_shutdown=DRAIN_SECONDS,
        server_header=False,
    )
    serving = GracefulServer(config, app.state.loci.feed.close, channel)
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(_serve_application(app, serving, sockets, begin, demo=demo))


async def _serve_application(
    app: "FastAPI", server: Any, sockets: list[socket.socket], begin: "Callable[[], None]", *, demo: bool
) -> None:
    from service.cli.demo import load_demo

    state = app.state.loci
    async with app.router.lifespan_context(app):
        if demo:
            await load_demo(Session(state.settings, state.pool, command_origin()))
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: None)  # uvicorn takes them over, and sends them again when it has stopped
        keep_for_good()
        begin()
        await server.serve(sockets=sockets)


def keep_for_good() -> None:
    """Tell the garbage collector that what there is now lives as long as the process, so that it never looks at it again.

    A collection of everything stops all requests. With the routes, models and statements of the application it took a fifth of a
    second, every few seconds under load.
    """
    gc.collect()
    gc.freeze()


def announce_address(settings: "Settings", *, demo: bool) -> None:
    """Say where the service listens: to a person with what to try, else in a line of the log."""
    if demo or sys.stdout.isatty():
        echo(make_banner(settings, demo=demo))
    else:
        logging.getLogger(__name__).info("Loci listens on http://%s:%d", reached_at(settings.host), settings.port)


def reached_at(host: str) -> str:
    """The host of a URL that leads, on this machine, to what listens there."""
    host = EVERYWHERE.get(host, host)
    return f"[{host}]" if ":" in host else host


def make_banner(settings: "Settings", *, demo: bool) -> str:
    """Where the service listens and what to try."""
    from service.http.page import is_built

    host = reached_at(settings.host)
    api = f"http://{host}:{settings.port}/api/v1"
    key = ' -H "authorization: Bearer $LOCI_KEY"' if settings.requires_keys else ""
    post = f"curl -s{key} -H 'content-type: application/json'"
    lines = [
        f"Loci listens on http://{host}:{settings.port} (documentation at /docs). Stop with Ctrl-C.",
        f"Look inside: http://{host}:{settings.port}/" if is_built() else "The page is not built here: `make page` builds it.",
        "Try:",
    ]
    if demo:
        lines += [
            f'  {post} {api}/recall -d \'{{"query": "technical skills", "k": 3}}\'',
            f'  {post} {api}/graph/traverse -d \'{{"start": ["Alice"]}}\'',
            f"  curl -s{key} {api}/memories/alice-location/history",
            f"  curl -s{key} '{api}/memories?as_of=2024-02-01T10:05:00Z&session_id=demo-planning'",
        ]
    lines += [
        f'  {post} {api}/memories -d \'{{"content": "I prefer tea in the morning", "lineage": "morning-drink"}}\'',
        f'  {post} {api}/recall -d \'{{"query": "what do I drink in the morning?", "k": 1}}\'',
    ]
    return "\n".join(lines)


def worker(
    metrics_port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port for its metrics, at LOCI_HOST (LOCI_METRICS_PORT); default: none.")
    ] = None,
) -> None:
    """Do the background work of services, until interrupted.

    One of those that run with --no-worker.
    """
    from service.settings import get_settings

    settings = get_settings()
    finish = set_up(settings)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    url, server = find_database_url(settings)
    try:
        with suppress(KeyboardInterrupt):
            asyncio.run(_run_worker(settings, url, settings.metrics_port if metrics_port is None else metrics_port))
    finally:
        finish()
        if server is not None:
            server.leave_server()


async def _run_worker(settings: "Settings", url: str, metrics_port: int | None) -> None:
    """Work until told to end, which may be before it has begun: what is open by then is closed in order."""
    working = asyncio.ensure_future(_work_on(settings, url, metrics_port))
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, working.cancel)
    with suppress(asyncio.CancelledError):
        await working


async def _work_on(settings: "Settings", url: str, metrics_port: int | None) -> None:
    from db.health import check_role
    from db.pool import primary_url
    from service.embedding.active_model import make_active_provider
    from service.embedding.second_model import second_settings
    from service.jobs.runner import Runner
    from service.llm.factory import make_model
    from service.llm.prompts import BadPrompt, Prompts, check_folder
    from service.observability.gauges import Monitor
    from service.resources import Resources
    from service.supervision import Supervisor
    from service.worker.handlers import HANDLERS
    from service.worker.process_priority import BACKGROUND, stand_back
    from service.worker.worker import Worker

    try:
        for strange in check_folder(Prompts(settings.llm.prompts)):
            logging.getLogger(__name__).warning("%s", strange)
    except BadPrompt as error:
        raise Failure(str(error)) from None
    provider = make_active_provider(settings.embedding, second_settings(settings))
    url = primary_url(settings.direct_url or url)  # a worker's sessions are its own: it needs no pooler
    async with open_pool(url, stand_back=partial(stand_back, niceness=BACKGROUND)) as pool:
        async with pool.connection() as connection:
            role = await check_role(connection)
        if not role.ok:
            raise Failure(role.detail)
        logging.getLogger(__name__).info("working with %s", provider.name if provider else "no embedding provider")
        monitor, background = Monitor(url, pool, settings.jobs.lost_after), Supervisor()
        listening = (
            await expose_metrics(monitor, settings.host, metrics_port, settings.metrics_key) if metrics_port is not None else None
        )
        resources = Resources(settings, pool, provider, make_model(settings.llm), Prompts(settings.llm.prompts))
        try:
            background.start_task("monitor", monitor.note_until_end)
            Worker(pool, provider, Runner(url, resources, HANDLERS)).start_steps(background)
            await asyncio.Event().wait()
        finally:
            await background.end_tasks()
            await monitor.close()
            if listening is not None:
                listening.close()
            if provider is not None:
                await provider.close()
            if resources.model is not None:
                await resources.model.close()


async def expose_metrics(monitor: "Monitor", host: str, port: int, key: str | None) -> asyncio.Server:
    """Answer every request on a port with the metrics; a worker serves nothing else."""
    from prometheus_client import CONTENT_TYPE_LATEST

    from service.observability.metrics_key import authorization_in, may_scrape

    async def answer_scrape(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            async with asyncio.timeout(REQUEST_SECONDS):
                asked = await reader.readuntil(b"\r\n\r\n")
            admitted = may_scrape(key, authorization_in(asked))
            body = await monitor.scrape_metrics() if admitted else b""
            status = "200 OK" if admitted else "401 Unauthorized\r\nwww-authenticate: Bearer"
            head = f"content-type: {CONTENT_TYPE_LATEST}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
            writer.write(f"HTTP/1.1 {status}\r\n{head}".encode() + body)
            await writer.drain()
        writer.close()

    try:
        return await asyncio.start_server(answer_scrape, host, port)
    except OSError as error:
        raise Failure(f"cannot listen on {host}:{port}: {error.strerror}", "Choose another --metrics-port.") from None
