"""Two cells behind HAProxy: what a move costs those who write, what HAProxy costs a call, and two cells against one.

    python -m bench.cells [--memories 20000] [--moves 10] [--writers 3] [--seconds 20]

Needs HAProxy (Debian's package) and starts everything else itself: two servers, two services, maps that are followed. Printed:
of the moves how long writers were held and how long the slowest write took, what was lost or told twice; of calls the median
direct and through HAProxy, and HAProxy's processor time a call; of throughput the calls a second of one cell and of two on the
same processors, which says what cells cost here, and not what two machines bring.
"""

import argparse
import os
import resource
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from db.cells.cells import add_cell
from tests.distributed.cells import Pair, running_cells
from tests.distributed.haproxy import HAProxy, running_haproxies
from tests.services import eventually, ok, serve

VECTORS = {"provider": "static"}
TEXTS = ("painted boat", "sold apples to", "wrote a letter to", "repaired the roof of")


@dataclass
class Writer:
    """Writes one memory after the other, and tries again as it is told."""

    client: httpx.Client
    name: str
    acknowledged: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    def work(self) -> None:
        """Write until stopped."""
        nth = 0
        while not self.stop.is_set():
            nth += 1
            content, began = f"{self.name} saw sail number {nth}", time.monotonic()
            headers = {"Idempotency-Key": f"{self.name}-{nth}"}
            while self.client.post("/memories", json={"content": content}, headers=headers).status_code != 201:
                time.sleep(0.05)
            self.seconds.append(time.monotonic() - began)
            self.acknowledged.append(content)
            time.sleep(0.05)


@contextmanager
def writing(clients: list[httpx.Client]) -> Iterator[list[Writer]]:
    """Writers until the block ends."""
    made = [Writer(client, f"writer{nth}") for nth, client in enumerate(clients)]
    threads = [threading.Thread(target=each.work, daemon=True) for each in made]
    for thread in threads:
        thread.start()
    try:
        yield made
    finally:
        for each in made:
            each.stop.set()
        for thread in threads:
            thread.join(60)


