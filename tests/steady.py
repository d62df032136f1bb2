"""Runs the whole suite again and again, each time in a fresh clone with another seed and another pace, and prints a table.

    python -m tests.steady 20          # twenty runs, one after another
    python -m tests.steady 3 --only one-core

A clone has what is committed, and an environment of its own, which `make` makes. What a run said stays in dist/steady/ if it failed, or
warned. Beside its minutes stands a floor: what a sum that is always the same takes on all processors of this machine at once, just before
and just after it.
"""

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.catalogue import ROOT

# One after another, from the first again: a run that is left alone, each way to lose a race, and those that happen together.
PACES = (
    "",
    "worker-late",
    "worker-early,calls-late",
    "statements-late",
    "stalls",
    "one-core",
    "elsewhere",
    "worker-late,stalls,statements-late",
)
# What another machine may say, which with the word "elsewhere" this one does: to whoever installs, and to the tests.
ELSEWHERE = {
    "TZ": "America/St_Johns", "LANG": "xx_XX.UTF-8", "LC_COLLATE": "xx_XX.UTF-8", "NODE_ENV": "production",
    "DATABASE_URL": "postgresql://nobody@127.0.0.1:9/none", "PGHOST": "127.0.0.1", "PGPORT": "9", "PGTZ": "Asia/Kolkata",
    "PGSSLMODE": "require", "LOCI_URL": "http://127.0.0.1:9", "LOCI_KEY": "loci_nobody", "LOCI_REQUIRE_KEYS": "true",
    "LOCI_LLM__ENDPOINT": "http://127.0.0.1:9/v1", "LOCI_LLM__MODEL": "none", "LOCI_NAMESPACE": "nowhere",
}  # fmt: skip
OWN = 0o077  # the umask there: nobody else may read what is made
KEPT = ROOT / "dist" / "steady"
SUM = "sum(number * number for number in range(2 * 10**7))"
SUMMARY = re.compile(r"^(?:\d+ (?:failed|passed|skipped|errors?|xfailed|warnings?),? ?)+ in [\d.]+s.*$", re.MULTILINE)


@dataclass(frozen=True)
class Run:
    """One run, and how it ended."""

    number: int
    pace: str
    seed: int
    code: int
    seconds: float
    processor: float
    floor: float
    said: str

    @property
    def row(self) -> str:
        """It as a row of the table."""
        spent = f"{self.seconds / 60:.1f} | {self.processor / 60:.1f} | {self.floor:.2f}"
        return (
            f"| {self.number} | {self.pace or '-'} | {self.seed} | {spent} | {'green' if self.code == 0 else 'RED'}: {self.told} |"
        )

    @property
    def told(self) -> str:
        """How many tests passed, and what else there was."""
        found = SUMMARY.findall(self.said)
        return found[-1].partition(" in ")[0] if found else f"ended with {self.code}"


def spent() -> float:
    """Processor seconds of child processes that have ended, without those of the database server."""
    used = os.times()
    return used.children_user + used.children_system


def floor() -> float:
    """Seconds that all processors take at once, each for the same sum: they may be slow just now because of others on their host."""
    began = time.perf_counter()
    sums = [subprocess.Popen([sys.executable, "-S", "-c", SUM]) for _ in range(os.cpu_count() or 1)]
    for each in sums:
        each.wait()
    return time.perf_counter() - began


def run(number: int, pace: str, seed: int) -> Run:
    """Clone, and do what CI does."""
    with tempfile.TemporaryDirectory(prefix="loci-steady-") as folder:
        clone = Path(folder) / "loci"
        subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", ROOT, clone], check=True)
        hidden = ("PYTHONPATH", "VIRTUAL_ENV", "LOCI_TEST_PACE")
        environment = {name: value for name, value in os.environ.items() if name not in hidden}
        environment |= {"PYTEST_ADDOPTS": f"--randomly-seed={seed}", "LOCI_TEST_PACE": pace}
        elsewhere = "elsewhere" in pace.split(",")
        if elsewhere:
            environment |= ELSEWHERE
            (clone / ".env").write_text("LOCI_EMBEDDING__PROVIDER=openai\nLOCI_KEY=loci_nobody\n")
        floor_before = floor()
        began, before = time.monotonic(), spent()
        done = subprocess.run(
            ["make", "test"],
            cwd=clone,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            umask=OWN if elsewhere else -1,
        )
        seconds, processor = time.monotonic() - began, spent() - before
    made = Run(number, pace, seed, done.returncode, seconds, processor, (floor_before + floor()) / 2, done.stdout + done.stderr)
    if made.code != 0 or "warning" in made.told:
        KEPT.mkdir(parents=True, exist_ok=True)
        (KEPT / f"{number}-{seed}.txt").write_text(made.said)
    return made


def main() -> int:
    """Run as often as was asked; whether all were green."""
    asked = argparse.ArgumentParser(prog="python -m tests.steady", description=(__doc__ or "").partition("\n")[0])
    asked.add_argument("runs", type=int, nargs="?", default=len(PACES), help="how many runs")
    asked.add_argument("--only", metavar="PACE", help="one pace for all of them, as LOCI_TEST_PACE takes it; '' for none")
    asked.add_argument(
        "--seed", type=int, default=random.SystemRandom().randrange(2**31), help="of the first; each other has the next"
    )
    options = asked.parse_args()
    if shutil.which("make") is None:
        asked.error("make is not installed")
    print("| run | pace | seed | minutes | of the processor | floor, s | outcome |\n|---|---|---|---|---|---|---|", flush=True)  # noqa: T201
    green = True
    for number in range(options.runs):
        pace = PACES[number % len(PACES)] if options.only is None else options.only
        made = run(number + 1, pace, options.seed + number)
        print(made.row, flush=True)  # noqa: T201
        green = green and made.code == 0
    return 0 if green else 1


if __name__ == "__main__":
    sys.exit(main())
