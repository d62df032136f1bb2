"""Pages of docs/design say what holds, why, the figure and what was tried, in that order; nothing refers to pages that are gone."""

import re
from pathlib import Path

import pytest

from tests.catalogue import ROOT

FOLDER = ROOT / "docs" / "design"
PAGES = sorted(page for page in FOLDER.glob("*.md") if page.name != "README.md")
LABELS = ["Why", "Measured", "Limits", "Tried"]
LABEL = re.compile(rf"^\*\*({'|'.join(LABELS)})\b", re.MULTILINE)
INDEX = re.compile(r"^- \[(\w+)\]\((\w+\.md)\): (.+)$", re.MULTILINE)
GONE = re.compile(r"docs/" + r"decisions|\bdecisions/\d{4}|\b[Dd]ecisions? \[?\d+\b")
MOST_WORDS = 2000  # of a page
HERE = Path(__file__)
FOLDERS = ["bench", "client/loci", "db", "deploy", "docs", "migrations", "service", "sql", "tests", "web/src"]
KINDS = ["md", "py", "sql", "ts", "tsx"]


def sections(page: Path) -> dict[str, str]:
    """Texts under the headings of a page."""
    parts = re.split(r"^## (.+)$", page.read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_section_says_first_what_holds_and_then_why_the_figure_and_what_was_tried(page: Path) -> None:
    wrong = []
    for heading, text in sections(page).items():
        labels = LABEL.findall(text)
        if text.lstrip().startswith("**") or labels != sorted(set(labels), key=LABELS.index):
            wrong.append((heading, labels))
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_stays_short(page: Path) -> None:
    assert len(page.read_text().split()) <= MOST_WORDS


def test_the_index_of_design_lists_every_page() -> None:
    rows = INDEX.findall((FOLDER / "README.md").read_text())
    assert [(name, target) for name, target, _ in rows] == [(page.stem, page.name) for page in PAGES]


def test_nothing_refers_to_a_numbered_decision() -> None:
    files = [*ROOT.glob("*.md"), *(file for folder in FOLDERS for kind in KINDS for file in (ROOT / folder).rglob(f"*.{kind}"))]
    assert len(files) > 500
    assert [(str(file), GONE.findall(file.read_text())) for file in files if GONE.search(file.read_text()) and file != HERE] == []


def test_start_is_one_page() -> None:
    assert len((ROOT / "docs" / "START.md").read_text().split()) <= 900
