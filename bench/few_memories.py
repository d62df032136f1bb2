"""Relevance where little is known yet: namespaces of 1, 2, 5, 10 and 20 memories, of which several may answer.

    python -m bench.few_memories              # a service is started for the run
    python -m bench.few_memories --json rows.jsonl

Each question is asked in a namespace of each size that holds its answers first, as many as fit, and then other memories. Questions
that nothing answers are asked as well. Half of the subjects is held out: nothing was chosen on them. The error is the mean distance
between relevance and truth over ten bins, where what answers and what does not weigh the same.
"""

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from bench.quality.answering import calibration
from bench.server import service

Row = dict[str, Any]
SETS = Path(__file__).parent / "data" / "few_memories.jsonl"
SIZES = (1, 2, 5, 10, 20)


def spaces(subject: Row) -> Iterator[tuple[int, list[str], str, set[str]]]:
    """Size, memories, question and answers of each namespace."""
    memories: list[str] = subject["memories"]
    for question in subject["questions"] + [{"text": text, "evidence": []} for text in subject["misses"]]:
        answers = [memories[place] for place in question["evidence"]]
        others = [memory for memory in memories if memory not in answers]
        for size in SIZES:
            held = (answers + others)[:size]
            yield size, held, question["text"], set(answers) & set(held)


def ask(client: httpx.Client, subject: Row, number: int) -> Iterator[Row]:
    """A row for each memory that stands in the answer, or should."""
    for nth, (size, held, question, answers) in enumerate(spaces(subject)):
        headers = {"X-Namespace": f"few-{number}-{nth}"}
        client.post("/namespaces", json={"name": headers["X-Namespace"]}).raise_for_status()
        client.post("/memories/batch", json={"items": [{"content": text} for text in held]}, headers=headers).raise_for_status()
        path = f"/namespaces/{headers['X-Namespace']}"
        while client.get(path).json()["pending_embeddings"]:
            time.sleep(0.05)
        body = {"query": question, "k": size}
        found = client.post("/recall", json=body, headers=headers).raise_for_status().json()["results"]
        stated = {result["content"]: result["relevance"] for result in found}
        for text in held:
            yield {
                "half": subject["half"],
                "size": size,
                "question": question,
                "text": text,
                "answers": text in answers,
                "miss": not answers,
                "relevance": stated.get(text, 0.0),
            }


def summary(rows: list[Row]) -> str:
    """One line of the table."""
    answers = [row["relevance"] for row in rows if row["answers"]]
    others = [row["relevance"] for row in rows if not row["answers"]]
    best: dict[tuple[int, str], float] = defaultdict(float)
    for row in rows:
        if row["miss"]:
            best[row["size"], row["question"]] = max(best[row["size"], row["question"]], row["relevance"])
    stated = np.array(answers + others)
    truth = np.array([1.0] * len(answers) + [0.0] * len(others))
    weights = np.where(truth == 1, 1 / max(1, len(answers)), 1 / max(1, len(others)))
    error, _ = calibration(stated, truth, weights)
    above = [float(np.mean(np.array(values) >= 0.5)) if values else float("nan") for values in (answers, others, [*best.values()])]
    shown = float(np.mean(np.array(answers) >= 0.3))
    return (
        f"{len(answers)} | {100 * shown:.0f} | {100 * above[0]:.0f} | {100 * above[1]:.0f} | {100 * above[2]:.0f} | {error:.3f} |"
    )


def main() -> None:
    """Ask, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="a running service; default: one is started for the run")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write a row for each memory and question")
    options = parser.parse_args()
    subjects = [json.loads(line) for line in SETS.read_text().splitlines()]
    with service(options.url) as url, httpx.Client(base_url=f"{url}/api/v1", timeout=60) as client:
        rows = [row for number, subject in enumerate(subjects) for row in ask(client, subject, number)]
    if options.json:
        options.json.write_text("".join(json.dumps(row) + "\n" for row in rows))
    print(
        "| half | memories | answers | of these from 0.3 | from 0.5 | of others from 0.5 | of questions without an answer | error |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for half in ("tune", "held_out"):
        for size in (*SIZES, 0):
            mine = [row for row in rows if row["half"] == half and size in {0, row["size"]}]
            print(f"| {half} | {size or 'all'} | {summary(mine)}")


if __name__ == "__main__":
    main()
