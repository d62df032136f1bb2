"""No body that a caller sends keeps the event loop from others for long, whatever the route, and however much the body may hold."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from unicodedata import normalize
from uuid import uuid4

import httpx
import pytest

from loci.models.fields import MOST_MARKS
from service.http.large_bodies import BodyRoute
from service.http.paths import list_operations
from service.json_parts import DEEPEST_LEVELS, MOST_IN_A_PART, MOST_VALUES
from service.routers import ROUTERS
from tests.holding import held_by_a_busy_thread, watched
from tests.services import Api, Service, new_api, ok, problem, serve

HELD = 0.15  # seconds: 50 ms, three times that because other tests share the processor; the faults that it looks for took seconds
TRIES = 4  # garbage of other tests may be collected in one
MIB = 1024 * 1024
MCP = ("post", "http://loci/mcp", ["jsonrpc", "method", "params", "id"])
JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
MARKS = "e" + "\u0301\u0323" * (MIB // 5)
SOME_MARKS = ("e" + "\u0301\u0323" * (MOST_MARKS // 2)) * (MIB // (2 * MOST_MARKS + 5))

# Bodies that need no knowledge of a route.
BLIND: dict[str, Callable[[], bytes]] = {
    "levels": lambda: b"[" * 4 * MIB,
    "levels of objects": lambda: b'{"a":' * MIB,
    "blanks": lambda: b" " * 4 * MIB,
    "blank lines": lambda: b"\n" * 4 * MIB,
    "many fields": lambda: b"{" + b",".join(b'"%d":1' % n for n in range(MOST_VALUES)) + b"}",
    "one field again and again": lambda: b"{" + b'"a":1,' * MOST_VALUES + b'"a":1}',
    "empty lists": lambda: b"[" + b"[]," * (2 * MIB) + b"1]",
    "numbers": lambda: b"[" + b"1," * (2 * MIB) + b"1]",
    "digits": lambda: b"[" + b"9" * 4 * MIB + b"]",
    "digits of a fraction": lambda: b"[0." + b"9" * 4 * MIB + b"]",
    "a text that does not end": lambda: b'{"a":"' + b"x" * 16 * MIB,
    "escapes": lambda: b'{"a":"' + b"\\u00e9" * (2 * MIB) + b'"}',
    "quotes in a text": lambda: b'{"a":"' + b'\\"' * (3 * MIB) + b'"}',
}
# What each field of a route may be told instead of what it expects.
VALUES: dict[str, Callable[[], str]] = {
    "a list of wrong things": lambda: json.dumps([{}, 1.5, "x", None] * 2500),
    "an object of many fields": lambda: json.dumps({str(n): n for n in range(11_000)}),
    "lists in lists": lambda: "[" + "[[[1]]]," * 2800 + "1]",
    "a long text": lambda: json.dumps("a, b; " * (MIB // 8)),
    "marks in a row": lambda: json.dumps(MARKS, ensure_ascii=False),
    "as many marks as may be": lambda: json.dumps(SOME_MARKS, ensure_ascii=False),
    "letters that compose": lambda: json.dumps("\u1100\u1161" * (MIB // 8), ensure_ascii=False),
    "objects": lambda: "[" + ",".join(['{"content":"a","name":"b","x":[1],"y":{}}'] * 2000) + "]",
}


@pytest.fixture(scope="module")
def quiet(service: Service) -> Iterator[Service]:
    """A service that does nothing else."""
    with serve(service.database, worker=False) as running:
        yield running


@pytest.fixture
def api(quiet: Service) -> Iterator[Api]:
    """Its client."""
    with new_api(quiet) as made:
        yield made


def held_for_long(api: Api, send: Callable[[], httpx.Response]) -> str | None:
    """How long a request has kept the loop from others, where that was too long each time."""
    assert api.service.loop is not None
    seen = []
    for _ in range(TRIES):
        with watched(api.service.loop) as most:
            reply = send()
        assert reply.status_code < 500, reply.text
        assert len(reply.content) < 8 * MIB
        if most.thread < HELD and (most.process < HELD or most.process < 2 * held_by_a_busy_thread(api.service.loop)):
            return None
        seen.append(f"{most.thread:.3f} s of its thread, {most.process:.3f} s of the process")
    return ", ".join(seen)


def test_every_route_reads_its_body_beside_the_loop() -> None:
    assert {type(route) for router, _ in ROUTERS for route in router.routes} == {BodyRoute}


MANY = ("/memories", "/memories/batch", "/recall", "/edges/batch", "/feedback", "/conversations/")  # what takes lists, or much


def some(service: Service, nth: int) -> Iterator[tuple[str, str, list[str]]]:
    """Of all routes a part, and those that take much: with other bodies it is another part, so that each route gets several."""
    for at, (method, path, fields) in enumerate(writing(service)):
        if (at + nth) % 12 == 0 or path in MANY or path.startswith(MANY[-1]):
            yield method, path, fields
    yield MCP


def writing(service: Service) -> Iterator[tuple[str, str, list[str]]]:
    """Every route that takes a body: its method, its path, and the fields that it knows."""
    document = service.app.openapi()
    for path, method, operation in list_operations(document):
        if method in {"post", "put", "patch"} and path.startswith("/api/v1/") and not path.endswith("/import"):
            content = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            schema: dict[str, Any] = document["components"]["schemas"].get(content.get("$ref", "").rpartition("/")[2], {})
            filled = re.sub(r"\{\w+\}", str(uuid4()), path.removeprefix("/api/v1"))
            yield method, filled, list(schema.get("properties", {}))


@pytest.mark.sample(3)
@pytest.mark.parametrize("body", BLIND)
def test_no_body_holds_the_loop_at_any_route(api: Api, body: str) -> None:
    """At one route, another for each body, and where others read: a batch, whose client may want an answer once, and MCP."""
    data, long = BLIND[body](), []
    routes = [*writing(api.service)]
    for method, path, _ in (routes[7 * [*BLIND].index(body) % len(routes)], ("post", "/memories/batch", []), MCP):
        if held := held_for_long(api, lambda: api.client.request(method, path, content=data, headers=JSON)):  # noqa: B023
            long.append(f"{method} {path}: {held}")
    assert not long, "\n".join(long)


@pytest.mark.sample(3)
@pytest.mark.parametrize("value", VALUES)
def test_no_value_of_a_field_holds_the_loop_at_any_route(api: Api, value: str) -> None:
    said, long = VALUES[value](), []
    for method, path, fields in some(api.service, [*VALUES].index(value)):
        shown = fields[: max(1, 4 * MIB // len(said))]
        data = ("{" + ",".join(f'"{field}":{said}' for field in shown) + "}").encode()
        if held := held_for_long(api, lambda: api.client.request(method, path, content=data, headers=JSON)):  # noqa: B023
            long.append(f"{method} {path}: {held}")
    assert not long, "\n".join(long)


LARGEST: dict[str, tuple[str, Callable[[], Any]]] = {
    "memories": (
        "/memories/batch",
        lambda: {"items": [{"content": f"memory {n}", "tags": ["a", "b"], "layer": 3} for n in range(1000)]},
    ),
    "ten thousand wrong memories": (
        "/memories/batch",
        lambda: {"items": [{"content": "", "layer": 9, "x": n} for n in range(10_000)]},
    ),
    "turns": ("/conversations/s/turns", lambda: {"turns": [{"role": "user", "content": f"turn {n}"} for n in range(1000)]}),
    "edges": ("/edges/batch", lambda: {"edges": [{"source": f"a{n}", "type": "knows", "target": f"b{n}"} for n in range(1000)]}),
    "names of namespaces": ("/recall", lambda: {"query": "x", "namespaces": [f"n{n}" for n in range(10_000)]}),
    "ids": ("/memories/erase", lambda: {"ids": [str(uuid4()) for _ in range(10_000)]}),
    "metadata": ("/memories", lambda: {"content": "m", "metadata": {str(n): n for n in range(MOST_IN_A_PART - 10)}}),
    "a text": ("/memories", lambda: {"content": "é ü " * (MIB // 8)}),
}


@pytest.mark.parametrize("body", LARGEST)
def test_the_largest_allowed_body_does_not_hold_the_loop(api: Api, body: str) -> None:
    path, make = LARGEST[body]
    data = json.dumps(make()).encode()
    held = held_for_long(api, lambda: api.post(path, content=data, headers=JSON))
    assert held is None


def test_a_body_of_too_many_values_is_told_how_many_may_be(api: Api) -> None:
    def refused(data: str) -> str:
        return str(problem(api.client.post("/memories", content=data, headers=JSON), 413, "too-large")["detail"])

    assert f"more than {MOST_VALUES:,} values" in refused('{"items":[' + "1," * MOST_VALUES + "1]}")
    fields = ",".join(f'"{n}":1' for n in range(MOST_VALUES))
    assert f"the body holds an object of more than {MOST_IN_A_PART:,} fields" in refused('{"content":"a",' + fields + "}")
    inner = "[]," * MOST_IN_A_PART + "1"
    assert f"metadata holds more than {MOST_IN_A_PART:,} values" in refused('{"content":"a","metadata":{"m":[' + inner + "]}}")
    deep = "[" * 20_000 + "]" * 20_000 + ',"' + "x" * 70_000 + '"'
    reply = api.client.post("/memories", content='{"content":"a","metadata":{"m":[' + deep + "]}}", headers=JSON)
    assert f"nested more than {DEEPEST_LEVELS} levels" in problem(reply, 422, "invalid-request")["detail"]


def test_a_hundred_errors_are_told_and_all_are_counted(api: Api) -> None:
    body = problem(api.post("/memories/erase", {"ids": ["x"] * 500}), 422, "invalid-request")
    assert (len(body["errors"]), body["detail"].endswith("500 fields are wrong")) == (100, True)
    body = problem(api.post("/memories/erase", {"ids": ["x"] * 9000}), 422, "invalid-request")
    assert body["detail"] == "9,000 fields are wrong"


def test_a_large_body_says_what_a_small_one_says(api: Api) -> None:
    """Read in parts, it is what it was: texts, numbers of any length, escapes, the last of several fields of a name."""
    said = {
        "n": 12345678901234567890123,
        "f": -1.5e-7,
        "t": 'é\u0301 "\\ \u2028 😀',
        "l": [[1, [2, {"a": None}]], True, {}],
        "x": "y" * 70_000,
    }
    text = json.dumps({"content": "wrong", "metadata": said})[:-1] + ', "content": "right"}'
    assert ok(api.client.post("/memories", content=text, headers=JSON), 201)["metadata"] == said


@pytest.mark.parametrize(
    "wrong", ['{"a":[1,]', '{"a" 1}', "{a:1}", '{"a":tru}', '{"a":"\n"}', '{"a":1}x', '{"a":[[[[1}]]]}', '{"a":"\\x"}', ""]
)
def test_a_large_body_that_is_no_json_is_told_as_a_small_one_is(api: Api, wrong: str) -> None:
    def told(data: str) -> str:
        body = problem(api.client.post("/memories", content=data, headers=JSON), 422, "invalid-request")
        return re.sub(r"\d+", "", body["detail"])

    assert told(" " * 70_000 + wrong) == told(" " + wrong)


def test_marks_in_a_row_are_composed_up_to_a_number_and_other_signs_may_be_any_number(api: Api) -> None:
    text = "e" + "\u0301\u0323" * (MOST_MARKS // 2) + "😀" * 300 + "—" * 300
    assert ok(api.post("/memories", {"content": text}), 201)["content"] == normalize("NFC", text)
    refused = problem(api.post("/memories", {"content": "e" + "\u0301" * (MOST_MARKS + 1)}), 422, "invalid-request")
    assert refused["errors"] == [{"field": "content", "message": "must have at most 30 combining marks in a row"}]
