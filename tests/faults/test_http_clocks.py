"""The clock of the service, of the database, or of both jumps while agents work: by an hour and a day, forth and back.

The clocks are libfaketime's; monotonic ones go on, as those of a machine do whose clock is set.
"""

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from db.embedded import DATABASE, EmbeddedServer
from tests.catalogue import ROOT
from tests.databases import ADMIN_URL, VERSION, Database, data_folder
from tests.services import PATIENCE, eventually, ok

FAKETIME = next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))), None)
pytestmark = [
    pytest.mark.skipif(FAKETIME is None, reason="needs libfaketime (Debian's package of that name)"),
    pytest.mark.skipif(ADMIN_URL is not None, reason="sets the server's clock, so it needs one of its own: the embedded one"),
]
JUMPS = {"an hour ahead": 3600, "an hour back": -3600, "a day ahead": 86400, "a day back": -86400}
WHOSE = {"the service": ("service",), "the database": ("server",), "both": ("service", "server")}


def faked(clock: Path) -> dict[str, str]:
    """The environment of a process that goes by the clock in a file."""
    assert FAKETIME is not None
    said = {"FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    return {"LD_PRELOAD": str(FAKETIME), "DONT_FAKE_MONOTONIC": "1", **said}


@dataclass
class Scene:
    """A service and its server, each with a clock that can be set, and a writer that goes on meanwhile."""

    client: httpx.Client
    database: Database
    clocks: dict[str, Path]
    written: dict[str, str] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def ask(self, method: str, path: str, **sent: Any) -> Any:
        """What a request is answered. One that a timeout of the server has cut off, as its clock jumped, is sent again."""
        for _ in range(5):
            reply = self.client.request(method, path, **sent)
            if reply.status_code not in {503, 504}:
                break
        return ok(reply, reply.status_code if reply.is_success else 200)

    def jump(self, whose: tuple[str, ...], seconds: int) -> None:
        """Set clocks: so many seconds from what it is."""
        for name in whose:
            self.clocks[name].with_suffix(".new").write_text(f"{seconds:+d}\n")
            self.clocks[name].with_suffix(".new").replace(self.clocks[name])

    def write(self, content: str, **fields: Any) -> dict[str, Any]:
        """Write a memory, and note what was acknowledged."""
        made: dict[str, Any] = self.ask("POST", "/memories", json={"content": content, **fields})
        self.written[made["id"]] = content
        return made

    def found(self, query: str, **fields: Any) -> list[str]:
        """Contents that a question finds."""
        return [each["content"] for each in self.ask("POST", "/recall", json={"query": query, **fields})["results"]]

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Another agent writes and asks until the block ends."""
        ended = threading.Event()

        def work() -> None:
            for number in range(10_000):
                if ended.wait(0.02):
                    return
                try:
                    said = f"Lamp {uuid4().hex[:6]} is number {number}"
                    self.write(said)
                    self.ask("GET", "/memories", params={"limit": 5})
                except (AssertionError, httpx.HTTPError) as error:
                    self.wrong.append(repr(error)[:500])

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join(PATIENCE)


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    with data_folder(migrated=True) as folder, pytest.MonkeyPatch.context() as patch:
        clocks = {name: folder / f"{name}.clock" for name in ("service", "server")}
        for clock in clocks.values():
            clock.write_text("+0\n")
        for name, value in faked(clocks["server"]).items():
            patch.setenv(name, value)
        server = EmbeddedServer(folder, VERSION)
        database = Database(DATABASE, server.connection_url("postgres"), server.connection_url("loci_app"))
        known = {"DATABASE_URL": database.app_url, "PYTHONPATH": str(ROOT), "LOCI_EMBEDDING__PROVIDER": "none"}
        program = [sys.executable, "-c", "from service.cli.main import main; main()", "serve", "--port", "0"]
        log = folder / "serve.log"
        with log.open("w") as output:
            process = subprocess.Popen(
                program, env={**os.environ, **faked(clocks["service"]), **known}, stdout=output, stderr=output
            )
        try:
            eventually(lambda: "Loci listens on" in log.read_text() or process.poll() is not None)
            found = re.search(r"http://127.0.0.1:(\d+)", log.read_text())
            assert found is not None, log.read_text()
            with httpx.Client(base_url=f"http://127.0.0.1:{found[1]}/api/v1", timeout=PATIENCE) as client:
                yield Scene(client, database, clocks)
        finally:
            process.terminate()
            process.wait(PATIENCE)
            server.leave_server()


@pytest.mark.sample(3)
@pytest.mark.parametrize("jump", JUMPS)
@pytest.mark.parametrize("whose", WHOSE)
def test_agents_work_on_while_a_clock_jumps_and_when_it_is_set_right(scene: Scene, whose: str, jump: str) -> None:
    desk, key = f"desk{uuid4().hex[:6]}", {"Idempotency-Key": uuid4().hex}
    first = scene.write(f"The {desk} stands in Lisbon")
    before, newest = first["valid_from"], first
    time.sleep(0.01)
    body = {"content": f"The drawer of {desk} is locked"}
    sent = ok(scene.client.post("/memories", json=body, headers=key), 201)
    limited = ok(scene.client.post("/keys", json={"role": "reader", "name": desk, "rate_limit": 5}), 201)["key"]
    asked = {"Authorization": f"Bearer {limited}"}
    assert [scene.client.get("/memories", headers=asked).status_code for _ in range(6)][-1] == 429
    with scene.busy():
        for seconds in (JUMPS[jump], 0):
            scene.jump(WHOSE[whose], seconds)
            began = time.monotonic()
            assert scene.ask("POST", "/memories", json=body, headers=key)["id"] == sent["id"]
            later = scene.write(f"The {desk} stands in Rome {seconds}", lineage=first["lineage"])
            assert later["valid_from"] > newest["valid_from"]  # versions stand in the order in which they were written
            newest = later
            assert scene.found(f"Where does the {desk} stand?", as_of=later["valid_from"])[0] == later["content"]
            if "server" not in WHOSE[whose]:  # times are the database's: what it has dated ahead begins when it comes there
                assert scene.found(f"Where does the {desk} stand?")[0] == later["content"]
            assert scene.found(f"Where does the {desk} stand?", as_of=before)[0].endswith("Lisbon")
            eventually(lambda: scene.client.get(str(scene.client.base_url.join("/readyz"))).status_code == 200)
            made = scene.ask("POST", "/recall/tune", json={})
            eventually(lambda: scene.ask("GET", f"/jobs/{made['job_id']}")["state"] == "succeeded")  # noqa: B023
            assert time.monotonic() - began < PATIENCE
    assert scene.wrong == []
    eventually(lambda: scene.client.get("/memories", headers=asked).status_code == 200)
    with psycopg.connect(scene.database.admin_url) as admin:
        kept = {str(id_): said for id_, said in admin.execute("select id, content from loci_data.memories")}
        open_ones = admin.execute(
            "select lineage from loci_data.memories where valid_to is null group by namespace_id, lineage having count(*) > 1"
        )
        assert open_ones.fetchall() == []
    assert {id_: kept.get(id_) for id_ in scene.written} == scene.written
