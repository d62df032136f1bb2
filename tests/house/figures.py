"""Counts how easy the code is to find one's way in: names, words, files, arrows between folders, the look of SQL.

Each figure has what is asked for, and a bound that holds today, so that it gets no worse. Lower a bound when its figure falls.
Layers and circles of imports are contracts of import-linter, and the look of Python is ruff's (pyproject.toml).
"""

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import grimp

from tests.catalogue import OBJECTS, ROOT, SUBJECTS

ADVERB_OR_PARTICIPLE = re.compile(r"(?:[^e]ed|[^p]ly|told|lent|kept|held|known|given|taken|made|gone|said|sent|met|left|seen)$")
LONG_FUNCTION = 50  # lines
LONG_SQL_FILE = 250  # lines
WIDE_SQL = 120  # columns
NO_CODE = re.compile(r"--.*|'(?:[^']|'')*'|\"[^\"]*\"")
CAPITALS = re.compile(
    r"\b(?:AND|AS|BEGIN|CREATE|DELETE|ELSE|END|FROM|FUNCTION|IF|INSERT|JOIN|NOT|NULL|ON|OR|RETURN|SELECT|SET|UPDATE|WHERE)\b"
)
KINDS_OF_TESTS = ("api", "cli", "faults", "properties", "sql")  # folders whose files are named for subjects


@dataclass(frozen=True)
class Figure:
    """What is counted, how much of it there may be today, how much is asked for, and where it is."""

    name: str
    value: float
    bound: float
    asked: float
    where: Sequence[str] = ()


def count(name: str, found: Iterable[str], bound: float, asked: float) -> Figure:
    """How many of these there are."""
    where = sorted(found)
    return Figure(name, len(where), bound, asked, where)


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


def python_figures() -> list[Figure]:
    """Names and lengths of functions, and arrows between the folders of the service."""
    names = [node.name.strip("_") for node in functions()]
    graph = grimp.build_graph("service", cache_dir=None)
    pairs = {
        (module.split(".")[1], imported.split(".")[1])
        for module in graph.modules
        for imported in graph.find_modules_directly_imported_by(module)
        if module.count(".") > 1 and imported.count(".") > 1
    }
    one_word = [name for name in names if "_" not in name]
    no_verb = [name for name in names if ADVERB_OR_PARTICIPLE.search(name)]
    return [
        Figure("Python functions of one word, %", round(100 * len(one_word) / len(names), 1), 10, 25),
        Figure("Python functions that end in a participle or an adverb, %", round(100 * len(no_verb) / len(names), 1), 2, 2),
        count(
            "Python functions over 50 lines",
            (node.name for node in functions() if (node.end_lineno or 0) - node.lineno >= LONG_FUNCTION), 0, 0,
        ),
        count(
            "pairs of folders with arrows both ways",
            (f"{one} and {other}" for one, other in pairs if one < other and (other, one) in pairs), 2, 2,
        ),
    ]  # fmt: skip


def names_its_behaviour(path: str) -> bool:
    """Whether a file begins with a header of its own, which says what behaviour it holds: a comment, and then an empty line."""
    header, _, rest = (ROOT / path).read_text().partition("\n\n")
    return bool(rest) and all(line.startswith("-- ") for line in header.split("\n"))


def sql_figures() -> list[Figure]:
    """Files and functions in sql/: their size, and whether their names lead to them."""
    declared = [item for item in OBJECTS if item.kind == "function"]
    made = {item.name: next(text for text in item.statements if not text.startswith("comment on")) for item in declared}
    files = list((ROOT / "sql").rglob("*.sql"))
    folders = {path.parent for path in files}
    return [
        count(
            "SQL functions in a file named neither after them nor for a behaviour",
            (i.name for i in declared if i.name.split(".")[-1] != Path(i.path).stem and not names_its_behaviour(i.path)), 0, 0,
        ),
        Figure("SQL files", len(files), 220, 220),
        count("SQL functions over 50 lines", (name for name, text in made.items() if text.count("\n") >= LONG_FUNCTION), 16, 20),
        Figure("SQL files in the largest folder", max(len(list(folder.glob("*.sql"))) for folder in folders), 20, 52),
        count(
            "SQL files over 250 lines",
            (str(path) for path in files if path.read_text().count("\n") > LONG_SQL_FILE), 0, 0,
        ),
        count("SQL lines that are too wide, end in space or shout", sql_lines(), 0, 0),
    ]  # fmt: skip


def sql_lines() -> Iterable[str]:
    """Lines over 120 columns, with a tab, with space at their end, or with keywords in capitals; files that begin without a comment.

    Formatters of SQL take the body of a function for one string and leave it alone, so what can be checked is checked here.
    """
    for path in [*(ROOT / "sql").rglob("*.sql"), *(ROOT / "migrations").rglob("*.sql")]:
        text = path.read_text()
        if not text.startswith("-- ") or text.endswith("\n\n") or not text.endswith("\n"):
            yield f"{path}: first or last line"
        for number, line in enumerate(text.split("\n"), 1):
            if len(line) > WIDE_SQL or line != line.rstrip() or "\t" in line or CAPITALS.search(NO_CODE.sub("", line)):
                yield f"{path}:{number}"


def subject_figures() -> list[Figure]:
    """One word for a subject, the same in every layer."""
    rooms = {layer: {path.stem for path in (ROOT / layer).iterdir()} for layer in ("sql", "service", "db")}
    known = {path.name for path in (ROOT / "service").iterdir() if path.is_dir()} | {"client", "shared"}
    tests = [path for kind in KINDS_OF_TESTS for path in (ROOT / "tests" / kind).glob("test_*.py")]
    return [
        count("subjects without a room in a layer", (f"{s} in {r}" for s in SUBJECTS for r in rooms if s not in rooms[r]), 0, 0),
        count("files of tests named for no subject", (str(path) for path in tests if path.stem.split("_")[1] not in known), 0, 0),
    ]


def figures() -> list[Figure]:
    """All figures of the code as it is."""
    machinery = [*(ROOT / "tests").glob("*.py"), *(ROOT / "tests" / "house").glob("*.py")]
    return [
        *python_figures(),
        Figure("words in docs/", sum(len(path.read_text().split()) for path in (ROOT / "docs").rglob("*.md")), 75_000, 75_000),
        *sql_figures(),
        *subject_figures(),
        Figure("lines of the suite's machinery", sum(path.read_text().count("\n") for path in machinery), 1490, 1500),
    ]
