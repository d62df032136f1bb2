"""Check the style of SQL files: `python -m tests.sql_style [FILE …]`; without files, all of them.

Formatters of SQL take the body of a function for one string and leave it alone, so what can be checked is checked here.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("sql", "migrations")
WIDTH = 120
LENGTH = 250  # lines of a file in sql/; tables of one revision may stand together
NO_CODE = re.compile(r"--.*|'(?:[^']|'')*'|\"[^\"]*\"")
SHOUTED = re.compile(
    r"\b(?:ALTER|AND|AS|BEGIN|COMMENT|CREATE|DECLARE|DELETE|ELSE|END|EXISTS|FROM|FUNCTION|GRANT|IF|INSERT|JOIN|LANGUAGE|NOT|NULL|ON|OR"
    r"|ORDER|RETURN|RETURNS|SELECT|SET|TABLE|THEN|TRIGGER|UNION|UPDATE|VALUES|VIEW|WHEN|WHERE|WITH)\b"
)


def problems(text: str, length: int | None = LENGTH) -> Iterator[tuple[int, str]]:
    """Number of the line and what is wrong with it."""
    lines = text.split("\n")
    if not text.startswith("-- "):
        yield 1, "begins without a comment that says what it is for"
    if not text.endswith("\n") or text.endswith("\n\n"):
        yield len(lines), "does not end with exactly one line end"
    if length is not None and len(lines) - 1 > length:
        yield len(lines) - 1, f"is longer than {length} lines: split it by idea"
    for number, line in enumerate(lines, 1):
        if len(line) > WIDTH:
            yield number, f"has {len(line)} columns, more than {WIDTH}"
        if line != line.rstrip() or "\t" in line:
            yield number, "has a tab, or space at its end"
        if SHOUTED.search(NO_CODE.sub("", line)):
            yield number, "has keywords in capitals"


def check(paths: list[Path]) -> list[str]:
    """What is wrong in these files, a line for each."""
    return [
        f"{path}:{number}: {problem}"
        for path in paths
        for number, problem in problems(path.read_text(), None if "migrations" in path.parts else LENGTH)
    ]


def main() -> int:
    """Print what is wrong; 1 if anything is."""
    named = [Path(argument) for argument in sys.argv[1:]]
    found = check(named or [path.relative_to(ROOT) for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.sql"))])
    print("\n".join(found), end="\n" if found else "")  # noqa: T201 (a command of its own)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
