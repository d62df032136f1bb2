"""Loci beside what one would use instead, in one run: bare SQL, LangGraph's store, mem0; see bench/peer_systems.py.

    python -m bench.peers [--folder FOLDER] [--quick]

20,000 texts of 24 words that it makes itself; a question is six words of one of them, without the commonest, as a dictionary leaves them
out. k = 10. The peers are called in process, Loci over REST with its default settings and its worker. All take turns.
In FOLDER/filled stays what was filled, and each run works on a copy of that.
"""

import random
import shutil
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from bench import corpus
from bench.database import Database, database
from bench.kept import compare
from bench.measure import Figure, Options, interleaved, options, percentile, report
from bench.peer_systems import (
    BARE,
    BARE_AS_LOCI,
    Loci,
    System,
    Vectors,
    database_of,
    fill_loci,
    indexed_afterwards,
    installed,
    url_of,
)
from bench.server import running

TEXTS, LENGTH, WORDS, COMMON = 20_000, 24, 6, 50
SEARCHES, ADDS, BULK, BATCH, FRESH = 300, 200, 1000, 500, 60_000
CLIENTS, ROUNDS = 8, 3
SECONDS = 3.0  # of a round; a third with --quick
LOCI, NEAR = "Loci", " by meaning alone"
NEAR_TOO = (BARE, BARE_AS_LOCI, LOCI)  # are asked by meaning alone as well
Make = dict[str, Callable[[], System]]


def questions(texts: Sequence[str], count: int) -> list[str]:
    """Words of texts, without the commonest."""
    chance, common = random.Random(7), set(corpus.words(COMMON))
    drawn = []
    for text in chance.choices(texts, k=count):
        rare = [word for word in dict.fromkeys(text.rstrip(".").lower().split()) if word not in common]
        drawn.append(" ".join(chance.sample(rare, min(WORDS, len(rare)))))
    return drawn


