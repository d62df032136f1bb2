"""Sessions of analysts stand back behind those of the service: where the server is on this machine, its scheduler is told so.

A statement of an analyst may be worth seconds of a processor. Limits of time end it; until then it would take as much of the
processors as all requests. PostgreSQL has no priorities, the system has.
"""

import os
from contextlib import suppress
from pathlib import Path

NICENESS = 10  # a tenth of the weight of others; not less, since a process may hold what others wait for


class Priorities:
    """Looks at the server's processes, and lowers the priority of those of some logins as soon as they are there.

    Does nothing where the server is not on this machine, or its processes are not ours to lower.
    """

    def __init__(self) -> None:
        self.logins: frozenset[str] = frozenset()
        self._parent: int | None = None
        self._seen: frozenset[str] = frozenset()

    def find_server(self, pid: int) -> None:
        """Know the server by one of its processes, as the server numbers it."""
        self._parent = None
        with suppress(OSError):
            if _title(pid).startswith("postgres: loci_"):  # and not a process that has the same number here
                self._parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])

    def look(self) -> None:
        """Lower the priority of sessions that have begun since the last look."""
        if not self.logins or self._parent is None:
            return
        with suppress(OSError):
            children = frozenset(Path(f"/proc/{self._parent}/task/{self._parent}/children").read_text().split())
            self._seen = frozenset(pid for pid in children if pid in self._seen or self._settle(int(pid)))

    def _settle(self, pid: int) -> bool:
        """Lower the priority of a process if it is one of those; False while it does not say yet whose it is."""
        with suppress(ProcessLookupError, FileNotFoundError):
            title = _title(pid)
            if not title.startswith("postgres: "):
                return False
            if _login(title) in self.logins:
                os.setpriority(os.PRIO_PROCESS, pid, NICENESS)
        return True


def _login(title: str) -> str:
    """Of `postgres: login database …`, or `postgres: cluster: login database …`; a database may be called as a login is."""
    words = title.split()[1:]
    return next((word for word in words if not word.endswith(":")), "")


def _title(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").decode(errors="replace")
