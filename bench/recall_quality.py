"""Does recall bring back the evidence? Public question sets with annotated evidence, asked through REST.

    python -m bench.recall_quality --data FOLDER [--sets locomo,hotpotqa_train] [--arms all,lexical,vector] [--fusion rrf]

Each folder holds documents.jsonl (namespace, id, seq, text and, in dialogues, speaker, session, timestamp) and queries.jsonl
(namespace, text, category, evidence_ids). Turns become memories with source, session_id and valid_from; paragraphs become
memories. A question counts as answered to the share of its evidence among the first k results.
"""

import argparse
import json
import math
import statistics
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import httpx

from bench.server import service

METRICS = ("R@5", "R@10", "R@20", "nDCG@10")
Row = dict[str, Any]


def read(path: Path) -> list[Row]:
    """Rows of a JSONL file."""
    return [json.loads(line) for line in path.open()]


def memory(document: Row) -> Row:
    """A document as the body of a write."""
    item: Row = {"content": document["text"], "metadata": {"id": document["id"]}}
    if "speaker" in document:
        item |= {"source": document["speaker"], "session_id": str(document["session"]), "valid_from": document["timestamp"] + "Z"}
    return item


def load(client: httpx.Client, documents: list[Row]) -> None:
    """Write documents into their namespaces and wait until vectors and names are there."""
    by_namespace: dict[str, list[Row]] = defaultdict(list)
    for document in documents:
        by_namespace[document["namespace"].lower()].append(document)
    for name, batch in by_namespace.items():
        made = client.post("/namespaces", json={"name": name})
        if made.status_code == 409 and client.get(f"/namespaces/{name}").json()["memories"] == len(batch):
            continue  # loaded by an earlier run against the same service
        made.raise_for_status()
        for start in range(0, len(batch), 1000):
            items = [memory(document) for document in batch[start : start + 1000]]
            client.post("/memories/batch", json={"items": items, "atomic": True}, headers={"X-Namespace": name}).raise_for_status()
    for name in by_namespace:
        while any(client.get(f"/namespaces/{name}").json()[f"pending_{what}"] for what in ("embeddings", "names")):
            time.sleep(0.2)


def score(found: list[str], evidence: set[str]) -> dict[str, float]:
    """Recall at 5, 10, 20 and nDCG at 10 of one ranking."""
    hits = [rank for rank, key in enumerate(found) if key in evidence]
    ideal = sum(1 / math.log2(i + 2) for i in range(min(10, len(evidence))))
    recalls = {f"R@{k}": sum(h < k for h in hits) / len(evidence) for k in (5, 10, 20)}
    return recalls | {"nDCG@10": sum(1 / math.log2(h + 2) for h in hits if h < 10) / ideal}


def ask(client: httpx.Client, query: Row, arms: list[str] | None, fusion: str) -> tuple[list[str], float]:
    """Document ids of the first 20 results, and milliseconds."""
    body: Row = {"query": query["text"], "k": 20, "fusion": fusion} | ({"arms": arms} if arms else {})
    started = time.perf_counter()
    reply = client.post("/recall", json=body, headers={"X-Namespace": query["namespace"].lower()}).raise_for_status().json()
    spent = 1000 * (time.perf_counter() - started)
    return list(dict.fromkeys(r["metadata"]["id"] for r in reply["results"])), spent


def report(name: str, arms: str, rows: list[Row]) -> None:
    """Print one line a category, and one for all (LoCoMo's headline leaves its adversarial questions out)."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["category"]].append(row)
    if "adversarial" in groups:
        groups["all but adversarial"] = [row for row in rows if row["category"] != "adversarial"]
    else:
        groups["all"] = rows
    for category, members in groups.items():
        cells = " | ".join(f"{100 * statistics.fmean(m[metric] for m in members):5.1f}" for metric in METRICS)
        spent = statistics.median(m["ms"] for m in members)
        print(f"| {name} | {arms} | {category} | {len(members)} | {cells} | {spent:.1f} |", flush=True)


def main() -> None:
    """Load each set into a fresh service, ask every question with each choice of arms, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/retrieval/data"))
    parser.add_argument("--sets")
    parser.add_argument("--arms", default="all,lexical,vector,lexical+vector", help="choices, comma-separated; arms joined by +")
    parser.add_argument("--fusion", default="rrf", help="rrf or relative_score")
    parser.add_argument("--url", help="a running service; default: one is started for the run")
    options = parser.parse_args()
    if not options.data.is_dir():
        print(f"skipped: no question sets in {options.data}")
        sys.exit(0)
    names = options.sets.split(",") if options.sets else sorted(p.name for p in options.data.iterdir() if p.is_dir())
    print("| set | arms | category | n | " + " | ".join(METRICS) + " | ms p50 |\n|---|---|---|---|" + "---|" * 5)
    with service(options.url) as url, httpx.Client(base_url=f"{url}/api/v1", timeout=120) as client:
        for name in names:
            load(client, read(options.data / name / "documents.jsonl"))
            queries = read(options.data / name / "queries.jsonl")
            for choice in options.arms.split(","):
                arms = None if choice == "all" else choice.split("+")
                rows = []
                for query in queries:
                    found, spent = ask(client, query, arms, options.fusion)
                    rows.append({"category": query["category"], "ms": spent, **score(found, set(query["evidence_ids"]))})
                report(name, choice, rows)


if __name__ == "__main__":
    main()
