"""Two cells behind HAProxy: what a move costs those who write, what HAProxy costs a call, and what cells cost and bring.

    python -m bench.cells [--memories 20000] [--moves 10] [--writers 3] [--seconds 20]

Needs HAProxy (Debian's package) and starts everything else itself: two servers, two services, maps that are followed. Printed:
of the moves how long writers were held and how long the slowest write took, what was lost or told twice, and what readers of
the feed missed, by name and of all; of calls the median direct and through HAProxy, and HAProxy's processor time a call; of
throughput the calls a second of one cell and of two on the same processors, which says what cells cost here, and what a model
expects of more cells, each with a machine of its own.

The model: a machine has so much processor time a second. Of this a cell takes its idle work, the work of each call, and for each
other cell what it costs to read the log of a write for that. Namespaces are spread evenly, keys and grants change seldom, and
HAProxy has processors of its own.
"""

import argparse
import os
import resource
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from bench.server import running
from db.cells.cells import add_cell
from tests.distributed.cells import LOGICAL, Pair, Reader, running_cells
from tests.distributed.haproxy import HAProxy, running_haproxies
from tests.distributed.servers import Servers, running_servers
from tests.services import eventually, ok, serve

VECTORS = {"provider": "static"}
SETTINGS = {"LOCI_EMBEDDING__PROVIDER": "static", "LOCI_RERANK__PROVIDER": "none", "LOCI_LOG_LEVEL": "WARNING"}
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


@contextmanager
def reading(pair: Pair) -> Iterator[Reader]:
    """A reader of all namespaces of both cells until the block ends."""
    reader, done = Reader(pair), threading.Event()

    def read() -> None:
        while not done.wait(0.2):
            for number in (1, 2):
                reader.read(number)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    try:
        yield reader
    finally:
        done.set()
        thread.join()


def missed(reader: Reader, name: str, last: int) -> int:
    """How many changes of a namespace a reader of all has not been told in a minute behind the last one."""
    ends = time.monotonic() + 60
    while (found := sum(space == name for space, _ in list(reader.told))) < last and time.monotonic() < ends:
        time.sleep(0.5)
    return last - found


def measure_moves(pair: Pair, proxy: HAProxy, options: argparse.Namespace) -> None:
    """Move a namespace there and back under writers, and say what they noticed."""
    name = pair.team()
    fill(pair, name, options.memories)
    held, whole = [], []
    clients = [proxy.client(**{"X-Namespace": name}) for _ in range(options.writers)]
    with reading(pair) as reader:
        assert missed(reader, name, told(pair.client(1), name)[1][-1]) == 0
        with writing(clients) as writers:
            time.sleep(1)
            for nth in range(options.moves):
                began = time.monotonic()
                held.append(pair.move(name, 2 - nth % 2)["held_seconds"])
                whole.append(time.monotonic() - began)
                load = os.getloadavg()[0]
                print(f"move {nth + 1}: {whole[-1]:.1f} s, writers held {held[-1]:.2f} s, load {load:.1f}", flush=True)
            time.sleep(1)
        contents, positions = told(pair.client(1 + options.moves % 2), name)
        gaps = missed(reader, name, positions[-1])
    written = [content for writer in writers for content in writer.acknowledged]
    ours = [content for content in contents if "saw sail" in content]
    seconds = sorted(second for writer in writers for second in writer.seconds)
    print(f"acknowledged {len(written):,}; lost {len(set(written) - set(ours))}; doubled {len(ours) - len(set(ours))}; "
          f"gaps in the feed by name {len(positions) - len(set(positions)) + (positions[-1] - len(positions))}, "
          f"of all {gaps}")  # fmt: skip
    print(f"held: median {statistics.median(held):.2f} s, p95 {sorted(held)[int(0.95 * (len(held) - 1) + 0.5)]:.2f} s; "
          f"a move {statistics.median(whole):.1f} s; slowest write {seconds[-1]:.2f} s")  # fmt: skip


def median_of(call: Callable[[], httpx.Response], count: int) -> float:
    """Median of the time of a call, in milliseconds."""
    seconds = []
    for _ in range(count):
        began = time.monotonic()
        assert call().is_success
        seconds.append(time.monotonic() - began)
    return 1000 * statistics.median(seconds)


