"""Figures for /metrics, over a connection of its own: a busy pool, or one over a dead server, would hold it up."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import dict_row

from db.health import Check, check_revision


@dataclass(frozen=True)
class QueueMetrics:
    """One queue: how many wait, how many were refused for good, since when the first waits."""

    name: str
    waiting: int
    refused: int
    oldest: datetime | None


@dataclass(frozen=True)
class JobKindMetrics:
    """Jobs of one kind: how many wait, run and are dead, and since when the first that waits could have run."""

    kind: str
    waiting: int
    running: int
    dead: int
    oldest: datetime | None


@dataclass(frozen=True)
class JobMetrics:
    """How jobs stand: by kind, how many workers show signs of life, and how many jobs are in the hands of one that does not."""

    kinds: list[JobKindMetrics]
    workers: int
    lost: int


@dataclass(frozen=True)
class CellLink:
    """How another cell follows this one, `cell`; `other` None: there is no other. `moves`: of namespaces that are under way."""

    cell: int
    other: int | None
    followed: bool
    behind_bytes: int | None
    moves: int


@dataclass(frozen=True)
class DatabaseMetrics:
    """How the database stands."""

    now: datetime
    queues: list[QueueMetrics]
    jobs: JobMetrics
    links: list[CellLink]
    invalid_indexes: int
    connections: int
    connections_max: int
    revision: Check


async def refused_jobs(connection: AsyncConnection[dict[str, Any]]) -> list[str]:
    """Why jobs wait for the operator, a sentence for each reason."""
    rows = await (await connection.execute("select reason, jobs from loci_api.refused_jobs()")).fetchall()
    return [f"{row['jobs']:,} wait until this is mended: {row['reason']}" for row in rows]


async def job_metrics(connection: AsyncConnection[dict[str, Any]], *, alive: float) -> JobMetrics:
    """How jobs stand, as the operator sees it; a worker lives that has shown a sign of it in the last `alive` seconds."""
    rows = await (await connection.execute("select * from loci_api.job_metrics(%s)", [alive])).fetchall()
    kinds = [JobKindMetrics(r["kind"], r["waiting"], r["running"], r["dead"], r["oldest"]) for r in rows if r["kind"] is not None]
    (rest,) = (row for row in rows if row["kind"] is None)
    return JobMetrics(kinds, rest["workers"], rest["lost"])


async def read_metrics(url: str, *, within: int, alive: float) -> DatabaseMetrics:
    """Ask the database. Raises psycopg.Error when it does not answer within so many seconds, or is not migrated."""
    async with await AsyncConnection[dict[str, Any]].connect(
        url, autocommit=True, row_factory=dict_row, connect_timeout=within, application_name="loci metrics"
    ) as connection:
        async with connection.transaction():
            await connection.execute("select set_config('statement_timeout', %s, true)", [f"{within}s"])
            await connection.execute("select from loci_api.begin_request(null, null, null)")
            rows = await (await connection.execute("select now(), * from loci_api.service_metrics()")).fetchall()
            jobs = await job_metrics(connection, alive=alive)
            links = await (await connection.execute("select * from loci_api.cell_links()")).fetchall()
        revision = await check_revision(connection)
    first = rows[0]
    return DatabaseMetrics(
        now=first["now"],
        queues=[QueueMetrics(row["queue"], row["waiting"], row["refused"], row["oldest"]) for row in rows],
        jobs=jobs,
        links=[CellLink(**row) for row in links],
        invalid_indexes=first["invalid_indexes"],
        connections=first["connections"],
        connections_max=first["connections_max"],
        revision=revision,
    )
