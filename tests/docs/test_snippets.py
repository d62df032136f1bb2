"""Every snippet of every page runs as it stands against what a newcomer has, a service with the demo, or says here why not.

A block's language is the word behind its fence; one without a word is a command line if it begins like one, a request if it begins
with a method, and otherwise a picture or an output. Blocks of a page run in their order, and Python's share their names.
"""

import itertools
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import httpx
import pytest
import yaml
from typer.testing import CliRunner

from service.cli.main import app
from service.settings import get_settings
from tests.catalogue import ROOT
from tests.databases import Server
from tests.loading import write_demo
from tests.page.browser import node
from tests.services import PATIENCE, Service, eventually, is_settled, ok, serve

NEEDS_MODEL = "needs a language model"
STARTS = "starts a service, which would go on"
ELSEWHERE = "needs a machine, a file or a database of the reader's own"
INSTALLS = "installs; tests/install does that from built wheels"
UNRUN = {  # page: how a block begins, and why it is not run
    "README.md": {"git clone": INSTALLS},
    "CONTRIBUTING.md": {"make run": INSTALLS, ".venv/bin/python -m pytest": "runs tests"},
    "docs/benchmarks.md": {"python -m bench": "takes hours", "pip install": INSTALLS},
    "docs/connect.md": {"loci serve": "changes the settings of other programs"},
    "docs/context.md": {"Recalled from": "what the request above it replied on another day"},
    "docs/dreams.md": {"$ loci dream": NEEDS_MODEL},
    "docs/graph.md": {"GET /edges?entity=Pia": "the world of the picture above it, and a place to fill in"},
    "docs/mcp.md": {"# Claude Code": "changes the settings of other programs"},
    "docs/models.md": {
        "LOCI_RERANK__ENDPOINT": STARTS, "LOCI_SECOND_EMBEDDING__": STARTS,
    },
    "docs/operations.md": {
        "loci serve": STARTS, "loci reembed": "asks a provider that costs money", "pip install": INSTALLS,
    },
    "docs/retain.md": {"$ curl": NEEDS_MODEL},
    "docs/running/README.md": {"LOCI_MIGRATION_URL": ELSEWHERE, "docker compose": "needs Docker; tests/docker does that"},
    "docs/transfer.md": {
        "loci import ~/.claude": ELSEWHERE, "psql -At": ELSEWHERE,
        "loci export --format markdown": "commits to a repository of the reader's own",
        '{"kind"': "parts of a file, shortened",
    },
    "docs/tuning.md": {"loci tune questions.jsonl": ELSEWHERE},
    "docs/installing.md": {"pip install": INSTALLS, "make wheels": INSTALLS, "# a service with the demo": INSTALLS},
}  # fmt: skip
ELSEWHERE_RUN = {  # pages with a test of their own
    "docs/analysts.md": "tests/docs/test_analysts.py",
    "docs/client.md": "tests/api/test_client_docs.py",
    "docs/namespaces.md": "tests/api/test_client_docs.py",
    "docs/recipes.md": "tests/docs/test_recipes.py",
    "docs/running/backup.md": "tests/running/test_backup.py",
    "docs/running/kubernetes.md": "tests/deploy/test_kubernetes_page.py",
    "docs/running/tls.md": "tests/running/test_tls.py",
    "docs/running/upgrade.md": "tests/running/test_upgrade.py",
}
COMMAND = re.compile(r"(\$ |[A-Z_]+=\S+ )?(loci|\.venv/bin/|curl|make|pip|docker|psql|python|uvicorn|git|mkdir|cd|npm)\b")
METHOD = re.compile(r"(GET|POST|PUT|PATCH|DELETE) /")
FENCE = re.compile(r"^```(.*?)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PROGRAMS = ("loci", ".venv/bin/loci")
QUOTED = re.compile(r"""'[^']*'|"[^"$`\\]*\"""")
OF_A_SHELL = re.compile(r"""[|&;<>(){}\[\]$`\\*?~!'"]""")
ASSIGNED = re.compile(r"[A-Z_]+=")
TOLD = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:.]+Z|…")  # ids, times, what is left out
PAGES = [
    "README.md", "CONTRIBUTING.md", "client/README.md",
    *sorted(str(path.relative_to(ROOT)) for folder in ("docs", "docs/running") for path in (ROOT / folder).glob("*.md")),
]  # fmt: skip


class Block(NamedTuple):
    """A block of a page: what it is, and what it says."""

    kind: str
    text: str


def blocks(page: str) -> list[Block]:
    """The blocks of a page that say that they can be run."""
    found = []
    for info, text in FENCE.findall((ROOT / page).read_text()):
        drawn = "─" in text
        bare = "" if drawn else "sh" if COMMAND.match(text) else "http" if METHOD.match(text) else ""
        kind = info.split(" ")[0] or bare
        found.append(Block(kind, text))
    return found


def left_out(page: str, block: Block) -> bool:
    return any(block.text.startswith(start) for start in UNRUN.get(page, {}))


WITH_BLOCKS = [
    page for page in PAGES if page not in ELSEWHERE_RUN and any(block.kind and not left_out(page, block) for block in blocks(page))
]


def plain_commands(text: str) -> list[tuple[dict[str, str], list[str]]] | None:
    """Variables and arguments of each command, if all are of `loci` and need nothing of a shell but words, quotes and comments."""
    found = []
    for line in text.replace("\\\n", " ").splitlines():
        bare = QUOTED.sub("", line).partition(" #")[0]
        words = [] if OF_A_SHELL.search(bare) else shlex.split(line, comments=True)
        names = dict(word.split("=", 1) for word in itertools.takewhile(ASSIGNED.match, words))
        program, *arguments = words[len(names) :] or [""]
        if program in PROGRAMS:
            found.append((names, arguments))
        elif line.strip():
            return None
    return found


