"""Recall in eight languages, and in a namespace of several, through REST.

    python -m bench.languages

data/languages/*.jsonl: memories (id, text) and questions (question, evidence: ids), made up for this: 200 questions in German and in
Japanese, 60 in the others. The floor is what PostgreSQL offers as it is: words cut by its parser under the configuration `simple`,
OR-ed, ranked by ts_rank. Each set is asked under the configuration of its language, where PostgreSQL has one, under `simple`, and
under `english`, which a namespace has that says nothing; and with several choices of arms. Questions whose evidence is not among the
first five as it comes are printed with --misses.
"""

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import httpx
from psycopg import Connection

from bench.database import Database, database
from bench.measure import Figure, Options, options, report
from bench.quality.scores import measure_ranking
from bench.server import running

SETS = Path(__file__).parent / "data" / "languages"
CONFIGURATIONS = {
    "german": ("german", "simple", "english"),
    "japanese": ("simple", "english"),
    "spanish": ("spanish", "simple", "english"),
    "french": ("french", "simple", "english"),
    "chinese": ("simple", "english"),
    "arabic": ("arabic", "simple", "english"),
    "hindi": ("hindi", "simple", "english"),
    "mixed": ("simple", "english", "german"),
}
TARGET = 0.9  # of the evidence among the first five, with every arm, under the language's own configuration
ARMS = (("lexical",), ("lexical", "vector"), None)
FLOOR = """
select d.id from bench_texts d, (select string_agg(quote_literal(u.lexeme), ' | ')::tsquery as query from unnest(to_tsvector('simple', %s)) u) q
where to_tsvector('simple', d.text) @@ q.query order by ts_rank(to_tsvector('simple', d.text), q.query) desc, d.id limit 20
"""
Row = dict[str, Any]
MISSES = "--misses"


def read(name: str) -> tuple[list[Row], list[Row]]:
    """Memories and questions of a set."""
    rows = [json.loads(line) for line in (SETS / f"{name}.jsonl").open(encoding="utf-8")]
    return [row for row in rows if "text" in row], [row for row in rows if "question" in row]


def means(scores: list[dict[str, float]]) -> str:
    """Recall at 5 and at 10, in per cent."""
    return " / ".join(f"{100 * statistics.fmean(s[metric] for s in scores):.1f}" for metric in ("R@5", "R@10"))


def floor(owner: Connection[Any], memories: list[Row], questions: list[Row]) -> str:
    """What PostgreSQL finds by itself."""
    owner.execute("drop table if exists bench_texts")
    owner.execute("create temp table bench_texts (id integer primary key, text text)")
    with owner.cursor() as cursor:
        cursor.executemany("insert into bench_texts values (%s, %s)", [(row["id"], row["text"]) for row in memories])
    found = [[str(id) for (id,) in owner.execute(FLOOR, [row["question"]]).fetchall()] for row in questions]  # noqa: A001
    return means([measure_ranking(ids, set(map(str, row["evidence"]))) for ids, row in zip(found, questions, strict=True)])


def load(client: httpx.Client, namespace: str, language: str, memories: list[Row]) -> None:
    """Write a set into a namespace of a language, and wait for its vectors and names."""
    client.post("/namespaces", json={"name": namespace, "language": language}).raise_for_status()
    items = [{"content": row["text"], "metadata": {"id": str(row["id"])}} for row in memories]
    client.post("/memories/batch", json={"items": items}, headers={"X-Namespace": namespace}).raise_for_status()
    while any(client.get(f"/namespaces/{namespace}").json()[f"pending_{what}"] for what in ("embeddings", "names")):
        time.sleep(0.1)


def ask(client: httpx.Client, namespace: str, questions: list[Row], arms: tuple[str, ...] | None) -> list[dict[str, float]]:
    """Scores of each question with a choice of arms."""
    scores = []
    for row in questions:
        body = {"query": row["question"], "k": 20} | ({"arms": arms} if arms else {})
        reply = client.post("/recall", json=body, headers={"X-Namespace": namespace}).raise_for_status().json()
        scores.append(measure_ranking([result["metadata"]["id"] for result in reply["results"]], set(map(str, row["evidence"]))))
    return scores


def show_misses(memories: list[Row], questions: list[Row], scores: list[dict[str, float]]) -> None:
    """Questions that are not answered among the first five."""
    texts = {row["id"]: row["text"] for row in memories}
    for row, values in zip(questions, scores, strict=True):
        if values["R@5"] < 1:
            print(f"    {row['question']} → {' '.join(texts[n] for n in row['evidence'])}")


def run(base: Database, given: Options) -> list[Figure]:  # noqa: ARG001 (the sets are small)
    """Each set, under each configuration, with each choice of arms."""
    mark = time.time_ns()
    figures = []
    with base.owner() as owner, running(base.folder) as (url, _), httpx.Client(base_url=f"{url}/api/v1", timeout=60) as client:
        for name, languages in CONFIGURATIONS.items():
            memories, questions = read(name)
            least = floor(owner, memories, questions)
            for language in languages:
                namespace = f"{name}-{language}-{mark}"
                load(client, namespace, language, memories)
                for arms in ARMS:
                    scores = ask(client, namespace, questions, arms)
                    title = f"{name} under `{language}`, {'+'.join(arms) if arms else 'all arms'}, recall@5 / @10"
                    asked = arms is None and language == languages[0]
                    met = statistics.fmean(one["R@5"] for one in scores) >= TARGET if asked else None
                    figures.append(Figure(title, means(scores), least, target="at 5 ≥ 90 %" if asked else "", met=met))
                    if asked and MISSES in sys.argv:
                        show_misses(memories, questions, scores)
        return report("Languages", owner, figures)


if __name__ == "__main__":
    chosen = options(__doc__, [argument for argument in sys.argv[1:] if argument != MISSES])
    with database(chosen) as opened:
        run(opened, chosen)
