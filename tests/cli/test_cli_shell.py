"""What the commands promise to people and scripts."""

import json
from hashlib import sha256
from pathlib import Path

import psycopg
import pytest
from pydantic import BaseModel, ValidationError, field_validator

from service.cli.demo import read_demo
from service.cli.framework import explain_error
from service.settings import get_settings
from tests.cli.conftest import Loci

BAD_LINES = [
    '{"content": "first"}',
    '{"content": "too sure", "confidence": 3}',
    "not json",
    '{"kind": "entty", "name": "x"}',
    '{"kind": "entity", "name": "Zoe", "type": "person"}',
    '{"kind": "edge", "source": "Zoe", "type": "knows", "target": "Yan", "confidence": 0.5}',
    '{"content": "orphan", "parent_id": "00000000-0000-4000-8000-00000000abcd"}',
    "",
    '{"content": "last"}',
]


@pytest.fixture
def bad_file(tmp_path: Path) -> str:
    path = tmp_path / "lines.jsonl"
    path.write_text("\n".join(BAD_LINES))
    return str(path)


def contents(loci: Loci, namespace: str) -> list[str]:
    rows = loci.rows(
        """select m.content from loci_data.memories m join loci_data.namespaces n on n.id = m.namespace_id
           where n.name = %s order by m.content""",
        namespace,
    )
    return [row["content"] for row in rows]


def test_import_reports_bad_lines_with_number_and_reason_and_the_rest_goes_in(loci: Loci, namespace: str, bad_file: str) -> None:
    result = loci("import", bad_file, "--namespace", namespace)
    assert result.exit_code == 1
    assert "line 2: confidence: " in result.stderr
    assert "line 3: is not JSON" in result.stderr
    assert "line 4: kind: must be memory, entity or edge, not 'entty'. Did you mean entity?" in result.stderr
    assert "line 7: parent_id must be the id of a memory in this namespace" in result.stderr
    assert "error: 4 of 9 lines are wrong" in result.stderr
    assert contents(loci, namespace) == ["first", "last"]
    walked = loci("traverse", "Zoe", "--namespace", namespace)
    assert walked.stdout == "Zoe --knows--> Yan (confidence=0.50)\n"


def test_import_atomic_writes_nothing_when_one_line_is_bad(loci: Loci, namespace: str, bad_file: str) -> None:
    before = [loci.count(table) for table in ("memories", "entities", "edges")]
    result = loci("import", bad_file, "--namespace", namespace, "--atomic", "--json")
    assert result.exit_code == 1
    reply = json.loads(result.stdout)
    assert [error["line"] for error in reply["errors"]] == [2, 3, 4, 7]
    assert (reply["memories"], reply["entities"], reply["edges"]) == (0, 0, 0)
    assert [loci.count(table) for table in ("memories", "entities", "edges")] == before


def test_import_atomic_writes_all_of_a_good_file_from_standard_input(loci: Loci, namespace: str) -> None:
    lines = "\n".join(json.dumps({"kind": "memory", "content": f"fact {n}", "lineage": f"l{n % 7}"}) for n in range(50))
    result = loci("import", "-", "--namespace", namespace, "--atomic", "--json", input=lines)
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout) | {"seconds": 0} == {
        "dry_run": False, "memories": 50, "entities": 0, "edges": 0, "duplicates": 0, "ignored": 0, "superseded": 43, "cut_short": 0, "lines": 50, "seconds": 0, "wrong": 0, "errors": [],
    }  # fmt: skip
    history = json.loads(loci("memory", "history", "l1", "--namespace", namespace, "--json").stdout)
    assert [row["content"] for row in history] == [f"fact {n}" for n in range(1, 50, 7)]


