"""What `loci doctor` asks of the database, beyond what the service checks before it serves."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from db.health import Check
from db.pool import Connection

OLDEST_PGVECTOR = (0, 8)  # the first with iterative scans


@dataclass(frozen=True)
class Queue:
    """Memories and entities that wait for a vector: how many, since when, and how many were refused for good."""

    waiting: int
    refused: int
    oldest: datetime | None

    def moved_since(self, before: "Queue") -> bool:
        """Whether something was taken from the queue since then."""
        return self.waiting < before.waiting or (self.oldest or before.oldest) != before.oldest


async def server(connection: Connection) -> str:
    """Version and database of the server, in words."""
    row = await (
        await connection.execute("select current_setting('server_version') as version, current_database() as name")
    ).fetchone()
    assert row is not None  # noqa: S101 (one row always)
    return f"PostgreSQL {row['version']}, database {row['name']}"


async def check_vector(connection: Connection) -> Check:
    """The extension vector is there and new enough."""
    row = await (await connection.execute("select extversion from pg_extension where extname = 'vector'")).fetchone()
    if row is None:
        return Check("pgvector", False, "the extension vector is missing: run `loci migrate`")
    version = str(row["extversion"])
    ok = tuple(int(part) for part in version.split(".")[:2]) >= OLDEST_PGVECTOR
    return Check("pgvector", ok, version if ok else f"{version} is too old: 0.8 or later is needed")


async def queue(connection: Connection) -> Queue:
    """The embedding queues of all namespaces, as the operator sees it."""
    async with connection.transaction():
        await connection.execute("select from loci.enter(null, null, null)")
        row = await (
            await connection.execute(
                """select count(*) filter (where error is null) as waiting, count(*) filter (where error is not null) as refused,
                   min(enqueued_at) filter (where error is null) as oldest
                   from (select model_id, error, enqueued_at from loci_data.embedding_queue
                         union all select model_id, error, enqueued_at from loci_data.entity_queue) q
                   where model_id = (select id from loci.embedding_models where state = 'active')"""
            )
        ).fetchone()
    assert row is not None  # noqa: S101 (an aggregate)
    return Queue(row["waiting"], row["refused"], row["oldest"])


async def models(connection: Connection) -> list[dict[str, Any]]:
    """Embedding models, with what waits for each, as the operator sees it."""
    async with connection.transaction():
        await connection.execute("select from loci.enter(null, null, null)")
        return await (await connection.execute("select * from loci.embedding_models order by id")).fetchall()
