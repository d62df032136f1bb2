"""What the rules of retain decide on labelled pairs, and what a text costs in a large namespace.

    python -m bench.retain [--quick]

data/retain.jsonl: what is known, what is told, and what should become of it: update, nothing, or keep (a memory of its own, linked or
not). `tune` is what the rules were tuned on, among it pairs made to mislead them; of `held_out` only totals were looked at, but for one;
`fresh` was written when the rules were done, and measured once. The floor goes by the cosine of the two alone: nothing from 0.9 on,
update from 0.6 on. Then a text of 200 facts in a large namespace, against writing its facts as they are.
"""

import asyncio
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

from bench.database import Database, database
from bench.measure import Figure, Options, options, report
from service.embedding.factory import make_provider
from service.settings import EmbeddingSettings

PAIRS = Path(__file__).parent / "data" / "retain.jsonl"
NAME = "retain"
LABELS = ("update", "nothing", "keep")
ACTIONS = ("update", "nothing", "link", "create")
NAMES = ("Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hal", "Ida", "Jon")
KINDS = (
    "{a} lives in town{v}",
    "{a} uses tool{v}",
    "{a} knows about subject{v}",
    "The limit of service {w} is {v}",
    "{a} met {a}{w} in town{v}",
)


def embed(texts: list[str]) -> list[list[float]]:
    """Vectors of the static model."""
    provider = make_provider(EmbeddingSettings())
    if provider is None:
        return []
    return [vector.tolist() for vector in asyncio.run(provider.embed(texts))]


def decide(app: Any, pair: dict[str, Any], vectors: list[list[float]] | None) -> str:
    """What a dry run says about what is told, in a namespace that knows one thing."""
    known, told = (
        {"content": text} | ({"embedding": vectors[n]} if vectors else {}) for n, text in enumerate((pair["known"], pair["told"]))
    )
    with app.transaction(force_rollback=True):
        app.execute("select loci_api.create_namespace('pair', null, 'english')")
        app.execute("select * from loci_api.remember('pair', %s::jsonb)", [json.dumps([known])])
        row = app.execute("select action from loci_api.retain('pair', %s::jsonb, null, true)", [json.dumps([told])]).fetchone()
    return str(row[0])


def floor(vectors: list[list[float]]) -> str:
    """What the cosine alone would say."""
    cosine = sum(a * b for a, b in zip(*vectors, strict=True))
    return "nothing" if cosine >= 0.9 else "update" if cosine >= 0.6 else "create"


def scores(pairs: list[dict[str, Any]], actions: list[str], action: str) -> str:
    """Precision and recall of an action."""
    right = sum(pair["label"] == action == done for pair, done in zip(pairs, actions, strict=True))
    return f"{right / max(actions.count(action), 1):.0%}, {right / sum(pair['label'] == action for pair in pairs):.0%}"


def quality(app: Any) -> list[Figure]:
    """Decide about all pairs, with vectors and without; print the confusion table."""
    pairs = [json.loads(line) for line in PAIRS.read_text().splitlines()]
    told = embed([text for pair in pairs for text in (pair["known"], pair["told"])])
    app.execute("select loci_api.register_model('static/wordllama-256', 256)")
    decided = {
        "with vectors": [decide(app, pair, told[2 * n : 2 * n + 2]) for n, pair in enumerate(pairs)],
        "words alone": [decide(app, pair, None) for pair in pairs],
        "floor": [floor(told[2 * n : 2 * n + 2]) for n in range(len(pairs))],
    }
    print(f"\n| split | by | should be | {' | '.join(ACTIONS)} |\n|---|---|---|---|---|---|---|")
    figures = []
    for split in ("tune", "held_out", "fresh"):
        chosen = [n for n, pair in enumerate(pairs) if pair["split"] == split]
        half = [pairs[n] for n in chosen]
        for way, all_actions in decided.items():
            actions = [all_actions[n] for n in chosen]
            counts = Counter((pair["label"], done) for pair, done in zip(half, actions, strict=True))
            for label in LABELS:
                print(f"| {split} | {way} | {label} | {' | '.join(str(counts[label, action]) for action in ACTIONS)} |")
            if way == "floor":
                continue
            for action in ("update", "nothing"):
                against = scores(half, [decided["floor"][n] for n in chosen], action)
                figures.append(Figure(f"{split}, {way}: precision, recall of {action}", scores(half, actions, action), against))
        if split == "tune":
            for n in chosen:
                done, label = decided["with vectors"][n], pairs[n]["label"]
                if done != label and not (label == "keep" and done in {"link", "create"}):
                    print(f"    {done}: should be {label}: {pairs[n]['known']} | {pairs[n]['told']}")
    return figures


def statement(number: int) -> str:
    """One of five kinds of facts."""
    return KINDS[number % 5].format(a=NAMES[number % 7] + str(number % 997), v=number // 3, w=number % 1009)


def cost(app: Any, size: int) -> list[Figure]:
    """Retain a text of 200 facts among many memories, and write it as it is."""
    app.execute("select loci_api.create_namespace(%s, null, 'english')", [NAME])
    for start in range(0, size, 10_000):
        texts = [statement(n) for n in range(start, min(start + 10_000, size))]
        items = [{"content": text, "embedding": vector} for text, vector in zip(texts, embed(texts), strict=True)]
        app.execute("select count(*) from loci_api.remember(%s, %s::jsonb)", [NAME, json.dumps(items)])
    spent: dict[str, list[float]] = {"retain": [], "remember": []}
    for turn in range(5):
        for way, times in spent.items():
            texts = [statement(size * 7 + turn * 1000 + n + (500 if way == "retain" else 0)) for n in range(200)]
            items = [{"content": text, "embedding": vector} for text, vector in zip(texts, embed(texts), strict=True)]
            call = (
                "select count(*) from loci_api.retain(%s, %s::jsonb)"
                if way == "retain"
                else "select count(*) from loci_api.remember(%s, %s::jsonb)"
            )
            started = time.perf_counter()
            app.execute(call, [NAME, json.dumps(items)]).fetchall()
            times.append(time.perf_counter() - started)
    retained, written = (min(times) for times in spent.values())
    return [
        Figure(
            f"a text of 200 facts among {size:,} memories, best of 5",
            f"{retained * 1000:.0f} ms, {retained * 5:.1f} ms a fact",
            f"{written * 1000:.0f} ms (remember)",
        )
    ]


def run(base: Database, given: Options) -> list[Figure]:
    """Quality, then cost."""
    with base.owner() as owner, base.app() as app:
        return report("Retain", owner, [*quality(app), *cost(app, given.size(30_000))])


if __name__ == "__main__":
    chosen = options(__doc__)
    with database(chosen) as opened:
        run(opened, chosen)
