"""What must hold before the service may serve."""

from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from db.health import check_indexes
from tests.databases import Database

BUILT = """
    insert into loci_data.embedding_models (name, dimensions, filling) values ('new', 3, true);
    create index new_hnsw on loci_data.agents (id);
    update pg_index set indisvalid = false where indexrelid = 'loci_data.new_hnsw'::regclass;
    do $$ begin
        execute format('alter index loci_data.new_hnsw rename to new_hnsw_%s', (select id from loci_data.embedding_models where name = 'new'));
    end $$"""
SERVES = """
    update pg_index set indisvalid = true where indexrelid::regclass::text ~ 'new_hnsw_';
    update loci_data.embedding_models set active = false where active;
    update loci_data.embedding_models set active = true, filling = false where name = 'new'"""


class Meanwhile:
    """A connection; a model's index is done, and the model serves, as soon as it has looked at indexes."""

    def __init__(self, connection: psycopg.AsyncConnection[Any], admin: psycopg.Connection[Any]) -> None:
        self.connection, self.admin = connection, admin

    def __getattr__(self, name: str) -> Any:
        return getattr(self.connection, name)

    async def execute(self, statement: Any) -> Any:
        done = await self.connection.execute(statement)
        if "pg_index" in statement:
            self.admin.execute(SERVES)
        return done


@pytest.mark.anyio
async def test_an_index_that_is_done_as_its_model_begins_to_serve_is_not_called_invalid(own_database: Database) -> None:
    with own_database.admin() as admin:
        admin.execute(BUILT)
        async with await psycopg.AsyncConnection.connect(own_database.app_url, autocommit=True, row_factory=dict_row) as connection:
            found = await check_indexes(Meanwhile(connection, admin))  # type: ignore[arg-type]
    assert (found.ok, found.detail) == (True, "all valid")
