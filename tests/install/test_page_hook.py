"""The wheel of the server brings the page with it, wherever it is built."""

from pathlib import Path
from typing import Any

import pytest
from hatchling.bridge.app import Application

from hatch_build import Page
from tests.catalogue import ROOT

INDEX = Path("service") / "http" / "page" / "built" / "index.html"
BUILDS = f"import pathlib; p = pathlib.Path({str(INDEX)!r}); p.parent.mkdir(parents=True); p.write_text('new')"


class Told(Application):
    def __init__(self) -> None:
        super().__init__()
        self.warnings: list[str] = []

    def display_warning(self, message: str = "", **_: Any) -> None:
        self.warnings.append(message)


def built(root: Path, script: str, version: str = "standard") -> list[str]:
    """Run the hook in a checkout whose page is built by this script; what it warned of."""
    (root / "web").mkdir()
    (root / "web" / "build.py").write_text(script)
    told = Told()
    Page(str(root), {}, None, None, "", "wheel", told).initialize(version, {})
    return told.warnings


@pytest.mark.release
@pytest.mark.row("X11")
def test_a_wheel_that_is_built_from_the_repository_has_the_page(tmp_path: Path) -> None:
    assert built(tmp_path, BUILDS) == []
    assert (tmp_path / INDEX).read_text() == "new"


@pytest.mark.release
def test_a_page_that_is_built_is_taken_as_it_is(tmp_path: Path) -> None:
    (tmp_path / INDEX).parent.mkdir(parents=True)
    (tmp_path / INDEX).write_text("old")
    assert built(tmp_path, "raise SystemExit('not asked for')") == []
    assert (tmp_path / INDEX).read_text() == "old"


def test_an_editable_install_builds_nothing(tmp_path: Path) -> None:
    assert built(tmp_path, "raise SystemExit('not asked for')", "editable") == []


@pytest.mark.release
def test_a_wheel_without_node_is_built_without_the_page_and_says_so(tmp_path: Path) -> None:
    (warning,) = built(tmp_path, "raise SystemExit('error: the page is built with Node')")
    assert "this wheel has no page" in warning
    assert "the page is built with Node" in warning


def test_the_image_is_built_with_the_hook() -> None:
    assert "!hatch_build.py" in (ROOT / ".dockerignore").read_text().splitlines()
