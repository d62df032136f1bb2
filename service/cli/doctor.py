"""The work behind `loci doctor`."""

import asyncio
import time
from datetime import UTC, datetime

import httpx
import psycopg

from db import health
from db.health import Check
from db.metrics import job_metrics, refused_jobs
from db.pool import Connection
from loci.models.server import Readiness
from service.cli.database_session import open_connection
from service.cli.framework import Failure, first_line
from service.cli.model_check import TRIAL_SECONDS, check_model
from service.cli.owner_socket import find_service, folder_of, port_of, short_path
from service.cli.serve import reached_at
from service.cli.standby_checks import check_standbys
from service.embedding.active_model import make_provider_for
from service.embedding.factory import make_provider
from service.embedding.provider import EmbeddingError
from service.llm.model import ModelError
from service.llm.prompts import BadPrompt, Prompts, check_folder
from service.rerank.factory import make_reranker
from service.settings import EmbeddingSettings, JobSettings, LLMSettings, RerankSettings, Settings

WORKER_WAIT_SECONDS = 3.0  # seconds in which a worker must have taken something from a waiting queue
LOOK_EVERY = 0.25
LONG_WAIT_SECONDS = 3600.0  # seconds that a job may have been waiting for its turn


async def examine_installation(settings: Settings, url: str, model_seconds: float = TRIAL_SECONDS) -> list[Check]:
    """Everything that can be wrong, checked; when the database cannot be reached, only what needs none."""
    models = [await check_embedding(settings.embedding)]
    if settings.second_embedding.provider != "none":
        models += [await check_embedding(settings.second_embedding, "second embedding")]
    models += [*await check_model(settings, model_seconds), *check_prompts(settings.llm)]
    models += [await check_reranker(settings.rerank), await check_service(settings)]
    try:
        async with open_connection(url) as connection:
            checks = [Check("database", True, await health.server_version(connection))]
            checks += [await health.check_role(connection), await health.check_revision(connection)]
            checks += [await health.check_indexes(connection), await health.check_vector(connection)]
            checks += [await health.check_citus(connection), await check_pooler(connection, settings, url)]
            if all(check.ok for check in checks if check.name == "migrations"):
                checks += [await check_active(connection, settings.embedding), *await check_second(connection, settings)]
                checks += [await check_jobs(connection, settings.jobs)]
                checks += [await check_words(connection)]
                checks += await check_standbys(settings.read_url, settings.max_staleness, connection)
                return [*checks, *models, *await check_queue(connection)]
            return [*checks, *models]
    except (Failure, psycopg.Error) as error:
        standbys = await check_standbys(settings.read_url, settings.max_staleness, None) if settings.read_url else []
        return [Check("database", False, first_line(error)), *standbys, *models]


async def check_embedding(settings: EmbeddingSettings, name: str = "embedding") -> Check:
    """A configured provider makes a vector."""
    try:
        provider = make_provider(settings)
        if provider is None:
            return Check(name, True, "none is configured; recall works without meaning")
        started = time.perf_counter()
        try:
            vectors = await provider.embed(["doctor"], timeout=settings.query_timeout)
        finally:
            await provider.close()
    except (EmbeddingError, RuntimeError) as error:
        return Check(name, False, first_line(error))
    took = 1000 * (time.perf_counter() - started)
    return Check(name, True, f"{provider.name}, {vectors.shape[1]} dimensions, {took:.1f} ms")


