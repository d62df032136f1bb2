"""Vectors arrive in the background, and whatever the endpoint does, writes and answers go on."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import numpy as np
import pytest

from service.embedding.cache import VectorCache
from service.embedding.openai import OpenAIProvider
from service.embedding.provider import EmbeddingError, RejectedText
from service.embedding.static import StaticProvider
from service.settings import EmbeddingSettings
from tests.clocks import instead
from tests.databases import Database, Server
from tests.services import PATIENCE, Api, Service, eventually, new_api, ok, serve

CLOSED = "http://127.0.0.1:9"  # the discard port: nobody listens
Reply = Callable[[list[str]], tuple[int, Any, dict[str, str]]]


def vectors(texts: list[str]) -> tuple[int, Any, dict[str, str]]:
    """What a working endpoint of 4 dimensions answers."""
    return (
        200,
        {"data": [{"index": n, "embedding": [1.0, float(len(text)), 0.0, 0.5]} for n, text in enumerate(texts)]},
        {},
    )


def pending(api: Api) -> int:
    return int(ok(api.get(f"/namespaces/{api.namespace}"))["pending_embeddings"])


class Endpoint(ThreadingHTTPServer):
    """An OpenAI-compatible endpoint whose replies are `answers`, one after the other, and then those that `works` makes."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: list[Reply] = []
        self.asked: list[list[str]] = []
        self.works: Reply = vectors

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        texts = json.loads(self.rfile.read(int(self.headers["content-length"])))["input"]
        self.server.asked.append(texts)
        status, body, headers = (self.server.answers.pop(0) if self.server.answers else self.server.works)(texts)
        payload = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"content-length": str(len(payload)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        with suppress(BrokenPipeError):  # who asked has given up
            self.wfile.write(payload)

    def log_message(self, *_: object) -> None: ...


@contextmanager
def listening() -> Iterator[Endpoint]:
    """An endpoint that answers until the block ends."""
    server = Endpoint()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@contextmanager
def asking(database: Database, endpoint: Endpoint, query_timeout: float = PATIENCE) -> Iterator[Service]:
    """A service that asks the endpoint."""
    asked = {"provider": "openai", "endpoint": endpoint.url, "dimensions": 4, "query_timeout": query_timeout}
    with serve(database, embedding=asked) as service:
        with new_api(service) as api:  # a model is known once it has made a vector
            api.write("warm up")
            eventually(lambda: endpoint.asked and pending(api) == 0)
        yield service


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with listening() as server:
        yield server


@pytest.fixture
def remote(server: Server, endpoint: Endpoint) -> Iterator[Api]:
    """A namespace of a service of the test's own that asks the endpoint: it remembers questions to which it had no answer."""
    database = server.clone("remote")
    with asking(database, endpoint) as service, new_api(service) as api:
        yield api
    server.drop(database)


@pytest.fixture(scope="module")
def shared(own_database: Database) -> Iterator[tuple[Service, Endpoint]]:
    """A service that asks an endpoint, for tests in which no question goes unanswered."""
    with listening() as endpoint, asking(own_database, endpoint) as service:
        yield service, endpoint


@pytest.fixture
def writing(shared: tuple[Service, Endpoint]) -> Iterator[tuple[Api, Endpoint]]:
    """A namespace of that service, and its endpoint, which answers and was asked nothing yet."""
    service, endpoint = shared
    endpoint.answers, endpoint.asked = [], []
    with new_api(service) as api:
        yield api, endpoint


@pytest.fixture
def tireless(monkeypatch: pytest.MonkeyPatch) -> None:
    """An endpoint that has failed is asked again at once, by whoever wants a vector."""

    async def at_once(_: float) -> None: ...

    monkeypatch.setattr("db.retries.asyncio", instead(asyncio, sleep=at_once))
    monkeypatch.setattr("service.endpoints.COOL_DOWN", 0.0)


@pytest.fixture
def dead(start_service: Callable[..., Any]) -> Iterator[Api]:
    """A namespace of a service whose endpoint is a closed port."""
    with new_api(start_service(embedding={"provider": "openai", "endpoint": CLOSED, "dimensions": 4})) as client:
        yield client


@pytest.mark.row("R12")
def test_a_vector_is_made_behind_the_write(api: Api) -> None:
    api.write("warm up")
    eventually(lambda: pending(api) == 0)
    api.write("The dog chased the cat.")
    eventually(lambda: "The dog chased the cat." in api.found("puppy", arms=["vector"]))


@pytest.mark.row("R12", "L1")
def test_a_memory_is_found_by_words_at_once_whatever_the_vectors_do(dead: Api) -> None:
    dead.write("Alice lives in Oslo")
    assert dead.found("Alice") == ["Alice lives in Oslo"]
    assert (dead.recall("Alice")["waiting"], pending(dead)) == (1, 1)


def test_an_entry_of_working_memory_is_found_by_words_whatever_the_vectors_do(dead: Api) -> None:
    ok(dead.client.put("/working-memory/session/a/plan", json={"value": "Alice travels to Oslo"}))
    found = ok(dead.post("/working-memory/search", {"query": "Oslo"}))
    assert [row["key"] for row in found["items"]] == ["session/a/plan"]
    assert "the embedding endpoint" in found["skipped"]["vector"]


@pytest.mark.anyio
async def test_a_text_is_embedded_once_for_each_model_and_the_latest_are_kept() -> None:
    class Counting:
        def __init__(self, name: str) -> None:
            self.name, self.asked = name, list[str]()

        async def embed(self, texts: list[str], *, timeout: float | None = None) -> Any:  # noqa: ARG002
            self.asked += texts
            return np.array([[len(text), len(self.name)] for text in texts], dtype=np.float32)

    first, other, cache = Counting("m"), Counting("other"), VectorCache(kept=3)
    assert (await cache.embed(first, ["a", "bb", "a"], timeout=1)).tolist() == [[1, 1], [2, 1], [1, 1]]  # type: ignore[arg-type]
    assert (await cache.embed(other, ["a"], timeout=1)).tolist() == [[1, 5]]  # type: ignore[arg-type]
    await cache.embed(first, ["a", "ccc"], timeout=1)  # type: ignore[arg-type]
    assert first.asked == ["a", "bb", "ccc"]
    await cache.embed(first, ["a", "bb"], timeout=1)  # type: ignore[arg-type]
    assert first.asked == ["a", "bb", "ccc", "bb"]


@pytest.mark.row("R5", "L1")
def test_a_dead_endpoint_slows_no_write_and_no_answer(server: Server, endpoint: Endpoint) -> None:
    silent = threading.Event()  # until it is set, nobody hears from the endpoint
    database = server.clone("silent")
    with asking(database, endpoint, query_timeout=0.1) as service, new_api(service) as api:

        def answer(texts: list[str]) -> Any:
            silent.wait(PATIENCE)
            return vectors(texts)

        endpoint.answers = [answer] * 100
        try:
            ok(api.post("/memories/batch", {"items": [{"content": f"apple {n}"} for n in range(200)]}))
            found = api.recall("apple")
            assert pending(api) == 200
        finally:
            silent.set()
    server.drop(database)
    assert len(found["results"]) == 10
    assert found["skipped"]["vector"] == "the embedding endpoint sent no answer within 0.1 s"
    assert found["waiting"] == 200


def test_a_dead_endpoint_is_not_asked_again_by_every_question(
    remote: Api, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.endpoints.COOL_DOWN", PATIENCE)
    remote.write("apple")
    eventually(lambda: pending(remote) == 0)
    endpoint.answers = [lambda _: (500, {}, {})] * 50
    assert "500" in remote.recall("apple")["skipped"]["vector"]
    asked = len(endpoint.asked)
    assert "a moment ago" in remote.recall("apple")["skipped"]["vector"]
    assert len(endpoint.asked) == asked


@pytest.mark.row("L1")
def test_vectors_of_an_endpoint_are_stored_and_searched(writing: tuple[Api, Endpoint]) -> None:
    remote, _ = writing
    ok(remote.post("/memories/batch", {"items": [{"content": "x" * n} for n in (1, 5, 50)]}))
    eventually(lambda: pending(remote) == 0)
    assert remote.found("y" * 50, arms=["vector"])[0] == "x" * 50


@pytest.mark.parametrize(
    "answer",
    [
        lambda _: (429, {}, {"retry-after": "0"}),
        lambda _: (500, {"error": "oops"}, {}),
        lambda _: (503, b"", {"retry-after": "0"}),
        lambda _: (401, {}, {}),
        lambda _: (200, b"not json", {}),
        lambda _: (200, b'{"data": [{"index": 0, "embed', {}),
        lambda _: (200, b'{"data": [{"index": 0, "embed', {"content-length": "900", "connection": "close"}),
        lambda _: (200, {"data": []}, {}),
        lambda _: (200, {"no": "data"}, {}),
        lambda texts: (200, {"data": [{"index": n, "embedding": [None] * 4} for n, _ in enumerate(texts)]}, {}),
        lambda texts: (200, {"data": [{"index": n, "embedding": "AAAA"} for n, _ in enumerate(texts)]}, {}),
        lambda texts: (
            200,
            {"data": [{"index": n, "embedding": [1.0] * (4 + n)} for n, _ in enumerate([*texts, ""])]},
            {},
        ),
        lambda _: (200, [1], {}),
        lambda _: (200, {"data": [1]}, {}),
    ],
    ids=[
        "429",
        "500",
        "503",
        "wrong key",
        "no json",
        "truncated",
        "cut",
        "empty",
        "other json",
        "null",
        "text",
        "ragged",
        "list",
        "numbers",
    ],
)
@pytest.mark.usefixtures("tireless")
def test_a_failed_batch_is_tried_again_until_its_vectors_are_there(writing: tuple[Api, Endpoint], answer: Reply) -> None:
    remote, endpoint = writing
    endpoint.answers = [answer]
    remote.write("apple")
    eventually(lambda: pending(remote) == 0)
    assert remote.found("apple", arms=["vector"]) == ["apple"]


@pytest.mark.usefixtures("tireless")
def test_a_reply_of_a_wrong_dimension_stores_nothing_and_the_service_goes_on(writing: tuple[Api, Endpoint]) -> None:
    remote, endpoint = writing
    remote.write("apple")
    eventually(lambda: pending(remote) == 0)
    endpoint.answers = [lambda texts: (200, {"data": [{"index": n, "embedding": [1.0] * 7} for n, _ in enumerate(texts)]}, {})] * 20
    remote.write("pear")
    eventually(lambda: len(endpoint.answers) < 20)
    assert remote.found("pear", arms=["lexical"]) == ["pear"]
    endpoint.answers = []
    eventually(lambda: pending(remote) == 0)


@pytest.mark.usefixtures("tireless")
def test_a_question_whose_vector_has_a_wrong_dimension_is_answered_by_the_other_arms(writing: tuple[Api, Endpoint]) -> None:
    remote, endpoint = writing
    remote.write("apple")
    eventually(lambda: pending(remote) == 0)
    endpoint.answers = [lambda _: (200, {"data": [{"index": 0, "embedding": [1.0] * 3}]}, {})]
    answer = remote.recall("apple")
    assert [result["content"] for result in answer["results"]] == ["apple"]
    assert "vector" in answer["skipped"]


def test_a_text_that_the_endpoint_rejects_is_recorded_and_costs_no_other(writing: tuple[Api, Endpoint]) -> None:
    remote, endpoint = writing

    def refuses_bad(texts: list[str]) -> tuple[int, Any, dict[str, str]]:
        return (400, {"error": "too rude"}, {}) if any("bad" in text for text in texts) else vectors(texts)

    endpoint.answers = [refuses_bad] * 20
    ok(remote.post("/memories/batch", {"items": [{"content": "good"}, {"content": "bad"}, {"content": "better"}]}))
    eventually(lambda: pending(remote) == 0)
    assert set(remote.found("anything", arms=["vector"])) == {"good", "better"}
    with remote.service.database.admin() as admin:
        rows = admin.execute("select error from loci_data.embedding_queue where error is not null").fetchall()
    assert len(rows) == 1
    assert "too rude" in rows[0][0]


@pytest.mark.row("L1")
def test_long_texts_are_cut_before_they_are_sent(writing: tuple[Api, Endpoint]) -> None:
    remote, endpoint = writing
    remote.write("word " * 20_000)
    eventually(lambda: pending(remote) == 0)
    assert max(len(text) for texts in endpoint.asked for text in texts) == 30_000


def test_changing_the_model_embeds_everything_anew(start_service: Callable[..., Any], endpoint: Endpoint, server: Any) -> None:
    database = server.clone("models")
    first = start_service(database, embedding={"provider": "openai", "endpoint": endpoint.url, "model": "one", "dimensions": 4})
    with new_api(first) as api:
        api.write("apple")
        eventually(lambda: endpoint.asked and pending(api) == 0)  # before a model serves nothing waits either
        second = start_service(
            database, embedding={"provider": "openai", "endpoint": endpoint.url, "model": "two", "dimensions": 4}
        )
        with second.client(**{"X-Namespace": api.namespace}) as client:
            moved = Api(client, api.namespace, second)
            eventually(lambda: len(endpoint.asked) >= 2 and pending(moved) == 0)
            assert moved.found("apple", arms=["vector"]) == ["apple"]


# The provider by itself


def provider(*answers: Reply, **options: Any) -> tuple[OpenAIProvider, list[httpx.Request]]:
    """A provider whose requests are answered one after the other, then by a working endpoint."""
    requests: list[httpx.Request] = []
    queue = list(answers)

    def handle(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        status, body, headers = (queue.pop(0) if queue else vectors)(json.loads(request.content)["input"])
        return httpx.Response(status, headers=headers, content=body if isinstance(body, bytes) else json.dumps(body).encode())

    settings = EmbeddingSettings(provider="openai", endpoint="http://model/v1", **options)
    return OpenAIProvider(settings, httpx.MockTransport(handle)), requests


@pytest.mark.anyio
@pytest.mark.parametrize("count", [1, 3, 128, 129, 300])
async def test_texts_are_sent_in_batches_and_come_back_in_order(count: int) -> None:
    asked, requests = provider(batch=128)
    found = await asked.embed(["x" * n for n in range(1, count + 1)])
    assert len(requests) == -(-count // 128)
    assert found.shape == (count, 4)
    assert np.linalg.norm(found, axis=1) == pytest.approx(1, abs=1e-5)
    assert list(np.argsort(found[:, 1])) == list(range(count))


@pytest.mark.anyio
async def test_an_endpoint_that_is_silent_is_said_to_be() -> None:
    def silent(texts: list[str]) -> tuple[int, Any, dict[str, str]]:
        raise httpx.ReadTimeout("")

    asked, _ = provider(silent)
    with pytest.raises(EmbeddingError, match=r"^the embedding endpoint sent no answer within 1\.5 s$"):
        await asked.embed(["x"], timeout=1.5)


@pytest.mark.anyio
async def test_a_reply_out_of_order_is_put_in_order() -> None:
    asked, _ = provider(lambda texts: (200, {"data": vectors(texts)[1]["data"][::-1]}, {}))
    found = await asked.embed(["x", "xxxx"])
    assert found[0, 1] < found[1, 1]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("status", "error"), [(400, RejectedText), (401, EmbeddingError), (404, EmbeddingError), (500, EmbeddingError)]
)
async def test_a_waiting_question_asks_once(status: int, error: type[Exception]) -> None:
    asked, requests = provider(*[lambda _: (status, {}, {})] * 9)
    with pytest.raises(EmbeddingError) as raised:
        await asked.embed(["x"], timeout=1.0)
    assert type(raised.value) is error
    assert len(requests) == 1


@pytest.mark.anyio
async def test_retry_after_is_kept_to(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr("db.retries.asyncio", instead(asyncio, sleep=sleep))
    asked, requests = provider(
        lambda _: (429, {}, {"retry-after": "7"}), lambda _: (503, {}, {"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"})
    )
    await asked.embed(["x"])
    assert len(requests) == 3
    assert waits[0] == 7.0


@pytest.mark.anyio
async def test_the_key_is_sent_as_a_bearer() -> None:
    asked, requests = provider(api_key="secret")
    await asked.embed(["x"])
    assert requests[0].headers["authorization"] == "Bearer secret"
    assert str(requests[0].url) == "http://model/v1/embeddings"


@pytest.mark.anyio
async def test_unasked_dimensions_are_learnt_from_a_first_vector() -> None:
    asked, requests = provider()
    assert await asked.dimensions() == 4
    assert await asked.dimensions() == 4
    assert len(requests) == 1


@pytest.mark.row("L1")
@pytest.mark.anyio
@pytest.mark.parametrize(
    "texts",
    [["a"], [""], ["word " * 5000], ["a", "", "b"], ["🙂", "\u0000".strip("\u0000") or " "]],
    ids=lambda value: str(value)[:20],
)
async def test_the_static_model_gives_every_text_a_unit_vector(texts: list[str]) -> None:
    found = await StaticProvider().embed(texts)
    assert found.shape == (len(texts), 256)
    assert np.linalg.norm(found, axis=1) == pytest.approx(1, abs=1e-4)
