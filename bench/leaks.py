"""Does anything grow that should not? A mixed load, steady and moderate, for as long as you like, and a sample of everything a minute.

    python -m bench.leaks [--minutes 120] [--rate 50] [--every 60] [--folder FOLDER]

A service with its worker on an embedded database of its own, MIX of bench.load. Sampled: memory of the service (PSS) and of all processes
of the database (private), connections, WAL on disk, rows and dead rows, sizes of tables, jobs. At the end: a table, and what grew over the
second half of the time, each beside what was written (memories grow with writes; what grows without them is a leak). The first tenth is left
out: caches fill.
"""

import argparse
import asyncio
import os
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
from psycopg import Connection

from bench.load import KINDS, Place, Tally, prepare, print_table, request, timed
from bench.memory import used
from bench.server import running
from db.embedded import EmbeddedServer

GROWN = 1.15  # of the middle, at the end: else it has levelled off
MB = 2**20
SIZES = """
select coalesce(p.inhparent, c.oid)::regclass::text as name, sum(pg_total_relation_size(c.oid))::bigint as size,
       sum(s.n_live_tup)::bigint as live, sum(s.n_dead_tup)::bigint as dead
from pg_class c left join pg_inherits p on p.inhrelid = c.oid join pg_stat_all_tables s on s.relid = c.oid
where c.relnamespace in ('loci_data'::regnamespace, 'loci_jobs'::regnamespace) and c.relkind = 'r' group by 1"""
KEPT = ("memories", "edges", "entities", "edge_observations", "memory_texts", "memory_vectors", "postings", "memory_mentions", "entity_names",
        "entity_sessions", "entity_vectors", "name_candidates", "changes", "operations", "operation_counts", "session_memories")  # fmt: skip
Sample = dict[str, float]


def private(parent: int) -> float:
    """MiB that a process's children have for themselves: what they share counts once, elsewhere."""
    total = 0.0
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if int((path / "stat").read_text().rsplit(")", 1)[1].split()[1]) == parent:
                lines = (path / "smaps_rollup").read_text().splitlines()
                total += sum(int(line.split()[1]) for line in lines if line.startswith(("Private_Clean", "Private_Dirty"))) / 1024
        except (OSError, IndexError, ValueError):
            continue
    return total


def sample(owner: Connection[Any], service: int) -> Sample:
    """Everything that could grow, by name."""
    backend, connections, wal, jobs = owner.execute(
        """select pg_backend_pid(), (select count(*) from pg_stat_activity where backend_type = 'client backend'),
                  (select sum(size) from pg_ls_waldir()), (select count(*) from loci_jobs.procrastinate_jobs)"""
    ).fetchone() or (0, 0, 0, 0)
    server = int(Path(f"/proc/{backend}/stat").read_text().rsplit(")", 1)[1].split()[1])
    found: Sample = {
        "service, MiB": used(service)[1],
        "database's processes, MiB": private(server),
        "connections": float(connections),
        "WAL, MiB": float(wal) / MB,
        "jobs in the queue": float(jobs),
    }
    dead = 0
    for name, size, _, gone in owner.execute(SIZES).fetchall():
        found[f"table {name.split('.')[-1]}, MiB"] = size / MB
        dead += gone
    found["dead rows"] = float(dead)
    return found


async def steady(number: int, url: str, place: Place, until: float, pause: float, tally: Tally) -> None:
    """One client that sends a request every so many seconds."""
    chance, known, session = random.Random(number), list[str](), f"s{number}"
    kinds, weights = list(KINDS), list(KINDS.values())
    due = time.monotonic() + pause * chance.random()
    async with httpx.AsyncClient(base_url=f"{url}/api/v1", headers=place.headers, timeout=60) as client:
        while due < until:
            await asyncio.sleep(max(due - time.monotonic(), 0))
            kind = chance.choices(kinds, weights)[0]
            method, path, body = request(kind, chance, known, session)
            reply = await timed(client.request(method, path, json=body), kind, tally)
            if kind == "write memory" and reply is not None and reply.status_code == 201:
                known = [*known[-999:], reply.json()["id"]]
            due += pause