def processor_seconds(pid: int) -> float:
    """Processor time of a process, of its children and of those that have ended, so far."""
    with suppress(FileNotFoundError, ProcessLookupError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") + sum(processor_seconds(int(child)) for child in children)
    return 0.0


def measure_overhead(pair: Pair, proxy: HAProxy) -> float:
    """The same calls direct and through HAProxy, in turns; HAProxy's milliseconds of processor a call."""
    name = pair.team()
    fill(pair, name, 500)
    assert proxy.process is not None
    each: list[float] = []
    calls: dict[str, Callable[[httpx.Client], httpx.Response]] = {
        "recall": lambda client: client.post("/recall", json={"query": "who painted a boat?", "k": 5}),
        "write": lambda client: client.post("/memories", json={"content": f"one more at {time.monotonic_ns()}"}),
    }
    for kind, send in calls.items():
        direct, through = pair.client(1, **{"X-Namespace": name}), proxy.client(**{"X-Namespace": name})
        used = processor_seconds(proxy.process.pid)
        figures = [(median_of(lambda: send(direct), 40), median_of(lambda: send(through), 40)) for _ in range(5)]  # noqa: B023
        each.append(1000 * (processor_seconds(proxy.process.pid) - used) / 200)
        one, other = (statistics.median(column) for column in zip(*figures, strict=True))
        print(f"{kind}: direct {one:.2f} ms, through HAProxy {other:.2f} ms; HAProxy {each[-1]:.2f} ms of processor a call")
    return statistics.mean(each)


@dataclass(frozen=True)
class Load:
    """What cells did on the processors of this machine: calls, and processor time in seconds."""

    calls: float  # a second
    used: float  # a second, by all cells
    idle: float  # a second, by all cells without calls
    following: float  # of a call, for the other cell


def measure_throughput(servers: list[Servers], seconds: float) -> Load:
    """Calls of four clients over two namespaces, spread over cells, each with a process for requests."""
    with ExitStack() as stack:
        addresses, processes = [], [each.primary.pid for each in servers]
        for each in servers:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="loci-bench-")))
            address, pid = stack.enter_context(
                running(folder, environment={"LOCI_DATABASE_URL": each.database.app_url, **SETTINGS})
            )
            addresses.append(address)
            processes.append(pid)
        places = [f"{addresses[nth % len(addresses)]}/api/v1" for nth in range(2)]
        names = [f"load-{len(servers)}-{nth}" for nth in range(2)]
        for place, name in zip(places, names, strict=True):
            ok(httpx.post(f"{place}/namespaces", json={"name": name}, timeout=60), 201)
        time.sleep(5)

        def spent() -> float:
            return sum(map(processor_seconds, processes))

        def spent_following() -> float:
            find = "select pid from pg_stat_replication where application_name like 'loci\\_identity%'"
            return sum(processor_seconds(row[0]) for each in servers for row in each.primary.rows(find))

        before = spent()
        time.sleep(seconds / 2)
        idle = 2 * (spent() - before) / seconds
        before, followed = spent(), spent_following()
        with ThreadPoolExecutor(4) as pool:
            calls = sum(pool.map(lambda nth: call(places[nth % 2], names[nth % 2], nth, seconds), range(4)))
        used = (spent() - before) / seconds
        return Load(calls / seconds, used, idle, (spent_following() - followed) / calls)


def call(place: str, name: str, nth: int, seconds: float) -> int:
    """Write and recall in turns for so long; how many calls."""
    count, ends = 0, time.monotonic() + seconds
    with httpx.Client(base_url=place, headers={"X-Namespace": name}, timeout=60) as client:
        while time.monotonic() < ends:
            sent = (
                client.post("/memories", json={"content": f"client {nth} says {count}"})
                if count % 2
                else client.post("/recall", json={"query": f"what says client {nth}?", "k": 5})
            )
            assert sent.is_success, sent.text
            count += 1
    return count


def print_model(one: Load, two: Load, haproxy: float) -> None:
    """Say what was measured of one cell and two on this machine, and expect more of them, each with a machine like this one."""
    each = (one.used - one.idle) / one.calls
    for label, load in (("one cell", one), ("two cells", two)):
        print(f"{label}: {load.calls:.1f} calls a second, {load.used:.2f} processors, {load.idle:.2f} of them without calls")
    print(f"a call {1000 * each:.2f} ms of processor; its log read for another cell {1000 * two.following:.3f} ms")

    def rate(cells: int, processors: float) -> float:
        """Calls a second of one of so many cells that has so many processors."""
        return (processors - one.idle) / (each + (cells - 1) * two.following)

    for label, expected, measured in (("one", rate(1, one.used), one.calls), ("two", 2 * rate(2, two.used / 2), two.calls)):
        print(f"model of {label} here: {expected:.1f} calls a second, measured {measured:.1f}")
    alone = rate(1, one.used)
    for cells in (2, 8, 32):
        whole = cells * rate(cells, one.used)
        print(f"{cells} cells on {cells} machines: {whole / alone:.2f} times one; HAProxy {whole * haproxy / 1000:.1f} processors")


def main() -> None:
    """Measure all of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option, default in {"memories": 20_000, "moves": 10, "writers": 3, "seconds": 20}.items():
        parser.add_argument(f"--{option}", type=int, default=default)
    options = parser.parse_args()
    room = {**LOGICAL, "shared_buffers": "1GB", "autovacuum": "on"}
    with running_cells(shared_buffers="1GB", autovacuum="on") as cells:
        with (
            serve(cells.one.database, tcp=True, embedding=VECTORS) as one,
            serve(cells.two.database, tcp=True, embedding=VECTORS) as two,
        ):
            for number, service in enumerate((one, two), 1):
                add_cell(cells.url(1), url=service.url, database_url=cells.url(number))
            with running_haproxies(cells.url(1)) as (proxy,):
                eventually(lambda: proxy.client().get("/namespaces/default").status_code == 200)
                pair = Pair(cells, (one, two))
                measure_moves(pair, proxy, options)
                haproxy = measure_overhead(pair, proxy)
        both = measure_throughput([cells.one, cells.two], options.seconds)
    with running_servers(0, migrated=True, **room) as alone:
        print_model(measure_throughput([alone], options.seconds), both, haproxy)
    print(f"{os.cpu_count()} processors; {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MiB at most a process")


if __name__ == "__main__":
    main()