def test_import_again_folds_exact_duplicates(loci: Loci, namespace: str, tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text('{"content": "one"}\n{"content": "two"}\n')
    loci("import", str(path), "-n", namespace)
    again = json.loads(loci("import", str(path), "-n", namespace, "--json").stdout)
    assert again["duplicates"] == 2
    assert contents(loci, namespace) == ["one", "two"]


@pytest.mark.row("M4")
def test_import_says_what_duplicates_did_not_take_over_and_what_was_cut_short(loci: Loci, namespace: str) -> None:
    lines = [
        {"content": "one"},
        {"content": "one", "tags": ["a"]},
        {"content": "one", "tags": ["b"], "on_duplicate": "update"},
        {"content": "later", "lineage": "l", "valid_from": "2020-05-01"},
        {"content": "across", "lineage": "l", "valid_from": "2020-03-01", "valid_to": "2020-09-01"},
    ]
    said = loci("import", "-", "-n", namespace, input="\n".join(map(json.dumps, lines))).stdout
    assert "1 memories were known already, with fields stated otherwise" in said
    assert "1 memories were valid only until a later version" in said


def test_import_into_an_unknown_namespace_says_so_before_reading(loci: Loci, bad_file: str) -> None:
    result = loci("import", bad_file, "--namespace", "nowhere")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: namespace 'nowhere' does not exist\nhint: ")


@pytest.mark.row("CLI")
def test_demo_twice_changes_nothing(loci: Loci) -> None:
    first = loci("demo")
    assert first.exit_code == 0, first.stderr
    statement = "select id, version, observations, updated_at from loci_data.memories order by id"
    state = loci.rows(statement), loci.count("entities"), loci.count("edges")
    second = loci("demo")
    assert (second.exit_code, second.stdout) == (0, "the demo is loaded already\n")
    assert (loci.rows(statement), loci.count("entities"), loci.count("edges")) == state


def test_demo_shows_the_graph_the_chain_and_the_hierarchy(loci: Loci) -> None:
    loci("demo")
    walked = loci("traverse", "Alice", "--hops", "2").stdout.splitlines()
    assert walked[:2] == ["Alice --works_on--> RockBot (confidence=0.90)", "Alice --knows--> Bob (confidence=0.75)"]
    assert "RockBot --uses--> RabbitMQ (confidence=0.85)" in walked
    ways = loci("traverse", "--text", "What is Alice up to?", "--paths").stdout.splitlines()
    assert ways[0] == "Alice --works_on--> RockBot (confidence=0.90)  score=0.90: Alice --works_on--> RockBot"
    assert any(line.endswith("score=0.76: Alice --works_on--> RockBot --uses--> RabbitMQ") for line in ways)
    assert {row["type"]: row["edges"] for row in json.loads(loci("edge-type", "list", "--json").stdout)}["knows"] > 0
    technologies = json.loads(loci("--json", "traverse", "Alex", "-t", "works_on", "-t", "uses").stdout)
    assert {"PostgreSQL", "Typesense", "Node.js"} < {edge["target"] for edge in technologies["edges"]}
    chain = json.loads(loci("memory", "history", "alice-location", "--json").stdout)
    assert [row["content"] for row in chain] == ["Alice lives in Lisbon", "Alice lives in Berlin", "Alice lives in Porto"]
    then = json.loads(loci("recall", "where does Alice live", "--as-of", "2024-01-01", "--json").stdout)["results"]
    assert {row["content"] for row in then} & {row["content"] for row in chain} == {"Alice lives in Berlin"}
    found = json.loads(loci("recall", "technical skills", "--k", "8", "--explain", "--json").stdout)["results"]
    assert {"Functional Programming", "experienced with Haskell", "has used Erlang"} <= {row["content"] for row in found}
    assert all(row["explain"]["arms"] for row in found)
    rule = loci("recall", "What does RockBot use?", "--min-relevance", "1").stdout.splitlines()[-1]
    assert rule.split("  ") == ["RockBot", "Deployment", "Deploys only after two reviews"]
    rules = json.loads(loci("recall", "What does RockBot use?", "--json").stdout)["constraints"]
    assert [row["content"] for row in rules] == ["Deploys only after two reviews"]


def test_every_memory_entity_and_edge_of_the_demo_is_what_import_accepts() -> None:
    from service.transfer.import_lines import KINDS

    _, kinds = read_demo()
    for name, kind in KINDS.items():
        for item in kinds[name]:
            kind.model.model_validate({key: value for key, value in item.items() if key not in {"parent", "observed_days_ago"}})


def test_key_is_printed_once_and_only_its_hash_is_stored(loci: Loci, namespace: str) -> None:
    result = loci("key", "create", "--namespace", namespace, "--role", "reader", "--name", "robot")
    key = result.stdout.strip()
    assert key.startswith("loci_")
    stored = loci.rows("select k::text as row, k.hash from loci_data.api_keys k where name = 'robot'")
    assert [row["hash"] for row in stored] == [sha256(key.encode()).digest()]
    assert key not in stored[0]["row"]
    assert key.split("_", 2)[2] not in stored[0]["row"]
    listed = loci("key", "list", "--namespace", namespace, "--json")
    assert key not in listed.stdout
    [shown] = json.loads(listed.stdout)
    assert (shown["name"], shown["role"], shown["revoked_at"]) == ("robot", "reader", None)
    assert loci("key", "revoke", shown["id"], "--namespace", namespace).exit_code == 0
    assert json.loads(loci("key", "list", "--namespace", namespace, "--json").stdout)[0]["revoked_at"] is not None


@pytest.mark.row("CLI")
@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["recal", "x"], "recall"),
        (["namespace", "creat", "x"], "create"),
        (["recall", "x", "--namespce", "y"], "--namespace"),
        (["key", "create", "--rol", "reader"], "--role"),
        (["--jsno", "recall", "x"], "--json"),
        (["serve", "--prot", "1"], "--port"),
    ],
)
def test_a_wrong_command_or_option_says_what_was_meant(loci: Loci, arguments: list[str], meant: str) -> None:
    result = loci(*arguments)
    assert result.exit_code == 2
    assert "Did you mean" in result.stderr
    assert meant in result.stderr.split("Did you mean")[1]


