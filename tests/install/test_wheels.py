"""The client by itself, in a project that has packages called `service` and `db`; the server beside it; types for users."""

import json
import os
import re
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from mcp.client.stdio import StdioServerParameters

from loci.version import __version__
from tests.catalogue import ROOT
from tests.databases import ADMIN_URL, PASSWORD, Database, Server, data_folder
from tests.install.environments import Environment, build, install
from tests.services import Service, eventually, serve
from tests.tools import connected

Wheels = dict[str, Path]
ASKS = """
    import asyncio, importlib.util, json, sys

    import db
    import service
    from loci import AsyncLociClient, LociClient, NotFound, __version__
    from loci.models import MemoryInput

    async def content(url, id):
        async with AsyncLociClient(url) as client:
            return (await client.memories.get(id)).content

    with LociClient(sys.argv[1]) as client:
        written = client.memories.write("Alice lives in Oslo.", entities=[{"name": "Alice"}])
        client.memories.write_batch([MemoryInput(content="Bob bakes bread.")])
        try:
            client.graph.get_entity("Nobody")
        except NotFound as error:
            status = error.status
        print(json.dumps({
            "version": __version__,
            "own": [service.__doc__, db.__doc__],
            "found": [m.content for m in client.recall("Where does Alice live?", k=1).memories],
            "listed": [m.content for m in client.memories.list()],
            "awaited": asyncio.run(content(sys.argv[1], written.id)),
            "status": status,
            "server": [m for m in ("fastapi", "psycopg", "migrations", "sql") if importlib.util.find_spec(m)],
        }))
"""
TYPED = """
    from typing import assert_type
    from uuid import UUID

    from loci import AsyncLociClient, AsyncPages, LociClient, Page, Pages
    from loci.models import EntityOut, Filters, ItemWritten, MemoryInput, MemoryOut, MemoryStored, Recalled, RecallOut
    from loci.models.memories import MemoryStored as Stored

    client = LociClient("http://127.0.0.1:8420", namespace="default")
    written = assert_type(client.memories.write("Alice lives in Oslo.", tags=["home"]), MemoryStored)
    assert_type(written, Stored)
    assert_type(written.id, UUID)
    answer = assert_type(client.recall("Where?", category="people", k=3), RecallOut)
    assert_type(answer.memories, list[Recalled])
    assert_type(answer.memories[0].content, str)
    assert_type(client.memories.list(), Pages[MemoryOut])
    assert_type(client.memories.list().page(), Page[MemoryOut])
    assert_type([memory.importance for memory in client.memories.list(limit=3)], list[float])
    assert_type([item for item in client.memories.write_many([MemoryInput(content="x")])], list[ItemWritten])
    assert_type(client.in_namespace("team"), LociClient)

    client.recall("Where?", k="three")  # type: ignore[arg-type]
    client.recall()  # type: ignore[call-arg]
    client.remember_all()  # type: ignore[attr-defined]
    MemoryInput(text="x")  # type: ignore[call-arg]


    async def ask(client: AsyncLociClient) -> None:
        assert_type(await client.recall("Where?"), RecallOut)
        assert_type(client.graph.list_entities(), AsyncPages[EntityOut])
        assert_type([entity.name async for entity in client.graph.list_entities()], list[str])
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Wheels:
    """Both wheels."""
    return build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def alone(wheels: Wheels, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment of the client, and a project with packages of its own that are called like those of the server."""
    made = install(tmp_path_factory.mktemp("client"), wheels["loci-pg-client"])
    for name in ("service", "db"):
        (made.project / name).mkdir()
        (made.project / name / "__init__.py").write_text('"""The project\'s own."""\n')
    return made


@pytest.fixture(scope="module")
def beside(wheels: Wheels) -> Iterator[Environment]:
    """An environment of client and server; programs of the database are run in it by a user of their own."""
    with data_folder() as folder:
        yield install(folder, *wheels.values())


@pytest.fixture(scope="module")
def running(server: Server) -> Iterator[Service]:
    """A service that listens on TCP."""
    database = server.clone("wheels")
    with serve(database, tcp=True, allowed_hosts=[]) as service:
        yield service
    server.drop(database)


def script(environment: Environment, name: str, code: str) -> Path:
    """A program in a project."""
    path = environment.project / name
    path.write_text(textwrap.dedent(code))
    return path


