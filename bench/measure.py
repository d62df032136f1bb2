"""Timing, and the table that all benchmarks print."""

import argparse
import os
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from psycopg import Connection

DATA = Path("../shared/retrieval/data")
T = TypeVar("T")


@dataclass(frozen=True)
class Options:
    """What the command line asks for: question sets (None where there are none), a folder to keep data in, small sizes."""

    data: Path | None
    folder: Path | None
    quick: bool

    def size(self, full: int) -> int:
        """A number of rows: a tenth of it with --quick."""
        return full // 10 if self.quick else full


def options(description: str | None, arguments: Sequence[str] | None = None) -> Options:
    """Read the options that every benchmark takes."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of question sets; without it texts are generated")
    parser.add_argument("--folder", type=Path, help="keep the database here and use it again; default: a temporary folder")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    given = parser.parse_args(arguments)
    return Options(given.data if given.data.is_dir() else None, given.folder, given.quick)


@dataclass(frozen=True)
class Figure:
    """One line of the table. `met` None: no target, for information."""

    name: str
    value: str
    floor: str = ""
    ratio: float | None = None
    target: str = ""
    met: bool | None = None

    def line(self) -> str:
        """The figure as a row of a table."""
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}"
        verdict = {True: "met", False: "MISSED", None: ""}[self.met]
        return f"| {self.name} | {self.value} | {self.floor} | {ratio} | {self.target} | {verdict} |"


HEADER = "| what | measured | floor | ratio | target | |\n|---|---|---|---|---|---|"


def report(title: str, connection: Connection[Any], figures: Sequence[Figure]) -> list[Figure]:
    """Print the machine and a table of figures; returns the figures."""
    print(f"\n{title}\n{machine(connection)}\n{HEADER}")
    for figure in figures:
        print(figure.line())
    print(flush=True)
    return list(figures)


def machine(connection: Connection[Any]) -> str:
    """CPU, cores, memory, and versions of PostgreSQL and pgvector."""
    cpu = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line), "?")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    row = connection.execute(
        "select split_part(version(), ' ', 2), (select extversion from pg_extension where extname = 'vector')"
    ).fetchone()
    versions = tuple(row.values()) if isinstance(row, dict) else row or ("?", "?")
    load = os.getloadavg()[0]
    return f"{cpu}, {os.cpu_count()} cores, {memory:.0f} GiB, load {load:.1f}; PostgreSQL {versions[0]}, pgvector {versions[1]}"


def percentile(values: Iterable[float], share: float) -> float:
    """The value below which a share of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def milliseconds(values: Sequence[float]) -> str:
    """Median and 95th percentile."""
    return f"p50 {statistics.median(values):.2f} ms, p95 {percentile(values, 0.95):.2f} ms"


def interleaved(ways: dict[str, Callable[[T], Any]], inputs: Sequence[T], *, block: int = 20) -> dict[str, list[float]]:
    """Milliseconds of each way for each input. Ways take turns in blocks, so that noise hits all and caches stay warm."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for start in range(0, len(inputs), block):
        names = list(ways)
        for name in names if start // block % 2 == 0 else reversed(names):
            way = ways[name]
            for value in inputs[start : start + 3]:
                way(value)
            for value in inputs[start : start + block]:
                started = time.perf_counter()
                way(value)
                times[name].append(1000 * (time.perf_counter() - started))
    return times


def against(name: str, measured: Sequence[float], floor: Sequence[float], limit: float) -> Figure:
    """A figure whose target is a ratio of medians to the floor."""
    ratio = statistics.median(measured) / statistics.median(floor)
    return Figure(name, milliseconds(measured), milliseconds(floor), ratio, f"p50 ≤ {limit} × floor", ratio <= limit)


def within(name: str, measured: Sequence[float], *, p50: float, p95: float | None = None, floor: Sequence[float] = ()) -> Figure:
    """A figure whose target is in milliseconds."""
    met = statistics.median(measured) <= p50 and (p95 is None or percentile(measured, 0.95) <= p95)
    target = f"p50 ≤ {p50} ms" + (f", p95 ≤ {p95} ms" if p95 else "")
    ratio = statistics.median(measured) / statistics.median(floor) if floor else None
    return Figure(name, milliseconds(measured), milliseconds(floor) if floor else "", ratio, target, met)
