"""The service does what its OpenAPI document says, whatever it is sent."""

import hashlib
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID, uuid4

import httpx
import pytest

from tests.catalogue import PYTHONPATH, ROOT
from tests.databases import Server
from tests.services import PATIENCE, Service, openapi_document, serve

KEY = "held-to-the-document"
# Routes whose replies do not end; their own tests read them.
ENDLESS: list[str] = ["/api/v1/events"]
# On every change, what the document allows is sent to some of the paths, drawn by the seed of the run; before a release everything is
# sent to all of them, what it forbids among it, and on ways through several routes.
QUICK = ("--phases", "examples,coverage", "--mode", "positive")
SHARE = 5  # one path of so many
STEPS = 20  # of each way through several routes; the coverage of what the document says needs no number
THOROUGH = 25  # times as many, and examples drawn by lot, of which one a route would be no other than the coverage has


@pytest.fixture(scope="module")
def keyed(server: Server) -> Iterator[Service]:
    """A service that asks for keys; KEY is one of the operator's, so that every route can succeed."""
    database = server.clone("contract")
    with database.admin() as admin:
        admin.execute("select set_config('loci.agent', %s, false)", [str(UUID(int=0))])
        admin.execute("set session authorization loci_app")
        made = uuid4()
        admin.execute(
            "select loci_api.create_key('default', 'admin', 'contract', %s, %s)", [made, hashlib.sha256(KEY.encode()).digest()]
        )
        admin.execute("reset session authorization")
        admin.execute("update loci_data.api_keys set agent_id = %s where id = %s", [UUID(int=0), made])
    with serve(database, tcp=True, require_keys=True, wrong_keys=None, embedding={"provider": "static"}) as running:
        assert (
            httpx.get(f"{running.url}/openapi.json", timeout=PATIENCE).status_code == 200
        )  # made once: schemathesis waits ten seconds
        yield running
    server.drop(database)


@pytest.mark.row("REST")
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.release)], ids=["some paths", "all paths"])
def test_the_service_keeps_to_its_document(keyed: Service, tmp_path: Path, pytestconfig: pytest.Config, whole: bool) -> None:
    thorough = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
    phases = f"""
[phases.stateful.generation]
max-examples = {STEPS * THOROUGH if thorough else STEPS}
[phases.fuzzing]
enabled = {str(thorough).lower()}
[phases.fuzzing.generation]
max-examples = {THOROUGH}
"""
    (config := tmp_path / "schemathesis.toml").write_text(Path(__file__).with_name("schemathesis.toml").read_text() + phases)
    chosen = [option for path in ENDLESS for option in ("--exclude-path", path)]
    if not whole:
        paths = sorted(set(openapi_document()["paths"]) - set(ENDLESS))
        drawn = random.sample(paths, len(paths) // SHARE)
        chosen = [*QUICK, *(option for path in drawn for option in ("--include-path", path))]
    made = subprocess.run(
        [
            *(str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(config)),
            *("run", f"{keyed.url}/openapi.json", "--url", keyed.url, "-H", f"Authorization: Bearer {KEY}", *chosen),
        ],
        cwd=tmp_path,
        # What hypothesis knows of Unicode is read, and not made again.
        env={**os.environ, "PYTHONPATH": PYTHONPATH, "HYPOTHESIS_STORAGE_DIRECTORY": str(ROOT / ".hypothesis")},
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
    )
    assert made.returncode == 0, made.stdout[-40_000:] + made.stderr[-2_000:]
