"""Tables of pages are tables wherever pages are shown: each has a head, and as many cells in each row."""

import re
from collections.abc import Iterator

from tests.catalogue import ROOT
from tests.docs.test_links import PAGES

FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
RULE = re.compile(r"\|(\s*:?-+:?\s*\|)+")
BETWEEN = re.compile(r"(?<!\\)\|")  # cells


def tables(text: str) -> Iterator[list[str]]:
    """Lines of each table, which are those that begin with a bar."""
    rows: list[str] = []
    for line in [*FENCED.sub("", text).splitlines(), ""]:
        if line.startswith("|"):
            rows.append(line.strip())
        elif rows:
            yield rows
            rows = []


def test_every_table_has_a_head_and_rows_of_its_width() -> None:
    wrong = [
        (str(page.relative_to(ROOT)), rows[0][:60])
        for page in PAGES
        for rows in tables(page.read_text())
        if len(rows) < 2 or not RULE.fullmatch(rows[1]) or len({len(BETWEEN.findall(row)) for row in rows}) > 1
    ]
    assert wrong == []


def test_a_table_without_a_head_is_found() -> None:
    assert list(tables("a\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n|---|---|\n| 1 | 2 |\n")) == [
        ["| a | b |", "|---|---|", "| 1 | 2 |"],
        ["|---|---|", "| 1 | 2 |"],
    ]
