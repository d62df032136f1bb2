"""The first screen of README says how to run Loci and how to test it, and CI tests it so."""

import re

import pytest

from tests.catalogue import ROOT

FIRST_SCREEN = "\n".join((ROOT / "README.md").read_text().splitlines()[:40])
TARGETS = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize("command", ["make run", "make test"])
def test_the_first_screen_shows_a_command_that_there_is(command: str) -> None:
    assert re.search(rf"^{command}\b", FIRST_SCREEN, re.MULTILINE)
    assert command.removeprefix("make ") in TARGETS


def test_ci_runs_what_the_first_screen_calls_the_test() -> None:
    commands = [
        line
        for line in (ROOT / ".ci" / "run").read_text().splitlines()
        if line and not line.startswith(("#", "set ", "cd ", "export "))
    ]
    assert commands == ["exec make test"]
