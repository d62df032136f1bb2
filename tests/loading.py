"""Filling a database with many vectors."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql

from tests.databases import Database


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
