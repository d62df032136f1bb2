"""Rows are typed as the database returns them: a statement's columns are the keys of the TypedDict that its wrapper names."""

import ast
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints, is_typeddict
from uuid import UUID

import psycopg
import pytest

pytestmark = pytest.mark.every_case

ROOT = Path(__file__).parents[2] / "db"
READERS = {"tx.rows", "tx.row", "tx.first", "tx.send", "tx.value", "tx.optional", "tx.values"}
VECTORS = """select set_config('search_path', format('public, %I', n.nspname), true)
             from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'"""
JSON = {"json", "jsonb"}
NEVER_JSON = {UUID, datetime, date, timedelta, Decimal, bytes}
# Types of columns, by the Python type that stands for them; what comes out of JSON is not looked into.
COLUMNS: dict[Any, set[str]] = {
    bool: {"boolean"},
    int: {"smallint", "integer", "bigint", "oid"},
    float: {"real", "double precision"},
    str: {"text", "name", "character varying", "regconfig", "xid8"},
    bytes: {"bytea"},
    datetime: {"timestamp with time zone"},
    date: {"date"},
    timedelta: {"interval"},
    Decimal: {"numeric"},
    UUID: {"uuid"},
}


@dataclass(frozen=True)
class Reading:
    """A statement that a wrapper reads rows from, and the type that it gives them."""

    where: str
    method: str
    kind: Any
    statement: str

    @property
    def prepared(self) -> bytes:
        """The statement with numbered parameters."""
        names: list[str] = []

        def number(found: re.Match[str]) -> str:
            if found[1] not in names:
                names.append(found[1])
            return f"${names.index(found[1]) + 1}"

        return re.sub(r"%\((\w+)\)[bs]", number, self.statement).replace("%%", "%").encode()


def readings() -> Iterator[Reading]:
    """Every `tx.rows(Kind, "statement")` of the package, and its like."""
    for path in sorted(ROOT.rglob("*.py")):
        module = importlib.import_module(".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"))
        for call in ast.walk(ast.parse(path.read_text())):
            if isinstance(call, ast.Call) and ast.unparse(call.func) in READERS:
                kind, statement = (eval(ast.unparse(call.args[place]), vars(module)) for place in (0, 1))
                yield Reading(f"{path.relative_to(ROOT.parent)}:{call.lineno}", ast.unparse(call.func), kind, statement)


READINGS = list(readings())


def columns(connection: psycopg.Connection[Any], statement: bytes) -> dict[str, str]:
    """Names and types of the columns that a statement would return."""
    made = connection.pgconn.prepare(b"", statement)
    assert not made.error_message, made.error_message.decode()
    described = connection.pgconn.describe_prepared(b"")
    oids = [described.ftype(place) for place in range(described.nfields)]
    types = connection.execute("select format_type(oid, null) as type from unnest(%s::oid[]) oid", [oids]).fetchall()
    return {(described.fname(place) or b"").decode(): row["type"] for place, row in enumerate(types)}


def fits(stated: Any, column: str) -> bool:
    """Whether a Python type stands for a column's type; any does that may be null."""
    if get_origin(stated) in {Union, UnionType}:
        return any(fits(one, column) for one in get_args(stated) if one is not NoneType)
    if column in JSON:
        return stated not in NEVER_JSON
    if get_origin(stated) is list:
        return column.endswith("[]") and fits(get_args(stated)[0], column.removesuffix("[]"))
    return column in COLUMNS.get(stated, set())


@pytest.fixture
def described(connection: psycopg.Connection[Any]) -> psycopg.Connection[Any]:
    """A connection that finds the type of vectors."""
    connection.execute(VECTORS)
    return connection


def test_readings_are_found() -> None:
    assert len(READINGS) > 100


@pytest.mark.parametrize("reading", [r for r in READINGS if is_typeddict(r.kind)], ids=lambda r: f"{r.where} {r.kind.__name__}")
def test_a_typed_row_has_the_columns_of_its_statement(described: psycopg.Connection[Any], reading: Reading) -> None:
    found, stated = columns(described, reading.prepared), get_type_hints(reading.kind)
    assert sorted(stated) == sorted(found)
    assert {name: (stated[name], column) for name, column in found.items() if not fits(stated[name], column)} == {}


SCALARS = [r for r in READINGS if r.method in {"tx.value", "tx.optional", "tx.values"}]


@pytest.mark.parametrize("reading", SCALARS, ids=lambda r: r.where)
def test_a_single_value_is_of_the_type_of_its_column(described: psycopg.Connection[Any], reading: Reading) -> None:
    found = columns(described, reading.prepared)
    assert len(found) == 1
    assert [(reading.kind, column) for column in found.values() if not fits(reading.kind, column)] == []


def test_indexes_that_the_owner_builds_are_typed_as_they_are_listed(described: psycopg.Connection[Any]) -> None:
    from db.models.reembedding import VectorIndex

    assert sorted(columns(described, b"select * from loci_api.vector_indexes($1::smallint)")) == sorted(VectorIndex.__annotations__)


def test_no_function_of_the_package_returns_rows_without_a_type() -> None:
    untyped = [
        f"{path.relative_to(ROOT.parent)}:{made.lineno} {made.name}"
        for path in ROOT.rglob("*.py")
        if path.name != "pipeline.py"  # below the rows
        for made in ast.walk(ast.parse(path.read_text()))
        if isinstance(made, ast.FunctionDef | ast.AsyncFunctionDef) and not made.name.startswith("_")
        if made.returns is None or re.search(r"\bAny\b|\bRow\b|list\[(dict|JsonObject)|^dict$", ast.unparse(made.returns))
    ]
    assert untyped == []