@pytest.mark.release
def test_client_and_server_have_one_version_and_the_server_asks_for_just_that_client(wheels: Wheels) -> None:
    assert {path.name.split("-")[1] for path in wheels.values()} == {__version__}
    with zipfile.ZipFile(wheels["loci-pg-server"]) as wheel:
        [metadata] = [name for name in wheel.namelist() if name.endswith("/METADATA")]
        assert f"Requires-Dist: loci-pg-client=={__version__}" in wheel.read(metadata).decode()
        assert {name.partition("/")[0] for name in wheel.namelist() if ".dist-info" not in name} == {
            "db",
            "migrations",
            "service",
            "sql",
        }
        page = {name.removeprefix("service/http/documentation/") for name in wheel.namelist() if "/documentation/" in name}
        assert page == {path.name for path in (ROOT / "service/http/documentation").iterdir() if path.is_file()}


@pytest.mark.release
def test_the_client_asks_for_httpx_and_pydantic_and_brings_its_types(wheels: Wheels) -> None:
    with zipfile.ZipFile(wheels["loci-pg-client"]) as wheel:
        [metadata] = [name for name in wheel.namelist() if name.endswith("/METADATA")]
        wanted = re.findall(r"^Requires-Dist: ([\w-]+)[^;\n]*$", wheel.read(metadata).decode(), re.MULTILINE)
        assert wanted == ["httpx", "pydantic"]
        assert "loci/py.typed" in wheel.namelist()
        assert {name.partition("/")[0] for name in wheel.namelist() if ".dist-info" not in name} == {"loci"}


@pytest.mark.release
def test_the_client_alone_works_in_a_project_with_packages_called_service_and_db(alone: Environment, running: Service) -> None:
    said = json.loads(alone.run("python", str(script(alone, "ask.py", ASKS)), running.url))
    assert said == {
        "version": __version__,
        "own": ["The project's own.", "The project's own."],
        "found": ["Alice lives in Oslo."],
        "listed": ["Bob bakes bread.", "Alice lives in Oslo."],
        "awaited": "Alice lives in Oslo.",
        "status": 404,
        "server": [],
    }


def test_every_line_that_installs_something_names_what_is_ours() -> None:
    """Whoever copies a line gets Loci, and no stranger's program of a similar name."""
    ours = re.compile(
        r"\.|\./client|(\./client|loci-pg-client)\[langgraph\]|loci-pg-(client|server)|loci-pg-server\[(rerank|traces)\]"
        rf"|(\.|\$PWD)/dist/loci_pg_(client|server)-{re.escape(__version__)}-py3-none-any\.whl"
    )
    pages = [
        ROOT / "README.md",
        ROOT / "client" / "README.md",
        *ROOT.glob("docs/[!d]*/*.md"),
        *ROOT.glob("docs/*.md"),
        *ROOT.glob("service/**/*.py"),
    ]
    line = re.compile(r"\b(?:pip|pipx|uv tool|uv pip) install ([^#`\n]+)|\buvx --from ([^#`\n]+?)(?: loci\b|$)")
    said = {path: line.findall(path.read_text()) for path in [*pages, *ROOT.glob("client/loci/**/*.py")]}
    named = {
        word.strip("'\"") for found in said.values() for groups in found for word in " ".join(groups).replace('"', " ").split()
    }
    assert {"./client", ".", "loci-pg-server[traces]", "loci-pg-client[langgraph]"} <= named
    assert {word for word in named if "loci" in word or word.startswith(".")} == {word for word in named if ours.fullmatch(word)}


@pytest.mark.release
def test_the_lines_of_the_page_install_client_and_server(wheels: Wheels, beside: Environment, alone: Environment) -> None:
    text = (ROOT / "docs" / "installing.md").read_text()
    lines = re.findall(r"^pip install ([^\"#\n]+?) *(?:#.*)?$", text, re.MULTILINE)
    client, server = (f"./dist/{wheels[name].name}" for name in ("loci-pg-client", "loci-pg-server"))
    assert lines == ["./client", "./client .", client, f"{client} {server}"]  # the folders that the wheels are built of, and these
    for tool in (f"uvx --from {server} --with {client} loci", f"uv tool install {server} --with {client}"):
        assert tool in text
    # pipx runs pip in the folder of the environment, where a path that begins at ./ leads nowhere
    assert f'pipx install {server} --preinstall "$PWD/{client.removeprefix("./")}"' in text
    assert (beside.folder / "bin" / "loci").is_file()
    assert not (alone.folder / "bin" / "loci").exists()


