"""`loci operation undo`: what an import wrote is gone, and comes back."""

import json
from pathlib import Path

from tests.cli.conftest import Loci

LINES = "\n".join(
    [
        '{"content": "Alice lives in Lisbon", "lineage": "alice", "edges": [{"source": "Alice", "type": "lives_in", "target": "Lisbon"}]}',
        '{"content": "Alice lives in Berlin", "lineage": "alice"}',
        '{"content": "a detail"}',
    ]
)


def shown(loci: Loci, namespace: str) -> dict[str, int]:
    row = json.loads(loci("namespace", "show", namespace, "--json").stdout)
    return {kind: row[kind] for kind in ("entities", "edges")} | {"memories": len(contents(loci, namespace))}


def contents(loci: Loci, namespace: str) -> list[str]:
    rows = loci.rows("select content from loci.list_memories(%s) order by content", namespace)
    return [row["content"] for row in rows]


def last_operation(loci: Loci, namespace: str) -> str:
    statement = """select o.id from loci_data.operations o join loci_data.namespaces n on n.id = o.namespace_id
                   where n.name = %s and o.via = 'cli' order by o.id desc limit 1"""
    return str(loci.rows(statement, namespace)[0]["id"])


def test_an_import_is_undone_and_done_again(loci: Loci, namespace: str) -> None:
    assert loci("import", "-", "-n", namespace, input=LINES).exit_code == 0
    before = contents(loci, namespace)
    done = last_operation(loci, namespace)
    undone = loci("operation", "undo", done, "-n", namespace, "--json")
    assert undone.exit_code == 0, undone.stderr
    assert json.loads(undone.stdout)["undone"]["memory"] == 3
    assert contents(loci, namespace) == []
    again = loci("operation", "undo", json.loads(undone.stdout)["operation_id"], "-n", namespace)
    assert again.exit_code == 0
    assert "memory" in again.stdout
    assert contents(loci, namespace) == before
    twice = loci("operation", "undo", json.loads(undone.stdout)["operation_id"], "-n", namespace)
    assert twice.exit_code == 1
    assert "undone already" in twice.stderr


def test_restoring_an_export_into_another_namespace_is_undone(loci: Loci, namespace: str, tmp_path: Path) -> None:
    loci("import", "-", "-n", namespace, input=LINES)
    file, other = tmp_path / "export.jsonl", f"{namespace}-copy"
    assert loci("export", "-n", namespace, "-o", str(file)).exit_code == 0
    loci("namespace", "create", other)
    assert loci("import", str(file), "-n", other).exit_code == 0
    before = contents(loci, other)
    assert before == contents(loci, namespace)
    done = last_operation(loci, other)
    undone = loci("operation", "undo", done, "-n", other, "--json")
    assert undone.exit_code == 0, undone.stderr
    assert contents(loci, other) == []
    left = (
        loci.rows("select count(*) as n from loci.list_edges(%s)", other)[0]["n"],
        loci.rows("select count(*) as n from loci.list_entities(%s)", other)[0]["n"],
    )
    assert left == (0, 0)
    assert loci("operation", "undo", json.loads(undone.stdout)["operation_id"], "-n", other).exit_code == 0
    assert contents(loci, other) == before
    believed = "select count(*) as n from loci_data.edges where namespace_id = (select id from loci_data.namespaces where name = %s) and superseded_at is null"
    assert loci.rows(believed, other)[0]["n"] == 1
