"""How long does a hook hold up the program that runs it?

    python -m bench.hooks

`loci hook claude-code` as a process, again and again: a prompt with a service that answers, with one that hangs, and without one;
and the end of a turn, whose conversation a process of its own takes. A bare start of Python stands beside it as the floor. Processor
time says the same on a busy machine; what was waited for does not.
"""

import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from bench.measure import HEADER, Figure, options
from bench.server import running

RUNS = 20
BUDGET_MS = 300
HOOK = [sys.executable, "-m", "service.cli", "hook", "claude-code"]


@dataclass(frozen=True)
class Times:
    """Milliseconds of several runs: waited for, and of the processor; and how many of them said something."""

    waited: list[float]
    worked: float
    said: int


def run(command: list[str], given: dict[str, Any], **environment: str) -> Times:
    """Run a command RUNS times, after a first one that fills caches."""
    content, known = json.dumps(given).encode(), {**os.environ, **environment}
    subprocess.run(command, input=content, capture_output=True, env=known, check=True)
    waited, said = [], 0
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(RUNS):
        start = time.perf_counter()
        said += bool(subprocess.run(command, input=content, capture_output=True, env=known, check=True).stdout)
        waited.append((time.perf_counter() - start) * 1000)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    worked = sum(getattr(after, kind) - getattr(before, kind) for kind in ("ru_utime", "ru_stime")) * 1000 / RUNS
    return Times(sorted(waited), worked, said)


def measure(home: Path, url: str) -> list[Figure]:
    """Every way to run it."""
    transcript = home / "s.jsonl"
    transcript.touch()
    prompt = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "Where does Alice live?", "cwd": "/work/rocket"}
    prompt["source"] = "clear"  # what was shown is shown again, so that each run has something to say
    stop = {"hook_event_name": "Stop", "session_id": "s", "transcript_path": str(transcript), "cwd": "/work/rocket"}
    with ExitStack() as stack:
        hanging = stack.enter_context(socket.create_server(("127.0.0.1", 0)))  # it is connected to, and never answers
        silent = f"http://127.0.0.1:{hanging.getsockname()[1]}"
        made = {
            "a prompt, Loci answers": run(HOOK, prompt, HOME=str(home), LOCI_URL=url),
            "a prompt, Loci hangs": run(HOOK, prompt, HOME=str(home), LOCI_URL=silent),
            "a prompt, Loci is down": run(HOOK, prompt, HOME=str(home), LOCI_URL="http://127.0.0.1:9"),
            "the end of a turn": run(HOOK, stop, HOME=str(home), LOCI_URL=url),
        }
        floor = run([sys.executable, "-c", "pass"], {}, HOME=str(home))
    return [_figure(name, times, floor) for name, times in made.items()]


def _figure(name: str, times: Times, floor: Times) -> Figure:
    median, longest = times.waited[RUNS // 2], times.waited[-1]
    value = f"median {median:.0f} ms, longest {longest:.0f} ms; processor {times.worked:.0f} ms; context {times.said} of {RUNS}"
    beside = f"{floor.waited[RUNS // 2]:.0f} ms"
    return Figure(f"hook: {name}", value, beside, median / floor.waited[RUNS // 2], f"median < {BUDGET_MS} ms", median < BUDGET_MS)


def main() -> None:
    """Measure, and print."""
    options(__doc__)
    with tempfile.TemporaryDirectory(prefix="loci-bench-") as folder, running(Path(folder) / "data") as (url, _):
        for n in range(20):
            httpx.post(f"{url}/api/v1/memories", json={"content": f"Alice {n} lives in street {n}"}).raise_for_status()
        figures = measure(Path(folder), url)
    print(f"\nHooks, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n{HEADER}")
    for figure in figures:
        print(figure.line())


if __name__ == "__main__":
    main()
