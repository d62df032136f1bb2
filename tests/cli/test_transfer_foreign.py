"""`loci import` of what other memory systems have written."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Loci

SAMPLES = Path("/work/shared/import-samples")


def imported(loci: Loci, path: Path, namespace: str, *options: str) -> dict[str, Any]:
    result = loci("import", str(path), "-n", namespace, "--json", *options)
    assert result.stdout, result.stderr + str(result.exception)
    return json.loads(result.stdout)


@pytest.mark.parametrize("name", sorted(p.name for p in SAMPLES.iterdir() if not p.name.startswith(("memory-tool", "openai", "README", "mem0-history"))))
def test_sample(loci: Loci, namespace: str, name: str) -> None:
    import copy
    try:
        first = imported(loci, SAMPLES / name, namespace)
    except Exception as e:
        print(name, "FAILED", repr(e)[:600]); raise
    print(name, first)
    export = loci("export", "-n", namespace).stdout.splitlines()[1:]
    second = imported(loci, SAMPLES / name, namespace)
    assert not any(second["written"].values()), second
    assert loci("export", "-n", namespace).stdout.splitlines()[1:] == export
