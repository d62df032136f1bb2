"""Fast filling: rows by COPY, words by the service's own triggers, vectors by COPY with the index built afterwards."""

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector
from psycopg import Connection

from bench.corpus import provider
from bench.database import Database
from db.pool import make_pool
from service.worker.worker import Worker, register_model

STATEMENT = 1000  # memories a statement, as an import writes them

ADD = """
insert into loci_data.memories (namespace_id, id, lineage, lineage_id, content, content_hash, source, session_id,
                           valid_from, recorded_at, believed_at, last_observed_at, updated_at)
select s.namespace_id, s.id, s.id::text, s.id, s.content, loci_internal.content_hash(s.content), s.source, s.session_id,
       coalesce(s.said_at, s.at), s.at, s.at, s.at, s.at
from (select n.*, loci_api.uuid7() as id, now() as at from staged n
      where n.place >= %(first)s and n.place < %(last)s order by n.place) s
"""


def namespace(connection: Connection[Any], name: str) -> int:
    """The number of a namespace, made if it is missing."""
    row = connection.execute(
        "insert into loci_data.namespaces (name) values (%s) on conflict (name) do update set name = excluded.name returning id",
        [name],
    ).fetchone()
    assert row is not None
    return int(row[0])


def holds(connection: Connection[Any], namespace_id: int, count: int) -> bool:
    """Whether an earlier run filled a namespace."""
    row = connection.execute("select count(*) from loci_data.memories where namespace_id = %s", [namespace_id]).fetchone()
    return row is not None and row[0] >= count


def add(
    connection: Connection[Any], memories: Sequence[tuple[int, str]], *, said: Sequence[tuple[Any, ...]] = (), names: bool = False
) -> None:
    """Write (namespace, content) pairs, with (source, session_id, said_at) where given, and index their words.

    Neither vectors nor, without `names`, names are left waiting.
    """
    with connection.transaction():
        connection.execute(
            """create temp table staged (place integer primary key, namespace_id integer, content text, source text,
                                         session_id text, said_at timestamptz) on commit drop"""
        )
        with connection.cursor().copy("copy staged from stdin") as copy:
            for place, (number, content) in enumerate(memories):
                copy.write_row((place, number, content, *(said[place] if said else (None, None, None))))
        connection.execute("analyze staged")
        for first in range(0, len(memories), STATEMENT):
            connection.execute(ADD, {"first": first, "last": first + STATEMENT})
        connection.execute("delete from loci_data.embedding_queue")
        if not names:
            connection.execute("delete from loci_data.name_queue")


def model(database: Database) -> None:
    """Register the static model, as the service does when it starts."""

    async def registering() -> None:
        async with make_pool(database.server.connection_url("loci_app"), size=2) as pool:
            await register_model(pool, provider())

    asyncio.run(registering())


def vectors(connection: Connection[Any], namespaces: Sequence[int], ids: Sequence[Any], embeddings: NDArray[np.float32]) -> None:
    """Write vectors of the active model by COPY; a large number with its index dropped before and built afterwards."""
    (number,) = connection.execute("select id from loci_data.embedding_models where active").fetchone() or (0,)
    with connection.transaction():
        bulk = len(ids) > 10_000
        indexes = connection.execute(
            """select 'loci_data.' || i.name, replace(i.statement, ' concurrently', '') from loci_api.vector_indexes(%s::smallint) i
               where i.partition like 'memory%%' and i.valid""",
            [number],
        ).fetchall()
        if bulk:
            for name, _ in indexes:
                connection.execute(b"drop index " + name.encode())
            connection.execute("set local maintenance_work_mem = '1GB'")
        with connection.cursor().copy(
            "copy loci_data.memory_vectors (namespace_id, memory_id, model_id, embedding) from stdin with (format binary)"
        ) as copy:
            copy.set_types(["int4", "uuid", "int2", "halfvec"])
            for owner, memory, vector in zip(namespaces, ids, embeddings.astype(np.float16), strict=True):
                copy.write_row((owner, memory, number, HalfVector(vector)))
        if bulk:
            for _, definition in indexes:
                connection.execute(definition.encode())


BLOCKS = (
    """create table if not exists public.posting_blocks (namespace_id integer, term bigint, id bigint, size integer, entries bigint[],
                                                         primary key (namespace_id, term, id))""",
    "alter table public.posting_blocks alter column entries set storage external",
    "insert into public.posting_blocks select * from loci_data.postings on conflict do nothing",
    "vacuum analyze public.posting_blocks",
)


def settle(connection: Connection[Any], *, floors: bool = True) -> None:
    """Join posting blocks and ranges as the worker does, and leave fresh statistics and no pending writes behind.

    A copy of the blocks is kept for floors: what one would have without ranges.
    """
    while (connection.execute("select folded from loci_api.compact_lexical_index()").fetchone() or (0,))[0]:
        pass
    for statement in BLOCKS if floors else ():
        connection.execute(statement)
    while (connection.execute("select joined from loci_api.join_lexical_ranges()").fetchone() or (0,))[0]:
        pass
    for table in (
        b"memories",
        b"memory_texts",
        b"postings",
        b"lexical_ranges",
        b"lexical_impacts",
        b"corpus_counts",
        b"memory_vectors",
        b"vector_means",
        b"entities",
        b"entity_names",
        b"edges",
        b"edge_observations",
        b"memory_mentions",
        b"embedding_queue",
        b"name_queue",
        b"lineages",
        b"namespaces",
    ):
        connection.execute(b"vacuum analyze loci_data." + table)
    connection.execute("checkpoint")


def find_names(database: Database) -> None:
    """Do the worker's work on names until none waits."""

    async def working() -> None:
        async with make_pool(database.server.connection_url("loci_app"), size=2) as pool:
            worker = Worker(pool, None)
            while await worker.name_batch():
                pass

    asyncio.run(working())
