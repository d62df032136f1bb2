"""Fields behind a chunked body (trailers) are no headers: whoever looks at a request in front of the service does not see them."""

import json
import socket
from typing import Any

import pytest

from tests.api.test_http_sizes import send_on
from tests.services import Api, Service, new_api, ok

CHUNKED = b"HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n"


def asked(service: Service, line: bytes, body: bytes, trailers: bytes, *fields: bytes) -> tuple[int, Any]:
    """The status and the body of the reply to a request with trailers."""
    head = line + b" " + CHUNKED + b"Connection: close\r\n" + b"".join(b"%s\r\n" % field for field in fields)
    chunk = b"%x\r\n%s\r\n" % (len(body), body) if body else b""
    with socket.socket(socket.AF_UNIX) as sent:
        sent.settimeout(60)
        sent.connect(str(service.socket))
        sent.sendall(head + b"\r\n" + chunk + b"0\r\n" + trailers + b"\r\n")
        reply = b""
        while part := sent.recv(65_536):
            reply += part
    said, _, text = reply.partition(b"\r\n\r\n")
    return int(said.split(b" ", 2)[1]), json.loads(text)


def test_a_namespace_in_a_trailer_is_not_the_one_that_is_read(api: Api) -> None:
    api.write("Only here")
    named = f"X-Namespace: {api.namespace}\r\n".encode()
    assert asked(api.service, b"GET /api/v1/memories", b"", b"", named.rstrip())[1]["items"][0]["content"] == "Only here"
    status, elsewhere = asked(api.service, b"GET /api/v1/memories", b"", named)
    assert status == 200
    assert [memory for memory in elsewhere["items"] if memory["content"] == "Only here"] == []


def test_a_namespace_in_a_trailer_is_not_the_one_that_is_written(start_service: Any) -> None:
    with new_api(start_service(worker=False)) as api:
        named = f"X-Namespace: {api.namespace}\r\nx-namespace: {api.namespace}\r\n".encode()
        assert asked(api.service, b"POST /api/v1/memories", b'{"content": "new"}', named)[0] == 201
        assert api.size()["memories"] == 0


@pytest.mark.parametrize("path", [b"/api/v1/memories", b"/mcp", b"/mcp/reference-memory"])
def test_a_key_in_a_trailer_opens_nothing(guarded: Service, service: Service, path: bytes) -> None:
    with service.client() as client:
        key = ok(client.post("/keys", json={"role": "writer"}), 201)["key"]
    status, _ = asked(guarded, b"POST " + path, b'{"content": "new"}', f"Authorization: Bearer {key}\r\n".encode())
    assert status == 401


def test_an_idempotency_key_in_a_trailer_keeps_no_reply(start_service: Any) -> None:
    with new_api(start_service(worker=False)) as api:
        for body in (b'{"content": "one"}', b'{"content": "two"}'):
            assert asked(api.service, b"POST /api/v1/memories", body, b"Idempotency-Key: k\r\n")[0] == 201


def test_trailers_have_the_size_of_headers(api: Api) -> None:
    with socket.socket(socket.AF_UNIX) as sent:
        sent.settimeout(60)
        sent.connect(str(api.service.socket))
        sent.sendall(b"POST /api/v1/recall " + CHUNKED + b"\r\n10\r\n" + b" " * 16 + b"\r\n0\r\nX-Long: ")
        with pytest.raises(OSError, match=r"reset|pipe"):
            send_on(sent, b"x" * 10_000)


def test_a_body_of_many_chunks_is_no_trailer(api: Api) -> None:
    body = json.dumps({"content": "Chunked", "metadata": {"pad": "x" * 300_000}}).encode()
    parts = (body[place : place + 1000] for place in range(0, len(body), 1000))
    assert api.client.post("/memories", content=parts, headers={"content-type": "application/json"}).status_code == 201
