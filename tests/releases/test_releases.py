"""A version that was released is upgraded without loss, and its revisions stay as they were."""

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic import command
from psycopg import sql
from sqlalchemy.engine import make_url

from db.migrate import _make_config, newest_revision, upgrade
from tests.blocking import blocked
from tests.catalogue import ROOT
from tests.databases import Database, Server
from tests.factories import OPERATOR, act_as
from tests.releases.frozen import FIRST, QUEUE, fingerprints, frozen, moved
from tests.releases.saved import MADE, NAMESPACE, lost, restore, rows
from tests.services import PATIENCE, Api, eventually, serve

RELEASED = sorted(MADE.glob("*.sql.gz"))
FOLLOW = (  # status and end of facts, and what is derived from these: revision 0003 lets them follow memories that are over
    "loci_data.attributes:",
    "loci_data.attribute_terms:",
    "loci_data.contradiction_queue:",
)


def test_revisions_that_were_released_are_as_they_were() -> None:
    assert moved(frozen(), fingerprints()) == []
    assert bool(frozen()) == bool(RELEASED)


@pytest.mark.row("X13")
def test_a_file_that_is_changed_or_added_after_a_release_is_found() -> None:
    now = fingerprints()
    first, revision = f"{FIRST}0002_memories.sql", "migrations/versions/0001_foundation.py"
    assert {first, revision, QUEUE} < now.keys()
    assert moved({}, now) == moved(now, now) == moved(now, now | {"migrations/versions/0002_more.py": "new"}) == []
    for name in (first, revision, QUEUE):
        assert moved(now, now | {name: "changed"}) == [name]
        assert moved(now, {other: digest for other, digest in now.items() if other != name}) == [name]
    assert moved(now, now | {f"{FIRST}0018_more.sql": "new"}) == [f"{FIRST}0018_more.sql"]


@pytest.mark.parametrize("path", RELEASED, ids=lambda path: path.name.partition(".sql")[0])
def test_a_database_of_a_released_version_is_upgraded_without_loss(path: Path, server: Server) -> None:
    server.template()  # the roles are there
    database = restore(server, path)
    try:
        before = rows(database)
        with database.app() as connection:
            act_as(connection, OPERATOR)
            facts = connection.execute("select count(*) from loci_data.attributes").fetchall()
        upgrade(database.admin_url)
        assert [row for row in lost(before, rows(database)) if not row.startswith(FOLLOW)] == []
        with database.app() as connection:
            act_as(connection, OPERATOR)
            assert connection.execute("select count(*) from loci_data.attributes").fetchall() == facts
        with database.app() as connection:
            act_as(connection, OPERATOR)
            connection.execute("select loci_api.repair_lexical_index(%s)", [NAMESPACE])  # another PostgreSQL may have cut its words
            promises = connection.execute("select name, checked, broken, example from loci.verify(%s)", [NAMESPACE]).fetchall()
        assert [found for found in promises if found[2]] == []
        assert any(checked for _, checked, _, _ in promises)
        with serve(database) as service, service.client(**{"X-Namespace": NAMESPACE}) as client:
            assert Api(client, NAMESPACE, service).found("Wo wohnt Alice?")[0] == "Alice wohnt in Porto"
    finally:
        server.drop(database)


@pytest.mark.release
@pytest.mark.parametrize("path", RELEASED, ids=lambda path: path.name.partition(".sql")[0])
def test_an_upgrade_that_is_killed_in_each_revision_leaves_the_one_before_and_is_gone_on_with(path: Path, server: Server) -> None:
    server.template()
    database = restore(server, path)
    try:
        before, killed = rows(database), set()
        with database.admin() as watcher:
            while (at := revision_of(watcher)) != newest_revision():
                if kill_while_it_waits(database, watcher):
                    killed.add(at := revision_of(watcher))
                    if at != newest_revision():  # else it was through with the revisions, and waited to make the functions anew
                        command.upgrade(_make_config(database.admin_url), "+1")
                        assert revision_of(watcher) > at
        assert killed
        upgrade(database.admin_url)
        assert [row for row in lost(before, rows(database)) if not row.startswith(FOLLOW)] == []
    finally:
        server.drop(database)


@pytest.mark.release
@pytest.mark.parametrize("path", RELEASED, ids=lambda path: path.name.partition(".sql")[0])
def test_an_upgrade_and_a_reader_that_wait_for_each_other_both_come_to_their_end(path: Path, server: Server) -> None:
    server.template()
    database = restore(server, path)
    try:
        with database.admin() as watcher, database.admin() as reader, ThreadPoolExecutor(2) as pool:
            reader.execute("set deadlock_timeout = '1h'")  # so that the upgrade is the one that finds it, and gives way
            with reader.transaction():
                reader.execute("lock table loci_data.api_keys in access share mode")
                upgrading = pool.submit(upgrade, database.admin_url)
                eventually(lambda: upgrading.done() or has_waiting(watcher))  # it has the memories, and needs the keys
                blocked(pool, watcher, reader, lambda: reader.execute("select from loci_data.memories")).result(PATIENCE)
            upgrading.result(PATIENCE)
            assert revision_of(watcher) == newest_revision()
    finally:
        server.drop(database)


def has_waiting(watcher: psycopg.Connection[Any]) -> bool:
    """Whether some session of the database waits for a lock."""
    waits = "select from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())"
    return watcher.execute(waits).rowcount > 0


def revision_of(watcher: psycopg.Connection[Any]) -> str:
    """The revision that a database is at."""
    (found,) = watcher.execute("select version_num from public.loci_version").fetchone() or ("",)
    return str(found)


def kill_while_it_waits(database: Database, watcher: psycopg.Connection[Any]) -> bool:
    """Upgrade in a process of its own while somebody reads all tables, and kill it where it waits for one; False: it did not wait."""
    others = "select from pg_stat_activity where datname = current_database() and application_name = 'killed'"
    url = make_url(database.admin_url).update_query_dict({"application_name": "killed"}).render_as_string(hide_password=False)
    with database.admin() as reader, reader.transaction():
        for table in watcher.execute(
            "select oid::regclass::text from pg_class where relnamespace = 'loci_data'::regnamespace and relkind in ('r', 'p')"
        ).fetchall():
            reader.execute(sql.SQL("lock table only {} in access share mode").format(sql.Identifier(*table[0].split("."))))
        upgrading = subprocess.Popen([sys.executable, "-c", f"from db.migrate import upgrade; upgrade({url!r})"], cwd=ROOT)
        eventually(lambda: has_waiting(watcher) or upgrading.poll() is not None)
        upgrading.kill()
        waited = upgrading.wait() == -signal.SIGKILL
    eventually(lambda: watcher.execute(others).rowcount == 0)
    return waited