class World:
    """A service with the demo, and a folder that commands run in."""

    def __init__(self, service: Service, folder: Path) -> None:
        self.service, self.folder, self.names = service, folder, {"__name__": "snippet"}
        self.environment = {
            **os.environ,
            "DATABASE_URL": service.database.app_url,
            "PATH": f"{folder}/.venv/bin:{os.environ['PATH']}",
        }
        program = folder / ".venv" / "bin" / "loci"
        program.parent.mkdir(parents=True)
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m service.cli "$@"\n')
        program.chmod(0o755)

    def here(self, text: str) -> str:
        """The same with the address of this service."""
        return text.replace("http://127.0.0.1:8420", self.service.url)

    def sh(self, text: str) -> str:
        """Run commands; what they print. Where they are of `loci` alone, they run in this process: each would load the service anew."""
        if (plain := plain_commands(self.here(text))) is not None:
            return "".join(self.loci(*command) for command in plain)
        environment = {**self.environment, "PYTHONPATH": f"{ROOT}:{ROOT / 'client'}"}
        done = subprocess.run(
            ["bash", "-ec", self.here(text)], env=environment, cwd=self.folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"
        return done.stdout

    def loci(self, names: dict[str, str], arguments: list[str]) -> str:
        """Run a command in this process, with these variables; what it prints."""
        assert arguments[:1] != ["serve"], f"a block that {STARTS}"
        with chdir(self.folder), mock.patch.dict(os.environ, {**self.environment, **names}):
            get_settings.cache_clear()
            done = CliRunner().invoke(app, arguments, prog_name="loci")
        get_settings.cache_clear()
        assert done.exit_code == 0, f"{arguments}\n{done.output}"
        return done.stdout

    def console(self, text: str) -> None:
        """Run the commands of a console, and compare what each prints with what is shown."""
        for command, shown in re.findall(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n?)*)", text, re.MULTILINE):
            wanted = r"[\s\S]*?".join(re.escape(part) for part in TOLD.split(shown.strip()))
            printed = self.sh(command).strip()
            assert re.fullmatch(wanted, printed), f"{command}\nprinted: {printed}\nshown: {shown}"

    def python(self, text: str) -> None:
        """Run statements; those of the page so far are known."""
        exec(compile(self.here(text), "snippet", "exec"), self.names)

    def ts(self, text: str) -> None:
        """Run TypeScript with Node."""
        script = self.folder / "snippet.mts"
        client = (ROOT / "web" / "packages" / "client" / "src" / "index.ts").as_uri()
        script.write_text(self.here(text).replace('"loci-client"', f'"{client}"'))
        done = subprocess.run([node(), script], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    def http(self, text: str) -> None:
        """Send a request: a method and a path, and JSON below."""
        line, _, body = text.partition("\n")
        method, path = line.split()[:2]
        sent: Any = json.loads(body) if body.strip() else None
        ok(httpx.request(method, f"{self.service.url}{path}", json=sent, timeout=PATIENCE))

    def json(self, text: str) -> None:
        """Read it."""
        json.loads(text)

    def yaml(self, text: str) -> None:
        """Read it."""
        yaml.safe_load(text)

    def toml(self, text: str) -> None:
        """Read it."""
        tomllib.loads(text)


@contextmanager
def newcomers(server: Server) -> Iterator[Service]:
    """What `make run` brings: a service with the default embedder and the demo; and a namespace `team` that some pages speak of."""
    database = server.clone("newcomer")
    with serve(database, tcp=True, embedding={"provider": "static"}) as service:
        write_demo(database)
        ok(httpx.post(f"{service.url}/api/v1/namespaces", json={"name": "team"}, timeout=PATIENCE), 201)
        eventually(lambda: is_settled(database))
        yield service
    server.drop(database)


@pytest.fixture(scope="module")
def newcomer(server: Server) -> Iterator[Service]:
    """One for all pages but those that show what commands print, which what others write would change."""
    with newcomers(server) as service:
        yield service


@pytest.fixture
def place(server: Server, request: pytest.FixtureRequest, page: str) -> Iterator[Service]:
    """Where the blocks of a page run."""
    if any(block.kind == "console" and not left_out(page, block) for block in blocks(page)):
        with newcomers(server) as service:
            yield service
    else:
        yield request.getfixturevalue("newcomer")


@pytest.mark.row("X11")
@pytest.mark.parametrize("page", WITH_BLOCKS)
def test_the_blocks_of_a_page_run(place: Service, tmp_path: Path, page: str) -> None:
    world = World(place, tmp_path)
    for block in blocks(page):
        if block.kind and not left_out(page, block):
            getattr(world, block.kind)(block.text)


def test_every_unrun_block_exists_and_has_a_reason() -> None:
    stale = [
        (page, start)
        for page, starts in UNRUN.items()
        for start in starts
        if not any(block.text.startswith(start) for block in blocks(page))
    ]
    assert stale == []
    assert [page for page, test in ELSEWHERE_RUN.items() if page not in PAGES or not (ROOT / test).is_file()] == []


def test_every_language_of_a_block_can_be_run() -> None:
    unknown = {(page, block.kind) for page in PAGES if page not in ELSEWHERE_RUN for block in blocks(page) if block.kind}
    assert {(page, kind) for page, kind in unknown if not hasattr(World, kind)} == set()
