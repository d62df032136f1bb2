"""Folders are subjects or rooms, and nothing imports in a circle."""

from collections.abc import Iterable, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[2]
SUBJECTS = (
    "access",
    "namespaces",
    "memories",
    "hierarchy",
    "recall",
    "graph",
    "facts",
    "sessions",
    "retain",
    "dreams",
    "jobs",
    "operations",
    "transfer",
    "models",
)
ROOMS = ("cli", "connect", "embedding", "http", "llm", "mcp", "observability", "rerank", "text", "worker")
SIDES = {"routes", "commands", "tools"}  # of a subject: they may use any other subject


@cache
def graph(*, types: bool) -> grimp.ImportGraph:
    """All imports of service and db, those inside functions too; with `types` also those that only annotations need."""
    return grimp.build_graph("service", "db", cache_dir=None, exclude_type_checking_imports=not types)


def part_of(module: str) -> str | None:
    """The subject or room of a module; None for what only puts them together."""
    parts = module.split(".")
    if parts[0] != "service" or len(parts) < 2 or (len(parts) > 2 and parts[2] in SIDES):
        return None
    return parts[1] if parts[1] in (*SUBJECTS, *ROOMS) else ".".join(parts)


def is_side(module: str) -> bool:
    """Whether a module is of the routes, commands or tools of a subject."""
    parts = module.split(".")
    return parts[0] == "service" and len(parts) > 2 and parts[1] in SUBJECTS and parts[2] in SIDES


def circle(imports: Mapping[str, Iterable[str]]) -> list[str]:
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_modules_import_each_other_in_a_circle() -> None:
    found = graph(types=True)
    assert circle({module: found.find_modules_directly_imported_by(module) for module in found.modules}) == []


def test_no_subjects_and_rooms_import_each_other_in_a_circle() -> None:
    found = graph(types=False)
    imports: dict[str, set[str]] = {}
    for module in found.modules:
        part = part_of(module)
        if part is None or part == "cli":  # the command line is put together in the folder of what all commands share
            continue
        for imported in found.find_modules_directly_imported_by(module):
            other = part_of(imported)
            if other is not None and other not in (part, "cli"):
                imports.setdefault(part, set()).add(other)
    assert circle(imports) == []


def test_no_subject_needs_routes_commands_or_tools() -> None:
    found = graph(types=True)
    wrong = [
        (module, imported)
        for module in found.modules
        if part_of(module) in SUBJECTS
        for imported in found.find_modules_directly_imported_by(module)
        if imported.startswith("service.cli") or is_side(imported)
    ]
    assert wrong == []


@pytest.mark.parametrize("layer", ["service", "db"])
def test_every_subject_has_its_place(layer: str) -> None:
    names = {path.stem for path in (ROOT / layer).iterdir() if not path.name.startswith("_")}
    assert set(SUBJECTS) <= names


def test_every_folder_of_the_service_is_a_subject_or_a_room() -> None:
    folders = {path.name for path in (ROOT / "service").iterdir() if path.is_dir() and not path.name.startswith("_")}
    assert folders == {*SUBJECTS, *ROOMS}
