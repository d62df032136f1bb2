"""Conditions for serving, and further checks of `loci doctor`."""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from psycopg import errors as pg

from db.migrate import is_known, newest_revision
from db.models.reembedding import EmbeddingModelRow
from db.pool import Connection
from migrations.sql_files import digest_schema

FORGETS = "the pooler knows no prepared statements: PgBouncer does from 1.21 on, with max_prepared_statements"
POOLER_SESSION_SECONDS = 2.0  # seconds for a session of a pooler
OLDEST_PGVECTOR = (0, 8)  # the first with iterative scans


@dataclass(frozen=True)
class Check:
    """One condition, and what is wrong when it does not hold."""

    name: str
    ok: bool
    detail: str


async def check_role(connection: Connection) -> Check:
    """The session can never bypass row-level security: no superuser, no BYPASSRLS, no owner of a table, not able to become one."""
    row = await (
        await connection.execute(
            """select session_user::text as name,
                      bool_or(r.rolsuper) as superuser, bool_or(r.rolbypassrls) as bypass,
                      exists (select from pg_class c where c.relnamespace = to_regnamespace('loci_data')
                              and c.relkind in ('r', 'p', 'v') and pg_has_role(session_user, c.relowner, 'member')) as owner
               from pg_roles r where pg_has_role(session_user, r.oid, 'member') or r.rolname = current_user"""
        )
    ).fetchone()
    assert row is not None  # noqa: S101 (an aggregate)
    wrong = [
        word
        for word, bad in (
            ("is a superuser", row["superuser"]),
            ("bypasses row-level security", row["bypass"]),
            ("owns tables of Loci, or may act as their owner", row["owner"]),
        )
        if bad
    ]
    detail = f"the role {row['name']} {' and '.join(wrong)}; connect as loci_app" if wrong else f"{row['name']} is restricted"
    return Check("role", not wrong, detail)


async def check_cell(connection: Connection) -> tuple[int | None, Check]:
    """Which cell the database is (None: none), and whether other cells follow it and it claims nothing of theirs."""
    row = await (await connection.execute("select cell, problem from loci_api.cell_state()")).fetchone()
    wrong = row["problem"] if row else None
    return row["cell"] if row else None, Check(
        "cell", wrong is None, f"this cell must not serve: {wrong}" if wrong else "may serve"
    )


async def check_revision(connection: Connection) -> Check:
    """The schema is at the revision that this code was written for."""
    try:
        row = await (await connection.execute("select version_num from public.loci_version")).fetchone()
        found = row["version_num"] if row else None
    except (pg.UndefinedTable, pg.InsufficientPrivilege):
        found = None
    said = f"revision {found}, head {newest_revision()}"
    if found == newest_revision():
        return Check("migrations", True, said)
    later = found is not None and not is_known(found)
    return Check(
        "migrations", False, f"{said}: " + ("a later version has migrated it; start that" if later else "run `loci migrate`")
    )


async def is_replayed(connection: Connection) -> bool:
    """The schema is what this version's files make, and the service's sessions in this database begin as they should.

    Settings of roles are not in a dump: a restored database has the note, and not them.
    """
    if not (await check_revision(connection)).ok:
        return False
    row = await (
        await connection.execute(
            """select exists (select from pg_constraint c where c.conrelid = to_regclass('public.loci_version')
                              and obj_description(c.oid, 'pg_constraint') = %s)
                      and exists (select from pg_db_role_setting s join pg_database d on d.oid = s.setdatabase
                                  where d.datname = current_database() and s.setrole = 'loci_app'::regrole) as replayed""",
            [digest_schema()],
        )
    ).fetchone()
    return bool(row and row["replayed"])


async def check_indexes(connection: Connection) -> Check:
    """No index of the schema is invalid or half-built, but those that are being built for a model that does not serve yet."""
    async with connection.transaction():
        await connection.execute("set transaction isolation level repeatable read, read only")  # an index that is done may serve
        rows = await (
            await connection.execute(
                """select c.relname, substring(c.relname from '_hnsw_([0-9]+)$')::integer as model
                   from pg_index i join pg_class c on c.oid = i.indexrelid
                   where c.relnamespace = to_regnamespace('loci_data') and not (i.indisvalid and i.indisready) order by 1"""
            )
        ).fetchall()
        if any(row["model"] is not None for row in rows):
            in_use = await connection.execute("select id from loci_data.embedding_models where active or second")
            serving = {model["id"] for model in await in_use.fetchall()}
            rows = [row for row in rows if row["model"] is None or row["model"] in serving]
    names = ", ".join(row["relname"] for row in rows)
    return Check("indexes", not rows, f"invalid: {names}" if rows else "all valid")