def fill(pair: Pair, name: str, count: int) -> None:
    """Memories with vectors, and an edge for each hundred."""
    client = pair.client(1, **{"X-Namespace": name})
    for start in range(0, count, 1000):
        items = [
            {"content": f"Person {nth % 200} {TEXTS[nth % 4]} number {nth}."} for nth in range(start, min(start + 1000, count))
        ]
        ok(client.post("/memories/batch", json={"items": items}))
    for nth in range(count // 100):
        ok(client.post("/edges", json={"source": f"Person {nth % 200}", "type": "knows", "target": f"Neighbour {nth}"}), 201)
    while ok(client.get(f"/namespaces/{name}"))["pending_embeddings"]:
        time.sleep(1)


def told(client: httpx.Client, name: str) -> tuple[list[str], list[int]]:
    """What the feed says was written, and its positions."""
    contents: list[str] = []
    positions: list[int] = []
    after = "0"
    while page := ok(client.get("/changes", params={"namespace": name, "after": after, "limit": 1000}))["items"]:
        positions += [row["position"] for row in page]
        contents += [row["content"] for row in page if (row["kind"], row["action"]) == ("memory", "created")]
        after = page[-1]["cursor"]
    return contents, positions


def measure_moves(pair: Pair, proxy: HAProxy, options: argparse.Namespace) -> None:
    """Move a namespace there and back under writers, and say what they noticed."""
    name = pair.team()
    fill(pair, name, options.memories)
    held, whole = [], []
    with writing([proxy.client(**{"X-Namespace": name}) for _ in range(options.writers)]) as writers:
        time.sleep(1)
        for nth in range(options.moves):
            began = time.monotonic()
            held.append(pair.move(name, 2 - nth % 2)["held_seconds"])
            whole.append(time.monotonic() - began)
            print(f"move {nth + 1}: {whole[-1]:.1f} s, writers held {held[-1]:.2f} s", flush=True)
        time.sleep(1)
    contents, positions = told(pair.client(1 + options.moves % 2), name)
    written = [content for writer in writers for content in writer.acknowledged]
    ours = [content for content in contents if "saw sail" in content]
    slowest = sorted(second for writer in writers for second in writer.seconds)
    print(f"acknowledged {len(written):,}; lost {len(set(written) - set(ours))}; doubled {len(ours) - len(set(ours))}; "
          f"gaps in the feed {len(positions) - len(set(positions)) + (positions[-1] - len(positions))}")  # fmt: skip
    print(f"held: median {statistics.median(held):.2f} s, most {max(held):.2f} s; a move {statistics.median(whole):.1f} s; "
          f"slowest write {slowest[-1]:.2f} s")  # fmt: skip


def median_of(call: Callable[[], httpx.Response], count: int) -> float:
    """Median of the time of a call, in milliseconds."""
    seconds = []
    for _ in range(count):
        began = time.monotonic()
        assert call().is_success
        seconds.append(time.monotonic() - began)
    return 1000 * statistics.median(seconds)


def processor_seconds(pid: int) -> float:
    """Processor time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure_overhead(pair: Pair, proxy: HAProxy) -> None:
    """The same calls direct and through HAProxy, in turns."""
    name = pair.team()
    fill(pair, name, 500)
    assert proxy.process is not None
    for kind, send in {
        "recall": lambda client: client.post("/recall", json={"query": "who painted a boat?", "k": 5}),
        "write": lambda client: client.post("/memories", json={"content": f"one more at {time.monotonic_ns()}"}),
    }.items():
        direct, through = pair.client(1, **{"X-Namespace": name}), proxy.client(**{"X-Namespace": name})
        used = processor_seconds(proxy.process.pid)
        figures = [(median_of(lambda: send(direct), 40), median_of(lambda: send(through), 40)) for _ in range(5)]  # noqa: B023
        used = processor_seconds(proxy.process.pid) - used
        one, other = (statistics.median(column) for column in zip(*figures, strict=True))
        print(
            f"{kind}: direct {one:.2f} ms, through HAProxy {other:.2f} ms; HAProxy {1000 * used / 200:.2f} ms of processor a call"
        )


def measure_throughput(pair: Pair, proxy: HAProxy, seconds: float) -> None:
    """Calls a second of four clients over two namespaces: both in one cell, and one in each."""
    for label, cells in (("both namespaces in one cell", (1, 1)), ("one in each cell", (1, 2))):
        names = [pair.team(number) for number in cells]
        for name, number in zip(names, cells, strict=True):
            proxy_knows = f"get map {proxy.maps}/namespaces.map {name}"
            eventually(lambda asked=proxy_knows, number=number: f'"cell_{number}"' in proxy.ask(asked))
        counts, ends = [0] * 4, time.monotonic() + seconds

        def work(nth: int, names: list[str] = names, counts: list[int] = counts, ends: float = ends) -> None:
            client = proxy.client(**{"X-Namespace": names[nth % 2]})
            while time.monotonic() < ends:
                sent = (
                    client.post("/memories", json={"content": f"client {nth} says {counts[nth]}"})
                    if counts[nth] % 2
                    else client.post("/recall", json={"query": f"what says client {nth}?", "k": 5})
                )
                assert sent.is_success, sent.text
                counts[nth] += 1

        threads = [threading.Thread(target=work, args=(nth,)) for nth in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(f"{label}: {sum(counts) / seconds:.1f} calls a second")


def main() -> None:
    """Measure all of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option, default in {"memories": 20_000, "moves": 10, "writers": 3, "seconds": 20}.items():
        parser.add_argument(f"--{option}", type=int, default=default)
    options = parser.parse_args()
    with (
        running_cells(autovacuum="on") as cells,
        serve(cells.one.database, tcp=True, embedding=VECTORS) as one,
        serve(cells.two.database, tcp=True, embedding=VECTORS) as two,
    ):
        for number, service in enumerate((one, two), 1):
            add_cell(cells.url(1), url=service.url, database_url=cells.url(number))
        with running_haproxies(cells.url(1)) as (proxy,):
            eventually(lambda: proxy.client().get("/namespaces/default").status_code == 200)
            pair = Pair(cells, (one, two))
            measure_moves(pair, proxy, options)
            measure_overhead(pair, proxy)
            measure_throughput(pair, proxy, options.seconds)
    print(f"{os.cpu_count()} processors; {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MiB at most a process")


if __name__ == "__main__":
    main()
