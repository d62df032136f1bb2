"""What one would use instead, in process: bare SQL, LangGraph's store, mem0. And Loci over REST. All on one PostgreSQL.

None embeds: vectors of texts and questions are made before, by Loci's default model, and looked up (`Vectors`). Loci embeds for itself.
"""

import http.client
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol
from uuid import uuid4

from numpy.typing import NDArray
from pgvector import Vector
from pgvector.psycopg import register_vector
from psycopg import Connection, sql

from bench import fill
from bench.database import Database

DIMENSIONS = 256
K = 10
DEPTH = 50  # hits of a statement of bare SQL that are fused
NAMESPACE = "peers"
BARE, BARE_AS_LOCI = "bare SQL", "bare SQL, index of Loci"


class Vectors:
    """A stub embedder: vectors that were made before the clock ran."""

    def __init__(self, texts: Sequence[str], vectors: NDArray[Any]) -> None:
        self._vectors = dict(zip(texts, vectors, strict=True))
        self._lists = {text: vector.tolist() for text, vector in self._vectors.items()}

    def array(self, text: str) -> NDArray[Any]:
        """As an array."""
        return self._vectors[text]

    def many(self, texts: Sequence[str]) -> list[list[float]]:
        """As LangGraph asks for them."""
        return [self._lists[text] for text in texts]

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002 (mem0's protocol)
        """As mem0 asks for them."""
        return self._lists[text]


class System(Protocol):
    """One of them, as one client uses it. `search` of kind `vector` asks by meaning alone."""

    def search(self, question: str, kind: str = "all") -> int:
        """Search; how many results."""

    def add(self, text: str) -> None:
        """Save one text, durably."""

    def bulk(self, texts: Sequence[str]) -> None:
        """Save many, by the fastest call that it has for that, with what it searches by."""


class Bare:
    """Bare SQL: one table, two prepared statements, reciprocal rank fusion here. The index has pgvector's default settings."""

    INDEX = "m = 16, ef_construction = 64"
    TABLE = """
        create extension if not exists vector;
        create table if not exists memories (id bigint generated always as identity primary key, body text not null,
            words tsvector generated always as (to_tsvector('english', body)) stored, embedding vector(256) not null);
        create index if not exists memories_words on memories using gin (words);
        create index if not exists memories_embedding on memories using hnsw (embedding vector_cosine_ops) with ({})"""
    WORDS = """select id, body from memories, (select string_agg(quote_literal(w), ' | ')::tsquery as q
               from unnest(tsvector_to_array(to_tsvector('english', %s))) w) t
               where words @@ q order by ts_rank(words, q) desc limit %s"""
    NEAR = "select id, body from memories order by embedding <=> %s limit %s"
    ADD = "insert into memories (body, embedding) values (%s, %s)"

    def __init__(self, url: str, vectors: Vectors) -> None:
        self._connection: Connection[Any] = Connection.connect(url, autocommit=True, prepare_threshold=0)
        for statement in self.TABLE.format(self.INDEX).split(";"):
            self._connection.execute(statement.encode())
        register_vector(self._connection)
        self._vectors = vectors

    def search(self, question: str, kind: str = "all") -> int:
        """See System."""
        vector = Vector(self._vectors.array(question))
        near = self._connection.execute(self.NEAR, [vector, K if kind == "vector" else DEPTH], binary=True).fetchall()
        if kind == "vector":
            return len(near)
        said = self._connection.execute(self.WORDS, [question, DEPTH], binary=True).fetchall()
        scores: dict[tuple[Any, ...], float] = {}
        for rows in (near, said):
            for rank, row in enumerate(rows, start=1):
                scores[row] = scores.get(row, 0.0) + 1 / (60 + rank)
        return len(sorted(scores, key=lambda row: -scores[row])[:K])

    def add(self, text: str) -> None:
        """See System."""
        self._connection.execute(self.ADD, [text, Vector(self._vectors.array(text))])

    def bulk(self, texts: Sequence[str]) -> None:
        """See System."""
        with self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.executemany(self.ADD, [(text, Vector(self._vectors.array(text))) for text in texts])


class BareAsLoci(Bare):
    """The same with an index like Loci's, so that the price of the index is told apart."""

    INDEX = "m = 24, ef_construction = 128"


class LangGraph:
    """LangGraph's PostgresStore: vectors only."""

    def __init__(self, url: str, vectors: Vectors) -> None:
        from langgraph.store.postgres import PostgresStore

        index: Any = {"dims": DIMENSIONS, "embed": vectors.many, "fields": ["text"]}
        self._opened: AbstractContextManager[Any] = PostgresStore.from_conn_string(url, index=index)
        self._store = self._opened.__enter__()
        self._store.setup()

    def search(self, question: str, kind: str = "all") -> int:  # noqa: ARG002 (it knows one)
        """See System."""
        return len(self._store.search((NAMESPACE,), query=question, limit=K))

    def add(self, text: str) -> None:
        """See System."""
        self._store.put((NAMESPACE,), uuid4().hex, {"text": text})

    def bulk(self, texts: Sequence[str]) -> None:
        """See System."""
        from langgraph.store.base import PutOp

        self._store.batch([PutOp((NAMESPACE,), uuid4().hex, {"text": text}) for text in texts])


class Mem0:
    """mem0 over pgvector, without its model: what is added is saved as it is."""

    def __init__(self, url: str, vectors: Vectors) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="loci-bench-mem0-")  # removed with this
        folder = self._folder.name
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": folder}
        from mem0 import Memory

        none = {"provider": "openai", "config": {"api_key": "none"}}  # never asked
        store = {"connection_string": url, "collection_name": NAMESPACE, "embedding_model_dims": DIMENSIONS, "maxconn": 2}
        self._memory: Any = Memory.from_config(
            {
                "vector_store": {"provider": "pgvector", "config": store},
                "llm": none,
                "embedder": none,
                "history_db_path": f"{folder}/history.db",
            }
        )
        self._memory.embedding_model = vectors

    def search(self, question: str, kind: str = "all") -> int:  # noqa: ARG002 (it knows one)
        """See System."""
        return len(self._memory.search(question, top_k=K, filters={"user_id": NAMESPACE})["results"])

    def add(self, text: str) -> None:
        """See System."""
        self._memory.add([{"role": "user", "content": text}], user_id=NAMESPACE, infer=False)

    def bulk(self, texts: Sequence[str]) -> None:
        """See System."""
        self._memory.add([{"role": "user", "content": text} for text in texts], user_id=NAMESPACE, infer=False)


