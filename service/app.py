"""The application: what it refuses to start over, what runs while it serves, and its routes."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import psycopg
from fastapi import FastAPI
from psycopg.rows import dict_row
from psycopg_pool import PoolClosed, PoolTimeout
from starlette.middleware.cors import CORSMiddleware
from starlette.types import Lifespan

from db import health
from db.access.keys import Lease, lease_requests
from db.cancellation import finish_despite_cancel, raise_if_cancelled
from db.embedded import EmbeddedServer
from db.migrate import upgrade
from db.pool import LOW_PRIORITY_CONNECTIONS, Connection, Pool, make_pool, primary_url
from db.pool_quota import ShareLimits
from db.standbys import Standbys
from loci.version import __version__
from service.access.admission import Gate
from service.access.key_usage import WRITE_SECONDS, KeyUsageCounts
from service.access.rate_limits import Limiter, WrongKeyLimiter
from service.concurrency import FairTurns, SlotLimiter
from service.deferred_writes import PrimaryWriteQueue
from service.embedding.active_model import make_active_provider
from service.embedding.cache import VectorCache
from service.embedding.second_model import second_settings
from service.http.allowed_hosts import Hosts
from service.http.middleware import RequestMiddleware
from service.http.openapi import HEADERS, Document, openapi_document
from service.http.problems import install_problem_handlers
from service.jobs.runner import Runner
from service.llm.factory import make_model
from service.llm.prompts import BadPrompt, Prompts, check_folder
from service.mcp.http import OTHERS, Endpoint
from service.observability.gauges import Monitor
from service.observability.health import Probe
from service.observability.logs import set_up_logging
from service.observability.tracing import set_up_tracing
from service.operations.feed import Feed
from service.rerank.factory import make_reranker
from service.rerank.piece_store import PieceStore
from service.resources import Resources
from service.routers import known_methods, shared_routes
from service.settings import Settings, get_settings
from service.spool import Spools
from service.standby_router import ReadRouter
from service.state import State
from service.supervision import Supervisor, Work
from service.worker.handlers import HANDLERS
from service.worker.process_priority import BACKGROUND, stand_back
from service.worker.worker import Worker

log = logging.getLogger(__name__)
WATCH_EVERY = 0.5
# The framework's own spans and logs carry query strings and what errors say; service/observability/tracing.py makes ours.
SILENT: Any = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
CONTROL = 2  # connections for what must not wait for requests: keys and their use, readiness
# Connections of a process beside its pools: one that looks for changes, one for /metrics, two of the queue, low-priority ones
EXTRA_CONNECTIONS = 4 + CONTROL + 2 * LOW_PRIORITY_CONNECTIONS


class Refusal(Exception):
    """The service must not start like this; the message says why and what to do."""


def open_database(settings: Settings) -> tuple[str, EmbeddedServer | None]:
    """The URL of the restricted role; without a configured database the embedded server is started and migrated."""
    if settings.database_url:
        return settings.database_url, None
    server = EmbeddedServer(settings.data_dir, settings.postgres_version)
    upgrade(server.connection_url("postgres"))
    return server.connection_url("loci_app"), server


async def restart_dead_server(server: EmbeddedServer) -> None:
    """Start the embedded server again when it died, so that the pool can reconnect."""
    while True:
        await asyncio.sleep(WATCH_EVERY)
        try:
            await asyncio.to_thread(server.ensure_running)
        except Exception as error:
            log.warning("the embedded PostgreSQL does not start: %s", error)


async def check_before_serving(pool: Pool, settings: Settings) -> str | None:
    """Refuse to start over a role that bypasses row-level security, an old schema, an open port without keys, or bad prompts.

    Returns the number of the cell; None where there are none. A cell does not start if another one may own its namespaces.
    So too where the processes want more connections than the server takes; where others leave too few of them, that is logged.
    """
    try:
        for strange in check_folder(Prompts(settings.llm.prompts)):
            log.warning("%s", strange)
    except BadPrompt as error:
        raise Refusal(str(error)) from None
    async with pool.connection() as connection:
        for made in (await health.check_role(connection), await health.check_revision(connection)):
            if not made.ok:
                raise Refusal(made.detail)
        cell, claims = await health.check_cell(connection)
        if not claims.ok:
            raise Refusal(claims.detail)
        await check_pooler(connection, settings, str(pool.conninfo))
        most, used = await health.count_connections(connection)
        wanted = settings.workers * (settings.pool_size + settings.worker_pool_size + EXTRA_CONNECTIONS)
        if wanted > most:
            raise Refusal(
                f"up to {wanted} connections to the database may be opened, and it allows {most}: "
                "lower LOCI_POOL_SIZE (or --workers), or raise max_connections"
            )
        if wanted + used > most:
            log.warning("up to %d connections may be opened; the database allows %d, and %d are in use", wanted, most, used)
        if settings.requires_keys and not await health.has_keys(connection):
            raise Refusal(
                f"bound to {settings.host}, so requests need API keys, and there are none: "
                "run `loci key create --namespace NAME --role ROLE` first"
            )
    return None if cell is None else str(cell)


async def check_pooler(connection: Connection, settings: Settings, url: str) -> None:
    """Refuse to start behind a pooler without a way around it, or with prepared statements that it forgets. Raises Refusal."""
    if settings.direct_url is None:
        if await health.is_pooled(connection):
            raise Refusal(
                "LOCI_DATABASE_URL leads through a pooler, and jobs need sessions of their own: "
                "set LOCI_DIRECT_URL to the address of the server itself"
            )
        return
    async with await Connection.connect(primary_url(settings.direct_url), row_factory=dict_row) as direct:
        if await health.is_pooled(direct):
            raise Refusal("LOCI_DIRECT_URL leads through a pooler: it must be the address of the server itself")
    if settings.prepares_statements and await health.is_pooled(connection):
        async with await Connection.connect(url, row_factory=dict_row, autocommit=True) as other:
            if not await health.keeps_prepared_statements(connection, other):
                raise Refusal(f"LOCI_PREPARE is set, and {health.FORGETS}")


async def _lease_from_pool(pool: Pool, default: int | None, key_hash: bytes, wanted: int, returned: int) -> Lease | None:
    return await lease_requests(pool, key_hash=key_hash, wanted=wanted, default=default, returned=returned)


async def _write_usage_forever(state: State) -> None:
    """Every second: write what keys were used for, and give back what they may not use any more."""
    while True:
        raise_if_cancelled()
        await asyncio.sleep(WRITE_SECONDS)
        await finish_despite_cancel(_settle_usage(state, everything=False))  # what it has taken is counted nowhere else


async def _settle_usage(state: State, *, everything: bool = True) -> None:
    await state.uses.write_counts()
    try:
        await state.limiter.give_back(everything=everything)
    except (psycopg.Error, PoolTimeout, PoolClosed) as error:
        log.warning("leased requests are lost: %s", error)


def from_environment() -> FastAPI:
    """The application as the environment configures it, for `uvicorn --factory service.app:from_environment --workers N`."""
    settings = get_settings()
    set_up_logging(settings.log_level, settings.log_format)
    set_up_tracing()
    url, server = open_database(settings)
    app = create_app(settings, url, server)
    if server is not None:
        app.router.lifespan_context = _leave_server_at_end(server, app.router.lifespan_context)
    return app


def _leave_server_at_end(server: EmbeddedServer, lifespan: Lifespan[Any]) -> Lifespan[Any]:
    """A lifespan that leaves the embedded server at its end: a signal ends uvicorn's process before anything else could."""

    @asynccontextmanager
    async def run_lifespan(app: Any) -> AsyncIterator[Any]:
        try:
            async with lifespan(app) as state:
                yield state
        finally:
            await asyncio.to_thread(server.leave_server)

    return run_lifespan


