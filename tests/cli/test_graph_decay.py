"""`loci edge decay`: rates changed and edges recalculated from the command line."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from tests.cli.conftest import Loci


@pytest.fixture
def aged(loci: Loci, namespace: str) -> str:
    """A namespace with edges of two types, 10 and 100 days old."""
    now = datetime.now(UTC)
    lines = [
        {
            "content": f"{t} {n}",
            "layer": 3,  # an episode: observed when it happened
            "valid_from": (now - timedelta(days=n)).isoformat(),
            "edges": [{"source": "a", "type": t, "target": f"b{n}"}],
        }
        for t in ("t", "u")
        for n in (10, 100)
    ]
    result = loci("import", "-", "-n", namespace, input="\n".join(map(json.dumps, lines)))
    assert result.exit_code == 0, result.stderr
    return namespace


def alive(loci: Loci, namespace: str) -> list[str]:
    rows = loci.rows("select type || target as name from loci.edges where namespace = %s order by 1", namespace)
    return [row["name"] for row in rows]


def test_decay_with_a_rate_changes_that_of_a_type(loci: Loci, aged: str) -> None:
    result = loci("edge", "decay", "t", "--rate", "0.1", "-n", aged, "--json")
    assert json.loads(result.stdout) == {"faded": 1, "revived": 0}
    assert alive(loci, aged) == ["tb10", "ub10", "ub100"]
    again = loci("edge", "decay", "t", "--rate", "0.1", "-n", aged, "--json")
    assert json.loads(again.stdout) == {"faded": 0, "revived": 0}


def test_decay_without_a_type_changes_the_namespaces_rate(loci: Loci, aged: str) -> None:
    assert json.loads(loci("edge", "decay", "--rate", "0.1", "-n", aged, "--json").stdout)["faded"] == 2
    assert alive(loci, aged) == ["tb10", "ub10"]


def test_decay_without_a_rate_recalculates(loci: Loci, aged: str) -> None:
    result = loci("edge", "decay", "-n", aged)
    assert [line.split() for line in result.stdout.splitlines()] == [["faded", "revived", "faded_now"], ["0", "0", "0"]]


def test_a_threshold_set_from_the_command_line_moves_every_edge(loci: Loci, aged: str) -> None:
    assert loci("namespace", "set", aged, "edge_threshold=0.5").exit_code == 0
    assert alive(loci, aged) == ["tb10", "ub10"]
    left = loci.rows("select count(*) as n from loci_data.decay_changes where finished_at is null")
    assert left == [{"n": 0}]


def test_decay_refuses_a_rate_below_nothing(loci: Loci, aged: str) -> None:
    assert loci("edge", "decay", "--rate", "-1", "-n", aged).exit_code == 2
    assert len(alive(loci, aged)) == 4
