"""How much memory does the service keep after large requests, and what does a word of a text cost?

    python -m bench.footprint [--memories 20000] [--clients 64] [--seconds 20]

Proportional set size of the service's process (static model included, database not): at rest, after an export and an import of so many
memories, after many clients at once, and once the background work is done. Then batches of random words, of which each is new: time, and
growth of the database and of its log, for a word.
"""

import argparse
import asyncio
import random
import sys
import time
from collections.abc import Iterator

import httpx

from bench.database import Database, database
from bench.load import clients_at_once, prepare
from bench.measure import Options
from bench.memory import used
from bench.server import running

TARGET = 250  # MiB
WORDS, OF_EACH = 100_000, 1000
SIZES = "select pg_database_size(current_database()), pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint"


def word(chance: random.Random) -> str:
    """Letters that no dictionary has."""
    return "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(3, 9)))


def texts(count: int, words: int, vocabulary: list[str] | None, chance: random.Random) -> list[dict[str, str]]:
    """Memories of so many words, of a vocabulary or new ones."""
    return [
        {"content": " ".join(chance.choice(vocabulary) if vocabulary else word(chance) for _ in range(words))} for _ in range(count)
    ]


def settled(client: httpx.Client, name: str, seconds: float) -> bool:
    """Wait until everything in a namespace has its names and vectors."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        row = client.get(f"/namespaces/{name}").raise_for_status().json()
        if not row["pending_names"] and not row["pending_embeddings"]:
            return True
        time.sleep(1)
    return False


def footprint(client: httpx.Client, url: str, pid: int, given: argparse.Namespace) -> Iterator[tuple[str, float]]:
    """What the process uses, step by step."""
    chance = random.Random(1)
    vocabulary = [word(chance) for _ in range(20_000)]
    yield "at rest", used(pid)[1]
    client.post("/namespaces", json={"name": "large"}).raise_for_status()
    for start in range(0, given.memories, 5000):
        items = texts(min(5000, given.memories - start), 20, vocabulary, chance)
        client.post("/memories/batch", json={"items": items}, headers={"X-Namespace": "large"}).raise_for_status()
    settled(client, "large", 600)
    yield f"{given.memories:,} memories written and embedded", used(pid)[1]
    lines = client.get("/namespaces/large/export").raise_for_status().content
    yield "exported", used(pid)[1]
    client.post("/namespaces/copy/import", content=lines).raise_for_status()
    yield "imported", used(pid)[1]
    places = prepare(client, 8, 100)
    asyncio.run(clients_at_once(list(range(given.clients)), url, places, given.seconds))
    yield f"{given.clients} clients", used(pid)[1]
    settled(client, "copy", 600)
    time.sleep(15)  # in which what is free goes back
    yield "done", used(pid)[1]


def cost_of_a_word(client: httpx.Client, base: Database) -> str:
    """Time and growth for one new word of a batch."""
    items = texts(WORDS // OF_EACH, OF_EACH, None, random.Random(2))
    client.post("/namespaces", json={"name": "words"}).raise_for_status()
    with base.owner() as owner:
        before = owner.execute(SIZES).fetchone() or (0, 0)
        began = time.perf_counter()
        client.post("/memories/batch", json={"items": items}, headers={"X-Namespace": "words"}).raise_for_status()
        took = time.perf_counter() - began
        after = owner.execute(SIZES).fetchone() or (0, 0)
    database_bytes, log_bytes = ((b - a) / WORDS for a, b in zip(before, after, strict=True))
    return f"a new word costs {took / WORDS * 1e6:.0f} µs, {database_bytes:.0f} bytes of the database, {log_bytes:.0f} of its log"


def main() -> int:
    """Run it; 1 if more is kept than may be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=20_000)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=20)
    given = parser.parse_args()
    kept = 0.0
    with (
        database(Options(None, None, quick=False)) as base,
        running(base.folder) as (url, pid),
        httpx.Client(base_url=f"{url}/api/v1", timeout=3600) as client,
    ):
        print("| step | PSS, MiB |\n|---|---|")
        for step, kept in footprint(client, url, pid, given):
            print(f"| {step} | {kept:.0f} |", flush=True)
        print(cost_of_a_word(client, base))
    print(f"{kept:.0f} MiB kept; at most {TARGET} are asked for")
    return 0 if kept <= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
