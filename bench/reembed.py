"""Another embedding model while a service is asked: how fast it is filled, what recalls and writes take meanwhile, how long the switch holds writers.

    python -m bench.reembed [--data FOLDER] [--quick]

100,000 memories in one namespace. `loci reembed` changes 256 dimensions of the static model to its first 128, while one reader recalls by words
and meaning and one writer writes, each without a pause. Floors: the provider alone; recalls and writes before.
"""

import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable

from bench import corpus, fill
from bench.database import Database, database
from bench.measure import Figure, Options, milliseconds, options, percentile, report
from bench.recall_latency import Client
from bench.server import running

MAIN = "reembed"
STATES = "select string_agg(state, ',' order by state) from loci.embedding_models where state <> 'dropped'"
QUIET = 10.0  # seconds of measuring before, and after


class Timed(threading.Thread):
    """A caller that asks without a pause, until told to stop: when each call began, and its milliseconds."""

    def __init__(self, call: Callable[[int], object]) -> None:
        super().__init__(daemon=True)
        self._call, self._stopped = call, threading.Event()
        self.calls: list[tuple[float, float]] = []
        self.start()

    def run(self) -> None:
        """Call until stopped."""
        number = 0
        while not self._stopped.is_set():
            began = time.monotonic()
            self._call(number)
            self.calls.append((began, 1000 * (time.monotonic() - began)))
            number += 1

    def stop(self) -> None:
        """End after the call under way."""
        self._stopped.set()
        self.join(60)

    def between(self, begin: float, end: float) -> list[float]:
        """What calls took that ended in a span of time."""
        return [took for at, took in self.calls if begin <= at + took / 1000 and at < end]


def load(base: Database, given: Options) -> int:
    """Fill the namespace; its size."""
    size = given.size(100_000)
    with base.owner() as owner:
        number = fill.namespace(owner, MAIN)
        if not fill.holds(owner, number, size):
            texts = corpus.recombined(corpus.turns(given.data), size, seed=9)
            fill.add(owner, [(number, text) for text in texts])
            rows = owner.execute(
                "select namespace_id, id, content from loci_data.memories where namespace_id = %s", [number]
            ).fetchall()
            fill.vectors(owner, [r[0] for r in rows], [r[1] for r in rows], corpus.embedded([r[2] for r in rows]))
            fill.settle(owner)
    return size


def alone(base: Database) -> float:
    """Texts a second that the provider embeds."""
    with base.owner() as owner:
        texts = [row[0] for row in owner.execute("select content from loci_data.memories limit 10000").fetchall()]
    started = time.perf_counter()
    for first in range(0, len(texts), 256):
        corpus.embedded(texts[first : first + 256])
    return len(texts) / (time.perf_counter() - started)


def run(base: Database, given: Options) -> list[Figure]:
    """Fill, start a service, change the model under a reader and a writer."""
    fill.model(base)
    size = load(base, given)
    floor = alone(base)
    questions = corpus.questions(given.data, "locomo")[:400]
    with running(base.folder) as (url, _), base.owner() as owner:
        reading, writing = Client(url, MAIN), Client(url, MAIN)
        readers = Timed(
            lambda n: reading.post("/recall", {"query": questions[n % len(questions)], "arms": ["lexical", "vector"], "log": False})
        )
        writers = Timed(lambda n: writing.post("/memories", {"content": f"{questions[n % len(questions)]} {n}"}))
        time.sleep(QUIET)
        began = time.monotonic()
        command = subprocess.Popen(
            [sys.executable, "-m", "service.cli", "reembed", "--json", "--model", "static/wordllama-128"],
            env={**os.environ, "LOCI_DATA_DIR": str(base.folder)},
            stdout=subprocess.PIPE,
            text=True,
        )
        moments: dict[str, float] = {}
        while command.poll() is None:
            row = owner.execute(STATES).fetchone()
            moments.setdefault(row[0] if row else "", time.monotonic())
            time.sleep(0.05)
        told = json.loads((command.stdout or sys.stdin).read())
        ended = time.monotonic()
        time.sleep(QUIET)
        stopped = time.monotonic()
        readers.stop()
        writers.stop()
        switched = moments.get("active,retired", ended)
        spans = {
            "before": (began - QUIET, began),
            "during": (moments.get("active,filling", began), switched),
            "after": (ended, stopped),
        }
        seconds, rate = told["seconds"], told["vectors"] / told["seconds"]["fill"]
        before = {name: caller.between(*spans["before"]) for name, caller in (("recall", readers), ("write", writers))}
        figures = [
            Figure(f"filling {size:,} memories", f"{rate:,.0f} a second", f"{floor:,.0f} (the provider alone)", rate / floor),
            Figure(
                "building the indexes behind it",
                f"{seconds['index']:.1f} s, {told['vectors'] / max(seconds['index'], 0.001):,.0f} vectors a second",
            ),
            Figure("switch: writers are held", f"{told['held_ms']:.1f} ms"),
            Figure("dropping the old one", f"{seconds['drop']:.1f} s"),
        ]
        for name, caller in (("recall", readers), ("write", writers)):
            for when in ("during", "after"):
                took = caller.between(*spans[when])
                ratio = statistics.median(took) / statistics.median(before[name])
                tail = percentile(took, 0.95) / percentile(before[name], 0.95)
                figures.append(Figure(f"{name} {when} (p95 {tail:.2f} ×)", milliseconds(took), milliseconds(before[name]), ratio))
        held = writers.between(switched - 3, switched + 1)
        figures.append(
            Figure("longest write around the switch", f"{max(held, default=0):.0f} ms", f"{max(before['write']):.0f} ms before")
        )
        return report("Another embedding model", owner, figures)


if __name__ == "__main__":
    given = options(__doc__)
    with database(given) as opened:
        run(opened, given)