def make_reads(settings: Settings, pool: Pool, background: Pool, control: Pool, shares: ShareLimits) -> ReadRouter | None:
    """The standbys that are configured; None: none is. Then commits of requests say how far the log has come."""
    if not settings.read_url:
        return None
    pool.positions = True
    size, wait = settings.pool_size, settings.limits.wait
    made = partial(make_pool, timeout=wait, standby=True, prepare=settings.prepares_statements)
    pools = [(url, made(url, size=size, shares=shares), made(url, size=1)) for url in settings.read_url]
    standbys = Standbys(control, pools, staleness=settings.max_staleness, wait=settings.read_wait)
    return ReadRouter(standbys, PrimaryWriteQueue(background))


def answer_origins(app: FastAPI, origins: list[str]) -> None:
    """Let pages of other origins call, and read refusals too. Keys come in headers; no cookie goes along."""
    if origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["*"],
            expose_headers=list(HEADERS),
        )


def make_state(settings: Settings, url: str) -> State:
    """Make the parts of a service over a migrated database; none of them runs yet."""
    provider = make_active_provider(settings.embedding, second_settings(settings))
    limits = settings.limits
    shares = ShareLimits(
        limits.key_share,
        limits.namespace_share,
        limits.key_share_among_others,
        limits.namespace_share_among_others,
        limits.wait,
        limits.waiting,
    )
    pooled, direct = partial(make_pool, prepare=settings.prepares_statements), primary_url(settings.direct_url or url)
    # A pooler's sessions are whoever's.
    lower, lowest = (None, None) if settings.direct_url else (stand_back, partial(stand_back, niceness=BACKGROUND))
    pool = pooled(url, size=settings.pool_size, timeout=limits.wait, shares=shares, stand_back=lower)
    worker_pool = pooled(url, size=settings.worker_pool_size, least=int(settings.worker), stand_back=lowest)
    control = pooled(url, size=CONTROL)
    reads = make_reads(settings, pool, worker_pool, control, shares)
    model, reranker, pieces = make_model(settings.llm), make_reranker(settings.rerank), PieceStore(worker_pool)
    resources = Resources(settings, pool, provider, model, Prompts(settings.llm.prompts), reranker, pieces)
    feed = Feed(direct)
    runner = Runner(direct, replace(resources, pool=worker_pool), HANDLERS)
    return State(
        settings=settings,
        url=url,
        pool=pool,
        provider=provider,
        resources=resources,
        worker=Worker(worker_pool, provider, runner, feed.look_now, feed.is_awaited),
        monitor=Monitor(direct, pool, settings.jobs.lost_after, reads.update_metrics if reads else None),
        feed=feed,
        limiter=Limiter(partial(_lease_from_pool, control, settings.rate_limit)),
        uses=KeyUsageCounts(control),
        worker_pool=worker_pool,
        control=control,
        probe=Probe(control),
        spools=Spools(limits),
        streams=SlotLimiter(limits.streams),
        body_turns=FairTurns(1, 1.0),
        background=Supervisor(),
        entry_vectors=VectorCache(),
        reads=reads,
    )


