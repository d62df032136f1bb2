"""Whether the service can serve."""

import asyncio

import psycopg
from psycopg_pool import PoolTimeout

from db import health
from db.health import Check
from db.pool import Pool

PROBE_TIMEOUT_SECONDS = 1.5  # seconds that whoever asks waits; then the database counts as away
GIVEN_UP = 10.0  # seconds after which a look is broken off, so that its connection is free again


class Probe:
    """Answers all who ask at one moment with one look, so that no number of them takes more than one connection."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._looking: asyncio.Task[list[Check]] | None = None

    async def look_at_health(self) -> list[Check]:
        """Present state; nobody waits for a database that stands still."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(check_readiness(self._pool))
        done, _ = await asyncio.wait({self._looking}, timeout=PROBE_TIMEOUT_SECONDS)
        return self._looking.result() if done else [Check("database", False, f"did not answer within {PROBE_TIMEOUT_SECONDS:g} s")]


def check_background(failing: dict[str, str]) -> Check:
    """No background task has ended lately. One that has is started again; the service can serve meanwhile."""
    said = "; ".join(f"{name} ended: {why}" for name, why in failing.items())
    return Check("background", not failing, said or "all tasks run")


async def check_readiness(pool: Pool) -> list[Check]:
    """Conditions: the database answers, the role is restricted, migrations are at head, indexes are valid."""
    try:
        async with asyncio.timeout(GIVEN_UP), pool.connection(timeout=PROBE_TIMEOUT_SECONDS) as connection:
            return [
                await health.check_role(connection),
                await health.check_revision(connection),
                await health.check_indexes(connection),
            ]
    except (psycopg.Error, PoolTimeout, TimeoutError) as error:
        return [Check("database", False, f"cannot be reached: {error.__class__.__name__}")]
