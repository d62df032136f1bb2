"""The vector arm in SQL: does it find the nearest, and how fast, whatever the size of the namespace?

    python -m bench.vector [--data FOLDER] [--quick] [--sweep]

Namespaces of 20, 500, 2,000, 5,000 and 50,000 memories lie in one hash partition, the worst case, with real embeddings of the
question sets' sentences (pairs of them once these run out). Queries are the sets' questions and sentences held out. Exact ranks come from numpy over the
stored vectors. The floor is one bare statement with the namespace spelled out, which the planner answers as it likes.
"""

import argparse
import random
import statistics
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector, Vector
from psycopg import Connection, sql

from bench import corpus, fill
from bench.database import Database, database
from bench.measure import Figure, Options, interleaved, milliseconds, options, report

SIZES = {20: 0.99, 500: 0.99, 2000: 0.99, 5000: 0.99, 50_000: 0.98}
QUERIES = 400
HELD_OUT = 2000
ARM = "select id from loci.similar_memories(%s, %s::vector::real[])"
FLOOR = """
select memory_id from loci_data.memory_vectors where namespace_id = {ns} and model_id = {model}
order by embedding::halfvec({dimensions}) <=> %s::halfvec({dimensions}) limit 100
"""
Matrix = NDArray[np.float32]


def neighbours(owner: Connection[Any], count: int) -> list[int]:
    """New namespaces that share one hash partition of memory_vectors; those of an earlier run if there are any."""
    found: list[int] = []
    for attempt in range(count * 64):
        number = fill.namespace(owner, f"vector-{attempt}")
        row = owner.execute(
            "select satisfies_hash_partition('loci_data.memory_vectors'::regclass, 16, 0, %s::int)", [number]
        ).fetchone()
        if row and row[0]:
            found.append(number)
        if len(found) == count:
            break
    return found