@pytest.mark.row("X11")
@pytest.mark.release
def test_the_first_hour_works_from_the_wheels_in_an_empty_folder(beside: Environment, wheels: Wheels, tmp_path: Path) -> None:
    """The demo in a database of its own, a question, the service with the page, and MCP that finds it from another folder."""
    home = Environment(beside.folder, beside.project / "home")
    elsewhere = Environment(beside.folder, beside.project / "elsewhere")
    for made in (home, elsewhere):
        made.project.mkdir()
    assert "loaded 4" in home.run("loci", "demo")
    with served(home, None, tmp_path / "log") as url:
        asked = home.run("loci", "recall", "Where does Alice live?", "--k", "1", LOCI_URL=url)  # not of a server of its own
        assert "Alice lives in Porto" in asked
        with zipfile.ZipFile(wheels["loci-pg-server"]) as wheel:
            built = "service/http/page/built/index.html" in wheel.namelist()
        page = httpx.get(f"{url}/", timeout=60)
        assert (page.status_code, "text/html" in page.headers["content-type"]) == (200 if built else 404, built)
        found = httpx.post(f"{url}/api/v1/recall", json={"query": "Where does Alice live?", "k": 1}, timeout=60).json()
        assert found["results"][0]["content"] == "Alice lives in Porto"
        port = url.rpartition(":")[2]
        program = StdioServerParameters(
            command=str(beside.folder / "bin" / "loci"),
            args=["mcp"],
            env=elsewhere.variables(LOCI_PORT=port),
            cwd=elsewhere.project,
        )
        with connected(program, "auto") as tools:
            assert "Alice lives in Porto" in tools.text("search_memory", query="Where does Alice live?")
    assert list(elsewhere.project.iterdir()) == []


@pytest.mark.release
def test_the_langgraph_stores_say_which_extra_they_need(alone: Environment) -> None:
    said = alone.run("python", "-c", "try:\n import loci.langgraph\nexcept ImportError as error:\n print(error)")
    assert "loci-pg-client[langgraph]" in said


@pytest.mark.release
def test_type_checkers_see_the_types_of_the_installed_client(alone: Environment) -> None:
    path = script(alone, "typed.py", TYPED)
    python = str(alone.folder / "bin" / "python")
    options = ["--strict", "--config-file=", "--cache-dir", os.devnull]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "--python-executable", python, str(path)],
        cwd=alone.project,
        env=alone.variables(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.release
def test_the_server_migrates_and_serves_from_its_wheel(beside: Environment, server: Server, tmp_path: Path) -> None:
    assert beside.run("loci", "--version") == f"loci {__version__}\n"
    database = server.empty(f"{server.run}_wheel_{os.getpid()}")
    try:
        password = {"LOCI_APP_PASSWORD": PASSWORD} if ADMIN_URL else {}
        beside.run("loci", "migrate", LOCI_MIGRATION_URL=database.admin_url, **password)
        with served(beside, database, tmp_path / "log") as url:
            written = httpx.post(f"{url}/api/v1/memories", json={"content": "It rains."}, timeout=30)
            assert written.status_code == 201, written.text
    finally:
        server.drop(database)


class served:  # noqa: N801 (a context)
    """`loci serve` of an environment, on a port of its choice."""

    def __init__(self, environment: Environment, database: Database | None, log: Path) -> None:
        self._log = log
        with log.open("w") as out:
            self._process = subprocess.Popen(
                [str(environment.folder / "bin" / "loci"), "serve", "--port", "0"],
                cwd=environment.project,
                env=environment.variables(
                    **({"DATABASE_URL": database.app_url} if database else {}), LOCI_EMBEDDING__PROVIDER="none"
                ),
                stdout=out,
                stderr=out,
            )

    def __enter__(self) -> str:
        found: list[str] = []

        def listens() -> bool:
            assert self._process.poll() is None, self._log.read_text()
            found[:] = re.findall(r"http://127.0.0.1:\d+", self._log.read_text())
            return bool(found)

        eventually(listens)
        return found[0]

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(60)
