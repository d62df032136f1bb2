"""Every command of docs/running/backup.md restores what was there, and the restored database keeps its promises."""

import shutil
from collections.abc import Iterator

import psycopg
import pytest

from db.embedded import EmbeddedServer
from tests.databases import VERSION, Database, data_folder, migrated_embedded
from tests.distributed.servers import Node, Servers, owner, running_servers
from tests.loading import write_demo
from tests.running.drills import Place, block
from tests.services import Api, eventually, new_api, ok, problem, serve

pytestmark = pytest.mark.release

ROLES = "select rolname, setconfig from pg_db_role_setting s join pg_roles r on r.oid = s.setrole order by rolname"


@pytest.fixture
def servers() -> Iterator[Servers]:
    """A primary that keeps its log as the page says."""
    with running_servers(0) as made:
        for name in ("base", "log"):
            (made.folder / name).mkdir()
            if (user := owner()) is not None:
                shutil.chown(made.folder / name, user)
        (made.folder / "base").rmdir()
        yield made


def place(servers: Servers, node: Node) -> Place:
    found = Place(
        servers.folder, addresses(node), {"/backups/": f"{servers.folder}/", "/restored": str(servers.folder / "restored")}
    )
    if (user := owner()) is not None:
        shutil.chown(servers.folder, user)
    return found


def addresses(node: Node) -> dict[str, str]:
    return {
        "PGHOST": "127.0.0.1", "PGPORT": str(node.port), "PGUSER": "postgres",
        "LOCI_MIGRATION_URL": node.url(), "DATABASE_URL": node.url("loci_app"),
        "DRILL_MIGRATION_URL": node.url(database="loci_drill"), "DRILL_DATABASE_URL": node.url("loci_app", "loci_drill"),
    }  # fmt: skip


def filled(api: Api) -> None:
    api.write("Alice moved to Oslo in spring", lineage="home", entities=[{"name": "Alice"}])
    api.write("Alice moved to Rome", lineage="home")
    ok(api.post("/context", {"session_id": "s", "message": "Where does Alice live?"}))


@pytest.mark.row("X13")
def test_a_dump_is_restored_beside_the_database_and_on_another_server_and_both_keep_their_promises(servers: Servers) -> None:
    with serve(servers.database) as service, new_api(service) as api:
        filled(api)
        expected, cursor = api.recall("Alice")["results"], ok(api.get("/changes"))["items"][-1]["cursor"]
        namespace = api.namespace
    here = place(servers, servers.primary)
    here.sh(block("backup.md", "pg_dump "), as_owner=True)
    drill = block("backup.md", "createdb")
    said = here.sh(drill)
    assert f"{namespace}" in said
    with running_servers(0, migrated=False) as others:
        there = place(servers, others.primary)
        assert namespace in there.sh(block("backup.md", "psql --quiet"))
        with psycopg.connect(servers.primary.url()) as old, psycopg.connect(others.primary.url()) as new:
            assert new.execute(ROLES).fetchall() == old.execute(ROLES).fetchall()
        with serve(others.database) as service, service.client(**{"X-Namespace": namespace}) as client:
            found = Api(client, namespace, service)
            assert [row["content"] for row in found.recall("Alice")["results"]] == [row["content"] for row in expected]
            problem(found.get("/changes", after=cursor), 410, "gone")


@pytest.mark.row("X13")
def test_the_log_leads_back_to_a_moment_between_two_writes(servers: Servers) -> None:
    node = servers.primary
    here = place(servers, node)
    with (node.folder / "postgresql.conf").open("a") as file:
        file.write(here.here(block("backup.md", "wal_level")))
    node.run("pg_ctl", "-D", node.folder, "-w", "-m", "fast", "stop")
    node.start()
    here.sh(block("backup.md", "pg_basebackup"), as_owner=True)
    with serve(servers.database) as service, new_api(service) as api:
        filled(api)
        node.value("select pg_create_restore_point('between')")
        moment = str(node.value("select clock_timestamp()"))
        api.write("Alice lost her keys")
        cursor = ok(api.get("/changes"))["items"][-1]["cursor"]
        namespace = api.namespace
    node.value("select pg_switch_wal()")
    eventually(lambda: node.value("select last_archived_wal is not null and failed_count = 0 from pg_stat_archiver"))
    node.run("pg_ctl", "-D", node.folder, "-w", "-m", "fast", "stop")
    restored = Node(servers.folder / "restored")
    text = block("backup.md", "cp -a /backups/base")
    copied, _, started = text.partition("touch ")
    back = place(servers, restored)
    back.written["2026-11-23 09:30:00+00"] = moment
    back.sh(f"{copied}printf 'port = {restored.port}\\n' >> /restored/postgresql.conf\n", as_owner=True)
    touched, _, rest = f"touch {started}".partition("loci migrate")
    try:
        back.sh(touched.replace("start", "--log=/restored/log start"), as_owner=True)
        eventually(lambda: restored.value("select not pg_is_in_recovery()"))
        assert namespace in back.sh(f"loci migrate{rest}")
        database = Database("loci", restored.url(), restored.url("loci_app"))
        with serve(database) as service, service.client(**{"X-Namespace": namespace}) as client:
            found = Api(client, namespace, service)
            assert found.found("Alice lost keys", k=5).count("Alice lost her keys") == 0
            assert "Alice moved to Rome" in found.found("Alice")
            found.write("Alice found a coin")  # at the position that the lost write had
            problem(found.get("/changes", after=cursor), 410, "gone")
    finally:
        restored.stop()


def test_the_folder_of_the_embedded_server_is_copied_and_opens_elsewhere() -> None:
    with data_folder() as first, data_folder() as second:
        here, there = (Place(folder, {"LOCI_EMBEDDING__PROVIDER": "none", "GZIP": "-1"}) for folder in (first, second))
        (first / ".loci").mkdir()
        migrated_embedded(first / ".loci")
        used = EmbeddedServer(first / ".loci", VERSION)
        write_demo(Database("postgres", used.connection_url("postgres"), used.connection_url("loci_app")))
        used.leave_server()
        here.sh(block("backup.md", "tar -czf"))
        shutil.move(first / "loci.tgz", second / "loci.tgz")
        assert "default" in there.sh(block("backup.md", "tar -xzf"))
        opened = EmbeddedServer(second / ".loci", VERSION)
        with psycopg.connect(opened.connection_url("postgres")) as connection:
            kept = connection.execute("select count(*) from loci_data.memories where content ~ 'Alice'").fetchone()
        opened.leave_server()
        assert kept is not None
        assert kept[0] > 0
