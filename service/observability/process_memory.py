"""Memory that a process has freed and its allocator keeps: given back to the system.

glibc keeps what large requests have used, in an arena for each few threads, for the next ones. Elsewhere nothing is done.
"""

import ctypes
import os
import sys
import time
from pathlib import Path

ARENAS, ARENA_MAX = 2, -8  # mallopt(3)
MUCH = 24 * 1024 * 1024  # bytes above the least that was ever used, from which it is worth looking
LOOK_SECONDS = 10.0  # seconds from one look to the next


class Allocator:
    """The allocator of this process."""

    def __init__(self) -> None:
        libc = ctypes.CDLL(None) if sys.platform == "linux" else None
        self._libc = libc if libc is not None and hasattr(libc, "malloc_trim") else None
        self._least = 0
        self._looked = 0.0
        if self._libc is not None:
            self._libc.mallopt(ARENA_MAX, ARENAS)

    def wants_trim(self) -> bool:
        """Whether it may hold much that nobody uses."""
        now = time.monotonic()
        if self._libc is None or now < self._looked + LOOK_SECONDS:
            return False
        self._looked = now
        used = resident_bytes()
        self._least = min(self._least or used, used)
        return used > self._least + MUCH

    def trim_free_memory(self) -> None:
        """Give back what is free; for a thread, as it may take some milliseconds."""
        if self._libc is not None:
            self._libc.malloc_trim(0)


def resident_bytes() -> int:
    """Bytes of this process in memory; 0 where there is no /proc."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
