"""A coordinator of Citus with workers: Loci works there, and keeps everything on the coordinator.

LOCI_CITUS_URL is the address of a coordinator's database, as a superuser, with the extension and at least one worker added.
A cluster of Citus has its nodes in each database, so the tests take this one, and drop what they made in it.
"""

import asyncio
import os
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row

from db.access.analysts import create_analyst, drop_analyst
from db.health import check_citus
from db.migrate import upgrade
from db.pool import Origin, make_pool
from migrations.schema_files import STAY
from tests.databases import PASSWORD, Database, url_for
from tests.services import new_api, ok, serve

URL = os.environ.get("LOCI_CITUS_URL", "")
SCHEMAS = ("loci", "loci_api", "loci_internal", "loci_data", "loci_jobs", "loci_migration")
pytestmark = pytest.mark.skipif(not URL, reason="LOCI_CITUS_URL names no coordinator of Citus")


def workers(admin: psycopg.Connection[Any]) -> list[str]:
    """Addresses of the same database on the workers."""
    rows = admin.execute("select nodename, nodeport from pg_dist_node where groupid <> 0 and isactive order by groupid").fetchall()
    assert rows, "the coordinator of LOCI_CITUS_URL has no workers"
    info = admin.info
    return [f"host={name} port={port} user={info.user} dbname={info.dbname} sslmode=prefer" for name, port in rows]


@pytest.fixture(scope="module")
def coordinator() -> Iterator[Database]:
    """The database of LOCI_CITUS_URL, migrated; without Loci's schemas at the end."""
    with psycopg.connect(URL, autocommit=True) as admin:
        admin.execute(STAY)
        clear(admin)
        upgrade(URL, app_password=PASSWORD)
        name = admin.info.dbname
        yield Database(name, URL, url_for(URL, name, "loci_app"))
        clear(admin)


def clear(admin: psycopg.Connection[Any]) -> None:
    """Drop what is Loci's, on the workers too: a distributed table has its schema there."""
    admin.execute("drop table if exists public.loci_version")
    drop_schemas(admin)
    for url in workers(admin):
        with psycopg.connect(url, autocommit=True) as worker:
            worker.execute(STAY)
            drop_schemas(worker)


def drop_schemas(connection: psycopg.Connection[Any]) -> None:
    connection.execute(sql.SQL("drop schema if exists {} cascade").format(sql.SQL(", ").join(map(sql.Identifier, SCHEMAS))))


def doctor(database: Database) -> tuple[bool, str]:
    """What is said about Citus."""

    async def ask() -> tuple[bool, str]:
        async with make_pool(database.app_url, size=1) as pool, pool.connection() as connection:
            check = await check_citus(connection)
            return check.ok, check.detail

    return asyncio.run(ask())


@pytest.mark.row("X12")
def test_everything_stays_on_the_coordinator_and_doctor_says_so(coordinator: Database) -> None:
    with coordinator.admin() as admin:
        for url in workers(admin):
            with psycopg.connect(url) as worker:
                assert worker.execute("select nspname from pg_namespace where nspname like 'loci%'").fetchall() == []
    fine, said = doctor(coordinator)
    assert fine
    assert "Loci keeps everything on this node" in said


def test_a_worker_is_no_place_to_migrate(coordinator: Database) -> None:
    with coordinator.admin() as admin:
        url = workers(admin)[0]
    parts = psycopg.conninfo.conninfo_to_dict(url)
    with pytest.raises(SystemExit, match="must lead to its coordinator"):
        upgrade(f"postgresql://{parts['user']}@{parts['host']}:{parts['port']}/{parts['dbname']}")


def test_tables_that_somebody_distributes_are_named(coordinator: Database) -> None:
    with coordinator.admin() as admin:
        admin.execute("create table loci_data.strange (namespace_id integer primary key)")
        admin.execute("select create_distributed_table('loci_data.strange', 'namespace_id')")
        try:
            fine, said = doctor(coordinator)
        finally:
            admin.execute("drop table loci_data.strange")
            for url in workers(admin):
                with psycopg.connect(url, autocommit=True) as worker:
                    worker.execute(STAY)
                    drop_schemas(worker)
    assert not fine
    assert "strange" in said
    assert "undistribute_table" in said


@pytest.mark.row("X12")
def test_what_agents_do_works_on_a_coordinator(coordinator: Database) -> None:
    with serve(coordinator, embedding={"provider": "static"}) as service, new_api(service) as api, new_api(service) as other:
        first = api.write("The lighthouse at Cabo da Roca was painted white")
        assert [found["content"] for found in api.recall("lighthouse", k=5)["results"]] == [first["content"]]
        assert other.recall("lighthouse", k=5)["results"] == []
        ok(api.post("/memories/erase", {"ids": [first["id"]]}))
        assert api.recall("lighthouse", k=5)["results"] == []
        kinds = {change["action"] for change in ok(api.get("/changes"))["items"] if change["kind"] == "memory"}
        assert kinds == {"created", "erased"}


def test_analysts_are_made_and_dropped_on_a_coordinator(coordinator: Database) -> None:
    login = f"analyst {uuid4().hex[:12]}"
    origin = Origin(action="create_analyst", via="cli")
    create_analyst(
        coordinator.admin_url,
        login=login,
        password="harbour",
        namespaces=["default"],
        expires_at=None,
        timeout="10s",
        origin=origin,
    )
    with psycopg.connect(url_for(coordinator.admin_url, coordinator.name), row_factory=dict_row) as admin:
        assert admin.execute("select from pg_roles where rolname = %s", [login]).rowcount == 1
    drop_analyst(coordinator.admin_url, login=login, origin=origin)
