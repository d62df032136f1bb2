"""Writing: imports, names and vectors behind them, and one memory at a time.

    python -m bench.ingest [--data FOLDER] [--quick]

Import: `loci import` of a file, until every memory is found by its words; and, with a service beside it, until its worker has found
the names of all, without and with vectors. Vectors: the worker's batches, each followed by bare
INSERTs of the same vectors into a table with the same partitions, keys, HNSW index and contents. One write: POST /memories, in turns
with the same rows inserted by hand in one transaction of a statement a table, foreign keys checked, triggers off; for information also
by one single statement.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any, LiteralString

from psycopg import Connection, sql

from bench import corpus, fill
from bench.database import Database, database
from bench.measure import Figure, Options, against, milliseconds, options, report
from bench.recall_latency import Client
from bench.server import running
from db.pool import make_pool
from service.worker.worker import BATCH_TEXTS, Worker

MEMORY = """
insert into loci_data.memories (namespace_id, id, lineage, lineage_id, content, content_hash, fold_scope,
                                valid_from, recorded_at, believed_at, last_observed_at, updated_at)
values (%(ns)s, %(id)s, %(id)s::text, %(id)s, %(content)s, sha256(convert_to(%(content)s, 'UTF8')), '', now(), now(), now(), now(), now())
returning doc_id
"""
TEXT = "insert into loci_data.memory_texts (namespace_id, memory_id, document) values (%(ns)s, %(id)s, to_tsvector('pg_catalog.english', %(content)s))"
POSTINGS = """
with term as (
    select hashtextextended(u.lexeme, 0) as term, cardinality(u.positions) as frequency, sum(cardinality(u.positions)) over () as length
    from unnest(to_tsvector('pg_catalog.english', %(content)s)) u
)
insert into loci_data.postings (namespace_id, term, size, entries)
select %(ns)s, term, 1, array[(%(doc)s::bigint << 23) | (least(frequency, 255)::bigint << 15) | least(length, 32767)::bigint] from term
"""
COUNTS = "insert into loci_data.corpus_counts (namespace_id, documents, terms) values (%(ns)s, 1, %(length)s)"
EMBEDDING = "insert into loci_data.embedding_queue (namespace_id, memory_id, model_id) values (%(ns)s, %(id)s, %(model)s)"
NAME = "insert into loci_data.name_queue (namespace_id, memory_id) values (%(ns)s, %(id)s)"
AT_ONCE = """
with text as (
    select %(id)s::uuid as id, %(content)s::text as content, to_tsvector('pg_catalog.english', %(content)s) as document, now() as at
), memory as (
    insert into loci_data.memories (namespace_id, id, lineage, lineage_id, content, content_hash, fold_scope,
                                    valid_from, recorded_at, believed_at, last_observed_at, updated_at)
    select %(ns)s, id, id::text, id, content, sha256(convert_to(content, 'UTF8')), '', at, at, at, at, at from text
    returning doc_id
), document as (
    insert into loci_data.memory_texts (namespace_id, memory_id, document) select %(ns)s, id, document from text
), term as materialized (
    select hashtextextended(u.lexeme, 0) as term, cardinality(u.positions) as frequency,
           sum(cardinality(u.positions)) over () as length
    from text cross join lateral unnest(document) u
), posting as (
    insert into loci_data.postings (namespace_id, term, size, entries)
    select %(ns)s, term, 1, array[(doc_id << 23) | (least(frequency, 255)::bigint << 15) | least(length, 32767)::bigint] from term, memory
), counted as (
    insert into loci_data.corpus_counts (namespace_id, documents, terms) select %(ns)s, 1, coalesce(sum(frequency), 0) from term
), embedding as (
    insert into loci_data.embedding_queue (namespace_id, memory_id, model_id) select %(ns)s, id, %(model)s from text
)
insert into loci_data.name_queue (namespace_id, memory_id) select %(ns)s, id from text
"""
NAMES_WAIT = "select count(*) from loci_data.name_queue where namespace_id = %s"
ANY_WAIT = """
select (select count(*) from loci_data.name_queue n where n.namespace_id = w.id)
     + (select count(*) from loci_data.embedding_queue e where e.namespace_id = w.id) from (values (%s::integer)) w(id)
