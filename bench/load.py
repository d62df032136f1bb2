"""Many clients at once against a real service: reads and writes mixed, over several namespaces with a key each.

    python -m bench.load [--url URL] [--clients 64] [--seconds 60] [--processes 2] [--pool 10] [--rounds 2] [--workers 1]

Without --url it starts `loci serve` on an embedded database of its own. Each client sends one request after the other, as MIX says.
Printed: requests a second, p50, p95, p99 and the slowest by kind, and how many replies had which status. A reply of 500 or more, or none at
all, makes the exit status 1. Whether the clients are what is measured is seen from two figures: how many replies of /healthz the same clients
get a second, and how much of a core they used.

Fairness: in every second part, which take turns with the others, half of the clients are of one namespace. What counts is the p99 of all
others, beside their p99 where clients are spread evenly. --seconds is of all parts of a kind together.
"""

import argparse
import asyncio
import os
import random
import resource
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any
from uuid import uuid4

import httpx

from bench.server import service

NAMESPACES = 8
SEEDED = 200  # memories in each namespace before the clock runs
PEOPLE = [f"{first} {last}" for first in ("Alice", "Bob", "Carol", "Dan", "Eve") for last in ("Ode", "Pine", "Quill", "Reed")]
THINGS = ["RockBot", "the harbour", "a lighthouse", "the orchard", "RabbitMQ", "the atlas", "an observatory", "the archive"]
VERBS = ["works on", "visited", "repairs", "wrote about", "asked for", "is tired of"]
KINDS = {  # kind: weight in the mix
    "recall": 25,
    "write memory": 20,
    "get memory": 10,
    "list memories": 5,
    "traverse": 8,
    "context": 7,
    "write entry": 10,
    "get entry": 5,
    "observe edge": 7,
    "search entities": 3,
}
Request = tuple[str, str, Any]


@dataclass
class Tally:
    """What came back: seconds of each reply by kind, statuses, and how much of a core the clients used."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    statuses: Counter[str] = field(default_factory=Counter)
    busy: float = 0.0
    others: list[float] = field(default_factory=list)  # of all namespaces but the first

    def add(self, other: "Tally") -> None:
        """Count another's in."""
        for kind, values in other.seconds.items():
            self.seconds[kind] += values
        self.statuses += other.statuses
        self.busy += other.busy
        self.others += other.others

    @property
    def refused(self) -> int:
        """Replies that say: too much, come back later."""
        return self.statuses["429"] + self.statuses["503"]

    @property
    def failed(self) -> int:
        """Replies of 500 or more, and requests without a reply."""
        return sum(count for status, count in self.statuses.items() if not status.isdigit() or int(status) >= 500)


@dataclass(frozen=True)
class Place:
    """A namespace and its key."""

    name: str
    key: str
    first: bool = False

    @property
    def headers(self) -> dict[str, str]:
        """What its requests carry."""
        return {"Authorization": f"Bearer {self.key}", "X-Namespace": self.name}


def sentence(chance: random.Random) -> str:
    """A statement about somebody."""
    return f"{chance.choice(PEOPLE)} {chance.choice(VERBS)} {chance.choice(THINGS)} for the {chance.randrange(1000)}th time"


def prepare(client: httpx.Client, namespaces: int, seeded: int) -> list[Place]:
    """Make namespaces with keys, and something in them to find."""
    chance, places = random.Random(7), list[Place]()
    for _ in range(namespaces):
        name = f"load-{uuid4().hex[:10]}"
        client.post("/namespaces", json={"name": name}).raise_for_status()
        made = client.post("/keys", json={"role": "writer", "name": "load", "space": "session"}, headers={"X-Namespace": name})
        place = Place(name, made.raise_for_status().json()["key"], first=not places)
        items = [
            {
                "content": sentence(chance),
                "edges": [{"source": chance.choice(PEOPLE), "type": "works_on", "target": chance.choice(THINGS)}],
            }
            for _ in range(seeded)
        ]
        client.post("/memories/batch", json={"items": items}, headers=place.headers).raise_for_status()
        places.append(place)
    return places


