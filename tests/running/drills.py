"""The commands of a page of docs/running, run as they stand there against servers of their own."""

import json
import os
import pwd
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests import forked
from tests.catalogue import PYTHONPATH, ROOT
from tests.distributed.servers import owner, programs

# What `loci` is to the commands: it has what it was told done by a process that has loaded the code, with its streams, where it is.
TOLD = """#!{python} -SE
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as asked:
    asked.connect({place!r})
    told = json.dumps([sys.argv[1:], dict(os.environ), os.getcwd()]).encode()
    socket.send_fds(asked, [len(told).to_bytes(8, "big")], [0, 1, 2])
    asked.sendall(told)
    sys.exit(int(asked.makefile().read()))
"""
DEADLINE = 300  # seconds that a command may take
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: str) -> list[str]:
    """The blocks of a page, in their order."""
    return [text for _, text in BLOCK.findall((ROOT / "docs" / "running" / page).read_text())]


def block(page: str, start: str) -> str:
    """The block that begins so."""
    [found] = [text for text in blocks(page) if text.startswith(start)]
    return found


@contextmanager
def answering(place: Path) -> Iterator[None]:
    """Do what `loci` is told, one command at a time, until the end of the block."""

    def answer() -> None:
        while True:
            asked = listener.accept()[0]
            with asked:
                size, streams, _, _ = socket.recv_fds(asked, 8, 3)
                if not size:  # nobody asks any more
                    return
                with asked.makefile("rb") as reader:
                    arguments, environment, folder = json.loads(reader.read(int.from_bytes(size, "big")))
                process = forked.begin(arguments, environment, streams, Path(folder))
                process.join(DEADLINE)
                process.kill()
                process.join()
                asked.sendall(str(process.exitcode).encode())

    with socket.socket(socket.AF_UNIX) as listener, ThreadPoolExecutor(1) as answerer:
        place.unlink(missing_ok=True)
        listener.bind(str(place))
        listener.listen()
        answered = answerer.submit(answer)
        try:
            yield
        finally:
            with socket.socket(socket.AF_UNIX) as last:
                last.connect(str(place))
            answered.result()


@dataclass
class Place:
    """A folder that commands run in, with what they find in their environment; paths of the page lead into it."""

    folder: Path
    environment: dict[str, str]
    written: dict[str, str] = field(default_factory=dict)  # what the page writes, and what it is here
    by_itself: bool = False  # `loci` loads the code each time, as its users have it

    def __post_init__(self) -> None:
        tools = self.folder / "tools"
        tools.mkdir(exist_ok=True)
        alone = f'#!/bin/sh\nexec {sys.executable} -m service.cli "$@"\n'
        (tools / "loci").write_text(alone if self.by_itself else TOLD.format(python=sys.executable, place=str(tools / "told")))
        (tools / "loci").chmod(0o755)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("LOCI_", "PG", "DATABASE_URL"))}
        path = f"{tools}:{programs()}:{os.environ['PATH']}"
        self.environment = {
            **kept,
            "PATH": path,
            "PYTHONPATH": PYTHONPATH,
            "LC_ALL": "C",
            "HOME": str(self.folder),
            **self.environment,
        }

    def here(self, text: str) -> str:
        """The same with what it is here."""
        for old, new in self.written.items():
            text = text.replace(old, new)
        return text

    def sh(self, text: str, *, as_owner: bool = False) -> str:
        """Run commands to their end, as who owns the servers where they need that; what they print. They must succeed."""
        user = owner() if as_owner else None
        with answering(self.folder / "tools" / "told"):
            done = subprocess.run(
                ["bash", "-euc", self.here(text)], env=self.environment, cwd=self.folder, capture_output=True, text=True, check=False,
                user=user, group=pwd.getpwnam(user).pw_gid if user else None, extra_groups=[] if user else None, timeout=DEADLINE,
            )  # fmt: skip
        assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"
        return done.stdout