async def check_service(settings: Settings) -> Check:
    """The service on this database is ready, and no background task of it has ended lately, if it runs.

    One that left its socket in the data folder is asked there, whatever its port; else the configured address is.
    """
    path = find_service(folder_of(settings.data_dir, settings.database_url))
    where = f"port {port_of(path)}" if path else f"{reached_at(settings.host)}:{settings.port}"
    transport = httpx.AsyncHTTPTransport(uds=short_path(path)) if path else None
    base = "http://localhost" if path else f"http://{where}"
    try:
        async with httpx.AsyncClient(transport=transport, timeout=WORKER_WAIT_SECONDS, base_url=base) as client:
            found = Readiness.model_validate_json((await client.get("/readyz")).content)
    except httpx.TransportError:
        return Check("service", True, f"none answers at {where}")
    except ValueError:
        return Check("service", True, f"what answers at {where} is none")
    wrong = [f"{check.name}: {check.detail}" for check in found.checks if not check.ok]
    return Check("service", not wrong, "; ".join([f"{found.status} at {where}", *wrong]))


async def check_pooler(connection: Connection, settings: Settings, url: str) -> Check:
    """Where a pooler stands between, there is a way around it for what needs a session of its own."""
    if not await health.is_pooled(connection):
        return Check("pooler", True, "none: sessions are the server's own")
    if settings.direct_url is None:
        return Check("pooler", False, "LOCI_DATABASE_URL leads through one: set LOCI_DIRECT_URL to the server itself")
    async with open_connection(settings.direct_url) as direct:
        if await health.is_pooled(direct):
            return Check("pooler", False, "LOCI_DIRECT_URL leads through one too: it must be the address of the server itself")
    if settings.prepares_statements:
        async with open_connection(url) as other:
            if not await health.keeps_prepared_statements(connection, other):
                return Check("pooler", False, f"LOCI_PREPARE is set, and {health.FORGETS}")
    prepared = "are prepared" if settings.prepares_statements else "are not prepared"
    return Check("pooler", True, f"one stands between, and LOCI_DIRECT_URL leads around it; statements {prepared}")


async def check_reranker(settings: RerankSettings) -> Check:
    """The configured reranker judges two tiny texts. Its cost is in no namespace's budget."""
    try:
        reranker = make_reranker(settings)
        if reranker is None:
            return Check("reranker", True, "none is configured; results stay in the order of the search")
        started = time.perf_counter()
        try:
            await reranker.judge("Which word is it?", ["The word is loci.", "It rains."], deadline=2 * reranker.deadline)
        finally:
            await reranker.close()
    except (ModelError, RuntimeError) as error:
        return Check("reranker", False, first_line(error))
    return Check("reranker", True, f"{reranker.name}, {1000 * (time.perf_counter() - started):,.0f} ms")


def check_prompts(settings: LLMSettings) -> list[Check]:
    """The operator's prompts can be read; nothing to check where there are none."""
    if settings.prompts is None:
        return []
    try:
        strange = check_folder(Prompts(settings.prompts))
    except BadPrompt as error:
        return [Check("prompts", False, str(error))]
    return [Check("prompts", True, "; ".join(strange) or str(settings.prompts))]


async def check_active(connection: Connection, settings: EmbeddingSettings) -> Check:
    """The model that is active in the database can be asked from here, and it is the one that is configured."""
    if settings.provider == "none":
        return Check("active model", True, "none is configured")
    rows = {row["state"]: row for row in await health.embedding_models(connection)}
    active, filling, retired = (rows.get(state) for state in ("active", "filling", "retired"))
    if active is None:
        return Check("active model", True, "none is active yet: a service makes its own the active one when it starts")
    try:
        await make_provider_for(settings, active).close()
        configured = make_provider(settings)
    except RuntimeError as error:
        return Check("active model", False, f"{active['name']} is active and cannot be asked here: {first_line(error)}")
    detail = f"{active['name']} is active"
    if configured is not None:
        await configured.close()
        if configured.name != active["name"]:
            detail += f", and {configured.name} is configured: `loci reembed` changes to it"
    if filling is not None:
        detail += f"; {filling['name']} is being filled, {filling['waiting']:,} wait: `loci reembed` goes on"
    if retired is not None:
        detail += f"; vectors of {retired['name']} are left: `loci reembed` drops them"
    return Check("active model", True, detail)


