"""Counts how easy the code is to find one's way in: names, words, files and arrows between folders.

Each figure has what is asked for, and a bound that holds today, so that it gets no worse. Lower a bound when its figure falls.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import grimp

from tests.catalogue import OBJECTS, ROOT

ADVERB_OR_PARTICIPLE = re.compile(r"(?:[^e]ed|[^p]ly|told|lent|kept|held|known|given|taken|made|gone|said|sent|met|left|seen)$")
LONG = 50  # lines of a function


@dataclass(frozen=True)
class Figure:
    """What is counted, how much of it there is, how much is asked for, and how much there may be today."""

    name: str
    value: float
    asked: float
    bound: float


@cache
def functions() -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function of the service and of its statements, but for those that Python names."""
    return [
        node
        for folder in ("service", "db")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("__")
    ]


def percent(names: list[str], of: list[str]) -> float:
    """Which part of all names these are."""
    return round(100 * len(names) / len(of), 1)


def lines_of(paths: Iterator[Path]) -> int:
    """How many lines files have."""
    return sum(len(path.read_text().splitlines()) for path in paths)


def machinery() -> Iterator[Path]:
    """What the suite consists of beside tests."""
    yield from (ROOT / "tests").glob("*.py")
    yield from (path for path in (ROOT / "tests" / "house").glob("*.py") if not path.name.startswith("test_"))


def folders_of_two_ways() -> int:
    """Pairs of folders of the service that import each other."""
    graph = grimp.build_graph("service", cache_dir=None)
    pairs = {
        (module.split(".")[1], imported.split(".")[1])
        for module in graph.modules
        for imported in graph.find_modules_directly_imported_by(module)
        if module.count(".") > 1 and imported.count(".") > 1
    }
    return sum(one < other and (other, one) in pairs for one, other in pairs)


def names_its_behaviour(path: str) -> bool:
    """Whether a file begins with a header of its own, which says what behaviour it holds: a comment, and then an empty line."""
    header, _, rest = (ROOT / path).read_text().partition("\n\n")
    return bool(rest) and all(line.startswith("-- ") for line in header.split("\n"))


def figures() -> list[Figure]:
    """All figures of the code as it is."""
    names = [node.name.strip("_") for node in functions()]
    sql = [item for item in OBJECTS if item.kind == "function"]
    made = [next(text for text in item.statements if not text.startswith("comment on")) for item in sql]
    files = list((ROOT / "sql").rglob("*.sql"))
    folders = {path.parent for path in files}
    return [
        Figure("Python functions of one word, %", percent([name for name in names if "_" not in name], names), 25, 10),
        Figure(
            "Python functions that end in a participle or an adverb, %",
            percent([name for name in names if ADVERB_OR_PARTICIPLE.search(name)], names),
            2,
            2,
        ),
        Figure(
            "Python functions over 50 lines",
            sum((node.end_lineno or 0) - node.lineno >= LONG for node in functions()),
            0,
            0,
        ),
        Figure("words in docs/", sum(len(path.read_text().split()) for path in (ROOT / "docs").rglob("*.md")), 75_000, 87_700),
        Figure(
            "SQL functions in a file named neither after them nor for a behaviour",
            sum(item.name.split(".")[-1] != Path(item.path).stem and not names_its_behaviour(item.path) for item in sql),
            0,
            0,
        ),
        Figure("SQL files", len(files), 220, 220),
        Figure("SQL functions over 50 lines", sum(text.count("\n") >= LONG for text in made), 20, 79),
        Figure("SQL files in the largest folder", max(len(list(folder.glob("*.sql"))) for folder in folders), 52, 20),
        Figure("pairs of folders with arrows both ways", folders_of_two_ways(), 2, 2),
        Figure("lines of the suite's machinery", lines_of(machinery()), 1500, 2790),
    ]
