"""`loci import` of what other memory systems have written, and `loci export` to a folder that git can hold."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Loci
from tests.transfer.foreign import GRAPHITI, MCP, SAMPLES, mem0_history

FACTS = """select m.content, m.valid_from::text, m.valid_to::text, m.source, m.session_id, m.metadata, m.version, m.observations
           from loci_data.memories m join loci_data.namespaces n on n.id = m.namespace_id where n.name = %s order by m.doc_id"""


def imported(loci: Loci, path: Path, namespace: str, *options: str) -> dict[str, Any]:
    """What an import reports."""
    result = loci("import", str(path), "-n", namespace, "--json", *options)
    assert result.stdout, result.stderr
    report: dict[str, Any] = json.loads(result.stdout)
    assert result.exit_code == (1 if report["wrong"] else 0)
    return report


def exported(loci: Loci, namespace: str) -> list[str]:
    """Everything in a namespace."""
    return loci("export", "-n", namespace).stdout.splitlines()[1:]


@pytest.mark.row("X10")
def test_everything_that_is_good_goes_in_and_a_second_time_nothing_is_written(loci: Loci, namespace: str, tmp_path: Path) -> None:
    paths = [sample.write(tmp_path) for sample in SAMPLES] + [mem0_history(tmp_path / "history")]
    first = [imported(loci, path, namespace) for path in paths]
    assert [report["format"] for report in first] == [*(sample.format for sample in SAMPLES), "mem0-history"]
    done: Counter[str] = Counter()
    for report in first:
        for what in ("written", "merged", "there"):
            done.update(report[what])
    assert done["memories"] == sum(sample.made.get("Memory", 0) for sample in SAMPLES) + 3 - 1  # an id that is there twice
    assert done["turns"] == sum(sample.made.get("Turn", 0) for sample in SAMPLES)
    before = exported(loci, namespace)
    again = [imported(loci, path, namespace) for path in paths]
    assert [sum(report["written"].values()) for report in again] == [0] * len(paths)
    assert exported(loci, namespace) == before


@pytest.mark.row("X10")
def test_a_dry_run_says_what_the_import_then_does_and_writes_nothing(loci: Loci, namespace: str, tmp_path: Path) -> None:
    path = next(sample for sample in SAMPLES if sample.name == "mcp-lines").write(tmp_path)
    before = exported(loci, namespace)
    said = imported(loci, path, namespace, "--dry-run")
    assert exported(loci, namespace) == before
    did = imported(loci, path, namespace)
    parts = ("written", "merged", "there", "skipped", "errors")
    assert {part: said[part] for part in parts} == {part: did[part] for part in parts}
    assert did["written"]["memories"] == 3  # two entities may say the same


def test_an_atomic_import_with_a_broken_item_writes_nothing(loci: Loci, namespace: str, tmp_path: Path) -> None:
    path = next(sample for sample in SAMPLES if sample.name == "mcp-lines").write(tmp_path)
    assert sum(imported(loci, path, namespace, "--atomic")["written"].values()) == 0
    assert loci.rows(FACTS, namespace) == []


def test_the_same_words_of_two_entities_are_a_memory_each_and_reinforce_none(loci: Loci, namespace: str, tmp_path: Path) -> None:
    loci("import", "-", "-n", namespace, input='{"content": "Plays the harp"}')
    (tmp_path / "x").write_text(MCP)
    report = imported(loci, tmp_path / "x", namespace)
    assert (report["merged"]["memories"], report["written"]["memories"]) == (0, 3)
    said = [row for row in loci.rows(FACTS, namespace) if row["content"] == "Plays the harp"]
    assert {row["observations"] for row in said} == {1}
    mentions = "select e.name from loci_data.memory_mentions m join loci_data.entities e on e.id = m.entity_id join loci_data.memories o on o.id = m.memory_id join loci_data.namespaces n on n.id = o.namespace_id where n.name = %s and o.content = 'Plays the harp'"
    named = {row["name"] for row in loci.rows(mentions, namespace)}
    assert (named, len(said)) == ({"Ada Byron"}, 3)


def test_edges_that_memories_state_are_counted_once_when_they_are_new(loci: Loci, namespace: str, tmp_path: Path) -> None:
    edge = {"source_node_uuid": "n-1", "target_node_uuid": "n-2"}
    more = [
        {"uuid": "f-5", "name": "WORKS_IN", "fact": "Ada works in London", **edge},
        {"uuid": "f-6", "name": "MOVED_TO", "fact": "Ada moved to London", **edge},
    ]
    (tmp_path / "x").write_text(json.dumps({**GRAPHITI, "edges": GRAPHITI["edges"] + more}))
    said = imported(loci, tmp_path / "x", namespace, "--dry-run")
    did = imported(loci, tmp_path / "x", namespace)
    count = "select count(*)::integer as edges from loci_data.edges e join loci_data.namespaces n on n.id = e.namespace_id where n.name = %s"
    assert loci.rows(count, namespace) == [{"edges": 3}]
    assert [(report["written"]["edges"], report["there"]["edges"]) for report in (said, did)] == [(3, 1)] * 2  # two say one
    again = imported(loci, tmp_path / "x", namespace)
    assert (again["written"]["edges"], again["there"]["edges"]) == (0, 4)


def test_edges_of_a_memory_that_says_what_is_known_are_counted(loci: Loci, namespace: str, tmp_path: Path) -> None:
    loci("import", "-", "-n", namespace, input='{"content": "Ada uses a loom"}')
    ends = {"source_node_uuid": "a", "target_node_uuid": "b", "source_node_name": "Ada", "target_node_name": "Loom"}
    facts = [{"uuid": f"z-{n}", "name": name, "fact": "Ada uses a loom", **ends} for n, name in enumerate(["USES", "OWNS", "USES"])]
    (tmp_path / "x").write_text(json.dumps(facts))
    report = imported(loci, tmp_path / "x", namespace)
    assert (report["written"]["edges"], report["there"]["edges"]) == (2, 1)


@pytest.mark.row("X10")
def test_times_sources_and_sessions_survive(loci: Loci, namespace: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_text(json.dumps(GRAPHITI))
    imported(loci, tmp_path / "x", namespace)
    lived = next(row for row in loci.rows(FACTS, namespace) if row["content"] == "Ada lives in London")
    assert (lived["valid_from"][:10], lived["valid_to"][:10]) == ("2026-01-01", "2026-03-01")
    assert lived["metadata"]["source_created_at"] == "2026-01-12T08:00:11+00:00"
    episode = next(row for row in loci.rows(FACTS, namespace) if row["content"] == "Ada: I moved.")
    assert (episode["source"], episode["session_id"], episode["valid_from"][:10]) == ("chat", "talk", "2026-01-12")
    edges = "select e.type, count(o.id)::integer as evidence from loci_data.edges e join loci_data.namespaces n on n.id = e.namespace_id join loci_data.edge_observations o on o.edge_id = e.id where n.name = %s group by e.id, e.type"
    assert loci.rows(edges, namespace) == [{"type": "lives_in", "evidence": 2}]


@pytest.mark.parametrize(("options", "year"), [((), "now"), (("--valid-from-created",), "2025")])
def test_creation_is_validity_only_where_that_is_said(
    loci: Loci, namespace: str, tmp_path: Path, options: tuple[str, ...], year: str
) -> None:
    item = {"id": "m-1", "memory": "Ada lives in London", "created_at": "2025-01-02T03:04:05Z"}
    (tmp_path / "x").write_text(json.dumps({"results": [item]}))
    imported(loci, tmp_path / "x", namespace, *options)
    (row,) = loci.rows(FACTS, namespace)
    assert (row["valid_from"][:4] == "2025") is (year == "2025")


def test_a_newer_file_makes_new_versions_and_files_of_two_accounts_stay_apart(loci: Loci, namespace: str, tmp_path: Path) -> None:
    def page(text: str, at: str) -> Path:
        (tmp_path / "x").write_text(json.dumps({"results": [{"id": "m-1", "memory": text, "updated_at": at}]}))
        return tmp_path / "x"

    imported(loci, page("Lives in Paris", "2025-01-01"), namespace)
    imported(loci, page("Lives in London", "2026-01-01"), namespace)
    imported(loci, page("Lives in London", "2026-01-01"), namespace, "--account", "other")
    imported(loci, page("Lives in Paris", "2025-01-01"), namespace)  # the old file again
    assert [(row["content"], row["version"]) for row in loci.rows(FACTS, namespace)] == [
        ("Lives in Paris", 1),
        ("Lives in London", 2),
        ("Lives in London", 1),
    ]


@pytest.mark.parametrize("history_first", [True, False])
def test_the_newer_fact_is_current_in_both_exports_of_mem0(loci: Loci, namespace: str, tmp_path: Path, history_first: bool) -> None:
    page = {"id": "m-1", "memory": "Lives in London", "created_at": "2025-09-01T12:00:00Z", "updated_at": "2026-03-02T17:00:00Z"}
    (tmp_path / "page").write_text(json.dumps({"results": [page]}))
    paths = [mem0_history(tmp_path / "history"), tmp_path / "page"]
    for path in paths if history_first else paths[::-1]:
        loci("import", str(path), "-n", namespace)
    home = [row for row in loci.rows(FACTS, namespace) if row["content"].startswith("Lives")]
    assert {(row["content"], row["valid_from"][:10], (row["valid_to"] or "")[:10]) for row in home} == {
        ("Lives in Paris", "2025-09-01", "2026-03-02"),
        ("Lives in London", "2026-03-02", ""),
    }


@pytest.mark.parametrize("turned", [False, True])
def test_a_memory_that_another_replaced_is_over_whichever_page_comes_first(
    loci: Loci, namespace: str, tmp_path: Path, turned: bool
) -> None:
    old = {"id": "m-1", "memory": "Lives in Paris", "created_at": "2025-01-01T00:00:00Z"}
    new = {"id": "m-2", "memory": "Lives in London", "created_at": "2026-01-01T00:00:00Z"}
    pages = [[old], [{**old, "updated_at": "2026-01-01T00:00:00Z", "replaced_by": "m-2"}, new]]
    for page in pages[::-1] if turned else pages:
        (tmp_path / "x").write_text(json.dumps({"results": page}))
        imported(loci, tmp_path / "x", namespace)
    assert [row["content"] for row in loci.rows(FACTS, namespace) if row["valid_to"] is None] == ["Lives in London"]


def test_texts_that_no_database_takes_are_mended_and_counted(loci: Loci, namespace: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_text('{"type":"entity","name":"A\\u0000da","entityType":"","observations":["half \\ud800 of it"]}')
    report = imported(loci, tmp_path / "x", namespace)
    assert [row["content"] for row in loci.rows(FACTS, namespace)] == ["half \ufffd of it"]
    assert sum(report["no_place"].values()) > 0


def test_an_unknown_format_is_answered_with_what_to_do(loci: Loci, namespace: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text("nothing")
    refused = loci("import", str(tmp_path / "folder"), "-n", namespace)
    assert (refused.exit_code, "of no format that is known" in refused.stderr) == (1, True)
    misspelt = loci("import", str(tmp_path / "folder"), "-n", namespace, "--from", "chatgtp")
    assert (misspelt.exit_code, "Did you mean chatgpt?" in misspelt.stderr) == (1, True)
    assert "claude-code" in loci("import", "-", "--from", "list").stdout


# Markdown


def folder(loci: Loci, namespace: str, target: Path) -> dict[str, bytes]:
    """What is in the folder after an export."""
    result = loci("export", "-n", namespace, "--format", "markdown", "--to", str(target))
    assert result.exit_code == 0, result.stderr
    return {path.relative_to(target).as_posix(): path.read_bytes() for path in sorted(target.rglob("*")) if path.is_file()}


@pytest.fixture
def filled(loci: Loci, namespace: str) -> str:
    """A namespace with lineages, with and without names, whose texts have what Markdown might stumble over."""
    lines = [
        {"content": "Ada lives in Paris", "lineage": "ada home", "category": "people/ada"},
        {
            "content": "Ada lives in London",
            "lineage": "ada home",
            "category": "people/ada",
            "tags": ["b", "a"],
            "metadata": {"z": 1, "a": ["x"]},
        },
        {"content": "---\na rule\r\nand no newline\n\n", "valid_from": "2025-01-01T00:00:00Z", "layer": 3, "session_id": "s"},
        {"content": "no: yaml", "importance": 0.25, "source": "1"},
    ]
    text = "\n".join(json.dumps(line) for line in lines)
    assert loci("import", "-", "-n", namespace, input=text).exit_code == 0
    return namespace


@pytest.mark.row("X10")
def test_two_exports_to_a_folder_are_the_same_and_taking_one_back_changes_nothing(loci: Loci, filled: str, tmp_path: Path) -> None:
    first = folder(loci, filled, tmp_path / "one")
    assert len(first) == 3
    assert folder(loci, filled, tmp_path / "two") == first == folder(loci, filled, tmp_path / "one")
    before = exported(loci, filled)
    report = imported(loci, tmp_path / "one", filled)
    assert (report["format"], report["there"]["memories"], report["wrong"]) == ("markdown", 3, 0)
    assert exported(loci, filled) == before
    assert loci("namespace", "create", f"{filled}-b").exit_code == 0
    imported(loci, tmp_path / "one", f"{filled}-b")
    there = {name: text.split(b"---\n", 2)[2] for name, text in folder(loci, f"{filled}-b", tmp_path / "three").items()}
    assert there == {name: text.split(b"---\n", 2)[2] for name, text in first.items()}


HOSTILE_NAMES = (
    *(
        "../../up",
        "/etc/passwd",
        "..",
        ".",
        "~root",
        "-rf",
        "a\\..\\b",
        "C:\\x",
        "con",
        "NUL.md",
        "a\nb",
        "\x1b[31mred",
        "a\u202egpj",
    ),
    *("%2e%2e%2fx", "$(id)", "`id`", "a" * 255, "🙂" * 60, "file.md/..", ".loci", "export.json", "*", "a "),
)


def test_exported_files_stay_in_the_folder_whatever_their_names(loci: Loci, namespace: str, tmp_path: Path) -> None:
    lines = [
        json.dumps({"content": f"{name} {at}", "lineage": name, "category": category, "tags": [name], "source": name})
        for at, name in enumerate(HOSTILE_NAMES)
        for category in ("../..", name.strip("/") if "//" not in name and name.strip("/ ") else "a")
    ]
    given = loci("import", "-", "-n", namespace, input="\n".join(lines))
    assert given.exit_code == 0, given.stderr + given.stdout
    target = tmp_path / "within" / "notes"
    written = folder(loci, namespace, target)
    assert len(written) >= len(HOSTILE_NAMES)
    everything = [path for path in tmp_path.rglob("*") if path.is_file() or path.is_symlink()]
    assert {path.relative_to(target).as_posix() for path in everything} == set(written)
    assert not [name for name in written if not re.fullmatch(r"[\w.-]+(/[\w.-]+)*", name) or "/." in f"/{name}" or len(name) > 400]
    assert not any(part.partition(".")[0].upper() in {"CON", "NUL", "AUX", "PRN"} for name in written for part in name.split("/"))


def test_an_edited_file_is_a_new_version_and_a_lineage_that_is_gone_loses_its_file(loci: Loci, filled: str, tmp_path: Path) -> None:
    target = tmp_path / "notes"
    names = list(folder(loci, filled, target))
    home = next(target / name for name in names if "ada-home" in name)
    home.write_bytes(home.read_bytes().replace(b"London", b"Rome"))
    (target / "mine.md").write_text("not of an export")
    assert imported(loci, target, filled)["written"]["memories"] == 1
    row = next(row for row in loci.rows(FACTS, filled) if row["content"] == "Ada lives in Rome")
    assert row["version"] == 3
    (gone,) = loci.rows(
        "select id::text from loci_data.memories where content = 'no: yaml' and namespace_id = (select id from loci_data.namespaces where name = %s)",
        filled,
    )
    assert loci("memory", "erase", gone["id"], "-n", filled, "--yes").exit_code == 0
    after = folder(loci, filled, target)
    assert len(after) == len(names)  # one less, and the reader's own
    assert b"Ada lives in Rome" in after[home.relative_to(target).as_posix()]
    assert "mine.md" in after
