"""One word for a subject, the same in every layer."""

from collections.abc import Iterable
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

from tests.catalogue import ROOT, SUBJECTS

# What serves all subjects, by layer.
ROOMS = {
    "sql": {"grants", "policies", "shared", "text"},
    "service": {"cells", "cli", "connect", "embedding", "http", "llm", "mcp", "observability", "rerank", "text", "worker"},
    "db": {
        "cancellation",
        "cells",
        "embedded",
        "errors",
        "health",
        "idempotency",
        "time_limits",
        "pipeline",
        "metrics",
        "migrate",
        "pool",
        "retries",
        "pool_quota",
        "statistics",
        "text",
        "traces",
        "standbys",
    },
    "client/loci/models": {"fields", "messages", "problems", "server", "types"},
    "docs/sql": {"README"},
}


def rooms(folder: str) -> set[str]:
    """Names of the folders and modules of a layer, or of the files where it holds no code."""
    entries: Iterable[Path] = (ROOT / folder).iterdir()
    return {
        entry.name.split(".")[0]
        for entry in entries
        if not entry.name.startswith(("_", ".")) and (entry.is_dir() or entry.suffix in {".py", ".md"})
    }


def test_there_are_ten_to_fourteen_subjects() -> None:
    assert 10 <= len(SUBJECTS) <= 14
    assert sorted(SUBJECTS) == sorted(set(SUBJECTS))


@pytest.mark.parametrize("folder", ["sql", "db", "client/loci/models"])
def test_a_layer_is_divided_by_the_subjects(folder: str) -> None:
    assert rooms(folder) - ROOMS[folder] - {"README"} <= set(SUBJECTS)


@pytest.mark.parametrize("folder", ["sql", "service", "db"])
def test_every_subject_has_its_room(folder: str) -> None:
    assert set(SUBJECTS) - rooms(folder) == set()


def test_the_service_is_divided_by_the_subjects() -> None:
    folders = {entry.name for entry in (ROOT / "service").iterdir() if entry.is_dir() and not entry.name.startswith(("_", "."))}
    assert folders - ROOMS["service"] == set(SUBJECTS)


def test_what_analysts_read_is_divided_by_the_subjects() -> None:
    assert rooms("docs/sql") - ROOMS["docs/sql"] <= set(SUBJECTS)


def test_no_modules_import_each_other_in_a_circle_and_no_annotation_does() -> None:
    """What import-linter looks at is without imports that only annotations need."""
    graph = grimp.build_graph("service", "db", cache_dir=None)
    TopologicalSorter({module: graph.find_modules_directly_imported_by(module) for module in graph.modules}).prepare()


@pytest.mark.parametrize("kind", ["api", "cli", "faults", "properties", "sql"])
def test_files_of_tests_begin_with_their_subject(kind: str) -> None:
    known = {*SUBJECTS, *ROOMS["service"], "client", "shared"}
    names = [path.stem.removeprefix("test_") for path in sorted((ROOT / "tests" / kind).glob("test_*.py"))]
    assert [name for name in names if name.split("_")[0] not in known] == []
