"""How much slower is a million? Recall, recall of vectors, traversal and writes in a large namespace beside those in one a fifth its size.

    python -m bench.scale --size small|medium|full [--folder FOLDER] [--only large|hundreds] [--questions 300] [--yes]

full: 1,000,000 memories in 1,000 namespaces, one of them with half, 1,000,000 entities, 10,000,000 edges; and 10,000 namespaces of 100
beside a database with only one. medium is a tenth of that, small a hundredth. How long and how much disk it takes is said first. With
--folder the data is kept: what was interrupted goes on, and what is there is only measured. With --only the large database and the many
namespaces can be made by two processes at once, and measured later. Ratios compare questions that take turns. The servers get a quarter of
the machine's memory, as docs/running/sizing.md advises.
"""

import argparse
import os
import random
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from pgvector import HalfVector
from psycopg import Connection, sql

from bench import corpus, fill
from bench.database import Database, database
from bench.measure import Figure, Options, against, interleaved, milliseconds, percentile, report
from bench.recall_latency import Client
from bench.scale_data import MAIN, REFERENCE, SIZES, Size, count, entity, make
from bench.server import running

ASKED, EXACT, WALKS, WRITES = 300, 50, 200, 100
MS_A_MEMORY, KB_A_MEMORY = 3.0, 27  # of a machine with two cores, edges, vectors and indexes included
HUNDRED = "hundred-0"
SIZE_OF = """
select coalesce(p.inhparent, c.oid)::regclass::text, sum(pg_total_relation_size(c.oid))
from pg_class c left join pg_inherits p on p.inhrelid = c.oid
where c.relnamespace in ('loci_data'::regnamespace, 'loci_jobs'::regnamespace) and c.relkind = 'r'
group by 1 order by 2 desc limit 12"""
EXACTLY = """
select memory_id from loci_data.memory_vectors where namespace_id = {ns} and model_id = {model}
order by embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions}), memory_id limit 10"""
NEAREST = "select id from loci.similar_memories(%s, %s::real[], 10)"
WALK = "select id from loci.traverse(%s, %s::text[], p_max_hops => 2)"


@contextmanager
def sized(folder: Path) -> Iterator[Database]:
    """A database whose server has the memory that is advised for this machine, and room for the log of a long load."""
    quarter = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**22
    wanted = {"shared_buffers": f"{quarter}MB", "effective_cache_size": f"{2 * quarter}MB", "max_wal_size": "16GB"}
    with database(Options(None, folder, False)) as base, base.owner() as owner:
        for name, value in wanted.items():
            owner.execute(sql.SQL("alter system set {} = {}").format(sql.Identifier(name), sql.Literal(value)))
    with database(Options(None, folder, False)) as base:  # started anew
        yield base


def questions(number: int, entities: int) -> list[str]:
    """Six words; every second one names somebody."""
    draw = random.Random(3)
    found = []
    for place, text in enumerate(corpus.generated(number, seed=77, length=6)):
        found.append(f"{text.rstrip('.')} {entity(draw.randrange(entities))}?" if place % 2 and entities else text)
    return found


def slower(name: str, large: list[float], small: list[float], p50: float, p95: float | None = None) -> Figure:
    """A figure whose target is a ratio of the large one to the small one."""
    ratio, tail = statistics.median(large) / statistics.median(small), percentile(large, 0.95) / percentile(small, 0.95)
    met = ratio <= p50 and (p95 is None or tail <= p95)
    target = f"p50 ≤ {p50} ×" + (f", p95 ≤ {p95} × (it is {tail:.2f})" if p95 else "")
    return Figure(name, milliseconds(large), milliseconds(small), ratio, target, met)


