"""How fast memories come in: imports, the vectors behind them, and one write through REST.

    python -m bench.ingest [--folder FOLDER] [--quick]

Floors: vectors inserted by bare statements into an identical table with the same HNSW index; and for one write the same rows into
copies of the same tables (all indexes and checks, no triggers), in one transaction on one connection.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from pgvector import HalfVector
from psycopg import Connection

from bench import corpus, fill
from bench.database import Database, database
from bench.measure import Figure, Options, against, interleaved, options, report
from bench.server import running

COPIES = """
drop schema if exists bench cascade;
create schema bench;
create table bench.memories (like loci_data.memories including all);
create table bench.memory_texts (like loci_data.memory_texts including all);
create table bench.postings (like loci_data.postings including all);
create table bench.corpus_counts (like loci_data.corpus_counts including all);
create table bench.embedding_queue (like loci_data.embedding_queue including all);
create table bench.name_queue (like loci_data.name_queue including all);
"""
BARE = (
    """insert into bench.memories (namespace_id, id, lineage, lineage_id, content, content_hash, fold_scope, valid_from, recorded_at,
                                   believed_at, last_observed_at, updated_at)
       values (1, %(id)s, %(id)s::text, %(id)s, %(text)s, loci.content_hash(%(text)s), '', now(), now(), now(), now(), now())""",
    "insert into bench.memory_texts values (1, %(id)s, to_tsvector('pg_catalog.english', %(text)s))",
    """insert into bench.postings (namespace_id, term, size, entries)
       select 1, hashtextextended(lexeme, 0), 1, array[1::bigint] from unnest(to_tsvector('pg_catalog.english', %(text)s))""",
    "insert into bench.corpus_counts (namespace_id, documents, terms) values (1, 1, 20)",
    "insert into bench.embedding_queue (namespace_id, memory_id, model_id) values (1, %(id)s, 1)",
    "insert into bench.name_queue (namespace_id, memory_id) values (1, %(id)s)",
)


def importing(base: Database, texts: list[str]) -> Figure:
    """`loci import` of a JSONL file, no worker beside it."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.writelines(json.dumps({"content": text}) + "\n" for text in texts)
        file.flush()
        started = time.perf_counter()
        command = [sys.executable, "-m", "service.cli", "import", file.name]
        subprocess.run(command, check=True, capture_output=True, env=environment(base))
        rate = len(texts) / (time.perf_counter() - started)
    return Figure(f"loci import, {len(texts):,} memories", f"{rate:,.0f} a second", target="≥ 2,000 a second", met=rate >= 2000)


def environment(base: Database) -> dict[str, str]:
    """Variables that let a command find the benchmark's database."""
    import os

    return {**os.environ, "DATABASE_URL": base.server.url("loci_app"), "LOCI_LOG_LEVEL": "WARNING"}


def vectors(base: Database, owner: Connection[Any]) -> Figure:
    """The worker drains the queue, and then bare inserts of the same vectors into an identical table."""
    waiting = owner.execute("select count(*) from loci_data.embedding_queue").fetchone()[0]  # type: ignore[index]
    with running(base.folder):
        started = time.perf_counter()
        while owner.execute("select count(*) from loci_data.embedding_queue").fetchone()[0]:  # type: ignore[index]
            time.sleep(0.2)
        worker = waiting / (time.perf_counter() - started)
    owner.execute("drop table if exists bare_vectors")
    owner.execute("create table bare_vectors (namespace_id integer, memory_id uuid, model_id smallint, embedding halfvec, "
                  "primary key (namespace_id, memory_id, model_id))")
    owner.execute("create index on bare_vectors using hnsw ((embedding::halfvec(256)) halfvec_cosine_ops) "
                  "with (m = 24, ef_construction = 128) where model_id = 1")
    rows = owner.execute("select namespace_id, memory_id, embedding from loci_data.memory_vectors").fetchall()[:waiting]
    started = time.perf_counter()
    for first in range(0, len(rows), 256):
        part = rows[first : first + 256]
        owner.execute(
            "insert into bare_vectors select u.n, u.i, 1, u.e from unnest(%s::int[], %s::uuid[], %s::halfvec[]) u(n, i, e)",
            [[r[0] for r in part], [r[1] for r in part], [HalfVector(np.asarray(r[2].to_numpy())) for r in part]],
        )
    bare = len(rows) / (time.perf_counter() - started)
    ratio = worker / bare
    return Figure(f"vectors behind the writes, {waiting:,}", f"{worker:,.0f} a second", f"{bare:,.0f} a second", ratio, "≥ 0.8 × floor", ratio >= 0.8)


def one_write(base: Database, owner: Connection[Any], texts: list[str]) -> Figure:
    """POST /memories beside the same rows by bare statements."""
    from uuid import uuid4

    owner.execute(COPIES, prepare=False)

    def bare(text: str) -> None:
        key = uuid4()
        values = {"id": key, "text": f"{key} {text}"}
        with owner.transaction(), owner.pipeline():
            for statement in BARE:
                owner.execute(statement, values)

    with running(base.folder, worker=False) as (address, _), httpx.Client(base_url=f"{address}/api/v1") as client:
        times = interleaved(
            {"rest": lambda text: client.post("/memories", json={"content": f"{uuid4()} {text}"}).raise_for_status(), "bare": bare}, texts
        )
    owner.execute("drop schema bench cascade")
    return against("one write through REST", times["rest"], times["bare"], 1.5)


def run(base: Database, given: Options) -> list[Figure]:
    """Import, embed, write."""
    texts = corpus.recombined(corpus.turns(given.data), given.size(20_000), seed=11, pieces=2)
    with base.owner() as owner:
        fill.model(base)
        figures = [importing(base, texts)]
        owner.execute("delete from loci_data.embedding_queue where ctid not in (select ctid from loci_data.embedding_queue limit %s)",
                      [given.size(5000)])
        figures.append(vectors(base, owner))
        figures.append(one_write(base, owner, corpus.recombined(corpus.turns(given.data), 400, seed=12)))
        return report("Adding", owner, figures)


if __name__ == "__main__":
    chosen = options(__doc__)
    with database(chosen) as opened:
        run(opened, chosen)