async def sampling(owner: Connection[Any], service: int, until: float, every: float, tally: Tally) -> list[Sample]:
    """A sample at once, and one whenever so many seconds are over; each is told."""
    found: list[Sample] = []
    while True:
        now = await asyncio.to_thread(sample, owner, service)
        found.append(now | {"requests": float(sum(map(len, tally.seconds.values())))})
        told = {name: value for name, value in found[-1].items() if not name.startswith("table ")}
        print(", ".join(f"{name} {value:,.0f}" for name, value in told.items()), flush=True)
        if time.monotonic() >= until:
            return found
        await asyncio.sleep(max(min(every, until - time.monotonic()), 0.1))


async def loaded(
    owner: Connection[Any], service: int, url: str, places: Sequence[Place], given: argparse.Namespace
) -> tuple[Tally, list[Sample]]:
    """The load, and samples beside it."""
    tally, clients = Tally(), max(int(given.rate // 5), 1)
    until = time.monotonic() + given.minutes * 60
    work = [steady(n, url, places[n % len(places)], until, clients / given.rate, tally) for n in range(clients)]
    async with asyncio.TaskGroup() as group:
        for client in work:
            group.create_task(client)
        found = await sampling(owner, service, until, given.every, tally)
    return tally, found


def growth(samples: Sequence[Sample]) -> list[tuple[str, float, float, float, str]]:
    """Of each: at a tenth of the time, in the middle, at the end, and what that says."""
    first, middle, last = samples[len(samples) // 10], samples[len(samples) // 2], samples[-1]
    rows = []
    for name in last:
        a, b, c = (found.get(name, 0.0) for found in (first, middle, last))
        kept = (name.startswith("table ") and name.removeprefix("table ").removesuffix(", MiB") in KEPT) or name == "requests"
        grows = c > b * GROWN and c - b > 1
        rows.append((name, a, b, c, "grows with what is written" if grows and kept else "GROWS" if grows else "level"))
    return rows


def print_growth(samples: Sequence[Sample]) -> None:
    """The table, what is small and level left out; then what grows."""
    print("\n| what | after a tenth | in the middle | at the end | |\n|---|---|---|---|---|")
    rows = growth(samples)
    for name, first, middle, last, said in rows:
        if said != "level" or not name.startswith("table ") or last >= 1:
            print(f"| {name} | {first:,.1f} | {middle:,.1f} | {last:,.1f} | {said} |")
    leaks = [name for name, *_, said in rows if said == "GROWS"]
    print("grows without an end in sight: " + ", ".join(leaks) if leaks else "everything else has levelled off")


def main() -> int:
    """Run it; 1 if a reply was 500 or more, or missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--rate", type=float, default=50, help="requests a second")
    parser.add_argument("--every", type=float, default=60, help="seconds between samples")
    parser.add_argument("--folder", type=Path, help="keep the database here; default: a temporary folder")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="loci-leaks-") as temporary:
        folder = (given.folder or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o755)
        with running(folder) as (url, pid):
            server = EmbeddedServer(folder, 18)
            try:
                with httpx.Client(base_url=f"{url}/api/v1", timeout=60) as client:
                    places = prepare(client, 8, 200)
                with Connection.connect(server.connection_url("postgres"), autocommit=True) as owner:
                    print(
                        f"{given.rate:.0f} requests a second for {given.minutes:.0f} minutes, load {os.getloadavg()[0]:.1f}",
                        flush=True,
                    )
                    tally, samples = asyncio.run(loaded(owner, pid, url, places, given))
            finally:
                server.leave_server()
    print_table(tally, given.minutes * 60)
    print_growth(samples)
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
