"""docs/requirements.md has every row once, and every row has tests that are marked with it."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.catalogue import ROOT

PAGE = ROOT / "docs" / "requirements.md"
COUNTS = {"M": 12, "G": 13, "S": 8, "R": 16, "W": 4, "L": 7, "X": 13}
SURFACES = ["REST", "MCP", "SQL", "CLI"]
ROW = re.compile(r"^- \*\*([A-Z]+\d*)\. ?(?=[A-Z*])", re.MULTILINE)
REFERENCE = re.compile(r"\brows? ([MGSRWLX]\d+(?:(?:,| to| and) [MGSRWLX]\d+)*)")


@cache
def names(path: str) -> frozenset[str]:
    """Names of the tests in a file."""
    nodes = ast.walk(ast.parse((ROOT / path).read_text()))
    return frozenset(node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def rows_of(marks: list[ast.expr]) -> Iterator[str]:
    """The rows that `pytest.mark.row(…)` names among marks."""
    for mark in marks:
        if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Attribute) and mark.func.attr == "row":
            yield from (str(ast.literal_eval(argument)) for argument in mark.args)


def marked_rows() -> Iterator[str]:
    """The rows that tests, and files of tests, are marked with."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield from rows_of(node.decorator_list)
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "pytestmark":
                yield from rows_of(node.value.elts if isinstance(node.value, ast.List) else [node.value])


def texts() -> Iterator[tuple[Path, str]]:
    """Every file of the project that may speak of rows."""
    for folder in ("bench", "client", "db", "docs", "migrations", "service", "sql", "tests"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".md", ".py", ".sql"}:
                yield path, path.read_text()


def test_every_row_is_there_once() -> None:
    rows = ROW.findall(PAGE.read_text())
    assert rows == [*(f"{letter}{n}" for letter, count in COUNTS.items() for n in range(1, count + 1)), *SURFACES]


def test_every_row_has_a_test_that_holds_it_and_a_mark_names_a_row_that_is_there() -> None:
    assert set(marked_rows()) == set(ROW.findall(PAGE.read_text()))


def test_no_reference_leads_to_a_row_that_does_not_exist() -> None:
    known = set(ROW.findall(PAGE.read_text()))
    assert [
        (path.name, id_)
        for path, text in texts()
        for listed in REFERENCE.findall(text)
        for id_ in re.findall(r"[MGSRWLX]\d+", listed)
        if id_ not in known
    ] == []