def load(base: Database, given: Options) -> tuple[dict[int, tuple[str, int]], list[str]]:
    """Fill the namespaces; returns name and number by size, and the queries."""
    sentences = corpus.sentences(given.data)
    held_out, known = sentences[:HELD_OUT], sentences[HELD_OUT:]
    queries = [*corpus.questions(given.data)[: QUERIES // 2], *held_out[: QUERIES // 2]]
    sizes = {given.size(size) if size > 5000 else size: size for size in SIZES}
    with base.owner() as owner:
        numbers = neighbours(owner, len(sizes))
        names = {n: owner.execute("select name from loci_data.namespaces where id = %s", [n]).fetchone()[0] for n in numbers}  # type: ignore[index]
        if not fill.holds(owner, numbers[-1], max(sizes)):
            owners = [number for number, size in zip(numbers, sizes, strict=True) for _ in range(size)]
            texts = [*known, *corpus.recombined(known, len(owners), seed=7)]
            random.Random(8).shuffle(texts := texts[: len(owners)])
            fill.add(owner, list(zip(owners, texts, strict=True)))
            rows = owner.execute(
                "select namespace_id, id, content from loci_data.memories where namespace_id = any (%s) order by doc_id", [numbers]
            ).fetchall()
            fill.vectors(owner, [r[0] for r in rows], [r[1] for r in rows], corpus.embedded([r[2] for r in rows]))
            fill.settle(owner)
    return {size: (names[number], number) for number, size in zip(numbers, sizes, strict=True)}, queries


def exact(owner: Connection[Any], number: int, queries: Matrix) -> tuple[dict[Any, int], Matrix, Matrix]:
    """Positions of memories, similarities of every query to each, and the tenth best similarity of each query."""
    rows = owner.execute("select memory_id, embedding from loci_data.memory_vectors where namespace_id = %s", [number]).fetchall()
    stored = np.array([row[1].to_numpy() for row in rows], dtype=np.float32)
    near = queries.astype(np.float16).astype(np.float32) @ (stored / np.linalg.norm(stored, axis=1, keepdims=True)).T
    tenth = -np.partition(-near, min(9, len(rows) - 1), axis=1)[:, min(9, len(rows) - 1)]
    return {row[0]: place for place, row in enumerate(rows)}, near, tenth


def recall(found: list[list[Any]], truth: tuple[dict[Any, int], Matrix, Matrix]) -> float:
    """Recall at 10: the share of the first ten results that are as near as the tenth nearest."""
    places, near, tenth = truth
    wanted = min(10, len(places))
    hits = [
        sum(near[query, places[memory]] >= tenth[query] - 1e-6 for memory in ids[:10]) / wanted for query, ids in enumerate(found)
    ]
    return statistics.fmean(hits)


def measure(base: Database, size: int, name: str, number: int, queries: Matrix, least: float) -> list[Figure]:
    """Recall and latency of one namespace."""
    with base.owner() as owner, base.app() as app:
        model, dimensions = owner.execute("select id, dimensions from loci_data.embedding_models where active").fetchone() or (0, 0)
        floor = sql.SQL(FLOOR).format(ns=sql.Literal(number), model=sql.Literal(model), dimensions=sql.Literal(dimensions))
        times = interleaved(
            {
                "arm": lambda query: app.execute(ARM, [name, Vector(query)]).fetchall(),
                "floor": lambda query: owner.execute(floor, [HalfVector(query)]).fetchall(),
            },
            list(queries),
        )
        found = [[row[0] for row in app.execute(ARM, [name, Vector(query)]).fetchall()] for query in queries]
        share = recall(found, exact(owner, number, queries))
    ratio = statistics.median(times["arm"]) / statistics.median(times["floor"])
    met = statistics.median(times["arm"]) <= 3.0
    return [
        Figure(f"{size:,} memories: recall@10", f"{share:.4f}", target=f"≥ {least}", met=share >= least),
        Figure(f"{size:,} memories: latency", milliseconds(times["arm"]), milliseconds(times["floor"]), ratio, "p50 ≤ 3 ms", met),
    ]


def sweep(base: Database, size: int, number: int, queries: Matrix) -> None:
    """Print recall and milliseconds of one namespace by exact scan and by HNSW, for several values of ef_search."""
    with base.owner() as owner:
        model, dimensions = owner.execute("select id, dimensions from loci_data.embedding_models where active").fetchone() or (0, 0)
        floor = sql.SQL(FLOOR).format(ns=sql.Literal(number), model=sql.Literal(model), dimensions=sql.Literal(dimensions))
        truth = exact(owner, number, queries)
        for way in ("exact", 64, 128, 200, 400):
            owner.execute("set enable_sort = " + ("on" if way == "exact" else "off"))
            owner.execute("set enable_indexscan = " + ("off" if way == "exact" else "on"))
            if way != "exact":
                owner.execute("select set_config('hnsw.ef_search', %s, false)", [str(way)])
            found, times = [], []
            for query in queries:
                started = time.perf_counter()
                found.append([row[0] for row in owner.execute(floor, [HalfVector(query)]).fetchall()])
                times.append(1000 * (time.perf_counter() - started))
            print(f"| {size:,} | {way} | {recall(found, truth):.4f} | {milliseconds(times)} |", flush=True)


def run(base: Database, given: Options, *, sweeping: bool = False) -> list[Figure]:
    """Fill, ask, compare."""
    fill.model(base)
    namespaces, texts = load(base, given)
    queries = corpus.embedded(texts)
    if sweeping:
        print("| memories | way | recall@10 | |\n|---|---|---|---|")
        for size, (_, number) in namespaces.items():
            sweep(base, size, number, queries)
    figures = []
    for (size, (name, number)), least in zip(namespaces.items(), SIZES.values(), strict=True):
        figures += measure(base, size, name, number, queries, least)
    with base.owner() as owner:
        return report("Vector arm in SQL, namespaces of one hash partition", owner, figures)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(add_help=False)
    arguments.add_argument("--sweep", action="store_true", help="exact scan against HNSW and ef_search, before the figures")
    wants, rest = arguments.parse_known_args()
    chosen = options(__doc__, rest)
    with database(chosen) as opened:
        run(opened, chosen, sweeping=wants.sweep)
