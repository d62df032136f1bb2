"""`loci operation list`: the log on the command line, and commands in the log."""

import json

import pytest

from tests.cli.conftest import Loci


def listed(loci: Loci, namespace: str, *options: str) -> list[dict]:
    result = loci("operation", "list", "-n", namespace, "--json", *options)
    assert result.exit_code == 0, result.stderr
    rows: list[dict] = json.loads(result.stdout)
    return rows


def imported(loci: Loci, namespace: str, *lines: dict) -> None:
    result = loci("import", "-", "-n", namespace, input="\n".join(map(json.dumps, lines)))
    assert result.exit_code == 0, result.stderr


def test_a_command_is_one_operation_however_many_transactions_it_takes(loci: Loci, namespace: str) -> None:
    imported(loci, namespace, *({"content": f"memory {n}"} for n in range(5)))
    first, second = listed(loci, namespace)
    assert (first["action"], first["via"], first["agent"], first["changes"]) == (
        "import_namespace",
        "cli",
        "operator",
        {"memory.created": 5},
    )
    assert (second["action"], second["via"], second["changes"]) == ("create_namespace", "cli", {"namespace.created": 1})


def test_a_rate_changed_from_the_command_line_is_one_operation(loci: Loci, namespace: str) -> None:
    imported(loci, namespace, {"content": "x", "edges": [{"source": "a", "type": "t", "target": "b"}]})
    assert loci("edge", "decay", "t", "--rate", "0.1", "-n", namespace).exit_code == 0
    assert [row["changes"] for row in listed(loci, namespace, "--action", "set_edge_type")] == [{"edge_type.created": 1}]


def test_an_export_that_is_restored_is_one_operation(loci: Loci, namespace: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    imported(loci, namespace, {"content": "x", "edges": [{"source": "a", "type": "t", "target": "b"}]})
    file = tmp_path_factory.mktemp("export") / "x.jsonl"
    assert loci("export", "-n", namespace, "-o", str(file)).exit_code == 0
    other = f"{namespace[:20]}-copy"
    assert loci("import", str(file), "-n", other).exit_code == 0
    (row,) = listed(loci, other)
    assert row["action"] == "import_namespace"
    assert (row["changes"]["namespace.created"], row["changes"]["memory.created"], row["changes"]["entity.created"]) == (1, 1, 2)


def test_the_list_is_a_table_and_is_narrowed(loci: Loci, namespace: str) -> None:
    imported(loci, namespace, {"content": "x"})
    lines = loci("operation", "list", "-n", namespace).stdout.splitlines()
    assert lines[0].split() == ["id", "started_at", "via", "action", "agent", "changes"]
    assert lines[1].split()[-3:] == ["1", "memory", "created"]
    assert listed(loci, namespace, "--action", "export") == []
    assert listed(loci, namespace, "--until", "2020-01-01") == []
    assert len(listed(loci, namespace, "--limit", "1")) == 1


def test_show_prints_what_an_operation_changed(loci: Loci, namespace: str) -> None:
    imported(loci, namespace, {"content": "tea", "lineage": "drink"})
    imported(loci, namespace, {"content": "coffee", "lineage": "drink"})
    found = listed(loci, namespace)[0]["id"]
    shown = json.loads(loci("operation", "show", found, "-n", namespace, "--json").stdout)
    assert shown["operation"]["changes"] == {"memory.created": 1, "memory.changed": 1}
    assert {(c["action"], c["content"]) for c in shown["changes"]} == {("created", "coffee"), ("changed", "tea")}
    table = loci("operation", "show", found, "-n", namespace).stdout
    assert "1 memory changed, 1 memory created" in table
    assert "valid_to: None → " in table


def test_an_unknown_operation_is_one_line(loci: Loci, namespace: str) -> None:
    result = loci("operation", "show", "0192f0c4-0000-7000-8000-000000000000", "-n", namespace)
    assert result.exit_code == 1
    assert result.stderr.startswith("error: operation 0192f0c4-0000-7000-8000-000000000000 does not exist\nhint: ")


def test_reading_commands_leave_no_operation(loci: Loci, namespace: str) -> None:
    imported(loci, namespace, {"content": "x"})
    for command in (("recall", "x"), ("memory", "history", "x"), ("verify",), ("operation", "list")):
        loci(*command, "-n", namespace)
    assert {row["action"] for row in listed(loci, namespace)} == {"import_namespace", "create_namespace"}