def found_exactly(owner: Connection[Any], app: Connection[Any], name: str) -> float:
    """recall@10 of vectors: share of the exact ten nearest that are found."""
    model, dimensions = owner.execute("select id, dimensions from loci_data.embedding_models where active").fetchone() or (0, 0)
    exactly = sql.SQL(EXACTLY).format(
        ns=sql.Literal(fill.namespace(owner, name)), model=sql.Literal(model), dimensions=sql.Literal(dimensions)
    )
    right = total = 0
    for vector in corpus.embedded(corpus.generated(EXACT, seed=78, length=6)).astype(np.float16):
        with owner.transaction():
            owner.execute("set local enable_indexscan = off")
            best = {row[0] for row in owner.execute(exactly, {"vector": HalfVector(vector)}).fetchall()}
        found = {row[0] for row in app.execute(NEAREST, [name, vector.astype(float).tolist()]).fetchall()}
        right, total = right + len(best & found), total + len(best)
    return right / total


def entities_of(owner: Connection[Any], name: str) -> list[Any]:
    """Ids to begin walks at."""
    rows = owner.execute(
        "select id from loci_data.entities where namespace_id = %s order by id limit %s", [fill.namespace(owner, name), WALKS]
    )
    return [row[0] for row in rows.fetchall()]


def recalls(base: Database, size: Size, number: int) -> list[Figure]:
    """Over REST: recall in both, without the graph, and a write to each."""
    asked = questions(number, size.edges(REFERENCE)[1])
    with running(base.folder, worker=False) as (url, _):
        client = Client(url, MAIN)  # one for all: none is closed because it is idle
        times = interleaved(
            {
                "large": lambda question: client.post("/recall", {"query": question}),
                "small": lambda question: client.post("/recall", {"query": question}, REFERENCE),
                "two": lambda question: client.post("/recall", {"query": question, "arms": ["lexical", "vector"]}),
                "other": lambda question: client.post("/recall", {"query": question}, "other-0"),
            },
            asked,
        )
        mark = Path(tempfile.mktemp()).name
        written = interleaved(
            {
                "large": lambda number: client.post("/memories", {"content": f"Large {mark} {number} {random.random()}"}),
                "small": lambda number: client.post(
                    "/memories", {"content": f"Small {mark} {number} {random.random()}"}, REFERENCE
                ),
            },
            range(min(WRITES, number)),
        )
    with base.owner() as owner:  # as it was, for the next run
        owner.execute("delete from loci_data.memories m where m.content like %s", [f"% {mark} %"])
    n, few = size.shares[MAIN], size.shares[REFERENCE]
    return [
        slower(f"recall, {n:,} memories; floor: {few:,}", times["large"], times["small"], 2, 3),
        against("… what graph and surroundings add; floor: words and meaning alone", times["large"], times["two"], 1.2),
        Figure(f"… in a namespace of {size.shares['other-0']:,}", milliseconds(times["other"])),
        slower("one write", written["large"], written["small"], 1.2),
    ]


def graph_and_vectors(base: Database, size: Size) -> list[Figure]:
    """In SQL: two hops in both, and how many of the ten nearest vectors are found."""
    figures = []
    with base.owner() as owner, base.app() as app:
        starts = list(zip(entities_of(owner, MAIN), entities_of(owner, REFERENCE), strict=False))
        walks = interleaved(
            {
                "large": lambda pair: app.execute(WALK, [MAIN, [str(pair[0])]]).fetchall(),
                "small": lambda pair: app.execute(WALK, [REFERENCE, [str(pair[1])]]).fetchall(),
            },
            starts,
        )
        edges = [
            count(owner, "select count(*) from loci_data.edges where namespace_id = %s", fill.namespace(owner, n))
            for n in (MAIN, REFERENCE)
        ]
        figures.append(slower(f"2 hops, {edges[0]:,} edges; floor: {edges[1]:,}", walks["large"], walks["small"], 1.5))
        for name, least in ((MAIN, 0.98), (REFERENCE, 0.99), ("other-0", 0.99)):
            share = found_exactly(owner, app, name)
            figures.append(
                Figure(f"vector recall@10, {size.shares[name]:,} memories", f"{share:.3f}", target=f"≥ {least}", met=share >= least)
            )
    return figures


