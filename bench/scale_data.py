"""Data of `bench.scale`: made once in a folder that is kept, in stages that go on where they were interrupted.

Memories, entities and edges are written as everybody writes them, by loci_api.remember, in batches: constraints, triggers, counters and
the change feed are those of the service, so that there is no second way whose outcome could differ. Only vectors go another way: COPY, with the
indexes built behind them, as a change of the embedding model does.
"""

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from pgvector import HalfVector
from psycopg import Connection, sql
from psycopg.types.json import Jsonb

from bench import corpus, fill
from bench.database import Database

MAIN, REFERENCE = "main", "reference"
BATCH, CHUNK = 500, 20_000
WORDS = 12
TYPES = ("knows", "works_on", "uses", "part_of", "depends_on")


@dataclass(frozen=True)
class Size:
    """How much there is: in all, in how many namespaces; and how many namespaces of a hundred."""

    memories: int
    namespaces: int
    hundreds: int

    @property
    def shares(self) -> dict[str, int]:
        """Memories of each namespace: half of all in one, a tenth in the one that it is compared with."""
        few = self.namespaces - 2
        rest = {f"other-{n}": self.memories * 4 // 10 // few for n in range(few)}
        return {MAIN: self.memories // 2, REFERENCE: self.memories // 10, **rest}

    def edges(self, name: str) -> tuple[int, int]:
        """Edges that a memory states, and entities of the namespace: 19/20 of all are in the largest, 1/20 in its reference."""
        return {MAIN: (19, self.memories * 19 // 20), REFERENCE: (5, self.memories // 20)}.get(name, (0, 0))


SIZES = {"small": Size(10_000, 50, 100), "medium": Size(100_000, 1000, 1000), "full": Size(1_000_000, 1000, 10_000)}


def entity(number: int) -> str:
    """The name of an entity."""
    vocabulary = corpus.words(1000)
    return f"{vocabulary[number % 1000].capitalize()} {vocabulary[number // 1000].capitalize()}"


def items(name: str, first: int, count: int, edges: int, entities: int) -> list[dict[str, Any]]:
    """Memories of a namespace from a number on, the same each time."""
    found = []
    texts = corpus.generated(count, seed=first + sum(name.encode()) * 1_000_003, length=WORDS)
    for number, text in enumerate(texts, first):
        item: dict[str, Any] = {"content": f"{text} {name} {number}"}
        if edges:
            draw = random.Random(f"{name} {number}")
            about = number % entities
            item["content"] = f"{text} {entity(about)} met {entity(draw.randrange(entities))}. {number}"
            far = [draw.randrange(entities) for _ in range(edges)]
            far[0] = (about + entities // 2) % entities  # so that every entity is there
            item["edges"] = [
                {"source": entity(about), "type": draw.choice(TYPES), "target": entity(other)} for other in far if other != about
            ]
        found.append(item)
    return found


class Progress:
    """Says how far it is, every ten seconds at most."""

    def __init__(self, what: str, total: int, done: int = 0) -> None:
        self._what, self._total, self._before = what, total, done
        self._started = self._said = time.monotonic()

    def at(self, done: int) -> None:
        """So much is done."""
        now = time.monotonic()
        if done >= self._total or now - self._said > 10:
            self._said = now
            rate = (done - self._before) / max(now - self._started, 1e-6)
            left = (self._total - done) / rate / 60 if rate else 0.0
            print(f"{self._what}: {done:,} of {self._total:,}, {rate:,.0f} a second, {left:.0f} min left", flush=True)


def count(connection: Connection[Any], statement: str, *values: Any) -> int:
    """The number that a statement returns."""
    row = connection.execute(statement.encode(), values).fetchone()
    return int(row[0] or 0) if row else 0


def write(app: Connection[Any], owner: Connection[Any], shares: dict[str, int], size: Size) -> None:
    """Write what is missing of each namespace. A batch is a transaction, so a number is what is there."""
    total, done = sum(shares.values()), count(owner, "select count(*) from loci_data.memories")
    progress = Progress("memories", total, done)
    for name, memories in shares.items():
        if not count(owner, "select count(*) from loci_data.namespaces where name = %s", name):
            app.execute("select loci_api.create_namespace(%s)", [name])
        number = fill.namespace(owner, name)
        there = count(owner, "select count(*) from loci_data.memories where namespace_id = %s", number)
        for first in range(there, memories, BATCH):
            part = items(name, first, min(BATCH, memories - first), *size.edges(name))
            app.execute("select count(*) from loci_api.remember(%s, %s)", [name, Jsonb(part)])
            done += len(part)
            progress.at(done)
            if done == len(part) or done // CHUNK != (done - len(part)) // CHUNK:
                tidy(owner)


def tidy(owner: Connection[Any]) -> None:
    """What the worker does meanwhile: statistics of new tables, positions in the feed, small blocks. Nothing is left waiting for vectors and names."""
    owner.execute("select loci_api.analyze_new_tables()")
    while count(owner, "select count(*) from loci_data.outbox") and count(owner, "select loci_api.sequence_changes()"):
        pass
    while count(owner, "select folded from loci_api.compact_lexical_index()"):
        pass
    owner.execute("truncate loci_data.embedding_queue, loci_data.name_queue, loci_data.entity_queue")


def without_vector(owner: Connection[Any], model: int) -> Iterator[tuple[list[int], list[Any], list[str]]]:
    """Memories that have no vector, in parts: namespaces, ids, texts."""
    with owner.transaction(), owner.cursor("memories") as cursor:
        cursor.itersize = CHUNK
        cursor.execute(
            """select m.namespace_id, m.id, m.content from loci_data.memories m where not exists (
                   select from loci_data.memory_vectors v
                   where v.namespace_id = m.namespace_id and v.memory_id = m.id and v.model_id = %s)""",
            [model],
        )
        while rows := cursor.fetchmany(CHUNK):
            yield [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]


def embed(base: Database) -> dict[str, float]:
    """Vectors of all, by COPY without indexes; then the indexes, a partition at a time; seconds of both."""
    spent = {"copy": 0.0, "index": 0.0}
    with base.owner() as owner, base.owner() as reader:
        model = count(owner, "select id from loci_data.embedding_models where active")
        total, done = (
            count(owner, "select count(*) from loci_data.memories"),
            count(owner, "select count(*) from loci_data.memory_vectors"),
        )
        if done < total:
            for (name,) in owner.execute(
                "select i.name from loci_api.vector_indexes(%s::smallint) i where i.valid and i.partition like 'memory%%'", [model]
            ).fetchall():
                owner.execute(sql.SQL("drop index loci_data.{}").format(sql.Identifier(name)))
        progress = Progress("vectors", total, done)
        for namespaces, ids, texts in without_vector(reader, model):
            started, vectors = time.monotonic(), corpus.embedded(texts).astype(np.float16)
            with owner.cursor().copy(
                "copy loci_data.memory_vectors (namespace_id, memory_id, model_id, embedding) from stdin with (format binary)"
            ) as copy:
                copy.set_types(["int4", "uuid", "int2", "halfvec"])
                for place, vector in enumerate(vectors):
                    copy.write_row((namespaces[place], ids[place], model, HalfVector(vector)))
            done += len(ids)
            spent["copy"] += time.monotonic() - started
            progress.at(done)
        owner.execute("set maintenance_work_mem = '2GB'")
        missing = owner.execute(
            "select i.statement from loci_api.vector_indexes(%s::smallint) i where i.valid is distinct from true", [model]
        ).fetchall()
        progress = Progress("indexes", len(missing))
        for built, (statement,) in enumerate(missing, 1):
            started = time.monotonic()
            owner.execute(statement.replace(" concurrently", "").encode())
            spent["index"] += time.monotonic() - started
            progress.at(built)
    return spent


def make(base: Database, shares: dict[str, int], size: Size) -> dict[str, float]:
    """All stages; seconds of those that had something to do."""
    fill.model(base)
    spent, started = {}, time.monotonic()
    with base.owner() as owner, base.app() as app:
        owner.execute("set track_functions = 'none'")
        if count(owner, "select count(*) from loci_data.memories") < sum(shares.values()):
            write(app, owner, shares, size)
            tidy(owner)
            spent["memories"] = time.monotonic() - started
    spent |= {name: seconds for name, seconds in embed(base).items() if seconds > 1}
    with base.owner() as owner:
        owner.execute("delete from loci_data.vector_means")
        owner.execute(
            """insert into loci_data.vector_means (namespace_id, model_id, mean, vectors, stored)
               select namespace_id, model_id, avg(embedding::vector), count(*), 0 from loci_data.memory_vectors group by 1, 2"""
        )
        started = time.monotonic()
        if spent:
            fill.settle(owner, floors=False)
            spent["settle"] = time.monotonic() - started
    return spent
