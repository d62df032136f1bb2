"""Ways to ask: arms, weights, fusion, anything else of a request, and settings of the namespaces. And loading what is asked about."""

import itertools
import json
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from bench.quality.scores import as_row
from bench.quality.sets import QuestionSet, memory

Row = dict[str, Any]
DEFAULT = "as it comes"
OPINIONS = {"vector", "second", "rerank"}  # what a figure is about, and a recall does without where it is late


@dataclass(frozen=True)
class Way:
    """A way to ask: fields of the request, and settings of the namespaces meanwhile."""

    name: str
    body: Row = field(default_factory=dict)
    settings: Row = field(default_factory=dict)

    def over(self, base: "Way") -> "Way":
        """The same, with what it does not say from another."""
        weights = {**base.body.get("weights", {}), **self.body.get("weights", {})}
        body = {**base.body, **self.body, **({"weights": weights} if weights else {})}
        return Way(self.name, body, {**base.settings, **self.settings})


def value_of(text: str) -> Any:
    """A value as JSON; what is none is a text."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def way(name: str, assignments: Row) -> Way:
    """Assignments: `arms` (joined by +), `weights.X`, `set.X` (a setting of the namespace); all else is a field of the request."""
    body: Row = {}
    settings: Row = {}
    for key, value in assignments.items():
        part, _, rest = key.partition(".")
        if part == "weights":
            body.setdefault("weights", {})[rest] = value
        elif part == "set":
            settings[rest] = value
        elif key == "arms":
            body["arms"] = value.split("+") if isinstance(value, str) else value
        else:
            body[key] = value
    return Way(name, body, settings)


def parse_way(text: str) -> Way:
    """`NAME: key=value key=value`."""
    name, colon, rest = text.partition(":")
    pairs = [pair.partition("=") for pair in rest.split()]
    if not colon or not all(equals for _, equals, _ in pairs):
        raise SystemExit(f"{text!r} is not a way to ask: expected 'NAME: key=value key=value'")
    return way(name.strip(), {key: value_of(value) for key, _, value in pairs})


def read_ways(path: Path) -> list[Way]:
    """Ways from a JSON file: {"NAME": {"weights.vector": 1, …}, …}, or {"grid": {"weights.vector": [1, 2], …}} for all combinations."""
    content = json.loads(path.read_text())
    if set(content) != {"grid"}:
        return [way(name, assignments) for name, assignments in content.items()]
    keys, values = list(content["grid"]), list(content["grid"].values())
    picked = [dict(zip(keys, chosen, strict=True)) for chosen in itertools.product(*values)]
    return [way(" ".join(f"{key}={value}" for key, value in one.items()), one) for one in picked]


@contextmanager
def settings_in_force(client: httpx.Client, namespaces: Iterable[str], settings: Row) -> Iterator[None]:
    """Settings of namespaces for a while; afterwards the defaults."""
    names = list(namespaces) if settings else []
    try:
        for name in names:
            client.patch(f"/namespaces/{name}", json={"settings": settings}).raise_for_status()
        yield
    finally:
        for name in names:
            client.patch(f"/namespaces/{name}", json={"settings": dict.fromkeys(settings)}).raise_for_status()


def load(client: httpx.Client, questions: QuestionSet, settings: Row) -> None:
    """Write documents into their namespaces and wait until vectors and names are there. What is there already stays."""
    for name, documents in questions.namespaces.items():
        made = client.post("/namespaces", json={"name": name, "language": questions.languages.get(name, "english")})
        if made.status_code == 409:
            there = client.get(f"/namespaces/{name}").raise_for_status().json()["memories"]
            if there != len(documents):
                raise SystemExit(
                    f"namespace {name} holds {there} memories, not the {len(documents)} of {questions.name}: use an empty folder"
                )
            continue
        made.raise_for_status()
        if settings:
            client.patch(f"/namespaces/{name}", json={"settings": settings}).raise_for_status()
        for start in range(0, len(documents), 1000):
            items = [memory(document) for document in documents[start : start + 1000]]
            client.post("/memories/batch", json={"items": items, "atomic": True}, headers={"X-Namespace": name}).raise_for_status()
    for name in questions.namespaces:
        wait(client, name)


def wait(client: httpx.Client, namespace: str) -> None:
    """Until no vectors and no names of the namespace wait, and none of a second model."""
    while True:
        state = client.get(f"/namespaces/{namespace}").raise_for_status().json()
        if (
            not state["pending_embeddings"]
            and not state["pending_names"]
            and not any(row["waiting"] for row in second_models(client))
        ):
            return
        time.sleep(0.1)


def wait_for_second(client: httpx.Client) -> None:
    """Until the second model is known, and all that was there before waits for it."""
    while not any(row["queued_at"] for row in second_models(client)):
        time.sleep(0.1)


def second_models(client: httpx.Client) -> list[Row]:
    """The second embedding model, if there is one."""
    models: list[Row] = client.get("/embeddings/models").raise_for_status().json()["items"]
    return [row for row in models if row["state"] == "second"]


def found_ids(client: httpx.Client, namespace: str, body: Row) -> tuple[list[str], float]:
    """Document ids of the results, and milliseconds."""
    started = time.perf_counter()
    reply = client.post("/recall", json=body, headers={"X-Namespace": namespace})
    spent = 1000 * (time.perf_counter() - started)
    if reply.is_error:
        raise SystemExit(f"{reply.status_code} for {json.dumps(body)[:300]}: {reply.text[:500]}")
    answer = reply.json()
    if missing := {name: why for name, why in answer["skipped"].items() if name in OPINIONS}:
        raise SystemExit(f"{missing} took no part in {json.dumps(body)[:300]}: its figure would be that of another way")
    return list(dict.fromkeys(result["metadata"]["id"] for result in answer["results"])), spent


def ask(client: httpx.Client, questions: QuestionSet, chosen: Way, k: int = 20) -> list[Row]:
    """Ask every question of a set one way."""
    rows = []
    with settings_in_force(client, questions.namespaces, chosen.settings):
        for query in questions.queries:
            found, ms = found_ids(client, query["namespace"], {"query": query["text"], "k": k, **chosen.body})
            rows.append(as_row(questions, query, found, chosen.name, ms))
    return rows