@pytest.mark.row("CLI")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["traverse", "Nobody Known"], "error: entity 'Nobody Known' does not exist"),
        (["memory", "history", "no-such-lineage"], "error: no memory and no lineage 'no-such-lineage'"),
        (["recall", "x", "--namespace", "nowhere"], "error: namespace 'nowhere' does not exist"),
        (["import", "/no/such/file"], "error: No such file or directory: /no/such/file"),
        (["namespace", "set", "default", "bogus=1"], "error: unknown setting 'bogus'"),
        (["namespace", "set", "default", "rfr_k=1"], "error: unknown setting 'rfr_k'; the nearest is 'rrf_k'"),
        (
            ["namespace", "set", "default", "rrf_k=abc"],
            'error: setting rrf_k must be a number of at least 0, not "abc"; its default is 5',
        ),
        (
            ["namespace", "set", "default", "depth=1.5"],
            "error: setting depth must be an integer from 0 to 10000, not 1.5; its default",
        ),
        (
            ["namespace", "set", "default", "recall_log=1"],
            "error: setting recall_log must be true or false, not 1; its default is false",
        ),
        (["namespace", "set", "default", "supersession=x"], "error: setting supersession must be "),
        (["namespace", "set", "default", "weights=1"], "error: setting weights must be an object, not 1; "),
        (["namespace", "create", "Not A Name"], "error: name: "),
    ],
)
def test_an_error_is_one_line_without_a_traceback(loci: Loci, arguments: list[str], message: str) -> None:
    result = loci(*arguments)
    assert result.exit_code == 1
    assert result.stderr.splitlines()[0].startswith(message)
    assert "Traceback" not in result.output
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["key", "create", "--role", "boss"], "Invalid value for '--role': 'boss' is not one of 'reader', 'writer', 'admin'."),
        (["key", "create", "--expires", "soon"], "Invalid value for '--expires': 'soon' is not a date or time such as "),
        (["grant", "set", "someone", "--role", "boss"], "Invalid value for '--role': 'boss' is not one of "),
    ],
)
def test_a_wrong_value_of_an_option_is_told_without_the_words_of_a_library(loci: Loci, arguments: list[str], message: str) -> None:
    result = loci(*arguments)
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].startswith(f"Error: {message}")


def test_a_check_of_ours_speaks_without_the_prefix_of_the_library() -> None:
    class Wrong(BaseModel):
        name: str

        @field_validator("name")
        @classmethod
        def _never(cls, _: str) -> str:
            raise ValueError("must be a name of ours")

    with pytest.raises(ValidationError) as found:
        Wrong(name="x")
    assert explain_error(found.value) == ("name: must be a name of ours", None)


