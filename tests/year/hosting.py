"""Servers and services that the year runs on, and what happens to them: a new version, a lost machine, a failover."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx

from db.migrate import upgrade
from loci import LociClient
from tests.databases import Database
from tests.distributed.servers import Node, Servers, owner, running_servers
from tests.distributed.test_failover import confirm
from tests.faults.test_http_processes import Group
from tests.services import eventually


@dataclass
class Hosting:
    """A database that keeps its log, a service over it, and where they are now."""

    servers: Servers
    folder: Path
    environment: dict[str, str]
    service: Group | None = None
    _clients: list[LociClient] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Where the service is."""
        assert self.service is not None
        return f"http://127.0.0.1:{self.service.port}"

    @property
    def database(self) -> Database:
        """The database, wherever it is now."""
        return replace(self.servers.database, app_url=self.servers.any_url())

    def release(self) -> None:
        """A new version: migrated beside the old one, which ends when the new one answers. Whoever calls finds either."""
        upgrade(self.servers.primary.url())
        self.start()

    def start(self) -> None:
        """Start a service; the one that there was ends when it answers."""
        old, logs = self.service, self.folder / "logs"
        logs.mkdir(exist_ok=True)
        self.service = Group(self.database, logs, 1, **self.environment)
        if old is not None:
            old.end()

    def back_up(self) -> None:
        """A base backup; the log since is kept by the server."""
        self.servers.primary.run(
            "pg_basebackup",
            "-D",
            self.folder / "backup",
            "-d",
            self.servers.primary.url(database="postgres"),
            "-X",
            "stream",
            "-c",
            "fast",
        )

    def restore(self) -> None:
        """Lose the machine; another one is restored from the backup and the kept log, at the same address."""
        lost = self.servers.primary
        segment = str(lost.value("select pg_walfile_name(pg_switch_wal())"))
        eventually((self.folder / "archive" / segment).exists)
        eventually(lambda: str(lost.value("select last_archived_wal from pg_stat_archiver")) >= segment)
        lost.kill()
        shutil.rmtree(lost.folder)
        new = Node(self.folder / "restored", lost.port)
        (self.folder / "backup").rename(new.folder)
        (new.folder / "recovery.signal").touch()
        if (user := owner()) is not None:
            shutil.chown(new.folder / "recovery.signal", user)
        new.configure(restore_command=f"cp {self.folder}/archive/%f %p")
        new.start()
        eventually(lambda: new.value("select not pg_is_in_recovery()"))
        self.servers.primary = new
        self.answers()

    def prepare_failover(self) -> None:
        """A standby that has all that is acknowledged, and a service that knows both."""
        self.servers.add_standby()
        confirm(self.servers.primary)
        self.release()

    def fail_over(self) -> None:
        """The primary goes away while everybody works."""
        self.servers.fail_over()

    def answers(self) -> None:
        """Wait until the service can serve."""

        def ready() -> bool:
            try:
                return httpx.get(f"{self.url}/readyz").status_code == 200
            except httpx.TransportError:
                return False

        eventually(ready)


@contextmanager
def hosting(**environment: str) -> Iterator[Hosting]:
    """Everything that is needed, until the block ends."""
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="loci-year-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        (folder / "archive").mkdir()
        if (user := owner()) is not None:
            shutil.chown(folder, user)
            shutil.chown(folder / "archive", user)
        log: dict[str, Any] = {
            "archive_mode": "on",
            "archive_command": f"test ! -f {folder}/archive/%f && cp %p {folder}/archive/%f",
            "max_wal_size": "4GB",
        }
        servers = stack.enter_context(running_servers(0, **log))
        made = Hosting(servers, folder, environment)
        stack.callback(lambda: made.servers.primary.stop())  # noqa: PLW0108 - the one that is primary then
        made.start()
        try:
            yield made
        finally:
            if made.service is not None:
                made.service.end()