def on_disk(base: Database) -> list[Figure]:
    """Bytes a memory, by table, indexes included."""
    with base.owner() as owner:
        memories = count(owner, "select count(*) from loci_data.memories")
        rows = owner.execute(SIZE_OF).fetchall()
        whole = count(owner, "select pg_database_size(current_database())")
    figures = [Figure("bytes a memory, all", f"{whole / memories:,.0f}", f"{whole / 2**30:.2f} GiB")]
    return figures + [Figure(f"… {table}", f"{size / memories:,.0f}") for table, size in rows]


def hundreds(folder: Path, size: Size, number: int) -> list[Figure]:
    """Many namespaces of a hundred beside a database that has only one."""
    with sized(folder / "many") as many, sized(folder / "one") as one:
        make(many, {f"hundred-{n}": 100 for n in range(size.hundreds)}, size)
        make(one, {HUNDRED: 100}, size)
        with running(many.folder, worker=False) as (many_url, _), running(one.folder, worker=False) as (one_url, _):
            among, alone = Client(many_url, HUNDRED), Client(one_url, HUNDRED)
            times = interleaved(
                {
                    "many": lambda question: among.post("/recall", {"query": question}),
                    "one": lambda question: alone.post("/recall", {"query": question}),
                },
                questions(number, 0),
                block=5,
            )
    return [slower(f"recall in one of {size.hundreds:,} namespaces of 100; floor: the only one", times["many"], times["one"], 1.1)]


def large(folder: Path, size: Size, number: int) -> None:
    """Make what is missing of the large database, and measure it."""
    with sized(folder / "large") as base:
        spent = make(base, size.shares, size)
        made = [Figure(f"made: {name}", f"{seconds:,.0f} s") for name, seconds in spent.items()]
        figures = [*made, *recalls(base, size, number), *graph_and_vectors(base, size), *on_disk(base)]
        with base.owner() as owner:
            report(f"{size.memories:,} memories in {size.namespaces:,} namespaces", owner, figures)


def small(folder: Path, size: Size, number: int) -> None:
    """Make what is missing of the many small namespaces, and measure them."""
    figures = hundreds(folder, size, number)
    with sized(folder / "one") as base, base.owner() as owner:
        report("Many small namespaces", owner, figures)


PARTS = {"large": large, "hundreds": small}


def main() -> int:
    """Say what it takes, and do it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--folder", type=Path, help="keep the data here, and go on with it; default: a temporary folder")
    parser.add_argument("--only", choices=PARTS, help="one of the two databases; default: both, one after the other")
    parser.add_argument("--questions", type=int, default=ASKED, help="how many are asked of each")
    parser.add_argument("--yes", action="store_true", help="do not ask where it takes more than ten minutes")
    given = parser.parse_args()
    size = SIZES[given.size]
    minutes = (size.memories * MS_A_MEMORY + size.hundreds * 100) / 60_000
    gigabytes = (size.memories * KB_A_MEMORY + size.hundreds * 100 * 6) / 2**20
    with tempfile.TemporaryDirectory(prefix="loci-scale-") as temporary:
        folder = (given.folder or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o755)
        free, there = shutil.disk_usage(folder).free / 2**30, sum(file.lstat().st_blocks for file in folder.rglob("*")) / 2**21
        print(
            f"about {minutes:.0f} minutes on two quiet cores to make it, {gigabytes:.1f} GiB of {free:.0f} free in {folder}, "
            f"which holds {there:.1f} already",
            flush=True,
        )
        if free + there < gigabytes * 1.5:
            print("that is too little disk: name a folder that has half as much again with --folder")
            return 1
        if minutes > 10 and not given.yes:
            print("start it with --yes")
            return 1
        for part in [given.only] if given.only else PARTS:
            PARTS[part](folder, size, given.questions)
    return 0


if __name__ == "__main__":
    sys.exit(main())
