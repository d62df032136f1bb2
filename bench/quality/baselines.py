"""Plain BM25 (k1 = 1.2, b = 0.75) over the lexemes that PostgreSQL makes of texts: what recall has to be at least as good as.

Computed exactly, over every document of a namespace, apart from all code of recall.
"""

import math
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from psycopg import Connection

from bench.quality.scores import as_row
from bench.quality.sets import QuestionSet
from db.embedded import EmbeddedServer

Row = dict[str, Any]
K1, B = 1.2, 0.75
BARE, DATED = "BM25", "BM25 with speaker and date"
LEXEMES = """
select t.place - 1, array_agg(u.lexeme), array_agg(coalesce(cardinality(u.positions), 1))
from unnest(%s::text[]) with ordinality t(body, place), unnest(to_tsvector(%s::regconfig, t.body)) u
group by t.place
"""


@contextmanager
def bare_postgres() -> Iterator[Connection[Any]]:
    """A PostgreSQL that knows nothing of this project."""
    with tempfile.TemporaryDirectory(prefix="loci-bench-") as folder:
        Path(folder).chmod(0o755)
        server = EmbeddedServer(Path(folder), 18)
        try:
            with Connection.connect(server.connection_url("postgres"), autocommit=True) as connection:
                yield connection
        finally:
            server.leave_server()


class Index:
    """BM25 over texts."""

    def __init__(self, connection: Connection[Any], texts: list[str], configuration: str = "english") -> None:
        self._connection, self._configuration = connection, configuration
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        lengths = np.zeros(len(texts))
        for start in range(0, len(texts), 500):
            for place, counts in self._lexemes(texts[start : start + 500]).items():
                lengths[start + place] = sum(counts.values())
                for lexeme, count in counts.items():
                    self._postings[lexeme].append((start + place, count))
        self._norm = K1 * (1 - B + B * lengths / max(lengths.mean(), 1e-9))

    def _lexemes(self, texts: list[str]) -> dict[int, Counter[str]]:
        rows = self._connection.execute(LEXEMES, [[text.replace("\0", "") for text in texts], self._configuration]).fetchall()
        return {place: Counter(dict(zip(lexemes, counts, strict=True))) for place, lexemes, counts in rows}

    def search(self, queries: list[str], k: int = 20) -> list[list[int]]:
        """The best documents of each question, best first; equal ones in the order in which they came."""
        asked = self._lexemes(queries)
        return [self._best(self._scores(asked.get(n, Counter())), k) for n in range(len(queries))]

    def _scores(self, terms: Counter[str]) -> NDArray[np.float64]:
        scores = np.zeros(len(self._norm))
        for term in terms:
            postings = self._postings.get(term)
            if not postings:
                continue
            places, counts = (np.array(part) for part in zip(*postings, strict=True))
            idf = math.log(1 + (len(self._norm) - len(postings) + 0.5) / (len(postings) + 0.5))
            scores[places] += idf * counts * (K1 + 1) / (counts + self._norm[places])
        return scores

    @staticmethod
    def _best(scores: NDArray[np.float64], k: int) -> list[int]:
        return [int(place) for place in np.argsort(-scores, kind="stable")[:k] if scores[place] > 0]


def with_speaker_and_date(document: Row) -> str:
    """A turn with who said it and when."""
    return f"[{datetime.fromisoformat(document['timestamp']):%-d %B %Y}] {document['speaker']}: {document['text']}"


def baselines(connection: Connection[Any], questions: QuestionSet) -> dict[str, list[Row]]:
    """Rows of each baseline: over bare texts, and with who and when where it is known."""
    made: dict[str, list[Row]] = defaultdict(list)
    for name, documents in questions.namespaces.items():
        queries = [query for query in questions.queries if query["namespace"] == name]
        texts = {BARE: [document["text"] for document in documents]}
        if questions.dialogue:
            texts[DATED] = [with_speaker_and_date(document) for document in documents]
        for choice, bodies in texts.items():
            index = Index(connection, bodies)
            for query, found in zip(queries, index.search([query["text"] for query in queries]), strict=True):
                made[choice].append(as_row(questions, query, [documents[place]["id"] for place in found], choice))
    return dict(made)
