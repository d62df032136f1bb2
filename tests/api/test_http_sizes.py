"""What is too large is refused before it is held: headers, bodies, lines."""

import socket
from typing import Any

import pytest

from tests.services import Api, ok, problem


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
        ok(api.post("/memories", {"content": "x" * 500_000}), 201)


def test_a_line_of_an_import_is_refused_when_it_is_too_long(api: Api, monkeypatch: Any) -> None:
    monkeypatch.setattr("service.transfer.restore.LONGEST_LINE", 100_000)
    lines = (b"x" * 10_000 for _ in range(20))
    body = problem(api.client.post(f"/namespaces/{api.namespace}/import", content=lines), 422, "invalid-request")
    assert "longer than 100,000 bytes" in body["detail"]


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
