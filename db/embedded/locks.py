"""Locks on files (flock). The kernel lets go of one when the last process that holds its file open has ended, however it ended."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from errno import ETIMEDOUT
from pathlib import Path

LOOK_EVERY = 0.02
START_LOCK_SECONDS = 240.0  # seconds: a start after a crash may take two minutes
SHARED, EXCLUSIVE = fcntl.LOCK_SH, fcntl.LOCK_EX


class Lock:
    """An open lock file, held or not. A descriptor that another process inherits holds it too, until both are closed."""

    def __init__(self, path: Path) -> None:
        # Only who owns the folder may open it, or anybody could hold it. Not inherited unless it is handed down.
        self.descriptor = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        owner = path.parent.stat()
        if os.geteuid() == 0 and os.fstat(self.descriptor).st_uid != owner.st_uid:
            os.fchown(self.descriptor, owner.st_uid, owner.st_gid)

    def take_lock(self, how: int, *, within: float = 0.0) -> bool:
        """Hold it, changing how it is held; False where others do not let go of it in time."""
        began = time.monotonic()
        while True:
            try:
                fcntl.flock(self.descriptor, how | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() - began >= within:
                    return False
                time.sleep(LOOK_EVERY)
            else:
                return True

    def close(self) -> None:
        """Let go of it, unless another process has inherited it."""
        os.close(self.descriptor)


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Hold a lock alone, until the block ends. Raises TimeoutError where somebody does not let go of it."""
    lock = Lock(path)
    try:
        if not lock.take_lock(EXCLUSIVE, within=START_LOCK_SECONDS):
            raise TimeoutError(ETIMEDOUT, f"another process has held this lock for {START_LOCK_SECONDS:.0f} s", str(path))
        yield
    finally:
        lock.close()


def is_held(path: Path) -> bool:
    """Whether somebody holds a lock alone."""
    lock = Lock(path)
    try:
        return not lock.take_lock(SHARED)
    finally:
        lock.close()
