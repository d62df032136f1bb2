"""Running services: uvicorn in a thread, reached over a Unix socket, with its lifespan."""

import asyncio
import math
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import uvicorn
from fastapi import FastAPI

from db.embedded import EmbeddedServer
from service.app import create_app
from service.http.protocol import limited_protocol
from service.http.server import GracefulServer
from service.settings import Settings
from tests.databases import Database, url_for

Row = dict[str, Any]
PATIENCE = 180.0  # seconds until a test gives up waiting: no promise of speed, so that a slow machine fails none
POOLER = os.environ.get("LOCI_TEST_POOLER")  # the URL of a pooler in front of the server; see tests/distributed/pooled.py
PATIENT = dict.fromkeys(("lock", "read", "write", "context"), PATIENCE)  # nor do services give up before, unless a test says so


@dataclass(frozen=True)
class Service:
    """A service that listens on `socket`."""

    app: FastAPI
    socket: Path
    database: Database
    url: str = ""  # where it listens on TCP, if it does
    loop: asyncio.AbstractEventLoop | None = None

    def client(self, **headers: str) -> httpx.Client:
        """A client of its REST interface."""
        transport = httpx.HTTPTransport(uds=str(self.socket), verify=False)  # certificates take 20 ms to read
        return httpx.Client(transport=transport, base_url="http://loci/api/v1", headers=headers, timeout=PATIENCE)


@cache
def openapi_document() -> Row:
    """The document of the interface where no keys are needed. It takes two seconds of the processor, so each process makes it once."""
    return create_app(Settings(_env_file=None, embedding={"provider": "none"}), "postgresql://").openapi()


def has_model(database: Database) -> bool:
    """Whether an embedding model serves."""
    with database.admin() as admin:
        return admin.execute("select from loci_data.embedding_models where active").fetchone() is not None


@contextmanager
def serve(
    database: Database, server: EmbeddedServer | None = None, *, tcp: bool = False, port: int = 0, **options: Any
) -> Iterator[Service]:
    """Serve over a database until the block ends. `options` are settings; nobody embeds or reranks unless given. `server` is watched.

    With `tcp` it listens on a `port` of the loopback interface, a free one unless it is given, for clients that know no Unix sockets.
    """
    options = {
        "embedding": {"provider": "none"},
        "rerank": {"provider": "none"},
        "pool_size": 5,
        "allowed_hosts": ["loci"],
        **options,
    }
    options["rerank"] = {"provider": "auto", **options["rerank"]}
    options["deadlines"] = {**PATIENT, **options.get("deadlines", {})}
    options["limits"] = {"wait": PATIENCE, **options.get("limits", {})}
    if options["embedding"]["provider"] == "static":  # a question has its vector, however slow the machine is
        options["embedding"] = {"query_timeout": PATIENCE, **options["embedding"]}
    url = database.app_url
    if POOLER:
        url, options["direct_url"] = url_for(POOLER, database.name), url
    settings = Settings(_env_file=None, **options)
    app = create_app(settings, url, server)
    with tempfile.TemporaryDirectory(prefix="loci-") as folder:
        socket = Path(folder) / "http"
        place: dict[str, Any] = {"host": "127.0.0.1", "port": port} if tcp else {"uds": str(socket)}
        # As `loci serve` has it. Clients let go of a connection after five seconds: a server that does so too may be quicker by a hair.
        kept = math.ceil(settings.limits.keep_alive)
        config = uvicorn.Config(
            app,
            http=limited_protocol(settings.limits, settings.trusted_proxies or ()),
            forwarded_allow_ips=settings.trusted_proxies,
            **place,
            log_level="error",
            lifespan="on",
            timeout_keep_alive=kept,
        )
        listener = GracefulServer(config, app.state.loci.feed.close)
        thread = threading.Thread(target=listener.run, daemon=True)
        thread.start()
        deadline = time.monotonic() + PATIENCE
        while not listener.started:
            if not thread.is_alive() or time.monotonic() > deadline:
                raise RuntimeError("the service did not start")
            time.sleep(0.01)
        loop = listener.servers[0].get_loop()
        try:
            if settings.worker and settings.embedding.provider == "static":
                eventually(lambda: has_model(database))  # before that nothing waits for a vector, and nothing gets one
            port = listener.servers[0].sockets[0].getsockname()[1] if tcp else 0
            yield Service(app, socket, database, f"http://127.0.0.1:{port}" if tcp else "", loop)
        finally:
            listener.should_exit = True
            thread.join(PATIENCE)
            if thread.is_alive():
                raise RuntimeError("the service did not stop: " + "\n".join(map(repr, asyncio.all_tasks(loop))))


@dataclass(frozen=True)
class Api:
    """A client whose requests go to one namespace."""

    client: httpx.Client
    namespace: str
    service: Service

    def post(self, path: str, json: Any = None, **options: Any) -> httpx.Response:
        """POST JSON."""
        return self.client.post(path, json=json, **options)

    def get(self, path: str, **params: Any) -> httpx.Response:
        """GET with query parameters."""
        return self.client.get(path, params=params)

    def write(self, content: str, **fields: Any) -> Row:
        """Write a memory; the reply."""
        return ok(self.post("/memories", {"content": content, **fields}), 201)

    def write_all(self, *items: Row) -> None:
        """Write memories at once."""
        ok(self.post("/memories/batch", {"items": list(items)}))

    def recall(self, query: str, **fields: Any) -> Row:
        """Ask; the reply."""
        return ok(self.post("/recall", {"query": query, **fields}))

    def found(self, query: str, **fields: Any) -> list[str]:
        """Ask; contents of the results, best first."""
        return [result["content"] for result in self.recall(query, **fields)["results"]]

    def embedded(self) -> bool:
        """Whether no memory waits for its vector."""
        return ok(self.get(f"/namespaces/{self.namespace}"))["pending_embeddings"] == 0

    def size(self) -> dict[str, int]:
        """How much the namespace holds."""
        row = ok(self.get(f"/namespaces/{self.namespace}"))
        return {key: row[key] for key in ("memories", "current_memories", "entities", "edges")}


def ok(response: httpx.Response, status: int = 200) -> Any:
    """The body of a reply that must have this status."""
    assert response.status_code == status, response.text
    return response.json()


def problem(response: httpx.Response, status: int, slug: str) -> Row:
    """The problem document of a reply that must be this problem."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body = response.json()
    assert body["type"] == f"urn:loci:problem:{slug}", body
    assert body["status"] == status
    return body


@contextmanager
def new_api(service: Service, **headers: str) -> Iterator[Api]:
    """A client in a new namespace."""
    name = f"api-{uuid4().hex[:12]}"
    with service.client(**{"X-Namespace": name, **headers}) as client:
        ok(client.post("/namespaces", json={"name": name}), 201)
        yield Api(client, name, service)


def eventually(question: Any) -> Any:
    """Ask again and again until the answer is true, and return it."""
    began, pause = time.monotonic(), 0.005
    while not (answer := question()):
        assert time.monotonic() - began < PATIENCE, "it did not come true"
        time.sleep(pause)
        pause = min(2 * pause, 0.05)
    return answer


def is_settled(database: Database) -> bool:
    """Whether nothing waits for a vector, to be searched for names, or for its position in the feed."""
    with database.admin() as admin:
        waiting = admin.execute(
            """select exists (select from loci_data.embedding_queue) or exists (select from loci_data.entity_queue)
                      or exists (select from loci_data.name_queue) or exists (select from loci_data.outbox)"""
        ).fetchone()
    return waiting is not None and not waiting[0]
