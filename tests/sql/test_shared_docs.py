"""docs/sql/ is a contract: its queries give the answers that stand below them, and its reference is the catalogue.

They are asked as an analyst over what `make run` brings, a service with the demo, and nothing else.

LOCI_WRITE_DOCS=1 (`make reference`) writes answers and reference again; read what changed before you commit it.
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
from psycopg import sql

from db.access import analysts
from db.pool import Origin
from service.access.analysts import uri_of
from tests.catalogue import ROOT
from tests.databases import Database
from tests.docs import reference
from tests.services import eventually, is_settled, serve

pytestmark = pytest.mark.every_case

PAGES = {path.stem: path.read_text() for path in sorted(reference.FOLDER.glob("*.md"))}
SETUP = re.findall(r"```sql setup\n(.*?)```", PAGES["README"], re.DOTALL)
ASKED = re.compile(r"```sql\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)
QUERIES = [(page, query, answer) for page, text in PAGES.items() for query, answer in ASKED.findall(text)]
PART = re.compile(r"<!-- (\w+) -->\n(.*?)<!-- /\1 -->", re.DOTALL)
CHANGING = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:.+Z-]+")
STATED = date(2025, 7, 1)  # the demo states no later moment; what is later depends on when the test runs
JOINS = re.findall(  # view, column, and where its comment says that it leads
    r"^comment on column loci\.(\w+)\.(\w+) is\s(?:[^;]|;(?!\n))*?\bJoins (\w+)\.(\w+)\.';$",
    "\n".join(path.read_text() for path in sorted(ROOT.glob("sql/**/*.sql"))),
    re.MULTILINE,
)
LIVING = {"edge_spells.edge_id", "evidence.edge_id"}  # also of edges that the view `edges` leaves out
ALONE = {  # identifiers that lead to no view
    "agent_id", "key_id", "request_id", "session_id",  # of what has none; agents have their name beside it
    "subject_id", "older_id", "newer_id",  # of things of several kinds
}  # fmt: skip
WRITES = os.environ.get("LOCI_WRITE_DOCS") == "1"
AT_LEAST = 90
SHOWN = 3  # rows of an answer


@dataclass(frozen=True)
class Readers:
    """Two sessions over one world: an analyst's, and the service's as the operator."""

    analyst: psycopg.Connection[Any]
    service: psycopg.Connection[Any]


@pytest.fixture(scope="module")
def readers(own_database: Database) -> Iterator[Readers]:
    """Sessions over the demo, once the background work that it brings is done."""
    environment = {**os.environ, "DATABASE_URL": own_database.app_url}
    with serve(own_database, embedding={"provider": "static"}):
        subprocess.run([sys.executable, "-m", "service.cli", "demo"], env=environment, check=True, capture_output=True)
        eventually(lambda: is_settled(own_database))
    login, password, origin = f"reader_{uuid4().hex[:12]}", uuid4().hex, Origin(action="test", via="cli")
    with psycopg.connect(own_database.app_url, autocommit=True) as service:
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


def answered(readers: Readers, query: str) -> str:
    """The answer that an analyst gets, as lines, without what differs each time: its first rows, and how many there are."""
    cursor = readers.analyst.execute(cast("LiteralString", query))
    assert cursor.description is not None
    lines = [" | ".join(column.name for column in cursor.description)]
    rows = cursor.fetchall()
    lines += [" | ".join(map(cell, row)) for row in rows[:SHOWN]]
    lines += [f"… {len(rows)} rows"] if len(rows) > SHOWN else []
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


@pytest.mark.row("X3")
@pytest.mark.skipif(WRITES, reason="writes the docs")
@pytest.mark.parametrize(
    ("query", "answer"), [asked[1:] for asked in QUERIES], ids=[f"{p}: {q.split(chr(10))[0][:60]}" for p, q, _ in QUERIES]
)
def test_a_query_of_the_docs_has_the_answer_that_stands_below_it(readers: Readers, query: str, answer: str) -> None:
    assert answered(readers, query) == answer
    assert answer.count("\n") > 1, "a query that finds nothing shows nothing"


@pytest.mark.row("X3", "SQL")
@pytest.mark.skipif(WRITES, reason="writes the docs")
def test_the_reference_says_what_the_catalogue_says(readers: Readers) -> None:
    written = {page: dict(PART.findall(text)) for page, text in PAGES.items()}
    assert written == reference.render(readers.service), "run `make reference`"


def test_every_argument_and_column_of_the_reference_has_a_meaning(readers: Readers) -> None:
    described = reference.views(readers.service)
    made = reference.functions(readers.service)
    missing = {f"{f.name}({name})" for f in made for name, _, _ in f.arguments if name not in reference.ARGUMENTS}
    missing |= {f"{f.name}.{name}" for f in made for name, kind in f.columns if reference.meaning(f, name, kind, described) is None}
    assert missing == set()


@pytest.mark.row("X3")
def test_every_view_and_every_function_is_in_a_query_on_its_page(readers: Readers) -> None:
    asked = {page: "".join(query for p, query, _ in QUERIES if p == page) for page in PAGES}
    named = [*reference.views(readers.service), *(f.name for f in reference.functions(readers.service))]
    subject_of = reference.subjects()
    assert [name for name in named if not re.search(rf"loci\.{name}\b", asked.get(subject_of[name], ""))] == []


def test_the_pages_answer_questions() -> None:
    assert len(QUERIES) >= AT_LEAST
    assert len(SETUP) == 1
    assert [
        page for page, text in PAGES.items() if re.search(r"^(?:#.*|```)\n\n```sql\n", text, re.MULTILINE)
    ] == []  # each has a question


@pytest.mark.row("X3")
@pytest.mark.parametrize(("view", "column", "other", "key"), JOINS, ids=[f"{view}.{column}" for view, column, _, _ in JOINS])
def test_a_column_leads_to_the_one_row_that_its_comment_names(
    readers: Readers, view: str, column: str, other: str, key: str
) -> None:
    names = {
        "view": sql.Identifier(view),
        "column": sql.Identifier(column),
        "other": sql.Identifier(other),
        "key": sql.Identifier(key),
    }
    found = readers.analyst.execute(
        sql.SQL(
            """select distinct t.rows from (select * from loci.{view} where {column} is not null) v
               cross join lateral (select count(*) as rows from loci.{other} t
                                   where t.namespace = v.namespace and t.{key} = v.{column}) t order by 1"""
        ).format(**names)
    ).fetchall()
    assert {row[0] for row in found} <= ({0, 1} if f"{view}.{column}" in LIVING else {1})


def test_tools_read_the_joins_and_no_identifier_is_forgotten(readers: Readers) -> None:
    read = readers.analyst.execute("select view_name, column_name, foreign_view, foreign_column from loci.foreign_keys").fetchall()
    assert sorted(read) == sorted(JOINS)
    columns = {(view, name) for view, (_, shown) in reference.views(readers.service).items() for name, _, _ in shown}
    forgotten = {pair for pair in columns if pair[1].endswith("_id")} - {(view, column) for view, column, _, _ in JOINS}
    assert {name for _, name in forgotten} <= ALONE


@pytest.mark.skipif(not WRITES, reason="only `make reference` writes")
def test_answers_and_reference_are_written(readers: Readers) -> None:
    def answer(found: re.Match[str]) -> str:
        return f"```sql\n{found[1]}```\n\n```text\n{answered(readers, found[1])}```\n"

    for page, parts in reference.render(readers.service).items():
        text = ASKED.sub(answer, PAGES[page])
        text = PART.sub(lambda found, parts=parts: f"<!-- {found[1]} -->\n{parts[found[1]]}<!-- /{found[1]} -->", text)
        (reference.FOLDER / f"{page}.md").write_text(text)
