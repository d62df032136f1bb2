"""Recalls of all kinds answer as they did when they were recorded: the same memories, scores and relevance.

Whoever makes recall cheaper must not change what it answers. Who changes that on purpose records it anew with LOCI_WRITE_DOCS=1,
and looks at what has changed.
"""

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests import recorded
from tests.databases import Database
from tests.recorded import FRESH, MEMORIES, Asked
from tests.services import Api, eventually, is_settled, ok, serve

KEPT = Path(__file__).parents[1] / "data" / "recorded_recalls.jsonl"
NEAR = 2e-5  # scores that differ by less are the same: processors add the numbers of vectors in different orders
Hit = tuple[str, float, float | None]


class Recorder:
    """The world of tests/recorded.py behind a service whose worker stands still, and what is known of it."""

    def __init__(self, by_name: dict[str, Api], known_at: str, key: str, root: str) -> None:
        self.by_name, self.known_at, self.key, self.root = by_name, known_at, key, root
        self.names = {item["content"]: f"{space[0]}{n}" for space, items in MEMORIES.items() for n, item in enumerate(items)}

    def ask(self, asked: Asked) -> list[Hit]:
        """The hits of a recall: which, score, relevance."""
        body, headers = dict(asked.body), {}
        if body.pop("key", False):
            headers["Authorization"] = f"Bearer {self.key}"
        if body.pop("known", False):
            body["known_at"] = self.known_at
        if body.pop("under", False):
            body["filters"] = {"under": self.root}
        results = ok(self.by_name[asked.namespace].post("/recall", body, headers=headers))["results"]
        return [(self.name(row), row["score"], row["relevance"]) for row in results]

    def name(self, row: dict[str, Any]) -> str:
        """A short name of a result: of memories their number, of others what they say."""
        return self.names.get(row.get("content", ""), str(row.get("value", row.get("content"))))


def write(by_name: dict[str, Api], namespaces: tuple[str, ...]) -> None:
    """Write the memories of namespaces, in order."""
    for name in namespaces:
        ok(by_name[name].post("/memories/batch", {"items": MEMORIES[name]}))


def relate(api: Api) -> str:
    """Structure beside the facts: a hierarchy, whose root is returned, a link, an aspect with a rule, and what is forgotten."""
    found = api.recall("Anna works", arms=["lexical"], k=5)["results"]
    root, *others = [row["id"] for row in sorted(found, key=lambda row: (row["layer"], row["content"]))]
    for child in others[:2]:
        ok(api.client.patch(f"/memories/{child}", json={"parent_id": root}))
    ok(api.post(f"/memories/{root}/links", {"target_id": others[2], "type": "is_about", "strength": 0.8}), 201)
    under = ok(api.post("/entities/Northwind/aspects", {"name": "Rules", "weight": 0.7}), 201)["id"]
    ok(api.post(f"/aspects/{under}/attributes", {"content": "nobody flies", "kind": "constraint", "memory_id": others[3]}), 201)
    gone = api.recall("offices of Kappa Press", arms=["lexical"], k=2)["results"][1]["id"]
    ok(api.client.delete(f"/memories/{gone}"))
    return str(root)


@contextmanager
def clients(database: Database, *, worker: bool) -> Iterator[dict[str, Api]]:
    """A client for each namespace, of a service that embeds."""
    with serve(database, embedding={"provider": "static"}, worker=worker) as service, ExitStack() as stack:
        yield {name: Api(stack.enter_context(service.client(**{"X-Namespace": name})), name, service) for name in MEMORIES}


@pytest.fixture(scope="module")
def recorder(own_database: Database) -> Iterator[Recorder]:
    """The world, once it has its vectors and names; what is fresh has neither. Nothing is read while it is written."""
    with clients(own_database, worker=True) as by_name:
        for name, api in by_name.items():
            ok(api.post("/namespaces", json={"name": name}), 201)
    with clients(own_database, worker=False) as by_name:
        key = ok(by_name["talk"].post("/keys", json={"role": "reader", "namespaces": list(MEMORIES)}), 201)["key"]
        write(by_name, tuple(name for name in MEMORIES if name != FRESH))
        with psycopg.connect(own_database.app_url) as session:
            session.execute("select loci_api.begin_request(null, 'talk', 'writer')")
            session.execute("select loci_api.save_working_memory('talk', 'kettle', '\"a red kettle\"', 86400)")
            (known_at,) = session.execute("select clock_timestamp()").fetchone() or ()
        root = relate(by_name["facts"])
    with clients(own_database, worker=True):
        eventually(lambda: is_settled(own_database))
    with clients(own_database, worker=False) as by_name:
        write(by_name, (FRESH,))
        yield Recorder(by_name, known_at.isoformat(), key, root)


def test_recalls_of_all_kinds_answer_as_they_did(recorder: Recorder) -> None:
    asked = list(recorded.recalls())
    answers = [(each.name, recorder.ask(each)) for each in asked]
    if os.environ.get("LOCI_WRITE_DOCS") == "1":
        KEPT.write_text("".join(line(name, hits) for name, hits in answers), encoding="utf-8")
    kept = dict(json.loads(each) for each in KEPT.read_text(encoding="utf-8").splitlines())
    assert list(kept) == [name for name, _ in answers]
    assert {name: kept[name] for name, hits in answers if not same(hits, kept[name])} == {}


def line(name: str, hits: list[Hit]) -> str:
    """A recall and its answer, as they are kept."""
    rows = [[key, round(score, 6), None if relevance is None else round(relevance, 6)] for key, score, relevance in hits]
    return json.dumps([name, rows], ensure_ascii=False, separators=(",", ":")) + "\n"


def same(hits: list[Hit], kept: list[Hit]) -> bool:
    """Whether places have the same scores and relevance, and what is not tied the same hits."""
    if len(hits) != len(kept):
        return False
    apart = [n for n, (_, score, _) in enumerate(kept) if not any(near(score, o[1]) for m, o in enumerate(kept) if m != n)]
    return all(near(a[1], b[1]) and near(a[2], b[2]) for a, b in zip(hits, kept, strict=True)) and all(
        hits[n][0] == kept[n][0] for n in apart if n < len(kept) - 1
    )


def near(one: float | None, other: float | None) -> bool:
    """Whether two figures are the same, but for the order in which a processor adds."""
    return one == other or (one is not None and other is not None and abs(one - other) <= NEAR * max(1, abs(other)))