async def check_second(connection: Connection, settings: Settings) -> list[Check]:
    """The second model of the database is the configured one, and how much waits for it; nothing to check without either."""
    there = next((row for row in await health.embedding_models(connection) if row["state"] == "second"), None)
    configured = make_provider(settings.second_embedding)
    if configured is not None:
        await configured.close()
    if there is None:
        missing = f"{configured.name} is configured, and becomes it when a worker starts" if configured is not None else ""
        return [Check("second model", True, missing)] if missing else []
    if configured is None or configured.name != there["name"]:
        other = f"{configured.name} is" if configured is not None else "none is"
        said = f"{there['name']} is the second model, and {other} configured (LOCI_SECOND_EMBEDDING__PROVIDER): "
        return [Check("second model", False, said + "configure it, or `loci reembed --drop-second`")]
    waits = f"{there['waiting']:,} wait" if there["waiting"] else "nothing waits"
    refused = f"; {there['refused']:,} texts were refused for good" if there["refused"] else ""
    return [Check("second model", True, f"{there['name']} joins the first; {waits}{refused}")]


async def check_words(connection: Connection) -> Check:
    """The words of all memories were cut by this major version of PostgreSQL: another may stem some of them otherwise."""
    async with connection.transaction():
        await connection.execute("select from loci_api.begin_request(null, null, null)")
        others = await health.indexes_of_other_servers(connection)
    said = ", ".join(f"{number:,} by PostgreSQL {server}" for server, number in others.items())
    return Check("words", not others, f"namespaces indexed {said}: run `loci verify --repair`" if others else "cut by this server")


async def check_queue(connection: Connection) -> list[Check]:
    """How much waits for a vector, and whether a worker takes from it."""
    queue = first = await health.embedding_queue(connection)
    until = time.monotonic() + WORKER_WAIT_SECONDS
    while queue.waiting and not queue.moved_since(first) and time.monotonic() < until:
        await asyncio.sleep(LOOK_EVERY)
        queue = await health.embedding_queue(connection)
    age = (datetime.now(UTC) - first.oldest).total_seconds() if first.oldest else 0.0
    waiting = f"{first.waiting:,} wait, the oldest for {age:,.0f} s" if first.waiting else "empty"
    refused = f"; {first.refused:,} texts were refused for good" if first.refused else ""
    moves = not queue.waiting or queue.moved_since(first)
    done = "nothing to do" if not first.waiting else f"{first.waiting - queue.waiting:,} done while looking"
    stuck = f"nothing was taken in {WORKER_WAIT_SECONDS:.0f} s: does `loci serve` or `loci worker` run?"
    return [Check("queue", True, waiting + refused), Check("worker", moves, done if moves else stuck)]


async def check_jobs(connection: Connection, settings: JobSettings) -> Check:
    """How jobs stand: what waits, runs, is dead or lost, and whether a worker shows signs of life."""
    async with connection.transaction():
        await connection.execute("select from loci_api.begin_request(null, null, null)")
        found = await job_metrics(connection, alive=settings.lost_after)
        wrong = await refused_jobs(connection)
    waiting, running, dead = (sum(getattr(k, state) for k in found.kinds) for state in ("waiting", "running", "dead"))
    oldest = min((kind.oldest for kind in found.kinds if kind.oldest), default=None)
    age = (datetime.now(UTC) - oldest).total_seconds() if oldest else 0.0
    said = [f"{found.workers} workers, {waiting:,} wait, {running:,} run"]
    if dead:
        wrong.append(f"{dead:,} were given up: `loci job list --state dead` says why; then `loci job retry` or `loci job cancel`")
    if found.lost:
        wrong.append(f"{found.lost:,} are in the hands of a worker that shows no sign of life")
    if oldest and not found.workers:
        wrong.append("nobody works: does `loci serve` or `loci worker` run?")
    elif age > LONG_WAIT_SECONDS:
        wrong.append(f"one could have run for {age:,.0f} s")
    return Check("jobs", not wrong, "; ".join([*said, *wrong]))
