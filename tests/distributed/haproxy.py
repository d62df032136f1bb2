"""HAProxy from Debian before cells: the configuration of deploy/haproxy, with maps that `loci cell map --follow` keeps."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from service.cells.haproxy import ask_haproxy
from tests.catalogue import ROOT
from tests.distributed.servers import free_port
from tests.services import PATIENCE, eventually

PROGRAM = shutil.which("haproxy", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")


@dataclass(eq=False)
class HAProxy:
    """One HAProxy; several may share the folder with the maps."""

    folder: Path
    maps: Path
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def socket(self) -> Path:
        """Where it is told of changed maps."""
        return self.folder / "admin.sock"

    def client(self, **headers: str) -> httpx.Client:
        """A client of whichever cell it finds."""
        return httpx.Client(base_url=f"http://127.0.0.1:{self.port}/api/v1", headers=headers, timeout=PATIENCE)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self.folder.mkdir(exist_ok=True)
        self.socket.unlink(missing_ok=True)
        text = (ROOT / "deploy" / "haproxy" / "haproxy.cfg").read_text()
        for word, place in {
            "/etc/haproxy/cells": str(self.maps),
            "/run/haproxy": str(self.folder),
            "bind :8420": f"bind 127.0.0.1:{self.port}",
            "timeout check 3s": f"timeout check {PATIENCE:.0f}s",  # a slow cell is not away
            "127.0.0.1:8405": f"127.0.0.1:{free_port()}",
        }.items():
            text = text.replace(word, place)
        (self.folder / "haproxy.cfg").write_text(text)
        with (self.folder / "log").open("ab") as log:
            command = [str(PROGRAM), "-f", str(self.folder / "haproxy.cfg"), "-f", str(self.maps / "cells.cfg")]
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        eventually(self.answers)

    def answers(self) -> bool:
        """Whether it listens: its socket is there a moment before."""
        with suppress(OSError):
            return bool(self.ask("show info"))
        return False

    def ask(self, command: str) -> str:
        """What it says to a command."""
        return ask_haproxy(self.socket, command)

    def sessions(self, number: int) -> int:
        """Requests that a cell answers for it now."""
        lines = self.ask("show stat").splitlines()
        return next(int(line.split(",")[4]) for line in lines if line.startswith(f"cell_{number},cell_{number},"))

    def kill(self) -> None:
        """End it at once."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@contextmanager
def running_haproxies(url: str, count: int = 1) -> Iterator[list[HAProxy]]:
    """HAProxies that are told of all that changes in a cell's database, until the block ends."""
    if PROGRAM is None:
        pytest.skip("haproxy is not installed")
    folder = Path(tempfile.mkdtemp(prefix="loci-haproxy-"))
    made = [HAProxy(folder / str(nth), folder / "maps") for nth in range(count)]
    sockets = [word for each in made for word in ("--socket", str(each.socket))]
    command = [sys.executable, "-m", "service.cli", "cell", "map", "-o", str(folder / "maps"), "--follow", *sockets]
    with (folder / "log").open("wb") as log:
        follower = subprocess.Popen(command, env={**os.environ, "LOCI_MIGRATION_URL": url}, stdout=log, stderr=log)
    try:
        eventually((folder / "maps" / "cells.cfg").exists)
        for each in made:
            each.start()
        yield made
    finally:
        for each in made:
            each.kill()
        follower.send_signal(signal.SIGTERM)
        follower.wait(60)
        shutil.rmtree(folder, ignore_errors=True)
