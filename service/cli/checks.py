"""The work behind `loci doctor`."""

import asyncio
import time
from datetime import UTC, datetime

import psycopg

from db import diagnosis, health
from db.health import Check
from db.pool import Connection
from service.cli.session import connect
from service.cli.shell import Failure, first_line
from service.embedding import EmbeddingError, make_provider
from service.settings import EmbeddingSettings, Settings

PATIENCE = 3.0  # seconds in which a worker must have taken something from a waiting queue
LOOK_EVERY = 0.25


async def examine(settings: Settings, url: str) -> list[Check]:
    """Everything that can be wrong, checked; when the database cannot be reached, only what needs none."""
    embedding = await check_embedding(settings.embedding)
    try:
        async with connect(url) as connection:
            checks = [Check("database", True, await diagnosis.server(connection))]
            checks += [await health.check_role(connection), await health.check_revision(connection)]
            checks += [await health.check_indexes(connection), await diagnosis.check_vector(connection)]
            if all(check.ok for check in checks if check.name == "migrations"):
                return [*checks, embedding, *await check_queue(connection)]
            return [*checks, embedding]
    except (Failure, psycopg.Error) as error:
        return [Check("database", False, first_line(error)), embedding]


async def check_embedding(settings: EmbeddingSettings) -> Check:
    """The configured provider makes a vector."""
    try:
        provider = make_provider(settings)
        if provider is None:
            return Check("embedding", True, "none is configured; recall works without meaning")
        started = time.perf_counter()
        try:
            vectors = await provider.embed(["doctor"], timeout=settings.query_timeout)
        finally:
            await provider.close()
    except (EmbeddingError, RuntimeError) as error:
        return Check("embedding", False, first_line(error))
    took = 1000 * (time.perf_counter() - started)
    return Check("embedding", True, f"{provider.name}, {vectors.shape[1]} dimensions, {took:.1f} ms")


async def check_queue(connection: Connection) -> list[Check]:
    """How much waits for a vector, and whether a worker takes from it."""
    queue = first = await diagnosis.queue(connection)
    until = time.monotonic() + PATIENCE
    while queue.waiting and not queue.moved_since(first) and time.monotonic() < until:
        await asyncio.sleep(LOOK_EVERY)
        queue = await diagnosis.queue(connection)
    age = (datetime.now(UTC) - first.oldest).total_seconds() if first.oldest else 0.0
    waiting = f"{first.waiting:,} wait, the oldest for {age:,.0f} s" if first.waiting else "empty"
    refused = f"; {first.refused:,} texts were refused for good" if first.refused else ""
    moves = not queue.waiting or queue.moved_since(first)
    done = "nothing to do" if not first.waiting else f"{first.waiting - queue.waiting:,} done while looking"
    stuck = f"nothing was taken in {PATIENCE:.0f} s: does `loci serve` or `loci worker` run?"
    return [Check("queue", True, waiting + refused), Check("worker", moves, done if moves else stuck)]
