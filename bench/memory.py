"""How much memory does the service take, at rest and after work? The static model included.

    python -m bench.memory [--data FOLDER] [--quick]

Proportional set size where the kernel tells it, else resident set size, of the service's process; the database is not counted.
"""

from pathlib import Path

from bench import corpus, fill
from bench.database import Database, database
from bench.measure import Figure, Options, options, report
from bench.recall_latency import MAIN, Client, load
from bench.server import running

RECALLS = 1000


def used(pid: int) -> tuple[str, float]:
    """Which measure, and MiB of a process."""
    for name, file, key in (("PSS", "smaps_rollup", "Pss:"), ("RSS", "status", "VmRSS:")):
        try:
            lines = Path(f"/proc/{pid}/{file}").read_text().splitlines()
        except OSError:
            continue
        return name, next(int(line.split()[1]) for line in lines if line.startswith(key)) / 1024
    raise RuntimeError("neither smaps_rollup nor status can be read")


def run(base: Database, given: Options) -> list[Figure]:
    """Measure a fresh service, and again after recalls in a large namespace."""
    fill.model(base)
    load(base, given)
    questions = corpus.questions(given.data)
    with running(base.folder) as (url, pid), base.owner() as owner:
        name, rest = used(pid)
        client = Client(url, MAIN)
        for number in range(RECALLS):
            client.post("/recall", {"query": questions[number % len(questions)]})
        _, loaded = used(pid)
        resident = (
            next(int(line.split()[1]) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if "VmRSS" in line) / 1024
        )
        return report(
            "Memory of the service",
            owner,
            [
                Figure("at rest", f"{name} {rest:.0f} MiB", target="< 250 MiB", met=rest < 250),
                Figure(
                    f"{given.size(100_000):,} memories, {RECALLS:,} recalls",
                    f"{name} {loaded:.0f} MiB (RSS {resident:.0f})",
                    target="≤ 300 MiB",
                    met=loaded <= 300,
                ),
            ],
        )


if __name__ == "__main__":
    chosen = options(__doc__)
    with database(chosen) as opened:
        run(opened, chosen)
