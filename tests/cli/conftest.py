"""Running `loci` over a database of its own: inside this process, or as a process where signals and start-up matter."""

import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from unittest.mock import Mock

import httpx
import psycopg
import pytest
from psycopg.rows import dict_row
from typer import testing
from typer.main import get_command
from typer.testing import CliRunner, Result

from service.cli import local_service
from service.cli.main import app
from service.cli.service_address import NAMES
from service.settings import Settings, get_settings
from tests.databases import Database
from tests.forked import Command
from tests.services import PATIENCE, eventually

testing._get_command = cache(get_command)  # type: ignore[attr-defined]  # the tree of commands is made once: it takes 60 ms

Running = subprocess.Popen[str] | Command
Ended = Callable[[Running], tuple[int, str, str]]
OPERATOR = "00000000-0000-0000-0000-000000000000"


@pytest.fixture(autouse=True)
def process_logs_as_before() -> Iterator[None]:
    """Undo what a command sets up for the logs of its process: this process runs many, and what others log is no output of theirs."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def environment_of(database: Database, **changes: str) -> dict[str, str]:
    """What a process over a database finds in its environment."""
    return {**os.environ, "DATABASE_URL": database.app_url, **changes}


def by_itself(arguments: Sequence[str], environment: Mapping[str, str], folder: Path | None = None) -> subprocess.Popen[str]:
    """A process that loads the code itself, as its users have it."""
    command, pipe = [sys.executable, "-m", "service.cli", *arguments], subprocess.PIPE
    return subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=folder)


@dataclass(frozen=True)
class Loci:
    """The command line over one database."""

    database: Database

    def __call__(self, *arguments: str, input: str | None = None) -> Result:
        """Run a command in this process."""
        return CliRunner().invoke(app, list(arguments), input=input, prog_name="loci")

    def start(self, *arguments: str, **environment: str) -> Command:
        """Start a command as a process that has loaded the code."""
        return Command(arguments, environment_of(self.database, **environment))

    def start_by_itself(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """Start a command as its users do."""
        return by_itself(arguments, environment_of(self.database, **environment))

    def rows(self, statement: str, *parameters: object) -> list[dict]:
        """Ask the database as the operator."""
        with psycopg.connect(self.database.admin_url, row_factory=dict_row) as connection:
            connection.execute("select set_config('loci.agent', %s, true)", [OPERATOR])
            return connection.execute(statement, parameters).fetchall()

    def count(self, table: str) -> int:
        """Rows of a table."""
        statements = {
            "memories": "select count(*) as n from loci_data.memories",
            "entities": "select count(*) as n from loci_data.entities",
            "edges": "select count(*) as n from loci_data.edges",
        }
        return self.rows(statements[table])[0]["n"]


Opened = Callable[..., AbstractContextManager[httpx.BaseTransport]]


@pytest.fixture(scope="module")
def kept_open(own_database: Database) -> Iterator[Opened]:
    """How commands open the application over this module's database: once for the same settings, and kept. Every other one as ever.

    To open it takes five times what a command does then. That commands open and close one of their own is seen over other databases,
    where they do background work, and in processes.
    """
    anew = local_service.open_application
    kept: list[tuple[Settings, httpx.BaseTransport]] = []
    with ExitStack() as stack:

        @contextmanager
        def application(*, worker: bool) -> Iterator[httpx.BaseTransport]:
            settings = get_settings()
            if worker or settings.database_url != own_database.app_url:
                with anew(worker=worker) as transport:
                    yield transport
                return
            if (found := next((transport for known, transport in kept if known == settings), None)) is None:
                found = stack.enter_context(anew(worker=False))
                kept.append((settings, found))
            yield found

        yield application


@pytest.fixture
def loci(own_database: Database, kept_open: Opened, monkeypatch: pytest.MonkeyPatch) -> Iterator[Loci]:
    """The command line over this module's database."""
    monkeypatch.setattr(local_service, "open_application", kept_open)
    monkeypatch.setenv("DATABASE_URL", own_database.app_url)
    for name in ("LOCI_DATABASE_URL", *NAMES):
        monkeypatch.delenv(name, raising=False)
    get_settings.cache_clear()
    yield Loci(own_database)
    get_settings.cache_clear()


@pytest.fixture
def namespace(loci: Loci, request: pytest.FixtureRequest) -> str:
    """A namespace of the test's own."""
    name = f"t{abs(hash(request.node.nodeid)):x}"[:30]
    assert loci("namespace", "create", name).exit_code == 0
    return name


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`serve` and `worker` that refuse to start may be called here: the log of the tests stays as it was, and so does SIGTERM.

    Where one does not refuse, it ends before it serves or works, and not with the run.
    """
    monkeypatch.setattr("service.cli.serve.set_up", lambda _: lambda: None)
    for begun in ("announce_address", "open_pool"):
        monkeypatch.setattr(f"service.cli.serve.{begun}", Mock(side_effect=AssertionError("it was not refused")))
    handler = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, handler)


@contextmanager
def reserved_port() -> Iterator[int]:
    """A port of this machine that nobody else is given: it is bound, and not listened on, which another socket may do then."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield int(holder.getsockname()[1])


@pytest.fixture
def port() -> Iterator[int]:
    """A port of the test's own."""
    with reserved_port() as reserved:
        yield reserved


def wait_until_ready(process: Running, port: int) -> httpx.Response:
    """Wait until a service answers; its first answer."""

    with httpx.Client(verify=False, timeout=PATIENCE) as client:  # certificates take 20 ms of the processor to read

        def answer() -> httpx.Response | None:
            with suppress(httpx.TransportError):
                return client.get(f"http://127.0.0.1:{port}/readyz")
            assert process.poll() is None, process.communicate()
            return None

        found: httpx.Response = eventually(answer)
        return found


@pytest.fixture
def ended() -> Ended:
    """Wait for a process to end: its exit code, stdout and stderr."""

    def wait(process: Running) -> tuple[int, str, str]:
        try:
            out, err = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return process.wait(), out, err

    return wait
