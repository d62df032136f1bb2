"""A released version serves beside this one, over one database: what each does before, while and after it is upgraded."""

import io
import os
import re
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from psycopg import sql

from db.migrate import upgrade
from tests.catalogue import ROOT
from tests.databases import Database, Server
from tests.factories import OPERATOR, act_as
from tests.releases.saved import MADE, NAMESPACE, restore
from tests.services import PATIENCE, Api, eventually, new_api, ok, problem, serve

RELEASED = sorted(MADE.glob("*.sql.gz"))
HEADERS = {"X-Namespace": NAMESPACE}


def code_of(path: Path, folder: Path) -> Path:
    """The code of the version that made a database: the commit that kept it is the one that was released."""
    asked = ["git", "-C", str(ROOT), "log", "--diff-filter=A", "--format=%H", "--", str(path.relative_to(ROOT))]
    commit = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.split()
    if not commit:
        pytest.skip("needs the history of the repository: the code of the released version is there")
    archive = subprocess.run(["git", "-C", str(ROOT), "archive", commit[-1]], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    return folder


class Old:
    """`loci` of the released version, with what is installed for this one."""

    def __init__(self, code: Path, database: Database, *arguments: str) -> None:
        self.log = code.parent / f"{arguments[0]}-{len(list(code.parent.iterdir()))}.log"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("LOCI_", "OTEL_"))}
        known = {"DATABASE_URL": database.app_url, "PYTHONPATH": f"{code}:{code / 'client'}", "LOCI_EMBEDDING__PROVIDER": "none"}
        program = [sys.executable, "-c", "from service.cli.main import main; main()", *arguments]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(program, cwd=code, env={**kept, **known}, stdout=log, stderr=log)

    def said(self) -> str:
        """What it has written so far."""
        return self.log.read_text()


@contextmanager
def old_service(code: Path, database: Database) -> Iterator[httpx.Client]:
    """A client of the released version's service."""
    running = Old(code, database, "serve", "--port", "0")
    try:
        eventually(lambda: "Loci listens on" in running.said() or running.process.poll() is not None)
        found = re.search(r"http://127.0.0.1:(\d+)", running.said())
        assert found is not None, running.said()
        with httpx.Client(base_url=f"http://127.0.0.1:{found[1]}", headers=HEADERS, timeout=PATIENCE) as client:
            yield client
    finally:
        running.process.terminate()
        running.process.wait(PATIENCE)


def test_a_request_that_comes_to_a_version_whose_schema_is_gone_is_told_so_and_may_go_elsewhere(own_database: Database) -> None:
    with serve(own_database, worker=False) as service, new_api(service) as api:
        api.write("The kettle belongs to Petra")
        with own_database.admin() as admin:
            found = admin.execute("select oid::regprocedure::text from pg_proc where proname = 'list_entities'").fetchone()
            assert found is not None
            admin.execute(sql.SQL("alter function {} rename to list_entities_of_later").format(sql.SQL(found[0])))
            problem(api.get("/entities"), 500, "internal-error")  # a bug: this version says the schema is its own
            admin.execute("update public.loci_version set version_num = 'later'")
        gone = api.get("/entities")
        told = problem(gone, 503, "unavailable")["detail"]
        assert told.startswith("the database has the schema of another version: revision later, head ")
        assert gone.headers["retry-after"] == "1"
        assert service.client().get("http://loci/readyz").status_code == 503
        assert len(ok(api.get("/memories"))["items"]) == 1  # what it can do it does


@pytest.mark.release
@pytest.mark.parametrize("path", RELEASED, ids=lambda path: path.name.partition(".sql")[0])
def test_writes_beside_two_versions_are_kept_and_the_older_says_that_it_is_over(path: Path, server: Server, tmp_path: Path) -> None:
    server.template()  # the roles are there
    code = code_of(path, tmp_path / "code")
    database = restore(server, path)
    written: dict[str, str] = {}
    answers: list[tuple[int, str]] = []
    try:
        with old_service(code, database) as client:
            assert client.get("/readyz").status_code == 200
            ended = threading.Event()

            def write() -> None:
                number = 0
                while not ended.wait(0.05):
                    number += 1
                    said = f"The kettle number {number} belongs to Petra"
                    reply = client.post("/api/v1/memories", json={"content": said})
                    answers.append((reply.status_code, reply.text[:300]))
                    if reply.status_code == 201:
                        written[reply.json()["id"]] = said
                    for method, address, body in (("GET", "/memories", None), ("POST", "/recall", {"query": "Wo wohnt Alice?"})):
                        asked = client.request(method, f"/api/v1{address}", json=body)
                        answers.append((asked.status_code, asked.text[:300]))

            writing = threading.Thread(target=write)
            writing.start()
            eventually(lambda: bool(written))
            upgrade(database.admin_url)
            eventually(lambda: client.get("/readyz").status_code == 503)
            assert "migrations" in client.get("/readyz").text
            with serve(database) as service, service.client(**HEADERS) as new:
                assert Api(new, NAMESPACE, service).found("Wo wohnt Alice?")[0] == "Alice wohnt in Porto"
            ended.set()
            writing.join(PATIENCE)
        assert not [said for status, said in answers if 400 <= status < 500]  # what it cannot do any more is its own fault
        late = Old(code, database, "serve", "--port", "0")
        assert late.process.wait(PATIENCE) != 0
        assert "a later version has migrated it" in late.said()
        assert_kept(database, written)
    finally:
        server.drop(database)


def assert_kept(database: Database, written: dict[str, str]) -> None:
    """What was acknowledged is there, and what is derived from it agrees."""
    with database.app() as connection:
        act_as(connection, OPERATOR)
        connection.execute("select loci_api.repair_lexical_index(%s)", [NAMESPACE])
        rows: list[tuple[Any, ...]] = connection.execute("select id::text, content from loci_data.memories").fetchall()
        broken = connection.execute("select name, checked, broken, example from loci.verify(%s) where broken > 0", [NAMESPACE])
        assert broken.fetchall() == []
    kept = dict(rows)
    assert {id_: kept.get(id_) for id_ in written} == written
