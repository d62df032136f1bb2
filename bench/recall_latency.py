"""Recall through REST: what does the service add to its two best statements?

    python -m bench.recall_latency [--data FOLDER] [--quick]

One namespace of 100,000 memories (pairs of dialogue turns), 999 others of skewed sizes with as many together. Entities are the
names found in the memories, and edges relate those that one memory mentions. The floor is what one would write by hand: one connection, two prepared statements (BM25 over the postings, HNSW over the vectors),
reciprocal rank fusion in Python, a third statement for ten rows; without rights, filters, HTTP, or embedding the question.
What the guards cost (shares, deadlines, looking for clients that left, limits) is asked of a second service without them.
"""

import http.client
import json
import random
import statistics
from collections.abc import Callable
from typing import Any

from pgvector import HalfVector
from psycopg import Connection, sql

from bench import corpus, fill, graph_data
from bench.database import Database, database
from bench.measure import Figure, Options, against, interleaved, milliseconds, options, report
from bench.server import running

MAIN, OTHERS = "main", 999
LEXICAL = """
with block as materialized (
    select entries, sum(size) over (partition by term) as df from public.posting_blocks
    where namespace_id = %(ns)s and term = any (array(
        select hashtextextended(u.lexeme, 0) from unnest(to_tsvector('pg_catalog.english', %(query)s)) u))
), entry as (
    select ln(1 + (%(documents)s - df + 0.5) / (df + 0.5))::double precision * 2.2 as weight, unnest(entries) as entry from block
), best as (
    select entry >> 23 as doc_id, sum(weight / (1 + (0.3 + %(slope)s * (entry & 32767)) / (entry >> 15 & 255))) as score
    from entry group by 1 order by score desc, doc_id limit 100
)
select m.id from best b
join loci_data.memories m on m.namespace_id = %(ns)s and m.doc_id = b.doc_id and m.status = 'active' and m.valid_to is null
order by b.score desc
"""
VECTOR = """
select m.id from (
    select memory_id, embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions}) as distance
    from loci_data.memory_vectors where namespace_id = {ns} and model_id = {model}
    order by embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions}) limit 100) v
join loci_data.memories m on m.namespace_id = {ns} and m.id = v.memory_id and m.status = 'active' and m.valid_to is null
order by v.distance
"""
ROWS = """
select id, lineage, version, content, category, tags, layer, valid_from, valid_to, recorded_at, importance, confidence,
       metadata, source, session_id from loci_data.memories where namespace_id = %(ns)s and id = any (%(ids)s)
"""


def load(base: Database, given: Options) -> int:
    """Fill all namespaces; returns the number of the large one."""
    size = given.size(100_000)
    with base.owner() as owner:
        number = fill.namespace(owner, MAIN)
        if fill.holds(owner, number, size):
            return number
        texts = corpus.recombined(corpus.turns(given.data), 2 * size, seed=9)
        weights = [1 / rank for rank in range(1, OTHERS + 1)]
        others = [fill.namespace(owner, f"other-{i}") for i in range(OTHERS)]
        owners = [*[number] * size, *random.Random(10).choices(others, weights, k=size)]
        fill.add(owner, list(zip(owners[:size], texts[:size], strict=True)), names=True)
        fill.find_names(base)
        graph_data.relate(owner, number, 2 * size)
        fill.add(owner, sorted(zip(owners[size:], texts[size:], strict=True)))
        rows = owner.execute(
            "select namespace_id, id, content from loci_data.memories where namespace_id = any (%s)", [[number, *others]]
        ).fetchall()
        fill.vectors(owner, [r[0] for r in rows], [r[1] for r in rows], corpus.embedded([r[2] for r in rows]))
        fill.settle(owner)
    return number