class Loci:
    """Loci over REST, one connection that is kept."""

    def __init__(self, url: str, namespace: str = NAMESPACE) -> None:
        self._connection = http.client.HTTPConnection(url.removeprefix("http://"))
        self._headers = {"Content-Type": "application/json", "X-Namespace": namespace}

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        try:
            reply = self._sent(path, body)
        except (BrokenPipeError, ConnectionResetError, http.client.RemoteDisconnected):  # closed while others took their turns
            self._connection.close()
            reply = self._sent(path, body)
        content = json.loads(reply.read())
        if reply.status >= 300:
            raise RuntimeError(f"{path}: {reply.status} {content}")
        return content

    def _sent(self, path: str, body: dict[str, Any]) -> http.client.HTTPResponse:
        self._connection.request("POST", f"/api/v1{path}", json.dumps(body), self._headers)
        return self._connection.getresponse()

    def search(self, question: str, kind: str = "all") -> int:
        """See System."""
        return len(
            self._post("/recall", {"query": question, "k": K} | ({"arms": ["vector"]} if kind == "vector" else {}))["results"]
        )

    def add(self, text: str) -> None:
        """See System."""
        self._post("/memories", {"content": text})

    def bulk(self, texts: Sequence[str]) -> None:
        """Search by words has them from here on; vectors come behind."""
        self._post("/memories/batch", {"items": [{"content": text} for text in texts]})


PEERS: dict[str, tuple[str | None, Callable[[str, Vectors], System]]] = {  # what they are called, and whose package
    BARE: (None, Bare),
    BARE_AS_LOCI: (None, BareAsLoci),
    "LangGraph store": ("langgraph-checkpoint-postgres", LangGraph),
    "mem0": ("mem0ai", Mem0),
}


def installed() -> tuple[dict[str, Callable[[str, Vectors], System]], list[str]]:
    """Those that can be measured here, and lines that say versions and what is missing."""
    found, said = {}, []
    for name, (package, make) in PEERS.items():
        try:
            said.append(f"{name}: {package} {version(package)}" if package else f"{name}: psycopg {version('psycopg')}")
            found[name] = make
        except PackageNotFoundError:
            said.append(f"{name} left out: {package} is not installed (pip install -r bench/requirements-peers.txt)")
    return found, said


def database_name(name: str) -> str:
    """The name of the database of a peer."""
    return "_".join(name.lower().replace(",", "").split())


def url_of(base: Database, name: str) -> str:
    """The URL of the database of a peer."""
    return str(base.server.connection_url("postgres", database_name(name)))


def database_of(base: Database, name: str) -> str:
    """The URL of a database of its own for a peer, made anew."""
    own = sql.Identifier(database_name(name))
    with base.owner() as owner:
        owner.execute(sql.SQL("drop database if exists {} with (force)").format(own))
        owner.execute(sql.SQL("create database {}").format(own))
    url = url_of(base, name)
    with Connection.connect(url, autocommit=True) as connection:
        connection.execute("create extension vector")
    return url


@contextmanager
def indexed_afterwards(url: str) -> Iterator[None]:
    """HNSW indexes are dropped before the block and built behind it: filling is not what is measured."""
    with Connection.connect(url, autocommit=True) as connection:
        found = connection.execute(
            "select format('%I.%I', schemaname, indexname), indexdef from pg_indexes where indexdef like '%USING hnsw%'"
        ).fetchall()
        for name, _ in found:
            connection.execute(b"drop index " + name.encode())
        yield
        connection.execute("set maintenance_work_mem = '512MB'")
        for _, definition in found:
            connection.execute(definition.encode())
        connection.execute("vacuum analyze")


def fill_loci(base: Database, texts: Sequence[str], vectors: Vectors) -> None:
    """The texts in one namespace, with their words and vectors and the mean of those, as the worker leaves them."""
    fill.model(base)
    with base.owner() as owner:
        number = fill.namespace(owner, NAMESPACE)
        if fill.holds(owner, number, len(texts)):
            return
        fill.add(owner, [(number, text) for text in texts], names=True)
        fill.find_names(base)
        rows = owner.execute("select id, content from loci_data.memories where namespace_id = %s", [number]).fetchall()
        import numpy as np

        fill.vectors(owner, [number] * len(rows), [row[0] for row in rows], np.stack([vectors.array(row[1]) for row in rows]))
        owner.execute(
            """insert into loci_data.vector_means (namespace_id, model_id, mean, vectors, stored)
               select namespace_id, model_id, avg(embedding::vector), count(*), 0 from loci_data.memory_vectors
               where namespace_id = %s group by 1, 2""",
            [number],
        )
        fill.settle(owner)
