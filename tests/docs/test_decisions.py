"""Each decision has a date and a status, and the index lists it as it is."""

import re

from tests.catalogue import ROOT

FOLDER = ROOT / "docs" / "decisions"
PAGES = sorted(FOLDER.glob("0*.md"))
HEAD = re.compile(r"# (\d+)\. (.+)\n\n\*(\d{4}-\d\d-\d\d) · ((?:accepted|superseded by \[\d+\]\([\w.-]+\)).*)\*\n\n")
INDEX = re.compile(r"^\| (\d+) \| \[(.+)\]\((.+)\) \| .+ \| (\S+) \| (.+) \|$", re.MULTILINE)


def test_every_page_has_a_title_a_date_and_a_status() -> None:
    assert [page.name for page in PAGES if not HEAD.match(page.read_text())] == []


def test_the_index_lists_every_page_as_it_is() -> None:
    heads = [(page.name, HEAD.match(page.read_text())) for page in PAGES]
    expected = [(h[1], h[2], name, h[3], h[4]) for name, h in heads if h]
    assert INDEX.findall((FOLDER / "README.md").read_text()) == expected
    assert [int(number) for number, *_ in expected] == list(range(1, len(PAGES) + 1))