def request(kind: str, chance: random.Random, known: list[str], session: str) -> Request:
    """Method, path and body of a request of this kind."""
    somebody, something = chance.choice(PEOPLE), chance.choice(THINGS)
    entry = f"/working-memory/session/{session}/{chance.randrange(40)}"
    table: dict[str, Callable[[], Request]] = {
        "recall": lambda: ("POST", "/recall", {"query": f"What does {somebody} think of {something}?", "k": 10}),
        "write memory": lambda: (
            "POST",
            "/memories",
            {"content": sentence(chance), "session_id": session, "entities": [{"name": somebody}]},
        ),
        "get memory": lambda: ("GET", f"/memories/{chance.choice(known)}", None) if known else ("GET", "/memories?limit=1", None),
        "list memories": lambda: ("GET", "/memories?limit=20", None),
        "traverse": lambda: ("POST", "/graph/traverse", {"text": f"Where is {somebody}? {something}", "max_hops": 2}),
        "context": lambda: ("POST", "/context", {"message": f"How is {somebody}?", "session_id": session, "k": 5}),
        "write entry": lambda: ("PUT", entry, {"value": {"step": chance.randrange(99)}, "ttl_seconds": 60}),
        "get entry": lambda: ("GET", entry, None),
        "observe edge": lambda: (
            "POST",
            "/edges",
            {"source": somebody, "type": "knows", "target": chance.choice(PEOPLE), "session_id": session},
        ),
        "search entities": lambda: ("POST", "/entities/search", {"query": somebody.split()[0], "mode": "name"}),
    }
    return table[kind]()


async def one_client(number: int, url: str, place: Place, until: float, tally: Tally) -> None:
    """Send requests until the time is up."""
    chance, known, session = random.Random(number), list[str](), f"s{number}"
    kinds, weights = list(KINDS), list(KINDS.values())
    async with httpx.AsyncClient(base_url=f"{url}/api/v1", headers=place.headers, timeout=60) as client:
        while time.monotonic() < until:
            kind = chance.choices(kinds, weights)[0]
            method, path, body = request(kind, chance, known, session)
            started = time.perf_counter()
            reply = await timed(client.request(method, path, json=body), kind, tally)
            if not place.first:
                tally.others.append(time.perf_counter() - started)
            if kind == "write memory" and reply is not None and reply.status_code == 201:
                known.append(reply.json()["id"])


async def timed(sending: Awaitable[httpx.Response], kind: str, tally: Tally) -> httpx.Response | None:
    """Wait for a reply, and count it."""
    started = time.perf_counter()
    try:
        reply = await sending
    except httpx.HTTPError as error:
        tally.statuses[type(error).__name__] += 1
        return None
    tally.seconds[kind].append(time.perf_counter() - started)
    tally.statuses[str(reply.status_code)] += 1
    return reply


async def pinging(url: str, clients: int, seconds: float) -> float:
    """Replies of /healthz a second that so many clients get: what the clients themselves can do."""
    until, tally = time.monotonic() + seconds, Tally()

    async def ping() -> None:
        async with httpx.AsyncClient(base_url=url, timeout=60) as client:
            while time.monotonic() < until:
                await timed(client.get("/healthz"), "ping", tally)

    await asyncio.gather(*(ping() for _ in range(clients)))
    return len(tally.seconds["ping"]) / seconds


def place_of(number: int, places: list[Place], half: bool) -> Place:
    """Where a client works: clients are spread evenly, or every second pair of them is in the first namespace."""
    if half:
        return places[0] if number // 2 % 2 else places[1 + number // 2 % (len(places) - 1)]
    return places[number % len(places)]


async def clients_at_once(numbers: list[int], url: str, places: list[Place], seconds: float, half: bool = False) -> Tally:
    """Clients side by side in this process."""
    tally, until, before = Tally(), time.monotonic() + seconds, resource.getrusage(resource.RUSAGE_SELF)
    await asyncio.gather(*(one_client(number, url, place_of(number, places, half), until, tally) for number in numbers))
    after = resource.getrusage(resource.RUSAGE_SELF)
    tally.busy = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / seconds
    return tally


def in_process(numbers: list[int], url: str, places: list[Place], seconds: float, half: bool) -> Tally:
    """Load from a process of its own."""
    return asyncio.run(clients_at_once(numbers, url, places, seconds, half))


