"""PgBouncer in transaction mode in front of a server, where it is installed."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.distributed.servers import Node, free_port, owner
from tests.services import eventually


def listens(port: int) -> bool:
    """Whether anybody does, on this machine."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


def need_pgbouncer() -> str:
    """Its program, or the test is skipped."""
    found = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if found is None:
        pytest.skip("pgbouncer is not installed (apt install pgbouncer)")
    return found


@contextmanager
def running_pooler(host: object, port: int, size: int = 8) -> Iterator[Node]:
    """A pooler in transaction mode in front of a server; yields how it is reached, as a node of which only the address counts."""
    program = need_pgbouncer()
    with tempfile.TemporaryDirectory(prefix="loci-pooler-") as name:
        folder, reached = Path(name), Node(Path(name), free_port())
        (folder / "users").write_text('"postgres" ""\n"loci_app" ""\n')
        (folder / "conf").write_text(
            f"""[databases]
* = user=loci_app host={host} port={port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {reached.port}
unix_socket_dir =
auth_type = any
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = {size}
max_client_conn = 500
server_idle_timeout = 5
logfile = {folder}/log
"""
        )
        for each in (folder, *folder.iterdir()):
            if (user := owner()) is not None:
                shutil.chown(each, user)
        running = subprocess.Popen(
            [program, str(folder / "conf")],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            user=owner(),
            cwd="/",
        )
        try:
            eventually(lambda: listens(reached.port))
            yield reached
        finally:
            running.send_signal(signal.SIGTERM)
            running.wait(30)
