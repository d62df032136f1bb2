"""The application: what it refuses to start over, what runs while it serves, and its routes."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from fastapi import FastAPI

from db import health
from db.embedded import EmbeddedServer
from db.migrate import upgrade
from db.pool import make_pool
from service.api import ROUTERS
from service.embedding import make_provider
from service.mcp.http import Endpoint
from service.middleware import Envelope
from service.problems import install
from service.settings import Settings
from service.state import State
from service.worker import Worker

log = logging.getLogger(__name__)
WATCH_EVERY = 0.5


class Refusal(Exception):
    """The service must not start like this; the message says why and what to do."""


def open_database(settings: Settings) -> tuple[str, EmbeddedServer | None]:
    """The URL of the restricted role; without a configured database the embedded server is started and migrated."""
    if settings.database_url:
        return settings.database_url, None
    server = EmbeddedServer(settings.data_dir, settings.postgres_version)
    upgrade(server.url("postgres"))
    return server.url("loci_app"), server


async def _watch(server: EmbeddedServer) -> None:
    """Start the embedded server again when it died, so that the pool can reconnect."""
    while True:
        await asyncio.sleep(WATCH_EVERY)
        try:
            await asyncio.to_thread(server.ensure_running)
        except Exception as error:
            log.warning("the embedded PostgreSQL does not start: %s", error)


async def _check(state: State) -> None:
    """Refuse to start over a role that bypasses row-level security, an old schema, or an open port without keys."""
    async with state.pool.connection() as connection:
        for check in (await health.check_role(connection), await health.check_revision(connection)):
            if not check.ok:
                raise Refusal(check.detail)
        if state.settings.keys_required and not await health.has_keys(connection):
            raise Refusal(
                f"bound to {state.settings.host}, so requests need API keys, and there are none: "
                "run `loci key create --namespace NAME --role ROLE` first"
            )


def create_app(settings: Settings, url: str, server: EmbeddedServer | None = None) -> FastAPI:
    """Make the application over a migrated database. `server` is watched while it runs, if given."""
    provider = make_provider(settings.embedding)
    pool = make_pool(url, size=settings.pool_size)
    state = State(settings, url, pool, provider, Worker(pool, provider))

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:  # noqa: ARG001 (the protocol's)
        tasks = [asyncio.create_task(_watch(server))] if server else []
        await pool.open(wait=True, timeout=30)
        try:
            await _check(state)
            if settings.worker:
                tasks.append(asyncio.create_task(state.worker.run()))
            async with mcp.running():
                yield
        finally:
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            await pool.close()
            if provider is not None:
                await provider.close()

    app = FastAPI(
        title="Loci",
        version="0.1.0",
        summary="Memory and knowledge graph for AI agents, inside Postgres",
        description="Times are RFC 3339. Errors are RFC 9457 problem details. Lists page by cursor. "
        "`X-Namespace` picks a namespace; `Idempotency-Key` makes a POST safe to repeat.",
        lifespan=lifespan,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
    )
    app.state.loci = state
    mcp = Endpoint(app, settings)
    app.router.routes.append(mcp.route)
    install(app)
    for router, prefix in ROUTERS:
        app.include_router(router, prefix=prefix)
    app.add_middleware(Envelope, max_body_bytes=settings.max_body_bytes)
    return app
