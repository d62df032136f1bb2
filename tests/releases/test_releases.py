"""A version that was released is upgraded without loss, and its revisions stay as they were."""

from pathlib import Path

import pytest

from db.migrate import upgrade
from tests.databases import Server
from tests.factories import OPERATOR, act_as
from tests.releases.frozen import FIRST, QUEUE, fingerprints, frozen, moved
from tests.releases.saved import MADE, NAMESPACE, lost, restore, rows
from tests.services import Api, serve

RELEASED = sorted(MADE.glob("*.sql.gz"))
FOLLOW = (  # status and end of facts, and what is derived from these: revision 0003 lets them follow memories that are over
    "loci_data.attributes:",
    "loci_data.attribute_terms:",
    "loci_data.contradiction_queue:",
)


def test_revisions_that_were_released_are_as_they_were() -> None:
    assert moved(frozen(), fingerprints()) == []
    assert bool(frozen()) == bool(RELEASED)


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
