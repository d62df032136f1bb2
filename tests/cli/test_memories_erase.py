"""`loci memory erase`: asks first, and shows what went."""

import json

import pytest

from tests.cli.conftest import Loci


@pytest.fixture
def written(loci: Loci, namespace: str) -> list[str]:
    """Two versions of a memory, and another memory."""
    lines = ['{"content": "one", "lineage": "l"}', '{"content": "two", "lineage": "l"}', '{"content": "other"}']
    loci("import", "-", "-n", namespace, input="\n".join(lines))
    rows = loci.rows(
        """select m.id from loci_data.memories m join loci_data.namespaces n on n.id = m.namespace_id
           where n.name = %s order by m.lineage = 'l' desc, m.version""",
        namespace,
    )
    return [str(row["id"]) for row in rows]


def left(loci: Loci, namespace: str) -> int:
    row: dict[str, int] = json.loads(loci("namespace", "show", namespace, "--json").stdout)
    return row["memories"]


def test_erase_asks_first(loci: Loci, namespace: str, written: list[str]) -> None:
    refused = loci("memory", "erase", written[0], "-n", namespace, input="n\n")
    assert refused.exit_code == 1
    assert "Erase a memory with every version" in refused.stderr
    assert left(loci, namespace) == 3
    assert loci("memory", "erase", written[0], "-n", namespace, input="y\n").exit_code == 0
    assert left(loci, namespace) == 1


def test_erase_without_an_answer_does_nothing(loci: Loci, namespace: str, written: list[str]) -> None:
    assert loci("memory", "erase", *written, "-n", namespace).exit_code == 1
    assert left(loci, namespace) == 3


def test_erase_shows_the_receipt_as_a_table(loci: Loci, namespace: str, written: list[str]) -> None:
    result = loci("memory", "erase", *written, "-n", namespace, "--yes")
    assert result.stderr == "erased 3 memories\n"
    cells = [line.split() for line in result.stdout.splitlines()]
    assert cells[0] == ["table", "deleted", "added", "changed"]
    assert ["memories", "3", "-", "-"] in cells


def test_erase_prints_the_receipt_as_json_and_takes_one_version_alone(loci: Loci, namespace: str, written: list[str]) -> None:
    receipt = json.loads(loci("memory", "erase", written[0], "-n", namespace, "--versions", "this", "--yes", "--json").stdout)
    assert receipt["erased"] == receipt["deleted"]["memories"] == 1
    assert left(loci, namespace) == 2


def test_erase_of_an_unknown_memory_is_one_line(loci: Loci, namespace: str, written: list[str]) -> None:
    unknown = "00000000-0000-4000-8000-00000000abcd"
    result = loci("memory", "erase", written[0], unknown, "-n", namespace, "--yes")
    assert result.exit_code == 1
    assert result.stderr == f"error: memory {unknown} does not exist\n"
    assert left(loci, namespace) == 3
