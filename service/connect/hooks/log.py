"""The log of hooks: what was wrong, and never what was said. Only the program that runs a hook reads its stdout and stderr."""

import os
from contextlib import suppress
from pathlib import Path
from time import gmtime, strftime

LARGEST_LOG_BYTES = 256 * 1024  # bytes; then it begins anew, and the one before is kept
OWNERS_ALONE = 0o600


def write_log_line(state: Path, said: str) -> None:
    """Write a line. If that fails, nothing is logged."""
    path = state / "hooks.log"
    with suppress(OSError):
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
        if path.exists() and path.stat().st_size > LARGEST_LOG_BYTES:
            path.replace(path.with_suffix(".log.1"))
        line = f"{strftime('%Y-%m-%dT%H:%M:%SZ', gmtime())} {' '.join(said.split())}\n"
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, OWNERS_ALONE)
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(line)
