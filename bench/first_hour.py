"""How long does each step of the first hour take, from a clone to a memory and on?

    python -m bench.first_hour

Each step is done as the documentation says, in a clone in an empty folder, with a home of its own: what the installer has cached
is there. Seconds hold for a quiet machine. It needs git, make, Python and a package index, and PostgreSQL's programs for the upgrade.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_urlsafe

from bench.server import free_port
from db.migrate import upgrade
from tests.databases import data_folder, running_server
from tests.releases.saved import MADE, restore

ROOT = Path(__file__).parents[1]
SEEN = {"make run, and a memory recalled": 60.0, "make run again": 5.0}  # seconds, at most
PATIENCE = 900
CHAT = [("user", f"On day {day} I tried the tea from shelf {day}, and Bruno liked number {day + 1} better.") for day in range(40)]
LAST_WEEK = "What tea did I try last week?"
MEM0 = {"results": [{"id": f"m{n}", "memory": f"Prefers tea number {n}", "created_at": "2025-03-01T08:00:00Z"} for n in range(200)]}
CALL = {"name": "search_memory", "arguments": {"query": "Where does Alice live?"}}


class Hour:
    """A clone, and what its user does there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "loci"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("LOCI_", "PYTHON"))}
        kept.pop("DATABASE_URL", None)
        cache = os.environ.get("UV_CACHE_DIR") or str(Path.home() / ".cache" / "uv")
        home = folder / "home"
        home.mkdir()
        self.environment = {**kept, "HOME": str(home), "UV_CACHE_DIR": cache, "LOCI_PORT": str(free_port())}

    def clone(self) -> None:
        """Take a copy of the repository."""
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(self.folder)], check=True)

    def loci(self, *arguments: str, told: str = "") -> str:
        """What a command of that copy prints."""
        program = str(self.folder / ".venv" / "bin" / "loci")
        done = subprocess.run(
            [program, *arguments],
            check=False,
            cwd=self.folder,
            env=self.environment,
            input=told,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise SystemExit(f"loci {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    @contextmanager
    def running(self) -> Iterator[None]:
        """`make run`, from when it can be asked to the end of the block."""
        with (self.folder.parent / "run.log").open("ab") as out:
            made = subprocess.Popen(
                ["make", "run"], cwd=self.folder, env=self.environment, stdout=out, stderr=out, start_new_session=True
            )
        try:
            until = time.monotonic() + PATIENCE
            while not list(self.folder.glob(".loci/services/*/[0-9]*")):
                if made.poll() is not None or time.monotonic() > until:
                    raise SystemExit((self.folder.parent / "run.log").read_text())
                time.sleep(0.05)
            yield
        finally:
            with suppress(ProcessLookupError):
                os.killpg(made.pid, signal.SIGINT)
            made.wait(60)

    def recall(self, question: str, expected: str) -> None:
        """Ask, and see the answer."""
        answer = self.loci("recall", question, "--k", "3")
        assert expected in answer, answer

    def connect(self) -> None:
        """Give memory to a program, and call a tool as it would."""
        self.loci("connect", "claude-code", "--yes")
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": CALL}
        assert "Porto" in self.loci("mcp", told=json.dumps(request) + "\n")

    def chat(self) -> None:
        """Remember a day's conversation, turn by turn."""
        for number, (who, text) in enumerate(CHAT):
            self.loci("remember", text, "--tag", f"{who}-{number}")

    def bring(self) -> None:
        """Import what another program has exported."""
        file = self.folder.parent / "mem0.json"
        file.write_text(json.dumps(MEM0))
        self.loci("import", str(file))
        self.recall("Which tea is preferred?", "tea")

    def ask_in_sql(self) -> None:
        """Make an analyst, and count the memories as one."""
        password = token_urlsafe()
        self.loci("analyst", "create", "ana", "--namespace", "default", "--password-stdin", told=password)
        self.environment["PGPASSWORD"] = password
        counted = self.loci("psql", "--as", "ana", "-Atc", "select count(*) from loci.current_memories")
        assert int(counted) > len(MEM0["results"])


def upgrade_saved() -> None:
    """Bring a database of 0.1.0 to the schema of now."""
    with data_folder() as folder, running_server(folder) as server:
        server.template()
        database = restore(server, MADE / "0.1.0.sql.gz")
        took["upgrade from 0.1.0"] = measured(lambda: upgrade(database.admin_url))
        server.drop(database)


took: dict[str, float] = {}


def measured(step: Callable[[], None]) -> float:
    """Seconds that a step takes."""
    began = time.perf_counter()
    step()
    return time.perf_counter() - began


def live(folder: Path) -> None:
    """Do it all, and note how long each step took."""
    hour = Hour(folder)
    began = time.perf_counter()
    hour.clone()
    with hour.running():
        hour.recall("Where does Alice live?", "Porto")
        took["make run, and a memory recalled"] = time.perf_counter() - began
    began = time.perf_counter()
    with hour.running():
        took["make run again"] = time.perf_counter() - began
        steps: Mapping[str, Callable[[], None]] = {
            "an agent connected, and its first call": hour.connect,
            f"a day's chat remembered ({len(CHAT)} commands)": hour.chat,
            "a question about last week": lambda: hour.recall(LAST_WEEK, "tea"),
            f"an import of {len(MEM0['results'])} memories": hour.bring,
            "an analyst and a first query": hour.ask_in_sql,
        }
        for name, step in steps.items():
            took[name] = measured(step)


def main() -> None:
    """Measure and print."""
    folder = Path(tempfile.mkdtemp(prefix="loci-first-hour-"))
    try:
        live(folder)
        upgrade_saved()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        sys.stdout.write(f"\n{'step':50}{'seconds':>9}\n")
        for name, seconds in took.items():
            most = f"   at most {SEEN[name]:g} on a quiet machine" if name in SEEN else ""
            sys.stdout.write(f"{name:50}{seconds:>9.1f}{most}\n")


if __name__ == "__main__":
    main()
