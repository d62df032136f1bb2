"""What is too large is refused before it is held: headers, bodies, lines."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from service.http.word_limit import count_words
from tests.services import Api, Service, eventually, new_api, ok, problem


@pytest.mark.row("X9")
def test_headers_over_the_limit_are_refused(api: Api) -> None:
    problem(api.client.get("/memories", headers={"X-Long": "x" * 70_000}), 431, "headers-too-large")
    problem(
        api.client.get("/memories", params={"cursor": "x" * 40_000}, headers={"X-Long": "x" * 40_000}), 431, "headers-too-large"
    )
    ok(api.client.get("/memories", headers={"X-Long": "x" * 60_000}))


@pytest.mark.parametrize("piece", [b"X-Long: ", b"X-Many: x\r\n"])
def test_headers_that_do_not_end_end_the_connection(api: Api, piece: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as sent:
        sent.settimeout(20)
        sent.connect(str(api.service.socket))
        sent.sendall(b"GET /healthz HTTP/1.1\r\nHost: loci\r\n" + piece)
        with pytest.raises(OSError, match=r"reset|pipe"):
            send_on(sent, piece * 1000)


def send_on(sent: socket.socket, data: bytes) -> None:
    """Send the same again and again, far more than any limit."""
    for _ in range(10_000):
        sent.sendall(data)


def test_a_connection_with_a_large_body_serves_on(api: Api) -> None:
    for _ in range(3):
        ok(api.post("/memories", {"content": "x", "metadata": {"pad": "x" * 500_000}}), 201)


def test_a_line_of_an_import_is_refused_when_it_is_too_long(api: Api) -> None:
    lines = (b"x" * 1_000_000 for _ in range(17))
    body = problem(api.client.post(f"/namespaces/{api.namespace}/import", content=lines), 422, "invalid-request")
    assert "longer than 16,777,216 bytes" in body["detail"]


@pytest.mark.parametrize(
    ("path", "item"),
    [
        ("/memories", {"content": "It is raining"}),
        ("/entities", {"name": "Alice"}),
        ("/edges", {"source": "Alice", "type": "knows", "target": "Bob"}),
        ("/conversations/s1/turns", {"role": "user", "content": "Hello"}),
    ],
)
def test_metadata_are_no_place_for_documents(api: Api, path: str, item: dict[str, Any]) -> None:
    """As large as a content may be: whoever reads a list of rows gets all of it."""
    kept = {"document": "ä" * 500_000}
    assert api.post(path, {**item, "metadata": kept}).status_code in {200, 201}
    answer = problem(api.post(path, {**item, "metadata": {**kept, "more": "x" * 60_000}}), 422, "invalid-request")
    assert "metadata" in answer["errors"][0]["field"]
    assert answer["errors"][0]["message"] == "must be at most 1 MiB (1,048,576 bytes) of JSON; it has 1,060,028"


def test_metadata_that_grow_step_by_step_end_at_the_same_size(api: Api) -> None:
    halves = [{"name": "Alice", "metadata": {name: "x" * 600_000}} for name in ("one", "two")]
    ok(api.post("/entities", halves[0]), 201)
    answer = problem(api.post("/entities", halves[1]), 422, "invalid-request")
    assert answer["errors"] == [{"field": "metadata", "message": "must be a JSON object of at most 1 MiB"}]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Alice went to Paris, in 2024.", 6),
        ("three.words,here", 3),
        ("Größe über Ärger", 3),
        ("你好世界", 5),
        ("日本語 text", 5),
        ('quoted \\" and \\n escaped', 4),
        ("", 0),
    ],
)
def test_words_are_counted_in_the_texts_of_json_alone(text: str, words: int) -> None:
    assert count_words(f'{{"items": [{{"content": "{text}", "embedding": [0.25, 1e-5, 3]}}]}}'.encode()) == words


@pytest.mark.row("X9")
@pytest.mark.parametrize("media", ["application/json", "application/x-ndjson"])
def test_more_words_than_a_request_may_have_are_refused_and_nothing_is_written(start_service: Any, media: str) -> None:
    with new_api(start_service(limits={"words": 1000}, worker=False)) as api:
        items = [json.dumps({"content": f"{n} " + "word " * 99}) for n in range(10)]

        def sent(items: list[str]) -> Any:
            body = "\n".join(items) if media != "application/json" else f'{{"items": [{", ".join(items)}]}}'
            return api.client.post("/memories/batch", content=body, headers={"content-type": media})

        refused = problem(sent([*items, json.dumps({"content": "one too many"})]), 413, "too-large")
        assert "1,003 words; at most 1,000" in refused["detail"]
        assert api.size()["memories"] == 0
        ok(sent(items))


HEAD = b"POST /api/v1/memories HTTP/1.1\r\nHost: localhost\r\ncontent-type: application/json\r\n"
LARGE = {"content": "x", "metadata": {"pad": "x" * 600_000}}  # no text, which would be searched for names


def room(service: Service) -> int:
    """Bytes of bodies that are counted."""
    middleware = service.app.middleware_stack
    while not hasattr(middleware, "_room"):
        middleware = middleware.app  # type: ignore[union-attr]
    return sum(middleware._held.values())


@contextmanager
def half_sent(service: Service, *fields: bytes) -> Iterator[socket.socket]:
    """A large body that lacks its last byte."""
    with socket.socket(socket.AF_UNIX) as sent:
        sent.connect(str(service.socket))
        sent.sendall(HEAD + b"".join(b"%s\r\n" % field for field in fields) + b"content-length: 650000\r\n\r\n" + b"x" * 649_999)
        yield sent


def test_bodies_have_room_in_memory_and_one_caller_has_half_of_it(start_service: Any) -> None:
    service = start_service(limits={"bodies": 1024 * 1024}, max_body_bytes=700_000)
    with new_api(service) as api, half_sent(service) as held:
        eventually(lambda: room(service) > 500_000)
        problem(api.post("/memories", LARGE), 429, "too-many-at-once")
        ok(api.post("/memories", {"content": "small"}), 201)
        held.close()
        eventually(lambda: room(service) == 0)
        ok(api.post("/memories", LARGE), 201)


@pytest.mark.parametrize(
    "spelling",
    ["Authorization: Bearer {}", "AUTHORIZATION: bearer {}", "authorization: BEARER {}", "Authorization: bEaReR   {}", "cookie"],
)
def test_a_key_has_one_share_of_the_room_however_it_is_sent(start_service: Any, spelling: str) -> None:
    service = start_service(limits={"bodies": 1024 * 1024 + 700_000}, max_body_bytes=700_000, require_keys=False)
    with new_api(service) as api:
        first, other = (ok(api.post("/keys", {"role": "writer"}), 201)["key"] for _ in range(2))
        field = spelling.format(first)
        if spelling == "cookie":
            session = api.client.post("/session", headers={"Authorization": f"Bearer {first}"}).headers["set-cookie"]
            field = f"Cookie: {session.partition(';')[0]}\r\nSec-Fetch-Site: same-origin"
        with half_sent(service, f"Authorization: Bearer {first}".encode()):
            eventually(lambda: room(service) > 500_000)
            with half_sent(service, field.encode()) as again:
                again.settimeout(60)
                assert b" 429 " in again.recv(65_536).partition(b"\r\n")[0]
            with service.client(Authorization=f"Bearer {other}") as keyed:
                ok(keyed.post("/memories", json=LARGE), 201)


def test_a_body_in_memory_must_be_complete_in_time_at_whatever_pace_it_comes(start_service: Any) -> None:
    service = start_service(limits={"body_seconds": 0.5, "stall": 60}, worker=False)
    with half_sent(service) as sent:
        sent.settimeout(60)
        time.sleep(0.6)
        sent.sendall(b"x")
        assert b" 408 " in sent.recv(65_536).partition(b"\r\n")[0]
        eventually(lambda: room(service) == 0)
