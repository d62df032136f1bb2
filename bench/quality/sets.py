"""Question sets: documents, questions with their evidence, kinds of questions, and what is one exchange.

The sets are elsewhere; one of small namespaces, such as agents keep for a user or a team, comes with the benchmarks. Its questions are
made up, and half of its namespaces are held out.
"""

import itertools
import json
from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

Row = dict[str, Any]
Key = tuple[str, str]

ROLES = {"user", "assistant"}
FACTUAL = {
    "information-extraction",
    "knowledge-update",
    "multi-session-reasoning",
    "temporal-reasoning",
    "contradiction-resolution",
}
APART = "adversarial"  # questions that nothing answers: the total leaves them out
NEAR = "near miss"  # the same in small namespaces: what is asked for is spoken of, but not that of it
RENAMED = "renamed"  # questions of another namespace, with the names of speakers here
SMALL = Path(__file__).parents[1] / "data" / "small_namespaces.jsonl"
TOTAL_ONLY = {"beam_500k"}  # six questions a kind say nothing


def read(path: Path) -> list[Row]:
    """Rows of a JSONL file."""
    return [json.loads(line) for line in path.open(encoding="utf-8")]


@dataclass(frozen=True)
class QuestionSet:
    """A set as it lies on disk; namespaces in lower case."""

    name: str
    documents: list[Row]
    queries: list[Row]
    languages: dict[str, str] = field(default_factory=dict)  # of namespaces that are not English

    @cached_property
    def dialogue(self) -> bool:
        """Whether its documents are turns that somebody said."""
        return bool(self.documents) and "speaker" in self.documents[0]

    @cached_property
    def roles(self) -> bool:
        """Whether a user and an assistant speak."""
        return self.dialogue and {document["speaker"] for document in self.documents} <= ROLES

    @property
    def headline(self) -> tuple[str, ...]:
        """The measures that the set is judged by."""
        return ("R@5", "R@10") if self.roles else ("R@10",) if self.dialogue else ("R@5",)

    @cached_property
    def namespaces(self) -> dict[str, list[Row]]:
        """Documents by namespace, in the order in which they came about."""
        found: dict[str, list[Row]] = defaultdict(list)
        for document in self.documents:
            found[document["namespace"]].append(document)
        return dict(found)

    def speakers(self, namespace: str) -> list[str]:
        """Who speaks in a namespace."""
        return sorted({document["speaker"] for document in self.namespaces[namespace]})

    @cached_property
    def exchanges(self) -> dict[Key, str]:
        """Of a message of a user or an assistant, the other one of its exchange: a question and the reply to it."""
        pairs: dict[Key, str] = {}
        if not self.roles:
            return pairs
        for name, documents in self.namespaces.items():
            for asked, replied in itertools.pairwise(documents):
                if (asked["speaker"], replied["speaker"]) == ("user", "assistant") and asked["session"] == replied["session"]:
                    pairs[name, asked["id"]] = replied["id"]
                    pairs[name, replied["id"]] = asked["id"]
        return pairs

    def groups(self, rows: list[Row]) -> dict[str, list[Row]]:
        """Rows of results by kind of question, and in all."""
        kinds: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            kinds[row["kind"]].append(row)
        if self.name in TOTAL_ONLY:
            kinds.clear()
        elif self.roles:
            kinds["the five factual kinds"] = [row for row in rows if row["kind"] in FACTUAL]
        kinds[self.total] = counted(rows)
        return dict(kinds)

    @cached_property
    def total(self) -> str:
        """What all questions together are called."""
        return f"all but {APART}" if any(query["category"] == APART for query in self.queries) else "all"


def counted(rows: list[Row]) -> list[Row]:
    """Rows that the total counts."""
    return [row for row in rows if row["kind"] != APART]


def with_evidence(questions: QuestionSet) -> QuestionSet:
    """The set without questions for which nothing is to be found."""
    return replace(questions, queries=[query for query in questions.queries if query["evidence_ids"]])


def read_set(folder: Path) -> QuestionSet:
    """A set from its folder."""
    documents, queries = read(folder / "documents.jsonl"), read(folder / "queries.jsonl")
    for row in (*documents, *queries):
        row["namespace"] = row["namespace"].lower()
    return QuestionSet(folder.name, documents, queries)


def small_sets() -> list[QuestionSet]:
    """The small namespaces: those that coefficients were looked at on, and those that are held out."""
    rows = read(SMALL)
    sets = []
    for half in ("tune", "held_out"):
        heads = {row["namespace"]: row for row in rows if row.get("half") == half}
        mine = [row for row in rows if row["namespace"] in heads]
        documents = [{**row, "id": str(row["id"])} for row in mine if "text" in row]
        queries = [
            {
                "namespace": row["namespace"],
                "id": f"{row['namespace']}/{number}",
                "text": row["question"],
                "category": "answerable" if row["evidence"] else NEAR,
                "evidence_ids": [str(key) for key in row["evidence"]],
            }
            for number, row in enumerate(mine)
            if "question" in row
        ]
        languages = {name: row["language"] for name, row in heads.items() if row["language"] != "english"}
        sets.append(QuestionSet(f"small_{half}", documents, queries, languages))
    return sets


def memory(document: Row) -> Row:
    """A document as the body of a write: a turn has its speaker as source, its session and its time."""
    item: Row = {"content": document["text"], "metadata": {"id": document["id"]}}
    if "source" in document:
        item["source"] = document["source"]
    if "speaker" in document:
        item |= {"source": document["speaker"], "session_id": str(document["session"]), "valid_from": document["timestamp"] + "Z"}
    return item
