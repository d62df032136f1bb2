"""All commands of `loci`, read from the command line itself."""

from collections.abc import Iterator
from typing import Any

import typer.main

from service.cli.main import app

ROOT = typer.main.get_command(app)
SILENT = ("serve", "worker", "mcp", "hook", "psql")  # they run, and print no data of their own


def walk(command: Any = ROOT, path: str = "") -> Iterator[tuple[str, Any]]:
    """Each command and group by its words."""
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from walk(inner, f"{path} {name}".strip())


GROUPS = {path: command for path, command in walk() if hasattr(command, "commands")}
COMMANDS = {path: command for path, command in walk() if path not in GROUPS}
