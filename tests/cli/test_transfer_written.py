"""Files that programs of today wrote, each named with its version, are read right: tests/data/written.

Those of Zep are made by the models of its client, because its server is nobody's to run; texts that Claude Code writes for itself are
taken out of its session, and so are the prompts of Letta. Letta and OpenMemory are Apache-2.0, as mem0 and Graphiti are.
"""

import json
import sqlite3
import zipfile
from pathlib import Path
from typing import Any

import pytest

from service.transfer.foreign.records import Entity, Link, Memory, Turn
from service.transfer.foreign.sources import open_source
from tests.catalogue import ROOT
from tests.cli.conftest import Loci
from tests.cli.test_transfer_foreign import FACTS, imported
from tests.cli.test_transfer_formats import read

WRITTEN = ROOT / "tests" / "data" / "written"
DATABASES = {"mem0-2.2.1-history.sql", "openmemory-2026-07.sql"}  # as text
PERSONA = "This is a blank starter personality. You must ask the user to provide a personality prompt or preference."
NOT_KNOWN_YET = """I haven't gotten to know this person yet.

I'm curious about them - not just their preferences, but who they are. What are they building and why does it matter to them? What's their background? How do they like to work? What frustrates them? What excites them?

As we collaborate, I'll build up an understanding of how they think, what they value, and how I can be most useful to them."""
EXPECTED: dict[str, tuple[list[tuple[str, ...]], list[str]]] = {  # what is read of a file, and what has no place
    "mem0-2.2.1-get-all.json": ([("Lives in Braga", "mira", "mira"), ("I own a canoe", "mira", "")], ["hash"]),
    "graphiti-core-0.31.2.json": (
        [("Mira: I moved to Braga.", "chat", ""), ("Mira lives in Braga", "graphiti", "Mira Okafor"), ("Mira lived in Braga before", "graphiti", "Mira Okafor")],
        [],
    ),
    "zep-cloud-4.0.1-edges.json": ([("Mira lives in Braga", "graphiti", "Mira Okafor"), ("Mira lived in Porto", "graphiti", "Mira Okafor")], []),
    "zep-cloud-4.0.1-episodes.json": ([("I moved to Braga.", "Mira", "")], []),
    "zep-cloud-4.0.1-nodes.json": ([], []),
    "langgraph-1.2.24-items.json": ([("Lives in Braga", "", ""), ('{"name": "Mira", "city": "Braga"}', "", "")], []),
    "claude-code-2.1.197.jsonl": ([], []),
    "letta-0.16.8.af": ([("Lives in Braga", "user", ""), ("I am a desk clerk.", "desk", "")], ["system prompts", "tools"]),
    "letta-0.16.8-messages.json": ([], []),
    "letta-code-0.34.12.zip": ([(NOT_KNOWN_YET, "user", ""), (PERSONA, "desk", "")], []),
    "openmemory-2026-07.zip": (
        [("Lives in Braga", "cursor", "mira"), ("Works at Loom", "cursor", "mira"), ("Likes rain", "cursor", "mira"), ("I own a canoe", "mira", "")],
        ["access lists", "changes of states"],
    ),
}  # fmt: skip


def database(folder: Path, name: str) -> Path:
    """A SQLite database that a program wrote, as the file that it was."""
    path = folder / "database"
    with sqlite3.connect(path) as made:
        made.executescript((WRITTEN / name).read_text())
    made.close()
    return path


@pytest.mark.parametrize("name", EXPECTED)
def test_files_of_todays_programs_are_recognised_and_read(name: str) -> None:
    found, notes = read(WRITTEN / name)
    memories = [(record.content, record.source or "", record.about or "") for record in found if isinstance(record, Memory)]
    assert (memories, sorted(notes.no_place), notes.errors) == (*EXPECTED[name], [])


def test_every_file_that_a_program_wrote_is_looked_at() -> None:
    assert {path.name for path in WRITTEN.iterdir()} == {*EXPECTED, *DATABASES}


