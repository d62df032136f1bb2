"""Every name that code and documents call is there: bodies in PL/pgSQL are bound only when they run."""

import re
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.catalogue import ROOT

CALL = re.compile(r"(?<![\w./-])(loci|loci_api|loci_internal|loci_migration)\.(\w+)\(")
RELATION = re.compile(r"\b(?:from|join|into|update|table|on)\s+(loci_data|loci_jobs)\.(\w+)\b")
OWN = {"fired", "gone", "mine"}  # what tests make themselves
KINDS = {"sql": (".sql",), "migrations": (".sql", ".py"), "db": (".py",), "service": (".py",), "bench": (".py",), "tests": (".py", ".sql"),
         "docs": (".md",)}  # fmt: skip


def texts(folder: str) -> dict[Path, str]:
    paths = (path for path in sorted((ROOT / folder).rglob("*")) if path.suffix in KINDS[folder])
    return {path: path.read_text() for path in paths if "cli" not in path.parts}  # there, `loci` is the command


@pytest.fixture(scope="module")
def functions(database: Any) -> set[str]:
    with database.admin() as admin:
        rows = admin.execute(
            """select n.nspname || '.' || p.proname from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname like 'loci%'
               union all select n.nspname || '.' || c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
               where n.nspname in ('loci', 'loci_data', 'loci_jobs') and c.relkind in ('r', 'p', 'v', 'S')
               union all select n.nspname || '.' || t.typname from pg_type t join pg_namespace n on n.oid = t.typnamespace where n.nspname like 'loci%'"""
        ).fetchall()
    return {name for (name,) in rows}


@pytest.mark.parametrize("folder", KINDS)
def test_every_called_function_is_in_the_catalogue(functions: set[str], folder: str) -> None:
    called = {
        f"{path.relative_to(ROOT)}: {schema}.{name}"
        for path, text in texts(folder).items()
        for schema, name in CALL.findall(text)
        if f"{schema}.{name}" not in functions and name not in OWN
    }
    assert called == set()


@pytest.mark.parametrize("folder", ["sql", "db", "docs"])
def test_a_table_that_is_named_is_in_the_catalogue(functions: set[str], folder: str) -> None:
    named = {
        f"{path.relative_to(ROOT)}: {schema}.{name}"
        for path, text in texts(folder).items()
        for schema, name in RELATION.findall(text)
        if f"{schema}.{name}" not in functions
    }
    assert named == set()


def test_nobody_is_asked_for_a_right_that_only_the_owner_has(connection: psycopg.Connection[Any]) -> None:
    """A function with its caller's rights would fail at whatever it calls of loci_internal."""
    found = connection.execute(
        r"""select p.oid::regprocedure::text as name, m[1] as called
            from pg_proc p
            cross join lateral regexp_matches(coalesce(pg_get_function_sqlbody(p.oid), p.prosrc), '(loci_internal\.\w+)\(', 'g') m
            where p.pronamespace in ('loci'::regnamespace, 'loci_api'::regnamespace) and not p.prosecdef
              and p.oid <> to_regproc('loci_api.export_kinds')  -- its expressions are run by functions with their owner's rights"""
    ).fetchall()
    assert found == []
