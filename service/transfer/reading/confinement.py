"""Rights that the process which reads an import gives up before it reads: memory, time, the network, other programs, other files.

Limits of the system hold everywhere; Linux also keeps the promises below the interpreter (seccomp, Landlock), where it knows them.
"""

import ctypes
import os
import platform
import resource
import signal
import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

OPEN_FILES = 256
NICENESS = 10  # behind the service and its database
# System calls by architecture: network, programs, other processes, and ways around both.
DENIED = {
    "x86_64": (0xC000003E, (41, 42, 43, 49, 50, 53, 56, 57, 58, 59, 62, 101, 288, 310, 311, 322, 425, 426, 427, 434, 435, 438)),
    "aarch64": (0xC00000B7, (117, 129, 198, 199, 200, 201, 202, 203, 220, 221, 242, 270, 271, 281, 425, 426, 427, 434, 435, 438)),
}
EPERM = 1
ALLOW, DENY = 0x7FFF0000, 0x00050000 | EPERM
LOAD, EQUAL, LARGER, RETURN = 0x20, 0x15, 0x35, 0x06
DIE_WITH_PARENT, SECCOMP, FILTER, NO_NEW_PRIVILEGES = 1, 22, 2, 38
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # Landlock, on both architectures
WRITES = 0x1FF2 | 1 << 13 | 1 << 14  # write, remove, make whatever there is, link elsewhere, truncate
IN_FOLDER = 1 << 1 | 1 << 5 | 1 << 8 | 1 << 14  # write, remove and make files, truncate
LANDLOCK_KNOWS = {1: 13, 2: 14}  # how many rights the first versions know
REFUSED = ("socket.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system", "subprocess.", "pty.", "ctypes.", "os.kill")
CHANGES = {"os.mkdir", "os.rename", "os.link", "os.symlink", "os.rmdir", "os.chmod", "os.chown", "os.truncate"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def limit_memory(most: int) -> None:
    """At most so many bytes beside the program itself; nothing is dumped, and the system ends this process first."""
    kind = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
    with suppress(ValueError, OSError):  # macOS has limits that it does not let anybody set
        resource.setrlimit(kind, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def limit_time(seconds: int, most: int) -> None:
    """At most so many seconds of a processor; the process ends at once when they are used up."""
    resource.setrlimit(resource.RLIMIT_CPU, (min(seconds, most), most))


def confine_process(folder: str, largest: int) -> None:
    """Give up network, programs, and all files that can be written but those of a folder, each at most `largest` bytes."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
    with suppress(OSError):
        os.nice(NICENESS)
        if os.getsid(0) == os.getpid():  # Linux may count niceness inside a session alone, and that one is its own
            Path("/proc/self/autogroup").write_text(str(NICENESS))
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
        libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        _keep_to(libc, folder)
        _refuse_calls(libc)
    _install_audit_hook(folder)


def _keep_to(libc: Any, folder: str) -> None:
    """Landlock: files are written in the folder alone; read, they may be anywhere."""
    version = libc.syscall(CREATE_RULESET, None, 0, 1)
    if version < 1:
        return
    known = WRITES & ((1 << LANDLOCK_KNOWS.get(version, 15)) - 1)
    handled = ctypes.create_string_buffer(struct.pack("<Q", known), 8)
    rules = libc.syscall(CREATE_RULESET, handled, 8, 0)
    if rules < 0:
        return
    place = os.open(folder, os.O_PATH | os.O_DIRECTORY)  # type: ignore[attr-defined, unused-ignore]
    rule = ctypes.create_string_buffer(struct.pack("<Qi", known & IN_FOLDER, place), 12)
    if libc.syscall(ADD_RULE, rules, 1, rule, 0) == 0:
        libc.syscall(RESTRICT_SELF, rules, 0)
    os.close(place)
    os.close(rules)


def _refuse_calls(libc: Any) -> None:
    """Seccomp: sockets, programs, other processes and threads are refused, whatever code asks for them."""
    if platform.machine() not in DENIED:
        return
    machine, numbers = DENIED[platform.machine()]
    steps = [(LOAD, 0, 0, 4), (EQUAL, 1, 0, machine), (RETURN, 0, 0, DENY), (LOAD, 0, 0, 0), (LARGER, 0, 1, 0x40000000)]
    steps.append((RETURN, 0, 0, DENY))  # other numbers for the same calls
    for number in numbers:
        steps += [(EQUAL, 0, 1, number), (RETURN, 0, 0, DENY)]
    steps.append((RETURN, 0, 0, ALLOW))
    code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(steps), ctypes.addressof(code)))
    libc.prctl(SECCOMP, FILTER, program, 0, 0)


def _install_audit_hook(folder: str) -> None:
    """Have the interpreter refuse the same, which it does on every system."""
    within = Path(folder).resolve()

    def is_outside(path: Any) -> bool:
        return not isinstance(path, int) and not Path(os.fsdecode(path)).resolve().is_relative_to(within)

    def refuse_event(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = arguments
            writes = bool(flags & WRITING) if isinstance(flags, int) else any(sign in (mode or "") for sign in "wax+")
            if writes and path is not None and is_outside(path):
                raise PermissionError("a process that reads an import writes to its folder alone")
        elif event in CHANGES or (event == "os.remove" and is_outside(arguments[0])) or event.startswith(REFUSED):
            raise PermissionError(f"a process that reads an import may not do this: {event}")

    sys.addaudithook(refuse_event)