def test_a_session_of_claude_code_is_its_words_and_nothing_that_it_writes_for_itself() -> None:
    found, _ = read(WRITTEN / "claude-code-2.1.197.jsonl")
    assert [(record.role, record.content) for record in found if isinstance(record, Turn)] == [
        ("user", "I moved to Braga."),
        ("assistant", "Braga it is."),
        ("user", "Where do I live?"),
        ("assistant", "Braga it is."),
    ]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "letta-0.16.8.af",
            [("desk", "assistant", "More human than human is our motto."), ("desk", "user", "I moved to Braga."), ("desk", "assistant", "Braga it is.")],
        ),
        (
            "letta-0.16.8-messages.json",
            [("letta", "assistant", "More human than human is our motto."), ("letta", "user", "I moved to Braga."), ("letta", "assistant", "Braga it is.")],
        ),
        (
            "letta-code-0.34.12.zip",
            [
                ("desk/local-conv-1", "user", "I moved to Braga."),
                ("desk/local-conv-1", "assistant", "Let me look."),
                ("desk/local-conv-1", "assistant", "Braga it is."),
                ("desk/local-conv-2", "user", "Where do I live?"),
                ("desk/local-conv-2", "assistant", "Braga it is."),
            ],
        ),
    ],
)  # fmt: skip
def test_turns_of_a_letta_agent_are_its_words_alone(name: str, said: list[tuple[str, str, str]]) -> None:
    found, _ = read(WRITTEN / name)
    assert [(record.session, record.role, record.content) for record in found if isinstance(record, Turn)] == said


def test_keys_that_lie_beside_the_memory_of_letta_are_neither_read_nor_sent(tmp_path: Path) -> None:
    with zipfile.ZipFile(WRITTEN / "letta-code-0.34.12.zip") as packed:
        packed.extractall(tmp_path)
    assert (tmp_path / "providers" / "auth.json").exists()
    for source in (open_source(tmp_path), open_source(WRITTEN / "letta-code-0.34.12.zip")):
        with source.stack:
            assert not [file.path for file in source.files if file.path.endswith("auth.json")]


def test_a_block_and_a_memory_file_of_an_agent_are_one_lineage() -> None:
    lineages = [
        {record.lineage for record in read(WRITTEN / name)[0] if isinstance(record, Memory)}
        for name in ("letta-0.16.8.af", "letta-code-0.34.12.zip")
    ]
    assert lineages == [{"desk/human", "desk/persona"}] * 2


def test_a_backup_of_openmemory_and_its_database_say_the_same(loci: Loci, namespace: str, tmp_path: Path) -> None:
    backup, notes = read(WRITTEN / "openmemory-2026-07.zip")
    stored, others = read(database(tmp_path, "openmemory-2026-07.sql"))
    assert sorted(map(_told, backup)) == sorted(map(_told, stored))
    assert (notes.no_place, notes.skipped) == (others.no_place, others.skipped)
    assert notes.skipped == {"memories that were deleted there": 1}
    first = imported(loci, WRITTEN / "openmemory-2026-07.zip", namespace)
    again = imported(loci, tmp_path / "database", namespace)
    assert (first["written"]["memories"], first["wrong"], sum(again["written"].values())) == (4, 0, 0)


def _told(record: Any) -> tuple[Any, ...]:
    """What a memory says, whichever file it was in."""
    return (
        record.key,
        record.content,
        record.source,
        record.about,
        sorted(record.tags),
        record.valid_to,
        record.made,
        str(record.metadata),
    )


def test_pages_of_zep_meet_in_their_graph() -> None:
    found = [record for kind in ("nodes", "episodes", "edges") for record in read(WRITTEN / f"zep-cloud-4.0.1-{kind}.json")[0]]
    assert [(record.name, record.type) for record in found if isinstance(record, Entity)] == [("Mira Okafor", "person")]
    assert {(record.source, record.target) for record in found if isinstance(record, Link)} == {("f-1", "e-1"), ("f-2", "e-1")}
    lived = next(record for record in found if isinstance(record, Memory) and record.key == "f-2")
    assert (str(lived.valid_from)[:10], str(lived.valid_to)[:10], lived.category) == ("2023-01-01", "2026-01-12", "g-1/lives_in")
    _, notes = read(WRITTEN / "zep-cloud-4.0.1-edges.json")
    assert notes.remarks  # it is one page of several


