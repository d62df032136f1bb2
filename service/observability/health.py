"""Whether the service can serve."""

import psycopg
from psycopg_pool import PoolTimeout

from db import health
from db.health import Check
from db.pool import Pool

TIMEOUT = 2.0  # seconds that a connection of the pool is waited for


async def check_readiness(pool: Pool) -> list[Check]:
    """What must hold: the database answers, the role is restricted, migrations are at head, indexes are valid."""
    try:
        async with pool.connection(timeout=TIMEOUT) as connection:
            return [
                await health.check_role(connection),
                await health.check_revision(connection),
                await health.check_indexes(connection),
            ]
    except (psycopg.Error, PoolTimeout) as error:
        return [Check("database", False, f"cannot be reached: {error.__class__.__name__}")]
