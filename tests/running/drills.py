"""The commands of a page of docs/running, run as they stand there against servers of their own."""

import os
import pwd
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.catalogue import PYTHONPATH, ROOT
from tests.distributed.servers import owner, programs

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: str) -> list[str]:
    """The blocks of a page, in their order."""
    return [text for _, text in BLOCK.findall((ROOT / "docs" / "running" / page).read_text())]


def block(page: str, start: str) -> str:
    """The block that begins so."""
    [found] = [text for text in blocks(page) if text.startswith(start)]
    return found


@dataclass
class Place:
    """A folder that commands run in, with what they find in their environment; paths of the page lead into it."""

    folder: Path
    environment: dict[str, str]
    written: dict[str, str] = field(default_factory=dict)  # what the page writes, and what it is here

    def __post_init__(self) -> None:
        tools = self.folder / "tools"
        tools.mkdir(exist_ok=True)
        (tools / "loci").write_text(f'#!/bin/sh\nexec {sys.executable} -m service.cli "$@"\n')
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
        done = subprocess.run(
            ["bash", "-euc", self.here(text)], env=self.environment, cwd=self.folder, capture_output=True, text=True, check=False,
            user=user, group=pwd.getpwnam(user).pw_gid if user else None, extra_groups=[] if user else None, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"
        return done.stdout
