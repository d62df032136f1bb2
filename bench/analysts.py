"""Do analysts slow recall down by more than their share of the machine?

python -m bench.analysts [--data FOLDER] [--folder FOLDER] [--quick]

100,000 memories in one of 1,000 namespaces, recall over REST, one question after the other: alone, beside one and two analysts
who run heavy queries without a pause (cross joins, aggregates over everything, a join of all edges with all edges, a sort), and, as the
floor, beside as many processes that only use the processor.
"""

import multiprocessing
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, LiteralString

import psycopg
from psycopg.conninfo import make_conninfo

from bench import corpus, fill
from bench.database import Database, database
from bench.measure import Figure, Options, milliseconds, options, percentile, report
from bench.recall_latency import MAIN, Client, load
from bench.server import running
from db.access import analysts
from db.pool import Origin

HEAVY: tuple[LiteralString, ...] = (
    """select count(*), sum(length(a.content || b.content)) from (select content from loci.current_memories limit 2000) a
       cross join (select content from loci.current_memories limit 2000) b""",
    "select type, count(*), avg(confidence), max(fades_at) from loci.edges group by type",
    """select a.source, count(*) from loci.edges a join loci.edges b on b.source_id = a.target_id
       group by a.source order by count(*) desc, a.source limit 10""",
    "select content from loci.memory_versions order by md5(content), id limit 10",
)
ENDED = "select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename like 'bench_%'"
ROUNDS, ASKED, WARM = 5, 60, 5
LIMIT = 1.2


def query(url: str) -> None:
    """What an analyst's process does until it is ended."""
    with psycopg.connect(url, autocommit=True) as connection:
        while True:
            for statement in HEAVY:
                with suppress(psycopg.errors.QueryCanceled):
                    connection.execute(statement).fetchall()


def spin(_: str) -> None:
    """What a process does that only uses the processor."""
    while True:
        pass


@contextmanager
def beside(work: object, count: int, url: str) -> Iterator[None]:
    """Run processes in the background for the length of a block."""
    made = [multiprocessing.get_context("spawn").Process(target=work, args=(url,), daemon=True) for _ in range(count)]  # type: ignore[arg-type]
    for process in made:
        process.start()
    if made:
        time.sleep(1.5)  # until they are at work
    try:
        yield
    finally:
        for process in made:
            process.kill()
            process.join()


def measured(client: Client, questions: list[str], url: str, owner: psycopg.Connection[Any]) -> dict[tuple[str, int], list[float]]:
    """Milliseconds of recalls, by what ran beside them; the ways take turns, so that noise hits all."""
    ways = {("alone", 0): spin, ("hog", 1): spin, ("analyst", 1): query, ("hog", 2): spin, ("analyst", 2): query}
    times: dict[tuple[str, int], list[float]] = {way: [] for way in ways}
    for turn in range(ROUNDS):
        part = questions[turn * ASKED : (turn + 1) * ASKED]
        for way, work in ways.items():
            with beside(work, way[1], url):
                for number, question in enumerate([*part[:WARM], *part]):
                    started = time.perf_counter()
                    client.post("/recall", {"query": question, "arms": ["lexical", "vector", "graph"]})
                    if number >= WARM:
                        times[way].append(1000 * (time.perf_counter() - started))
            owner.execute(ENDED)  # a killed client's statement would run on beside what comes next
    return times


def run(base: Database, given: Options) -> list[Figure]:
    """Fill, make an analyst, measure."""
    fill.model(base)
    load(base, given)
    login, password, origin = f"bench_{secrets.token_hex(4)}", secrets.token_hex(16), Origin(action="bench", via="cli")
    owner_url = base.server.connection_url("postgres")
    analysts.create_analyst(
        owner_url, login=login, password=password, namespaces=[MAIN], expires_at=None, timeout="30s", origin=origin
    )
    try:
        questions = corpus.questions(given.data, "locomo")[: ROUNDS * ASKED]
        with running(base.folder, worker=False) as (address, _), base.owner() as owner:
            times = measured(
                Client(address, MAIN), questions, make_conninfo(base.server.connection_url(login), password=password), owner
            )
    finally:
        analysts.drop_analyst(owner_url, login=login, origin=origin)
    figures = [Figure("recall alone", milliseconds(times["alone", 0]))]
    for count in (1, 2):
        asked, floor = times["analyst", count], times["hog", count]
        ratio = percentile(asked, 0.95) / percentile(floor, 0.95)
        name = f"recall beside {count} heavy analyst{'s' * (count > 1)}; floor: beside {count} busy process{'es' * (count > 1)}"
        figures.append(Figure(name, milliseconds(asked), milliseconds(floor), ratio, f"p95 ≤ {LIMIT} × floor", ratio <= LIMIT))
    with base.owner() as owner:
        return report(f"Analysts beside recall, {given.size(100_000):,} memories", owner, figures)


if __name__ == "__main__":
    chosen = options(__doc__)
    with database(chosen) as opened:
        run(opened, chosen)