def floor(owner: Connection[Any], number: int) -> Callable[[tuple[str, Any]], list[Any]]:
    """The hand-written recall."""
    model, dimensions = owner.execute("select id, dimensions from loci_data.embedding_models where active").fetchone() or (0, 0)
    documents, terms = owner.execute(
        "select sum(documents)::float, sum(terms)::float from loci_data.corpus_counts where namespace_id = %s", [number]
    ).fetchone() or (1, 1)
    literals = {"ns": sql.Literal(number), "model": sql.Literal(model), "dimensions": sql.Literal(dimensions)}
    nearest = sql.SQL(VECTOR).format(**literals)
    values = {"ns": number, "documents": documents, "slope": 0.9 * documents / terms}

    def ask(question: tuple[str, Any]) -> list[Any]:
        fused: dict[Any, float] = {}
        lexical = owner.execute(LEXICAL, {**values, "query": question[0]}).fetchall()
        vector = owner.execute(nearest, {"vector": HalfVector(question[1])}).fetchall()
        for weight, rows in ((1.5, lexical), (1.0, vector)):
            for rank, (key,) in enumerate(rows, start=1):
                fused[key] = fused.get(key, 0.0) + weight / (5 + rank)
        best = sorted(fused, key=lambda key: -fused[key])[:10]
        return owner.execute(ROWS, {"ns": number, "ids": best}).fetchall()

    return ask


class Client:
    """One kept-alive HTTP connection, as light as it gets: the client's own time is part of the figure."""

    def __init__(self, url: str, namespace: str) -> None:
        self._connection = http.client.HTTPConnection(url.removeprefix("http://"))
        self._headers = {"Content-Type": "application/json", "X-Namespace": namespace}

    def post(self, path: str, body: dict[str, Any], namespace: str | None = None) -> Any:
        """The reply to a POST, in another namespace where one is named."""
        headers = self._headers | ({"X-Namespace": namespace} if namespace else {})
        self._connection.request("POST", "/api/v1" + path, json.dumps(body), headers)
        response = self._connection.getresponse()
        payload = response.read()
        if response.status >= 300:
            raise RuntimeError(f"{response.status}: {payload[:500]!r}")
        return json.loads(payload)


def run(base: Database, given: Options) -> list[Figure]:
    """Fill, start a service, ask both ways in turn."""
    fill.model(base)
    number = load(base, given)
    texts = corpus.questions(given.data, "locomo")[:400]
    questions = list(zip(texts, corpus.embedded(texts), strict=True))
    with (
        running(base.folder, worker=False) as (url, _),
        running(base.folder, worker=False, module="bench.unguarded") as (open_url, _),
        base.owner() as owner,
    ):
        client, unguarded = Client(url, MAIN), Client(open_url, MAIN)
        took: list[float] = []

        def two(question: tuple[str, Any]) -> None:
            took.append(client.post("/recall", {"query": question[0], "arms": ["lexical", "vector"]})["took_ms"])

        times = interleaved(
            {
                "two": two,
                "unguarded": lambda question: unguarded.post("/recall", {"query": question[0], "arms": ["lexical", "vector"]}),
                "graph": lambda question: client.post("/recall", {"query": question[0], "arms": ["lexical", "vector", "graph"]}),
                "four": lambda question: client.post("/recall", {"query": question[0]}),
                "floor": floor(owner, number),
            },
            questions,
        )
        return report(
            f"Recall through REST, {given.size(100_000):,} memories in one namespace of {OTHERS + 1:,}",
            owner,
            [
                against("recall, lexical + vector", times["two"], times["floor"], 1.5),
                against("the same; floor: without guards", times["two"], times["unguarded"], 1.03),
                Figure("… of which inside the service", f"p50 {statistics.median(took):.2f} ms"),
                against("recall, lexical + vector + graph; floor: without the graph", times["graph"], times["two"], 1.3),
                Figure(
                    "recall, four arms",
                    milliseconds(times["four"]),
                    milliseconds(times["floor"]),
                    statistics.median(times["four"]) / statistics.median(times["floor"]),
                ),
            ],
        )


if __name__ == "__main__":
    chosen = options(__doc__)
    with database(chosen) as opened:
        run(opened, chosen)
