"""Every query in docs/sql.md runs, over the demo, as the service's role."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, LiteralString, cast

import psycopg
import pytest

from tests.catalogue import ROOT
from tests.databases import Database

TEXT = (ROOT / "docs" / "sql.md").read_text()
SETUP = re.findall(r"```sql setup\n(.*?)```", TEXT, re.DOTALL)
QUERIES = re.findall(r"```sql\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture(scope="module")
def analyst(own_database: Database) -> Iterator[psycopg.Connection[Any]]:
    environment = {**os.environ, "DATABASE_URL": own_database.app_url, "LOCI_EMBEDDING__PROVIDER": "none"}
    subprocess.run([sys.executable, "-m", "service.cli", "demo"], env=environment, check=True, capture_output=True)
    with psycopg.connect(own_database.app_url, autocommit=True) as connection:
        for statement in SETUP:
            connection.execute(cast("LiteralString", statement))
        yield connection


@pytest.mark.parametrize("query", QUERIES, ids=[query.split("\n")[0][:60] for query in QUERIES])
def test_a_query_of_the_cookbook_runs_and_finds_something_in_the_demo(analyst: psycopg.Connection[Any], query: str) -> None:
    assert analyst.execute(cast("LiteralString", query)).fetchall()


def test_the_cookbook_holds_queries_and_a_setup() -> None:
    assert len(QUERIES) >= 10
    assert len(SETUP) == 1
