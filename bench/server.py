"""A service for the length of a benchmark: its own embedded database in a temporary folder, a real process, real HTTP."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

PLAIN = {"LOCI_RERANK__PROVIDER": "none"}  # what is measured does not depend on which extras are installed


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def service(url: str | None = None, *, worker: bool = True, environment: dict[str, str] | None = None) -> Iterator[str]:
    """Yield the URL of a service: the given one, or a fresh one that ends with the block."""
    if url is not None:
        yield url
        return
    with tempfile.TemporaryDirectory(prefix="loci-bench-") as folder:
        Path(folder).chmod(0o755)
        with running(Path(folder), worker=worker, environment=environment) as (address, _):
            yield address


@contextmanager
def running(
    folder: Path, *, worker: bool = True, environment: dict[str, str] | None = None, module: str = "service.cli"
) -> Iterator[tuple[str, int]]:
    """Run `loci serve` (or another module's) over the data folder; yield its URL and process id once it is ready."""
    port = free_port()
    command = [sys.executable, "-m", module, "serve", "--port", str(port), *([] if worker else ["--no-worker"])]
    variables = {**PLAIN, **os.environ, "LOCI_DATA_DIR": str(folder), **(environment or {})}
    process = subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            if process.poll() is not None:
                raise RuntimeError(f"the service ended with {process.returncode}")
            try:
                if httpx.get(f"{address}/readyz").status_code == 200:
                    break
            except httpx.HTTPError:
                pass
            time.sleep(0.1)
        yield address, process.pid
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)
