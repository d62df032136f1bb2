"""The embedded PostgreSQL: started in a folder of the project, reached over a Unix socket, nothing installed by hand.

Three locks on files in the folder say who is there (docs/design/running.md):

- `start.lock`: held for the moment in which somebody makes, starts or stops the server;
- `users.lock`: held, shared, by each process that uses it, so the last one to leave sees that it is the last;
- `server.lock`: held by the server's own processes, which inherit it, and by those that make its files.

The kernel lets go of them when processes end, also killed ones, so nothing that is left behind has to be believed or swept.
"""

import atexit
import os
import threading
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from psycopg import Connection, sql
from psycopg.pq import Ping

from db.embedded.cluster import CONFIGURATION, LOOPBACK, Cluster, DoesNotStart
from db.embedded.locks import EXCLUSIVE, LOOK_EVERY, SHARED, Lock, hold_lock, is_held

__all__ = ["CONFIGURATION", "DATABASE", "DoesNotStart", "EmbeddedServer"]

DATABASE = "loci"
READY_SECONDS = 60


class EmbeddedServer:
    """One server a folder; processes that use the same folder share it, and the last one to end stops it.

    With `tcp`, a port, it listens on the loopback address too; everybody finds its socket nonetheless. `joined` says whether it ran
    already. After a process that was killed it runs on until the next one that uses it has left.
    """

    def __init__(self, folder: Path, version: int, tcp: int | None = None) -> None:
        folder = folder.expanduser().resolve()
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._cluster = Cluster(folder / "pg", version, tcp)
        self._process = os.getpid()
        self._turn = threading.Lock()
        self._use: Lock | None = Lock(folder / "users.lock")
        atexit.register(self.leave_server)
        try:
            with hold_lock(folder / "start.lock"):
                self._use.take_lock(SHARED)
                self.joined = not self._start_if_down()
                self._ensure_database()
        except BaseException:
            self.leave_server()
            raise

    def connection_url(self, user: str, database: str = DATABASE) -> str:
        """Connection string for a role: a process of the data's owner needs no password for postgres and loci_app."""
        return f"postgresql://{user}@/{database}?host={quote(str(self.socket_folder))}&port={self._cluster.socket_port}"

    @property
    def tcp_address(self) -> str | None:
        """Where it listens on TCP, as the URL of whoever has a password begins; None: at its socket alone."""
        return f"postgresql://{LOOPBACK}:{self._cluster.tcp_port}/{DATABASE}" if self._cluster.tcp_port else None

    @property
    def socket_folder(self) -> Path:
        """Where its socket is."""
        return self._cluster.socket_folder

    def ensure_running(self) -> None:
        """Start the server again if it died."""
        with self._turn:
            if self._use is not None and not self._is_alive():
                with hold_lock(self._folder / "start.lock"):
                    self._start_if_down()

    def leave_server(self) -> None:
        """Leave the server; it stops when nobody else uses it. Once is enough, and more does no harm."""
        with self._turn:
            if self._use is None or os.getpid() != self._process:  # a fork of the process that uses it
                return
            # A folder that is gone has nothing to stop: a server without its files ends by itself.
            with suppress(FileNotFoundError, TimeoutError), hold_lock(self._folder / "start.lock"):
                if self._use.take_lock(EXCLUSIVE) and self._is_alive() and self._cluster.stop_server():
                    self._wait_for_its_end()
            self._use.close()
            self._use = None
        atexit.unregister(self.leave_server)

    def _start_if_down(self) -> bool:
        """Bring up what is not up, and wait until it serves; whether it had to be started."""
        lock = Lock(self._folder / "server.lock")
        began = time.monotonic()
        try:
            while True:
                answer = self._cluster.ping_server()
                if answer == Ping.OK:
                    self._cluster.renew_access()
                    return False
                if answer == Ping.NO_RESPONSE and lock.take_lock(EXCLUSIVE):  # else it comes up, or a process of it is about to end
                    self._cluster.start_server(lock.descriptor)
                    return True
                if time.monotonic() - began > READY_SECONDS:
                    raise DoesNotStart(f"a server runs in {self._folder}, and has not answered for {READY_SECONDS} s")
                time.sleep(LOOK_EVERY)
        finally:
            lock.close()

    def _is_alive(self) -> bool:
        """Whether one of the server's processes does. One that was started by hand holds no lock, and answers."""
        return is_held(self._folder / "server.lock") or self._cluster.ping_server() != Ping.NO_RESPONSE

    def _wait_for_its_end(self) -> None:
        """Its files say that it has ended a moment before its last process does."""
        lock = Lock(self._folder / "server.lock")
        lock.take_lock(EXCLUSIVE, within=READY_SECONDS)
        lock.close()

    def _ensure_database(self) -> None:
        with Connection.connect(self.connection_url("postgres", "postgres"), autocommit=True) as connection:
            found = connection.execute("select from pg_database where datname = %s", (DATABASE,)).fetchone()
            if found is None:
                connection.execute(sql.SQL("create database {}").format(sql.Identifier(DATABASE)))
