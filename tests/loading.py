"""Filling a database: with many vectors, with the demo."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql

from service.cli.database_session import Session, command_origin, open_pool
from service.cli.demo import load_demo
from service.settings import Settings
from tests.databases import Database


def write_demo(database: Database) -> None:
    """What `loci demo` writes."""

    async def load() -> None:
        async with open_pool(database.app_url) as pool:
            await load_demo(Session(Settings(_env_file=None), pool, command_origin()))

    asyncio.run(load())


@contextmanager
def vectors_loaded(database: Database) -> Iterator[None]:
    """Indexes over vectors are made at the end of the block, as `loci reembed` makes them: one by one that takes ten times as long.

    What the block writes must be committed in it.
    """
    with database.admin() as owner:
        owner.execute("select set_config('loci.agent', '00000000-0000-0000-0000-000000000000', false)")
        for (name,) in owner.execute("select indexname from pg_indexes where schemaname = 'loci_data' and indexname ~ '_hnsw_'"):
            owner.execute(sql.SQL("drop index {}").format(sql.Identifier("loci_data", name)))
        yield
        make_missing_indexes(owner)


def make_missing_indexes(owner: psycopg.Connection) -> None:
    """The indexes that the active model lacks."""
    asked = "select i.statement from loci_data.embedding_models m cross join lateral loci_api.vector_indexes(m.id) i where m.active and i.valid is null"
    for (statement,) in owner.execute(asked).fetchall():
        owner.execute(statement)