async def indexes_of_other_servers(connection: Connection) -> dict[int, int]:
    """Namespaces whose words another major version of PostgreSQL has cut, by that version."""
    rows = await (await connection.execute("select server, namespaces from loci_api.indexes_of_other_servers()")).fetchall()
    return {row["server"]: row["namespaces"] for row in rows}


async def is_pooled(connection: Connection) -> bool:
    """Whether a pooler stands between: then the session has another number than the one that it was greeted with."""
    row = await (await connection.execute("select pg_backend_pid() as pid")).fetchone()
    assert row is not None  # noqa: S101 (one row always)
    return bool(row["pid"] != connection.info.backend_pid)


async def keeps_prepared_statements(connection: Connection, other: Connection) -> bool:
    """Whether what is prepared through a pooler is known in any session that it gives; `other` leads through it, too.

    While the other keeps the session busy in which something was prepared, another one must do it. True also where the pooler has
    no second session to give. Prepared statements are forgotten at the end: the session is somebody else's next.
    """
    threshold, connection.prepare_threshold = connection.prepare_threshold, 0  # None: psycopg would prepare nothing
    try:
        await connection.execute("select 1", prepare=True)
        async with other.transaction():
            await other.execute("select 1", prepare=False)
            try:
                async with asyncio.timeout(POOLER_SESSION_SECONDS):
                    await connection.execute("select 1", prepare=True)
            finally:
                await other.execute("deallocate all", prepare=False)
    except (pg.InvalidSqlStatementName, pg.DuplicatePreparedStatement):
        return False
    except TimeoutError:
        return True
    finally:
        connection.prepare_threshold = threshold
    return True


async def count_connections(connection: Connection) -> tuple[int, int]:
    """How many connections this role can have here at most, and how many there are to the server now, of everybody."""
    row = await (
        await connection.execute(
            """select least(current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
                            - coalesce(nullif(current_setting('reserved_connections', true), ''), '0')::integer,
                            nullif(r.rolconnlimit, -1), nullif(d.datconnlimit, -1)) as most,
                      (select sum(s.numbackends)::integer from pg_stat_database s) as used
               from pg_roles r, pg_database d where r.rolname = session_user and d.datname = current_database()"""
        )
    ).fetchone()
    assert row is not None  # noqa: S101 (one row always)
    return row["most"], row["used"]


async def has_keys(connection: Connection) -> bool:
    """Whether any key could be accepted."""
    row = await (await connection.execute("select loci_api.has_keys() as found")).fetchone()
    return bool(row and row["found"])


@dataclass(frozen=True)
class EmbeddingQueue:
    """Memories and entities that wait for a vector: how many, since when, and how many were refused for good."""

    waiting: int
    refused: int
    oldest: datetime | None

    def moved_since(self, before: "EmbeddingQueue") -> bool:
        """Whether something was taken from the queue since then."""
        return self.waiting < before.waiting or (self.oldest or before.oldest) != before.oldest


async def server_version(connection: Connection) -> str:
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


async def check_citus(connection: Connection) -> Check:
    """Where Citus is in the database, none of Loci's tables is distributed: its functions cannot work over shards."""
    row = await (
        await connection.execute(
            """select (select extversion from pg_extension where extname = 'citus') as version,
                      to_regclass('pg_catalog.pg_dist_partition') is not null as known"""
        )
    ).fetchone()
    if row is None or row["version"] is None or not row["known"]:
        return Check("citus", True, "none: one server has everything")
    found = await (
        await connection.execute(
            """select (select count(*) from pg_catalog.pg_dist_node n where n.groupid <> 0 and n.isactive) as workers,
                      array(select c.relname::text from pg_catalog.pg_dist_partition p join pg_class c on c.oid = p.logicalrelid
                            where c.relnamespace in (to_regnamespace('loci_data'), to_regnamespace('loci_jobs'))
                            order by 1) as tables"""
        )
    ).fetchone()
    assert found is not None  # noqa: S101 (one row always)
    if found["tables"]:
        names = ", ".join(found["tables"])
        return Check("citus", False, f"undo with undistribute_table what Loci cannot work on, tables that are distributed: {names}")
    return Check("citus", True, f"Citus {row['version']} with workers: {found['workers']}; Loci keeps everything on this node")


async def embedding_queue(connection: Connection) -> EmbeddingQueue:
    """The embedding queues of all namespaces, as the operator sees it."""
    async with connection.transaction():
        await connection.execute("select from loci_api.begin_request(null, null, null)")
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
    return EmbeddingQueue(row["waiting"], row["refused"], row["oldest"])


async def embedding_models(connection: Connection) -> list[EmbeddingModelRow]:
    """Embedding models, with what waits for each, as the operator sees it."""
    async with connection.transaction():
        await connection.execute("select from loci_api.begin_request(null, null, null)")
        found = await (await connection.execute("select * from loci.embedding_models order by id")).fetchall()
    return cast("list[EmbeddingModelRow]", found)
