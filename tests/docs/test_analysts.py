"""The programs and queries of docs/analysts.md, by an analyst over the demo.

Programs run in an interpreter that has pandas and DuckDB; where they are not installed the test is skipped. LOCI_RECIPES_PYTHON is
another interpreter, one that has them.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, LiteralString, cast
from uuid import uuid4

import psycopg
import pytest

from db.access import analysts
from db.pool import Origin
from service.access.analysts import uri_of
from tests.catalogue import ROOT
from tests.databases import Database

PYTHON = os.environ.get("LOCI_RECIPES_PYTHON", sys.executable)
PAGE = (ROOT / "docs" / "analysts.md").read_text()
PROGRAM = "".join(re.findall(r"^```python analyst\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
QUERIES = re.findall(r"^```sql analyst\n(.*?)^```\n\n```text\n.*?\n-.*?\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
PANELS = re.findall(r"^```sql grafana\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
STATED = "postgresql+psycopg://ada:PASSWORD@127.0.0.1:5433/loci"
ORIGIN = Origin(action="test", via="cli")


@pytest.fixture(scope="module")
def login(own_database: Database) -> Iterator[tuple[str, str]]:
    """The URI and the password of an analyst of the demo."""
    environment = {**os.environ, "DATABASE_URL": own_database.app_url}
    subprocess.run([sys.executable, "-m", "service.cli", "demo"], env=environment, check=True, capture_output=True)
    name, password = f"ada_{uuid4().hex[:12]}", uuid4().hex
    analysts.create_analyst(
        own_database.admin_url,
        login=name,
        password=password,
        namespaces=["default"],
        expires_at=None,
        timeout="60s",
        origin=ORIGIN,
    )
    yield uri_of(own_database.app_url, name), password
    analysts.drop_analyst(own_database.admin_url, login=name, origin=ORIGIN)


def rows(login: tuple[str, str], query: str) -> list[list[str]]:
    """What psql shows between the lines of a table."""
    shown: dict[Any, str] = {True: "t", False: "f", None: ""}
    with psycopg.connect(login[0], password=login[1]) as connection:
        found = connection.execute(cast("LiteralString", query)).fetchall()
    return [[shown[cell] if cell is None or isinstance(cell, bool) else str(cell) for cell in row] for row in found]


@pytest.mark.row("X3")
@pytest.mark.parametrize(("query", "answer"), QUERIES, ids=[query.split("\n")[0][:40] for query, _ in QUERIES])
def test_a_query_has_the_answer_that_stands_below_it(login: tuple[str, str], query: str, answer: str) -> None:
    assert rows(login, query) == [[cell.strip() for cell in line.split("|")] for line in answer.splitlines()]


def test_a_panel_of_grafana_has_something_to_show(login: tuple[str, str]) -> None:
    [panel] = PANELS
    asked = re.sub(r"\$__timeFilter\((\w+)\)", r"\1 between now() - interval '1 day' and now() + interval '1 day'", panel)
    assert asked != panel
    assert sum(int(row[1]) for row in rows(login, asked)) > 0


def test_pandas_and_duckdb_read_the_views_as_an_analyst(login: tuple[str, str]) -> None:
    asked = [PYTHON, "-c", "import pandas, sqlalchemy, duckdb, psycopg"]
    if subprocess.run(asked, capture_output=True, check=False).returncode:
        pytest.skip("pandas, SQLAlchemy and DuckDB are not installed")
    assert STATED in PROGRAM
    done = subprocess.run(
        [PYTHON, "-c", PROGRAM.replace(STATED, login[0].replace("postgresql://", "postgresql+psycopg://"))],
        env={**os.environ, "PGPASSWORD": login[1]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Alice lives in Porto" in done.stdout
    assert "works_on" in done.stdout
