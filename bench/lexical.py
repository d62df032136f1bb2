"""The lexical arm in SQL: how fast is exact BM25 over 100,000 texts of one namespace, and is it exact?

    python -m bench.lexical [--data FOLDER] [--quick]

Two works: 100,000 texts of 24 random words asked for four random words (about 2,000 matches), and the questions of LoCoMo
over its turns in pairs (about 9,000). The floor is the same ranking as one bare statement over blocks of postings, without
ranges, filters, times or rights. Ranks are compared with BM25 computed in numpy from the tsvectors of memory_texts.
"""

import random
import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np
from psycopg import Connection

from bench import corpus, fill
from bench.database import Database, database
from bench.measure import Figure, Options, interleaved, options, report, within

FLOOR = """
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
select m.id, b.score from best b join loci_data.memories m on m.namespace_id = %(ns)s and m.doc_id = b.doc_id order by b.score desc
"""
ARM = "select id, score from loci.search_text(%s, %s)"


class Exhaustive:
    """BM25 (k1 = 1.2, b = 0.75) over every text of a namespace, from its tsvectors."""

    def __init__(self, connection: Connection[Any], namespace_id: int) -> None:
        rows = connection.execute(
            """select dense_rank() over (order by memory_id) - 1, u.lexeme, cardinality(u.positions)
               from loci_data.memory_texts t cross join lateral unnest(t.document) u where t.namespace_id = %s""",
            [namespace_id],
        ).fetchall()
        numbers: dict[str, int] = {}
        terms = np.array([numbers.setdefault(row[1], len(numbers)) for row in rows])
        order = np.argsort(terms, kind="stable")
        self._documents = np.array([row[0] for row in rows])[order]
        self._frequencies = np.array([row[2] for row in rows], dtype=np.float64)[order]
        self._starts = np.searchsorted(terms[order], np.arange(len(numbers) + 1))
        self._numbers = numbers
        self._lengths = np.bincount(self._documents, weights=self._frequencies)
        texts = connection.execute("select count(*) from loci_data.memory_texts where namespace_id = %s", [namespace_id]).fetchone()
        self._texts = int(texts[0]) if texts else 0  # some hold stop words only

    def scores(self, lexemes: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The score of every document."""
        total = np.zeros(len(self._lengths))
        norm = 1.2 * (0.25 + 0.75 * self._lengths * self._texts / self._lengths.sum())
        for number in (self._numbers[lexeme] for lexeme in lexemes if lexeme in self._numbers):
            span = slice(self._starts[number], self._starts[number + 1])
            documents, frequencies = self._documents[span], self._frequencies[span]
            idf = np.log(1 + (self._texts - len(documents) + 0.5) / (len(documents) + 0.5))
            total[documents] += idf * frequencies * 2.2 / (frequencies + norm[documents])
        return total


def agreement(
    owner: Connection[Any], app: Connection[Any], name: str, number: int, questions: Sequence[str]
) -> tuple[float, float]:
    """Share of the arm's first ten results whose scores are those of the exhaustive ranking, and median number of matches."""
    exhaustive = Exhaustive(owner, number)
    right = total = 0
    matches = []
    for question in questions:
        lexemes = (owner.execute("select tsvector_to_array(to_tsvector('pg_catalog.english', %s))", [question]).fetchone() or [[]])[
            0
        ]
        scores = exhaustive.scores(lexemes)
        matches.append(int(np.count_nonzero(scores)))
        best = np.sort(scores)[::-1][:10]
        best = best[best > 0]
        found = np.array([row[1] for row in app.execute(ARM, [name, question]).fetchall()[:10]])
        total += len(best)
        right += int(np.count_nonzero(np.isclose(found, best[: len(found)], rtol=1e-6))) if len(found) == len(best) else 0
    return right / total, statistics.median(matches)


def work(base: Database, name: str, texts: list[str], questions: list[str], p50: float, p95: float | None) -> list[Figure]:
    """Measure one work: latency beside the floor's, and agreement."""
    with base.owner() as owner, base.app() as app:
        number = fill.namespace(owner, name)
        if not fill.holds(owner, number, len(texts)):
            fill.add(owner, [(number, text) for text in texts])
            fill.settle(owner)
        documents, terms = owner.execute(
            "select sum(documents)::float, sum(terms)::float from loci_data.corpus_counts where namespace_id = %s", [number]
        ).fetchone() or (1, 1)
        values = {"ns": number, "documents": documents, "slope": 0.9 * documents / terms}
        times = interleaved(
            {
                "arm": lambda question: app.execute(ARM, [name, question]).fetchall(),
                "floor": lambda question: owner.execute(FLOOR, {**values, "query": question}).fetchall(),
            },
            questions,
        )
        share, matches = agreement(owner, app, name, number, questions[:300])
    return [
        within(f"{name}: {len(questions)} questions, {matches:,.0f} matches", times["arm"], p50=p50, p95=p95, floor=times["floor"]),
        Figure(f"{name}: top 10 as exhaustive BM25", f"{100 * share:.1f} %", target="≥ 99 %", met=share >= 0.99),
    ]


def run(base: Database, given: Options) -> list[Figure]:
    """Fill both namespaces and ask."""
    size = given.size(100_000)
    draw = random.Random(6)
    vocabulary = corpus.words(4800)
    texts = [" ".join(draw.choices(vocabulary, k=24)) for _ in range(size)]
    figures = work(base, "random-words", texts, [" ".join(draw.sample(vocabulary, 4)) for _ in range(500)], 3.0, None)
    turns = corpus.turns(given.data)
    pairs = corpus.recombined(turns, size, seed=9)
    figures += work(base, "dialogue", pairs, corpus.questions(given.data, "locomo")[:500], 10.0, 30.0)
    with base.owner() as owner:
        return report(f"Lexical arm in SQL, {size:,} texts a namespace", owner, figures)


if __name__ == "__main__":
    chosen = options(__doc__)
    with database(chosen) as opened:
        run(opened, chosen)