def pinged(url: str, clients: int, seconds: float) -> float:
    """What clients of a process could have done."""
    return asyncio.run(pinging(url, clients, seconds))


def print_table(tally: Tally, seconds: float) -> None:
    """Figures by kind, and of all."""
    print("| kind | requests | p50 ms | p95 ms | p99 ms | slowest ms |\n|---|---|---|---|---|---|")
    everything = [value for values in tally.seconds.values() for value in values]
    for kind, values in [*((kind, tally.seconds[kind]) for kind in KINDS), ("all", everything)]:
        ordered = sorted(values)
        if ordered:
            p50, p95, p99 = (ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000 for share in (0.5, 0.95, 0.99))
            print(f"| {kind} | {len(ordered)} | {p50:.0f} | {p95:.0f} | {p99:.0f} | {ordered[-1] * 1000:.0f} |")
    print(f"{len(everything) / seconds:.0f} requests a second; statuses: {dict(sorted(tally.statuses.items()))}")


def percentile(values: list[float], share: float) -> float:
    """Milliseconds of the reply below which a share of them lies; 0 where there are none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000 if ordered else 0.0


def measure(url: str, given: argparse.Namespace) -> tuple[dict[bool, Tally], float]:
    """Both kinds of parts in turns (half of the clients in one namespace: True); what the clients could have done."""
    with httpx.Client(base_url=f"{url}/api/v1", timeout=60) as client:
        places = prepare(client, NAMESPACES, SEEDED)
    tallies, seconds = {False: Tally(), True: Tally()}, given.seconds / given.rounds
    shares = [list(range(number, given.clients, given.processes)) for number in range(given.processes)]
    with ProcessPoolExecutor(given.processes, mp_context=get_context("spawn")) as pool:
        alone = sum(
            pool.map(pinged, [url] * given.processes, [len(share) for share in shares], [min(3.0, seconds)] * given.processes)
        )
        for _ in range(given.rounds):
            for half, tally in tallies.items():
                several = [[value] * given.processes for value in (url, places, seconds, half)]
                for part in pool.map(in_process, shares, *several):
                    tally.add(part)
                    tally.busy -= part.busy * (1 - 1 / given.rounds)
    return tallies, alone


def asked(tallies: dict[bool, Tally], seconds: float) -> list[str]:
    """What was asked for, and whether it holds."""
    even, half = tallies[False], tallies[True]
    everything = [value for values in even.seconds.values() for value in values]
    fair = percentile(half.others, 0.99) / max(percentile(even.others, 0.99), 1e-9)
    figures = [
        ("requests a second", len(everything) / seconds, "≥ 300", len(everything) / seconds >= 300),
        ("p99, ms", percentile(everything, 0.99), "≤ 450", percentile(everything, 0.99) <= 450),
        ("refused", even.refused + half.refused, "none", even.refused + half.refused == 0),
        ("p99 of the others where one namespace sends half, to theirs where none does", fair, "< 1.5 ×", fair < 1.5),
    ]
    return [f"| {name} | {value:,.2f} | {target} | {'met' if met else 'MISSED'} |" for name, value, target, met in figures]


def main() -> int:
    """Run it; 1 if any reply was 500 or more, or missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--pool", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--workers", type=int, default=1, help="processes of the service")
    given = parser.parse_args()
    environment = {"LOCI_POOL_SIZE": str(given.pool), "LOCI_WORKERS": str(given.workers)}
    started = nullcontext(given.url) if given.url else service(environment=environment)
    with started as url:
        tallies, alone = measure(url, given)
    print(
        f"{given.clients} clients in {given.processes} processes, {given.seconds:.0f} s, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    for half, tally in tallies.items():
        print("\nhalf of the clients in one namespace" if half else "\nclients spread evenly")
        print_table(tally, given.seconds)
        print(f"the clients used {tally.busy:.2f} cores; alone they get {alone:.0f} replies of /healthz a second")
    print("\n| what | measured | asked | |\n|---|---|---|---|\n" + "\n".join(asked(tallies, given.seconds)))
    failed = sum(tally.failed for tally in tallies.values())
    print("no reply of 500 or more" if not failed else f"FAILED: {failed} replies of 500 or more, or none")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
