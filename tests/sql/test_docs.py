"""docs/sql.md is a contract: its queries give the answers that stand below them, and its reference is the catalogue.

LOCI_WRITE_DOCS=1 (`make reference`) writes answers and reference anew; read what changed before you commit it.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, LiteralString, cast
from uuid import UUID, uuid4

import orjson
import psycopg
import pytest

from db.access import analysts
from db.pool import Origin
from service.access.analysts import uri_of
from tests import reference
from tests.catalogue import ROOT
from tests.databases import Database

PATH = ROOT / "docs" / "sql.md"
TEXT = PATH.read_text()
SETUP = re.findall(r"```sql setup\n(.*?)```", TEXT, re.DOTALL)
ASKED = re.compile(r"```sql( service)?\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)
QUERIES = [(bool(service), query, answer) for service, query, answer in ASKED.findall(TEXT)]
REFERENCE = re.compile(r"<!-- reference -->\n(.*)<!-- /reference -->", re.DOTALL)
CHANGING = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:.+Z-]+")
STATED = date(2025, 7, 1)  # the demo states no later moment; what is later depends on when the test runs
WRITES = os.environ.get("LOCI_WRITE_DOCS") == "1"
AT_LEAST = 25


@dataclass(frozen=True)
class Readers:
    """Two sessions over one world: an analyst's, and the service's as the operator."""

    analyst: psycopg.Connection[Any]
    service: psycopg.Connection[Any]


@pytest.fixture(scope="module")
def readers(own_database: Database) -> Iterator[Readers]:
    """Sessions over the demo and tests/cookbook.sql."""
    environment = {**os.environ, "DATABASE_URL": own_database.app_url, "LOCI_EMBEDDING__PROVIDER": "none"}
    subprocess.run([sys.executable, "-m", "service.cli", "demo"], env=environment, check=True, capture_output=True)
    login, password, origin = f"reader_{uuid4().hex[:12]}", uuid4().hex, Origin(action="test", via="cli")
    with psycopg.connect(own_database.app_url, autocommit=True) as service:
        service.execute((ROOT / "tests" / "cookbook.sql").read_bytes())
        for statement in SETUP:
            service.execute(cast("LiteralString", statement))
        analysts.create_analyst(
            own_database.admin_url,
            login=login,
            password=password,
            namespaces=["default"],
            expires_at=None,
            timeout="60s",
            origin=origin,
        )
        with psycopg.connect(uri_of(own_database.app_url, login), password=password, autocommit=True) as analyst:
            yield Readers(analyst, service)
    analysts.drop_analyst(own_database.admin_url, login=login, origin=origin)


def answered(readers: Readers, service: bool, query: str) -> str:
    """The answer to a query as lines, without what differs each time."""
    cursor = (readers.service if service else readers.analyst).execute(cast("LiteralString", query))
    assert cursor.description is not None
    lines = [" | ".join(column.name for column in cursor.description)]
    lines += [" | ".join(map(cell, row)) for row in cursor.fetchall()]
    return "".join(f"{line}\n" for line in lines)


def cell(value: Any) -> str:
    """A value as it stands in an answer; of what differs each time, a sign that it is there."""
    match value:
        case None:
            text = "-"
        case bool():
            text = "yes" if value else "no"
        case date():
            text = f"{value:%Y-%m-%d}" if (value.date() if isinstance(value, datetime) else value) < STATED else "…"
        case timedelta():
            text = "…"
        case float():
            text = f"{value:.2f}"
        case list() if not any(isinstance(item, (dict, list)) for item in value):
            text = ", ".join(map(cell, value))
        case dict() | list():
            text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
        case _:
            assert isinstance(value, (str, int, Decimal, UUID)), type(value)
            text = str(value).replace("\n", " / ")
    return CHANGING.sub("…", text)


@pytest.mark.skipif(WRITES, reason="writes the docs")
@pytest.mark.parametrize(("service", "query", "answer"), QUERIES, ids=[query.split("\n")[0][:60] for _, query, _ in QUERIES])
def test_a_query_of_the_docs_has_the_answer_that_stands_below_it(readers: Readers, service: bool, query: str, answer: str) -> None:
    assert answered(readers, service, query) == answer
    assert answer.count("\n") > 1, "a query that finds nothing shows nothing"


@pytest.mark.skipif(WRITES, reason="writes the docs")
def test_the_reference_says_what_the_catalogue_says(readers: Readers) -> None:
    (written,) = REFERENCE.findall(TEXT)
    assert written == reference.render(readers.service), "run `make reference`"


def test_every_argument_and_column_of_the_reference_has_a_meaning(readers: Readers) -> None:
    described = reference.views(readers.service)
    made = [function for function in reference.functions(readers.service) if function.reads]
    missing = {f"{f.name}({name})" for f in made for name, _, _ in f.arguments if name not in reference.ARGUMENTS}
    missing |= {f"{f.name}.{name}" for f in made for name, kind in f.columns if reference.meaning(f, name, kind, described) is None}
    assert missing == set()


def test_every_view_and_every_function_that_reads_is_in_a_query(readers: Readers) -> None:
    asked = "".join(query for _, query, _ in QUERIES)
    named = [*reference.views(readers.service), *(f.name for f in reference.functions(readers.service) if f.reads)]
    assert [name for name in named if not re.search(rf"loci\.{name}\b", asked)] == []


def test_the_cookbook_answers_questions() -> None:
    cookbook = TEXT[TEXT.index("## Cookbook") : TEXT.index("### One call each")]
    assert len(ASKED.findall(cookbook)) >= AT_LEAST
    assert len(SETUP) == 1


@pytest.mark.skipif(not WRITES, reason="only `make reference` writes")
def test_answers_and_reference_are_written(readers: Readers) -> None:
    def write(found: re.Match[str]) -> str:
        service, query = found[1], found[2]
        return f"```sql{service or ''}\n{query}```\n\n```text\n{answered(readers, bool(service), query)}```\n"

    text = ASKED.sub(write, TEXT)
    text = REFERENCE.sub(lambda _: f"<!-- reference -->\n{reference.render(readers.service)}<!-- /reference -->", text)
    PATH.write_text(text)
