"""docs/requirements.md names every row, tests that exist, and paths, objects and commands that are there."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import typer

from tests.catalogue import ROOT
from tests.services import openapi_document

PAGE = ROOT / "docs" / "requirements.md"
TEXT = PAGE.read_text()
COUNTS = {"M": 12, "G": 13, "S": 8, "R": 16, "W": 4, "L": 7, "X": 13}
SURFACES = ["REST", "MCP", "SQL", "Command line"]
SECTION = re.compile(r"^### (.*)\n((?:(?!#).*\n)*)", re.MULTILINE)
SECTIONS = dict(SECTION.findall(TEXT))
TESTS = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", TEXT)
REFERENCE = re.compile(r"\brows? ([MGSRWLX]\d+(?:(?:,| to| and) [MGSRWLX]\d+)*)")


def row(heading: str) -> str:
    """The id of a row, or the name of a surface, from its heading."""
    first = heading.split(" ", maxsplit=1)[0]
    return first if re.fullmatch(r"[A-Z]\d+", first) else heading


@cache
def names(path: str) -> frozenset[str]:
    """Names of the tests in a file."""
    nodes = ast.walk(ast.parse((ROOT / path).read_text()))
    return frozenset(node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def texts() -> Iterator[tuple[Path, str]]:
    """Every file of the project that may speak of rows."""
    for folder in ("bench", "client", "db", "docs", "loci", "migrations", "service", "sql", "tests"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".md", ".py", ".sql"}:
                yield path, path.read_text()


def test_every_row_is_there_once() -> None:
    assert [row(heading) for heading in SECTIONS] == [
        *(f"{letter}{n}" for letter, count in COUNTS.items() for n in range(1, count + 1)),
        *SURFACES,
    ]


def test_a_row_has_tests_or_says_that_it_is_not_there_yet() -> None:
    assert [h for h, body in SECTIONS.items() if "- `tests/" not in body and not body.startswith("**Not yet.**")] == []


def test_every_test_that_is_named_exists() -> None:
    files = {path for path, _ in TESTS if (ROOT / path).is_file()}
    assert [path for path, _ in TESTS if path not in files] == []
    assert [f"{path}::{name}" for path, name in TESTS if name and name not in names(path)] == []


def test_no_reference_leads_to_a_row_that_does_not_exist() -> None:
    known = {row(heading) for heading in SECTIONS}
    assert [
        (path.name, id_)
        for path, text in texts()
        for listed in REFERENCE.findall(text)
        for id_ in re.findall(r"[MGSRWLX]\d+", listed)
        if id_ not in known
    ] == []


def test_the_paths_of_the_requirements_are_those_that_are_served() -> None:
    served = set(openapi_document()["paths"])
    table, outside = SECTIONS["REST"].split("Outside of `/api/v1`:")
    named = re.findall(r"`(/[\w/{}-]+)`", "".join(line for line in table.splitlines() if line.startswith("| ")))
    assert len(named) > 60
    assert [path for path in named if f"/api/v1{path}" not in served] == []
    assert [path for path in sorted(served) if path.startswith("/api/v1/") and path.removeprefix("/api/v1") not in named] == []
    assert {"/healthz", "/readyz", "/metrics"} <= served & set(re.findall(r"`(/\w+)`", outside))


def test_every_view_and_function_of_the_requirements_is_described() -> None:
    described = "".join(path.read_text() for path in sorted(ROOT.glob("docs/sql/*.md")))
    named = re.findall(r"`([a-z_]+)`[,;.]", SECTIONS["SQL"])
    assert len(named) > 30
    assert [name for name in named if f"### `{name}`" not in described] == []


def test_every_view_is_in_the_requirements() -> None:
    described = (ROOT / "docs" / "sql" / "README.md").read_text().split("contents -->")[1]
    views = {
        name for line in described.splitlines() if line.startswith("| [") for name in re.findall(r"`(\w+)`", line.split("|")[2])
    }
    body = SECTIONS["SQL"]
    named = re.findall(r"`([a-z_]+)`", body[body.index("these views:") : body.index("among others")])
    assert named == sorted(named)
    assert set(named) == views


def test_every_value_of_reinforcement_that_the_requirements_name_is_one() -> None:
    body = SECTIONS["G9 Reinforcement"]
    listed = (ROOT / "docs" / "settings.md").read_text().split("| `reinforcement` |")[1].split("|")[1]
    named = re.findall(r"`(\w+)`", body[body.index("The setting") : body.index("The\nsame rule")])
    assert named == ["reinforcement", *re.findall(r"`(\w+)`", listed)]


def test_every_command_of_the_requirements_is_there() -> None:
    from service.cli.main import app

    body = SECTIONS["Command line"]
    named = re.findall(r"`([a-z-]+)`", body[body.index("commands") : body.index("Long work")])
    assert named == sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