"""
INSERT = "insert into bench_vectors (namespace_id, memory_id, model_id, embedding) values (%s, %s, %s, %s)"


def load(base: Database, name: str, texts: list[str]) -> None:
    """`loci import` of a file, start of the process included."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.writelines(json.dumps({"content": text}) + "\n" for text in texts)
        file.flush()
        subprocess.run(
            [sys.executable, "-m", "service.cli", "import", file.name, "--namespace", name],
            env={**os.environ, "LOCI_DATA_DIR": str(base.folder)},
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def import_rate(base: Database, name: str, texts: list[str]) -> Figure:
    """Memories a second by `loci import`, start of the process included."""
    with base.owner() as owner:
        number = fill.namespace(owner, name)
        started = time.perf_counter()
        load(base, name, texts)
        rate = len(texts) / (time.perf_counter() - started)
        words = owner.execute("select sum(documents) from loci_data.corpus_counts where namespace_id = %s", [number]).fetchone()
        assert words and words[0] == len(texts), "not every memory is searchable"
    return Figure(f"import of {len(texts):,} memories", f"{rate:,.0f} /s", target="≥ 2,000 /s", met=rate >= 2000)


def worked_off_rate(
    base: Database, name: str, texts: list[str], *, queue: LiteralString, provider: str, goal: int | None
) -> Figure:
    """Memories a second by `loci import` until the worker of a running service has emptied a queue behind it."""
    with base.owner() as owner, running(base.folder, environment={"LOCI_EMBEDDING__PROVIDER": provider}):
        owner.execute("delete from loci_data.embedding_queue")
        owner.execute("delete from loci_data.name_queue")
        number = fill.namespace(owner, name)
        started = time.perf_counter()
        load(base, name, texts)
        while (owner.execute(sql.SQL(queue), [number]).fetchone() or (0,))[0]:
            time.sleep(0.02)
        rate = len(texts) / (time.perf_counter() - started)
    title = f"import of {len(texts):,} memories until names are found" + (" and vectors there" if provider != "none" else "")
    return Figure(title, f"{rate:,.0f} /s", target=f"≥ {goal:,} /s" if goal else "", met=rate >= goal if goal else None)


def vector_rate(base: Database, name: str, batches: int) -> Figure:
    """Vectors a second of the worker, and of bare inserts in a transaction a batch."""
    with base.owner() as owner:
        number = fill.namespace(owner, name)
        worker, bare = asyncio.run(filling(base, owner, number, batches))
    ratio = statistics.median(bare) / statistics.median(worker)
    return Figure(
        f"vectors in the background, {batches * BATCH_TEXTS:,}",
        f"{BATCH_TEXTS / statistics.median(worker):,.0f} /s",
        f"{BATCH_TEXTS / statistics.median(bare):,.0f} /s",
        ratio,
        "≥ 0.8 of the floor",
        ratio >= 0.8,
    )


def twin(owner: Connection[Any], number: int) -> None:
    """A table like memory_vectors: its partitions, primary key, HNSW index, and what the namespace's partition holds."""
    owner.execute("drop table if exists bench_vectors")
    owner.execute(
        """create table bench_vectors (namespace_id integer, memory_id uuid, model_id smallint, embedding halfvec not null,
           primary key (namespace_id, memory_id, model_id)) partition by hash (namespace_id)"""
    )
    for part in range(16):
        owner.execute(
            sql.SQL("create table {} partition of bench_vectors for values with (modulus 16, remainder {})").format(
                sql.Identifier(f"bench_vectors_{part}"), sql.Literal(part)
            )
        )
    row = owner.execute("select id, dimensions from loci_data.embedding_models where active").fetchone() or (0, 0)
    owner.execute(
        """insert into bench_vectors select v.* from loci_data.memory_vectors v
           where v.tableoid = (select w.tableoid from loci_data.memory_vectors w where w.namespace_id = %s limit 1)""",
        [number],
    )
    owner.execute(
        sql.SQL(
            """create index on bench_vectors using hnsw ((embedding::halfvec({})) halfvec_cosine_ops)
               with (m = 24, ef_construction = 128) where model_id = {}"""
        ).format(sql.Literal(row[1]), sql.Literal(row[0]))
    )


async def filling(base: Database, owner: Connection[Any], number: int, batches: int) -> tuple[list[float], list[float]]:
    """Seconds of each of the worker's batches, and of bare inserts of the same rows."""
    worker_times, bare_times = [], []
    async with make_pool(base.server.connection_url("loci_app"), size=2) as pool:
        worker = Worker(pool, corpus.provider())
        await worker.vector_batch()
        twin(owner, number)
        owner.execute("create temp table seen as select namespace_id, memory_id from loci_data.memory_vectors")
        for _ in range(batches):
            started = time.perf_counter()
            if not await worker.vector_batch():
                break
            worker_times.append(time.perf_counter() - started)
            rows = owner.execute(
                """select v.* from loci_data.memory_vectors v
                   where not exists (select from seen s where s.namespace_id = v.namespace_id and s.memory_id = v.memory_id)"""
            ).fetchall()
            owner.execute(
                "insert into seen select u.* from unnest(%s::int[], %s::uuid[]) u", [[r[0] for r in rows], [r[1] for r in rows]]
            )
            started = time.perf_counter()
            with owner.transaction(), owner.cursor() as cursor:
                cursor.executemany(INSERT, rows)
            bare_times.append(time.perf_counter() - started)
    return worker_times, bare_times


def by_hand(owner: Connection[Any], values: dict[str, Any]) -> None:
    """One memory in one transaction, a statement a table."""
    with owner.transaction():
        row = owner.execute(MEMORY, values).fetchone()
        values |= {"doc": row and row[0], "length": len(values["content"].split())}
        for statement in (TEXT, POSTINGS, COUNTS, EMBEDDING, NAME):
            owner.execute(statement, values)


def one_write(base: Database, texts: list[str]) -> list[Figure]:
    """Milliseconds of a POST, of the transaction by hand, and of one statement, in turns of 25."""
    times: dict[str, list[float]] = {"rest": [], "by hand": [], "at once": []}
    with base.owner() as owner, running(base.folder, worker=False) as (url, _):
        numbers = {name: fill.namespace(owner, f"one-{name.replace(' ', '-')}") for name in times}
        model = (owner.execute("select id from loci_data.embedding_models where active").fetchone() or [0])[0]
        client = Client(url, "one-rest")
        ways = {
            "rest": lambda values: client.post("/memories", {"content": values["content"]}),
            "by hand": lambda values: by_hand(owner, values),
            "at once": lambda values: owner.execute(AT_ONCE, values),
        }
        for start in range(0, len(texts), 25):
            for name, way in ways.items():
                bare = name != "rest"
                if bare:
                    owner.execute("alter table loci_data.memories disable trigger user")
                try:
                    for text in texts[start : start + 25]:
                        values = {"ns": numbers[name], "id": new_id(owner), "content": text, "model": model}
                        started = time.perf_counter()
                        way(values)
                        times[name].append(1000 * (time.perf_counter() - started))
                finally:
                    if bare:
                        owner.execute("alter table loci_data.memories enable trigger user")
    at_once = statistics.median(times["rest"][50:]) / statistics.median(times["at once"][50:])
    return [
        against("one write through REST", times["rest"][50:], times["by hand"][50:], 1.5),
        Figure("… against all of it in one statement", "", milliseconds(times["at once"][50:]), at_once),
    ]


def new_id(owner: Connection[Any]) -> Any:
    """An identifier that sorts by time."""
    row = owner.execute("select loci_api.uuid7()").fetchone()
    assert row is not None
    return row[0]


def run(base: Database, given: Options) -> list[Figure]:
    """Import, embed, write."""
    fill.model(base)
    mark = str(time.time_ns())  # an earlier run in the same folder wrote the same texts
    name = f"imported-{mark}"
    texts = [f"{text} {mark}" for text in corpus.recombined(corpus.turns(given.data), given.size(20_000) + 1000, seed=12)]
    with base.owner() as owner:
        owner.execute("delete from loci_data.embedding_queue")
    figures = [
        import_rate(base, name, texts[1000:]),
        vector_rate(base, name, given.size(40)),
        *one_write(base, texts[:1000]),
        worked_off_rate(base, f"named-{mark}", texts[1000:], queue=NAMES_WAIT, provider="none", goal=1500),
        worked_off_rate(base, f"embedded-{mark}", texts[1000:], queue=ANY_WAIT, provider="static", goal=None),
    ]
    with base.owner() as owner:
        return report("Writing", owner, figures)


if __name__ == "__main__":
    chosen = options(__doc__)
    with database(chosen) as opened:
        run(opened, chosen)