@asynccontextmanager
async def run_state(state: State, server: EmbeddedServer | None) -> AsyncIterator[None]:
    """Open the parts of a service and run what runs beside requests, until the block ends."""
    resources, background, pools = state.resources, state.background, (state.pool, state.worker_pool, state.control)
    async with AsyncExitStack() as closing:  # all of it happens, whatever one of them raises
        for asked in (resources.model, resources.reranker, state.provider):
            if asked is not None:
                closing.push_async_callback(asked.close)
        for each in pools:
            closing.push_async_callback(each.close)
        closing.push_async_callback(state.monitor.close)
        closing.push_async_callback(_settle_usage, state)
        closing.push_async_callback(background.end_tasks)
        closing.callback(state.feed.close)
        if server is not None:
            background.start_task("embedded server", partial(restart_dead_server, server))
        await asyncio.gather(*(each.open(wait=True, timeout=30) for each in pools))
        state.cell = await check_before_serving(state.pool, state.settings)
        (state.worker.start_steps if state.settings.worker else state.worker.start_feed)(background)
        beside: dict[str, Work] = {
            "monitor": state.monitor.note_until_end,
            "accounts": partial(_write_usage_forever, state),
            "streams": state.feed.look_until_end,
        }
        if resources.pieces is not None:
            beside["pieces"] = resources.pieces.write_until_end
        for name, work in beside.items():
            background.start_task(name, work)
        if state.reads is not None:
            await closing.enter_async_context(state.reads.run_background(background))
        yield


def create_app(settings: Settings, url: str, server: EmbeddedServer | None = None) -> FastAPI:
    """Make the application over a migrated database. `server` is watched while it runs, if given."""
    state = make_state(settings, url)

    @asynccontextmanager
    async def run_application(app: FastAPI) -> AsyncIterator[None]:  # noqa: ARG001 (the protocol's)
        async with run_state(state, server), AsyncExitStack() as closing:
            for endpoint in mcp:
                await closing.enter_async_context(endpoint.run_endpoint())
            yield

    app = FastAPI(
        title="Loci",
        version=__version__,
        summary="Memory and knowledge graph for AI agents, inside Postgres",
        lifespan=run_application,
        telemetry=SILENT,
        openapi_url=None,  # service/http/documentation too: the framework's route makes it on the event loop
        docs_url=None,  # service/http/documentation: the framework's page loads script from elsewhere
        redoc_url=None,
        swagger_ui_oauth2_redirect_url=None,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
    )
    app.openapi = lambda: openapi_document(app, keys_required=settings.requires_keys)  # type: ignore[method-assign]
    app.state.loci, app.state.known_methods, app.state.document = state, known_methods(), Document(app)
    mcp = [Endpoint(app, settings, profile) for profile in ("loci", *OTHERS)]
    app.router.routes.extend(endpoint.route for endpoint in mcp)
    install_problem_handlers(app)
    app.router.routes.extend(shared_routes())
    app.add_middleware(
        Gate,
        hosts=Hosts(settings),
        limiter=state.limiter,
        guesses=WrongKeyLimiter(settings.wrong_keys),
        uses=state.uses,
        keys_required=settings.requires_keys,
        by_address=settings.trusted_proxies is not None,
    )
    app.add_middleware(
        RequestMiddleware,
        deadlines=settings.deadlines,
        max_body_bytes=settings.max_body_bytes,
        max_bodies_bytes=settings.limits.bodies,
        body_seconds=settings.limits.body_seconds,
    )
    answer_origins(app, settings.cors_origins)
    return app
