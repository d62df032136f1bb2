"""Whose a memory of another system is: who says it, and whom it is about, as far as its file knows that."""

import json
from pathlib import Path
from typing import Any

import pytest

from service.transfer.foreign.speakers import begins_with_a_name, said_of_user
from tests.cli.conftest import Loci
from tests.cli.test_transfer_foreign import exported, imported
from tests.transfer.foreign import BASIC, COGX, GRAPHITI, LANGGRAPH, MCP, OKF, one, rows

pytestmark = pytest.mark.row("M11")

TOLD = """select m.content, m.source, m.about from loci_data.memories m join loci_data.namespaces n on n.id = m.namespace_id
          where n.name = %s order by m.content, m.about"""
ADA = {"user_id": "ada", "created_at": "2026-01-02T03:04:05Z"}
MEM0 = {
    "results": [
        {"id": "1", "memory": "Likes pizza", **ADA},
        {"id": "2", "memory": "User drives a van", **ADA, "agent_id": "desk"},
        {"id": "3", "memory": "Bob plays chess", **ADA},
        {"id": "4", "memory": "Keeps bees", **ADA, "agent_id": "desk"},
        {"id": "5", "memory": "Reads a lot", "agent_id": "desk"},
        {"id": "6", "memory": "Sings", "user_id": "0d9f7c52-7d3e-4f58-9a6a-1f1f6a0f8a11"},
    ]
}
SCOPED = [
    {"kind": "memory", "external_id": "m-1", "external_system": "mem0", "content": "Keeps bees", "scope": {"user_id": "ada"}},
    {"kind": "memory_block", "external_id": "m-2", "label": "human", "value": "I sing", "scope": {"user_id": "ada"}},
    {"kind": "document", "external_id": "m-3", "content": "Bees sting", "scope": {"user_id": "ada"}},
]
FACT = {
    "kind": "fact",
    "external_id": "f-1",
    "subject_ref": "n-1",
    "predicate": "is",
    "object_ref": "Countess",
    "fact_text": "A countess",
}
BLOCKS = [{"id": "b-0", "label": "human", "value": "Ada"}, {"id": "b-1", "label": "persona", "value": "I am the desk"}]
PASSAGE = {"id": "p-1", "text": "User sings", "archive_id": "a", "is_deleted": False, "created_at": "2026-01-01T00:00:00Z"}
FILES: dict[str, tuple[dict[str, str], set[tuple[str, str | None, str | None]]]] = {
    "mcp-memory": (
        one(MCP),
        {
            ("Plays the harp", "mcp-memory", "Ada Byron"),
            ("Plays the harp", "mcp-memory", "ada byron"),
            ("Writes notes on the engine", "mcp-memory", "Ada Byron"),
        },
    ),
    "mem0": (
        one(MEM0),
        {
            ("Likes pizza", "ada", "ada"),
            ("User drives a van", "ada", None),
            ("Bob plays chess", "ada", None),
            ("Keeps bees", "desk", "ada"),
            ("Reads a lot", "desk", None),
            ("Sings", "0d9f7c52-7d3e-4f58-9a6a-1f1f6a0f8a11", None),
        },
    ),
    "graphiti": (
        one(GRAPHITI),
        {
            ("Ada lives in London", "graphiti", "Ada"),
            ("Ada is in London again", "graphiti", "Ada"),
            ("Ada: I moved.", "chat", None),
        },
    ),
    "letta": (
        one({"agents": [{"name": "desk", "block_ids": ["b-0", "b-1"]}], "blocks": BLOCKS}),
        {("Ada", "user", None), ("I am the desk", "desk", None)},
    ),
    "letta-passages": (
        one([PASSAGE]),
        {("User sings", "user", None)},
    ),
    "basic-memory": (
        BASIC,
        {("It turns", None, "Engine"), ("Works at night", None, "ada")},
    ),
    "okf": (OKF, {("It turned.", "okf", "engine")}),
    "langgraph": (one(LANGGRAPH), {("Ada lives in London", None, "Ada"), ("Ada lives in London", None, None)}),
    "cogx": (
        {
            **COGX,
            "facts.jsonl": rows(FACT),
            "memories.jsonl": rows(SCOPED[0]),
            "memory_blocks.jsonl": rows(SCOPED[1]),
            "documents.jsonl": rows(SCOPED[2]),
        },
        {
            ("A countess", "cogx", "Ada"),
            ("Keeps bees", "mem0", "ada"),
            ("I sing", "ada", None),
            ("Bees sting", "cogx", None),
        },
    ),
}


def written(folder: Path, files: dict[str, str]) -> Path:
    """The file, or the folder."""
    for name, text in files.items():
        path = folder / "there" / (name or "x")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder / "there" / "x" if "" in files else folder / "there"


@pytest.mark.parametrize("name", FILES)
def test_an_import_says_who_said_it_and_whom_it_is_about_and_does_so_once(
    loci: Loci, namespace: str, tmp_path: Path, name: str
) -> None:
    files, expected = FILES[name]
    path = written(tmp_path, files)
    imported(loci, path, namespace)
    assert {(row["content"], row["source"], row["about"]) for row in loci.rows(TOLD, namespace)} >= expected
    before = exported(loci, namespace)
    assert sum(imported(loci, path, namespace)["written"].values()) == 0
    assert exported(loci, namespace) == before


def test_a_memory_of_a_user_of_mem0_is_found_when_that_user_asks(loci: Loci, namespace: str, tmp_path: Path) -> None:
    of_bo = [{**item, "id": f"b-{item['id']}", "user_id": "bo"} for item in MEM0["results"][1:2]]
    (tmp_path / "x").write_text(json.dumps({"results": [*of_bo, *MEM0["results"]]}))
    imported(loci, tmp_path / "x", namespace)
    found = json.loads(loci("recall", "What do I drive?", "--user", "ada", "-n", namespace, "--json").stdout)
    first: dict[str, Any] = found["results"][0]
    assert (first["content"], first["source"]) == ("User drives a van", "ada")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Ada lives in London", True),
        ("Ada Byron", True),
        ("Ada's cat is old", True),
        ("James will call", True),
        ("Likes dogs", False),
        ("Lives in Braga", False),
        ("Name is Ada", False),
        ("Allergic to nuts", False),
        ("the cat sleeps", False),
        ("Vegetarian", False),
        ("42", False),
    ],
)
def test_a_statement_begins_with_a_name_or_with_what_is_said(text: str, named: bool) -> None:
    assert begins_with_a_name(text) is named


@pytest.mark.parametrize("user", [None, "", " ", 7, ["ada"]])
def test_an_invalid_user_is_neither_speaker_nor_subject(user: object) -> None:
    assert said_of_user("Likes pizza", user, "desk") == ("desk", None)