def test_an_unreachable_database_is_one_line(loci: Loci, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://loci_app@127.0.0.1:1/loci")
    result = loci("recall", "x")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: cannot reach the database: ")
    assert len(result.stderr.splitlines()) == 2


def test_namespace_delete_asks_first(loci: Loci) -> None:
    loci("namespace", "create", "doomed", "--set", "rrf_k=20")
    assert json.loads(loci("namespace", "show", "doomed", "--json").stdout)["settings"]["rrf_k"] == 20
    assert loci("namespace", "delete", "doomed", input="n\n").exit_code == 1
    assert loci("namespace", "show", "doomed").exit_code == 0
    assert loci("namespace", "delete", "doomed", "--yes").exit_code == 0
    assert loci("namespace", "show", "doomed").exit_code == 1


@pytest.mark.row("G13")
def test_namespace_setting_goes_back_to_its_default(loci: Loci, namespace: str) -> None:
    default = json.loads(loci("namespace", "show", namespace, "--json").stdout)["settings"]["rrf_k"]
    loci("namespace", "set", namespace, "rrf_k=33")
    assert json.loads(loci("namespace", "show", namespace, "--json").stdout)["settings"]["rrf_k"] == 33
    loci("namespace", "set", namespace, "rrf_k=")
    assert json.loads(loci("namespace", "show", namespace, "--json").stdout)["settings"]["rrf_k"] == default


def test_migrate_refuses_the_services_connection(loci: Loci, monkeypatch: pytest.MonkeyPatch) -> None:
    result = loci("migrate")
    assert result.exit_code == 1
    assert "LOCI_MIGRATION_URL" in result.stderr
    get_settings.cache_clear()
    monkeypatch.setenv("LOCI_MIGRATION_URL", loci.database.app_url)
    result = loci("migrate")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: the role of LOCI_MIGRATION_URL lacks rights: ")


def test_psql_print_gives_the_uri(loci: Loci) -> None:
    assert loci("psql", "--print").stdout.strip() == loci.database.app_url


@pytest.mark.row("CLI")
def test_doctor_names_what_is_wrong(loci: Loci, monkeypatch: pytest.MonkeyPatch) -> None:
    well = loci("doctor", "--json")
    checks = {check["name"]: check["ok"] for check in json.loads(well.stdout)}
    made = {
        "database",
        "role",
        "migrations",
        "indexes",
        "pgvector",
        "citus",
        "pooler",
        "embedding",
        "reranker",
        "active model",
        "model",
        "queue",
        "worker",
        "jobs",
        "words",
        "standbys",
        "service",
    }
    assert made == set(checks)
    assert all(ok for name, ok in checks.items() if name != "worker")
    with psycopg.connect(loci.database.admin_url) as admin:
        admin.execute("update loci_data.namespaces set indexed_by = 15 where name = 'default'")
    get_settings.cache_clear()
    monkeypatch.setenv("DATABASE_URL", loci.database.admin_url)
    ill = loci("doctor", "--json")
    assert ill.exit_code == 1
    said = {check["name"]: check["detail"] for check in json.loads(ill.stdout) if not check["ok"]}
    assert "superuser" in said["role"]
    assert said["words"] == "namespaces indexed 1 by PostgreSQL 15: run `loci verify --repair`"
    assert loci("verify", "--repair").exit_code == 0
    assert "words" not in [check["name"] for check in json.loads(loci("doctor", "--json").stdout) if not check["ok"]]


def test_doctor_says_of_an_address_that_is_none_which_it_is_and_not_what_it_holds(
    loci: Loci, monkeypatch: pytest.MonkeyPatch
) -> None:
    get_settings.cache_clear()
    monkeypatch.setenv("LOCI_READ_URL", "secret-word")
    said = loci("doctor", "--json")
    (told,) = [check for check in json.loads(said.stdout) if check["name"].startswith("standby")]
    assert told == {"name": "standby 1", "ok": False, "detail": "what LOCI_READ_URL has there is no address of a database"}
    assert "secret-word" not in said.output


@pytest.mark.row("M6")
def test_verify_proves_the_promises_and_repairs_the_closure(loci: Loci, namespace: str, tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text("\n".join(json.dumps({"content": name, "lineage": name}) for name in ("top", "middle", "leaf")))
    loci("import", str(path), "-n", namespace)
    ids = {
        name: json.loads(loci("memory", "history", name, "-n", namespace, "--json").stdout)[0]["id"]
        for name in ("top", "middle", "leaf")
    }
    with psycopg.connect(loci.database.admin_url) as admin:
        for child, parent in (("leaf", "middle"), ("middle", "top")):
            admin.execute(
                """insert into loci_data.memory_placements (namespace_id, node_id, parent_id, recorded_at)
                   select id, %s, %s, now() from loci_data.namespaces where name = %s""",
                [ids[child], ids[parent], namespace],
            )
    assert loci("verify", "-n", namespace).exit_code == 0
    with psycopg.connect(loci.database.admin_url) as admin:
        admin.execute("delete from loci_data.memory_closure where descendant_id = %s and depth = 2", [ids["leaf"]])
        admin.execute("update loci_data.memory_closure set depth = 7 where descendant_id = %s and depth = 1", [ids["middle"]])
    broken = loci("verify", "-n", namespace, "--json")
    assert broken.exit_code == 1
    assert {row["name"]: row["broken"] for row in json.loads(broken.stdout) if row["broken"]} == {"closure": 3}
    repaired = loci("verify", "-n", namespace, "--repair", "--json")
    assert repaired.exit_code == 0, repaired.stderr
    assert [row["repaired"] for row in json.loads(repaired.stdout) if row["name"] == "closure"] == [3]
    assert loci("verify", "-n", namespace).exit_code == 0
    assert "closure" in loci("verify").stdout