@pytest.mark.parametrize("history_first", [True, False])
def test_both_exports_of_mem0_meet_in_their_versions(loci: Loci, namespace: str, tmp_path: Path, history_first: bool) -> None:
    paths = [database(tmp_path, "mem0-2.2.1-history.sql"), WRITTEN / "mem0-2.2.1-get-all.json"]
    reports = [imported(loci, path, namespace) for path in (paths if history_first else paths[::-1])]
    assert [report["wrong"] for report in reports] == [0, 0]
    found = loci.rows(FACTS, namespace)
    assert sorted((row["content"], row["valid_to"] is None) for row in found) == [
        ("I own a canoe", True),
        ("Lives in Braga", True),
        ("Lives in Porto", False),
        ("Nice.", False),
    ]


# The report


COUNTED = """select (select count(*) from loci_data.entities e where e.namespace_id = n.id)::integer as entities,
                    (select count(*) from loci_data.edges e where e.namespace_id = n.id)::integer as edges,
                    (select count(*) from loci_data.memories m where m.namespace_id = n.id)::integer as memories,
                    (select count(*) from loci_data.conversation_turns t where t.namespace_id = n.id)::integer as turns
             from loci_data.namespaces n where n.name = %s"""
TRIPLES = [
    {"namespace": ["a"], "key": str(n), "value": {"kind": "Triple", "content": {"subject": "Ada", "predicate": "uses", "object": each}}}
    for n, each in enumerate(["Loom", "Pen", "Loom"])
]  # fmt: skip
RELATIONS = {"entities": [{"name": "Ada", "entityType": "person", "observations": []}],
             "relations": [{"from": "Ada", "to": "Loom", "relationType": "uses"}, {"from": "Bo", "to": "Loom", "relationType": "uses"}]}  # fmt: skip
OLD_GRAPH = {"results": [], "relations": [{"source": "ada", "relationship": "knows", "destination": "bo"}]}


@pytest.mark.parametrize("dry", [False, True])
@pytest.mark.parametrize(
    "content", [TRIPLES, RELATIONS, OLD_GRAPH, json.loads((WRITTEN / "graphiti-core-0.31.2.json").read_text())], ids=["triples", "relations", "old graph", "facts"]
)  # fmt: skip
def test_the_report_counts_everything_that_is_new(loci: Loci, namespace: str, tmp_path: Path, content: Any, dry: bool) -> None:
    (tmp_path / "x").write_text(json.dumps(content))
    if dry:
        said = imported(loci, tmp_path / "x", namespace, "--dry-run")["written"]
    report = imported(loci, tmp_path / "x", namespace)
    (there,) = loci.rows(COUNTED, namespace)
    assert {kind: report["written"][kind] for kind in there} == there
    assert not dry or said == report["written"]
    assert sum(imported(loci, tmp_path / "x", namespace)["written"].values()) == 0


def test_an_export_that_comes_in_under_another_name_reports_all_its_rows(loci: Loci, namespace: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_text((WRITTEN / "graphiti-core-0.31.2.json").read_text())
    imported(loci, tmp_path / "x", namespace)
    loci("import", str(WRITTEN / "claude-code-2.1.197.jsonl"), "-n", namespace)
    lines = loci("export", "-n", namespace).stdout
    (tmp_path / "export.jsonl").write_text(lines)
    kinds = [json.loads(line)["kind"] for line in lines.splitlines()]
    done = loci("import", str(tmp_path / "export.jsonl"), "-n", f"{namespace}-b", "--json")
    report = json.loads(done.stdout)
    rows = {kind: kinds.count(kind) for kind in kinds if kind not in ("namespace", "end")}
    assert ({kind: count for kind, count in report["written"].items() if count}, report["created"]) == (rows, True)
    assert (report["namespace"], report["lines"], sum(report["unchanged"].values())) == (f"{namespace}-b", len(kinds), 0)
    again = json.loads(loci("import", str(tmp_path / "export.jsonl"), "-n", f"{namespace}-b", "--json").stdout)
    assert (sum(again["written"].values()), sum(again["unchanged"].values())) == (0, sum(rows.values()))
