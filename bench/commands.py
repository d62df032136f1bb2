"""What do commands cost a person who waits, and an agent that keeps one running?

    python -m bench.commands [--times 15]

A service with the demo runs in a folder, and each command is a process of its own there, as its users start it: processor time and
wall time beside those of `python -c pass`, taken in turns, and the memory of the process (for `loci mcp` after a call of a tool).
`alone` opens the database itself. Ratios hold on any machine; seconds hold for a quiet one.
"""

import argparse
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

LOCI = [sys.executable, "-m", "service.cli"]
QUESTION = ["recall", "Where does Alice live?", "--k", "1"]
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "loci --version": [*LOCI, "--version"],
    "loci recall": [*LOCI, *QUESTION],
}
PORT = "0"
SEEN = {"python -c pass": None, "loci --version": 0.15, "loci recall": 0.4}  # seconds that a person should wait at most
MEMORY = 60  # MB of `loci mcp` beside a service, at most
READY_SECONDS = 120
ROOT = Path(__file__).parents[1]


def once(command: Sequence[str], environment: Mapping[str, str], folder: str) -> tuple[float, float]:
    """Seconds of the clock and of the processor that a process takes."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, env=environment, cwd=folder, check=True, capture_output=True)
    took, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def memory_of_mcp(environment: Mapping[str, str], folder: str) -> int:
    """MB of `loci mcp` (its largest resident set) once it has answered the call of a tool."""
    call = {"name": "search_memory", "arguments": {"query": "Where does Alice live?"}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    with subprocess.Popen([*LOCI, "mcp"], env=environment, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
        assert "Porto" in process.stdout.readline().decode()
        status = Path(f"/proc/{process.pid}/status").read_text()
        process.stdin.close()
    return int(status.split("VmHWM:")[1].split()[0]) // 1024


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=15)
    times = parser.parse_args().times
    with tempfile.TemporaryDirectory(prefix="loci-commands-") as folder:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("LOCI_") and name != "DATABASE_URL"}
        environment = {**kept, "PYTHONPATH": f"{ROOT}:{ROOT / 'client'}", "PYTHONSAFEPATH": "1"}
        serving = [*LOCI, "serve", "--demo", "--port", PORT]
        with subprocess.Popen(
            serving, env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as service:
            try:
                until = time.monotonic() + READY_SECONDS
                while not list(Path(folder).glob(".loci/services/*/[0-9]*")) and time.monotonic() < until:
                    time.sleep(0.1)
                once(COMMANDS["loci recall"], environment, folder)  # the service loads what it needs for the first one
                found = {name: [] for name in COMMANDS}
                for _ in range(times):
                    for name, command in COMMANDS.items():
                        found[name].append(once(command, environment, folder))
                used = memory_of_mcp(environment, folder)
            finally:
                service.send_signal(signal.SIGTERM)
        found["loci recall, alone"] = [once(COMMANDS["loci recall"], environment, folder) for _ in range(3)]
    floor = statistics.median(processor for _, processor in found["python -c pass"])
    print(f"\n{'command':20}{'wall':>9}{'processor':>12}{'× python':>10}")
    for name, taken in found.items():
        wall, processor = (statistics.median(column) for column in zip(*taken, strict=True))
        target = SEEN.get(name)
        said = f"   at most {target} s on a quiet machine" if target else ""
        print(f"{name:20}{wall:>7.2f} s{processor:>10.2f} s{processor / floor:>10.1f}{said}")
    print(f"loci mcp: {used} MB (at most {MEMORY})")


if __name__ == "__main__":
    main()
