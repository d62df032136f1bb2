"""Links between pages lead somewhere, and every page of docs/ is reached from its index."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.catalogue import ROOT

PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md")), ROOT / "sql" / "README.md"]
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """Files and anchors that a page links to."""
    for target, anchor in LINK.findall(CODE.sub("", page.read_text())):
        yield (page.parent / target).resolve() if target else page, anchor


def anchors(page: Path) -> set[str]:
    """What headings of a page are called in links."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_link_leads_to_a_file() -> None:
    assert [(page.name, str(target)) for page in PAGES for target, _ in links(page) if not target.exists()] == []


def test_every_anchor_is_a_heading() -> None:
    assert [
        (page.name, target.name, anchor)
        for page in PAGES
        for target, anchor in links(page)
        if anchor and target.suffix == ".md" and target.exists() and anchor not in anchors(target)
    ] == []


def test_the_index_of_docs_lists_every_page() -> None:
    index = ROOT / "docs" / "README.md"
    reached = {target for target, _ in links(index)} | {index}
    assert [
        page.name for page in sorted([*ROOT.glob("docs/*.md"), *ROOT.glob("docs/running/*.md")]) if page.resolve() not in reached
    ] == []
