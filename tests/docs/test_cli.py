"""docs/cli.md lists every command. LOCI_WRITE_DOCS=1 (`make reference`) writes the lists anew."""

import inspect
import os
import re

from typer.testing import CliRunner

from service.cli.main import app
from tests.catalogue import ROOT
from tests.cli.test_cli_commands import OPERATORS
from tests.cli.tree import COMMANDS, GROUPS

PAGE = ROOT / "docs" / "cli.md"
PART = re.compile(r"(<!-- commands -->\n).*?(<!-- /commands -->)", re.DOTALL)
MARK = " †"


def row(path: str) -> str:
    """A command with its arguments, and what it does."""
    said = CliRunner().invoke(app, [*path.split(), "--help"], prog_name="loci", env={"COLUMNS": "300"}).stdout
    usage = re.sub(r"\[OPTIONS\] ?", "", said.splitlines()[0].removeprefix("Usage: loci "))
    summary = inspect.cleandoc(COMMANDS[path].help).splitlines()[0].removesuffix(".")
    return f"- `{usage.strip()}`: {summary}{MARK if path.split(maxsplit=1)[0] in OPERATORS else ''}"


def lists() -> str:
    """A line for each command: the verbs, then those of each noun. † marks what works on the database itself."""
    nouns = [path for group in GROUPS if group for path in COMMANDS if path.startswith(f"{group} ")]
    paths = [*(path for path in COMMANDS if " " not in path), *nouns]
    return f"\nEach begins with `loci`; {MARK.strip()} works on the database itself.\n\n" + "\n".join(map(row, paths)) + "\n\n"


def test_the_page_of_the_command_line_lists_every_command() -> None:
    text = PAGE.read_text()
    made = PART.sub(lambda found: f"{found[1]}{lists()}{found[2]}", text)
    if os.environ.get("LOCI_WRITE_DOCS") == "1":
        PAGE.write_text(made)
    else:
        assert text == made, "run `make reference`"
