"""Sessions of analysts run at low priority, where the server is on this machine.

A statement of an analyst may be worth seconds of a processor. Limits of time end it; until then it would take as much of the
processors as all requests. PostgreSQL has no priorities, the system has.

They become idle tasks (Linux's SCHED_IDLE): what wakes takes a processor from them at once. With a niceness alone their weight is
small, but what wakes may wait until their slice ends, and a request wakes a dozen times.

Where Linux groups tasks by session (`kernel.sched_autogroup_enabled`, outside of control groups), class and niceness of a task
count inside its session alone, and each process of PostgreSQL is a session of its own: so that group is made nice too.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from itertools import dropwhile
from pathlib import Path

BACKGROUND, NICE, NICEST = 5, 10, 19
PARALLEL = ["parallel", "worker", "for", "PID"]


class Priorities:
    """Looks at the server's processes, and lowers the priority of those of some logins as soon as they are there.

    Does nothing where the server is not on this machine, or its processes are not ours to lower.
    """

    def __init__(self) -> None:
        self._logins: frozenset[str] = frozenset()
        self._parent: int | None = None
        self._seen: frozenset[str] = frozenset()
        self._lowered: frozenset[int] = frozenset()

    def lower_logins(self, logins: Iterable[str]) -> None:
        """Have the sessions of these logins be lowered: also those that were looked at before a login was known."""
        known = frozenset(logins)
        if known - self._logins:
            self._seen = frozenset()
        self._logins = known

    def find_server(self, pid: int) -> None:
        """Know the server by one of its processes, as the server numbers it."""
        self._parent = None
        with suppress(OSError):
            if _read_title(pid).startswith("postgres: loci_"):  # and not a process that has the same number here
                self._parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])

    @property
    def wanted(self) -> bool:
        """Whether there is anybody whose sessions are to be lowered."""
        return bool(self._logins)

    def lower_new_sessions(self) -> None:
        """Lower the priority of sessions that have begun since the last look."""
        if not self._logins or self._parent is None:
            return
        with suppress(OSError):
            children = frozenset(Path(f"/proc/{self._parent}/task/{self._parent}/children").read_text().split())
            self._lowered = frozenset(pid for pid in self._lowered if str(pid) in children)
            self._seen = frozenset(pid for pid in children if pid in self._seen or self._lower_process(int(pid)))

    def _lower_process(self, pid: int) -> bool:
        """Lower a process if it is one of those, or works for one; False while that cannot be said or done yet."""
        with suppress(ProcessLookupError, FileNotFoundError):
            words = _split_title(_read_title(pid))
            leader = _find_leader(words)
            if not words or (leader is not None and str(leader) not in self._seen):
                return False
            if words[0] in self._logins or leader in self._lowered:
                self._lowered |= {pid}
                return lower_priority(pid)
        return True


def lower_priority(pid: int) -> bool:
    """Have a process take only what nobody else wants; False where the system wants to be asked again later."""
    os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))
    return _lower_group(pid, NICEST)


def stand_back(pid: int, niceness: int = NICE) -> bool:
    """Lower one of the service's own server processes for good; False as above.

    By niceness (10 is a tenth of the weight of others), and not as an idle task: it writes, and may hold what others wait for.
    """
    with suppress(OSError):
        words = _split_title(_read_title(pid))
        if words and words[0].startswith("loci_"):  # and not a process that has the same number here
            os.setpriority(os.PRIO_PROCESS, pid, niceness)
            return _lower_group(pid, niceness)
    return True


def _lower_group(pid: int, niceness: int) -> bool:
    try:
        if os.getsid(pid) == pid:  # else the group is that of others too
            Path(f"/proc/{pid}/autogroup").write_text(str(niceness))
    except BlockingIOError:  # the kernel takes ten of these a second from whoever is not root
        return False
    except OSError:  # there are no such groups
        pass
    return True


def _split_title(title: str) -> list[str]:
    """Words of a title, `postgres: login database …` or `postgres: cluster: login database …`, from the login on."""
    return list(dropwhile(lambda word: word.endswith(":"), title.split())) if title.startswith("postgres: ") else []


def _find_leader(words: list[str]) -> int | None:
    """The process that a worker of a parallel statement works for."""
    *said, pid = words[:5] or [""]
    return int(pid) if said == PARALLEL and pid.isdigit() else None


def _read_title(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").decode(errors="replace")