def rates(make: Make, work: Callable[[System], object], seconds: float) -> dict[str, float]:
    """What each does a second with eight clients: the median of rounds in which they take turns."""
    clients = {name: [build() for _ in range(CLIENTS)] for name, build in make.items()}
    found: dict[str, list[float]] = {name: [] for name in make}
    for _ in range(ROUNDS):
        for name, each in clients.items():
            until, counts = time.perf_counter() + seconds, [0] * CLIENTS

            def ask(number: int, system: System, until: float = until, counts: list[int] = counts) -> None:
                while time.perf_counter() < until:
                    work(system)
                    counts[number] += 1

            threads = [threading.Thread(target=ask, args=pair) for pair in enumerate(each)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            found[name].append(sum(counts) / seconds)
    return {name: statistics.median(values) for name, values in found.items()}


def embedded(base: Database, waiting: int = 0) -> bool:
    """Whether no more than so many vectors wait."""
    with base.owner() as owner:
        row = owner.execute("select count(*) from loci_data.embedding_queue").fetchone()
    return row is not None and row[0] <= waiting


def bulks(base: Database, make: Make, texts: Sequence[str]) -> dict[str, float]:
    """Rows a second of batches, with what is searched by; of Loci also until words are (`text`)."""
    found = {}
    for name, build in make.items():
        system, started = build(), time.perf_counter()
        for first in range(0, len(texts), BATCH):
            system.bulk(texts[first : first + BATCH])
        if name == LOCI:
            found[f"{LOCI}, text"] = len(texts) / (time.perf_counter() - started)
            while not embedded(base):
                time.sleep(0.05)
        found[name] = len(texts) / (time.perf_counter() - started)
    return found


def ask_rate(name: str, values: dict[str, float], least: float, bare: str = BARE) -> Figure:
    """A figure whose target is a share of what bare SQL does a second."""
    ratio = values[LOCI] / values[bare]
    return Figure(name, f"{values[LOCI]:.0f} /s", f"{values[bare]:.0f} /s", ratio, f"≥ {least} × {bare}", ratio >= least)


def ask_time(name: str, values: dict[str, list[float]], loci: str, bare: str, most: float) -> Figure:
    """A figure whose target is a multiple of bare SQL's median."""
    mine, theirs = statistics.median(values[loci]), statistics.median(values[bare])
    shown = f"p50 {mine:.2f} ms, p95 {percentile(values[loci], 0.95):.2f} ms"
    return Figure(name, shown, f"p50 {theirs:.2f} ms", mine / theirs, f"≤ {most} × bare SQL", mine / theirs <= most)


def print_table(rows: dict[str, dict[str, str]], systems: Sequence[str]) -> None:
    """One row a kind of work, one column a system."""
    print(f"| work | {' | '.join(systems)} |\n|{'---|' * (len(systems) + 1)}")
    for work, values in rows.items():
        print(f"| {work} | {' | '.join(values.get(name, '–') for name in systems)} |")


def measure(base: Database, make: Make, asked: list[str], fresh: list[str], given: Options) -> list[Figure]:
    """All of it; returns the figures that have a target."""
    seconds = SECONDS / 3 if given.quick else SECONDS
    one = {name: build() for name, build in make.items()}
    ways: dict[str, Callable[[str], object]] = {name: system.search for name, system in one.items()}
    for name in NEAR_TOO:
        ways[name + NEAR] = lambda question, system=one[name]: system.search(question, "vector")
    for way in ways.values():
        for question in asked[:20]:
            way(question)
    search = interleaved(ways, asked[: given.size(SEARCHES)], block=10)
    together = rates(make, lambda system: system.search(random.choice(asked)), seconds)
    taken = iter(fresh)
    added = interleaved({name: lambda _, system=system: system.add(next(taken)) for name, system in one.items()},
                        list(range(given.size(ADDS))), block=10)  # fmt: skip
    lock = threading.Lock()

    def add(system: System) -> None:
        with lock:
            text = next(taken)
        system.add(text)

    adding = rates(make, add, seconds)
    while not embedded(base):
        time.sleep(0.05)
    bulk = bulks(base, make, [next(taken) for _ in range(given.size(BULK))])
    systems = list(make)
    p50 = {name: f"{statistics.median(values):.2f}" for name, values in search.items()}
    print_table(
        {
            "search, one client, p50 ms": p50,
            "… by meaning alone": {name: p50[name + NEAR] for name in NEAR_TOO},
            "searches a second, 8 clients": {name: f"{value:.0f}" for name, value in together.items()},
            "add one, durable, p50 ms": {name: f"{statistics.median(values):.2f}" for name, values in added.items()},
            "adds a second, 8 clients": {name: f"{value:.0f}" for name, value in adding.items()},
            "bulk, rows a second with vectors": {name: f"{value:.0f}" for name, value in bulk.items()},
            "… text": {LOCI: f"{bulk[f'{LOCI}, text']:.0f}"},
        },
        systems,
    )
    text = bulk[f"{LOCI}, text"]
    return [
        ask_time("peers: search", search, LOCI, BARE, 1.7),
        ask_time("peers: search by meaning alone", search, LOCI + NEAR, BARE + NEAR, 6),
        ask_rate("peers: searches a second, 8 clients", together, 0.65),
        ask_time("peers: add one", added, LOCI, BARE, 0.9),
        ask_rate("peers: adds a second, 8 clients", adding, 0.9),
        ask_rate("peers: bulk with vectors", bulk, 0.9, BARE_AS_LOCI),
        Figure("peers: bulk, text", f"{text:.0f} rows/s", target="≥ 3,000 rows/s", met=text >= 3000),
    ]


def made_up(given: Options) -> tuple[list[str], list[str], list[str], Vectors]:
    """Texts to fill with, texts to add, questions, and the vectors of all."""
    texts = corpus.generated(given.size(TEXTS), seed=5, length=LENGTH)
    drawn = corpus.generated(max(given.size(FRESH), 20_000), seed=6, length=LENGTH)
    fresh, asked = [f"{text} {number}" for number, text in enumerate(drawn)], questions(texts, 600)
    everything = list(dict.fromkeys([*texts, *fresh, *asked]))
    return texts, fresh, asked, Vectors(everything, corpus.embedded(everything))


def fill(base: Database, texts: Sequence[str], vectors: Vectors) -> None:
    """The texts in all systems that are installed."""
    fill_loci(base, texts, vectors)
    for name, build in installed()[0].items():
        system, url = build(database_of(base, name), vectors), url_of(base, name)
        with indexed_afterwards(url):
            for first in range(0, len(texts), BATCH):
                system.bulk(texts[first : first + BATCH])
        print(f"{name}: filled", flush=True)


@contextmanager
def filled(given: Options, texts: Sequence[str], vectors: Vectors) -> Iterator[Database]:
    """A database with the texts in all systems; with a folder a copy of the one that was filled there once."""
    if given.folder is None:
        with database(given) as base:
            fill(base, texts, vectors)
            yield base
        return
    kept, run = given.folder / "filled", given.folder / "run"
    wanted = f"{len(texts)} texts in {', '.join(installed()[0])}"
    done = kept / "done"
    if not done.is_file() or done.read_text() != wanted:
        shutil.rmtree(kept, ignore_errors=True)
        with database(replace(given, folder=kept)) as base:
            fill(base, texts, vectors)
        done.write_text(wanted)
    shutil.rmtree(run, ignore_errors=True)
    subprocess.run(["cp", "-a", kept, run], check=True)  # with its owners, which shutil does not copy
    with database(replace(given, folder=run)) as base:
        yield base


def run(base: Database, given: Options, fresh: list[str], asked: list[str], vectors: Vectors) -> list[Figure]:
    """Measure in a filled database."""
    made, said = installed()
    print("\n".join(said), flush=True)
    make: Make = {name: partial(build, url_of(base, name), vectors) for name, build in made.items()}
    with running(base.folder) as (url, _):
        make[LOCI] = lambda: Loci(url)
        figures = measure(base, make, asked, fresh, given)
    with base.owner() as owner:
        return report("Peers", owner, figures)


if __name__ == "__main__":
    chosen = options(__doc__)
    texts, fresh, asked, vectors = made_up(chosen)
    with filled(chosen, texts, vectors) as opened:
        compare(run(opened, chosen, fresh, asked, vectors), quick=chosen.quick)
