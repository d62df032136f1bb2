"""Bad input gets a 4xx problem that names the field and what was expected, and writes nothing."""

import os
import re
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID, uuid4

import httpx
import orjson
import pytest

from service.http.paths import list_operations
from tests.services import Api, Service, new_api, problem
from tests.sql.details import DEFAULTS

MIB = 1024 * 1024
NOBODY = str(UUID(int=5))


@pytest.fixture(scope="module")
def place(service: Service) -> Iterator[Api]:
    """A namespace with a memory, to which nothing is added: whatever comes there is refused."""
    with new_api(service) as api:
        api.write("there before")
        yield api


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


def refused(
    api: Api,
    send: Callable[[], httpx.Response],
    field: str | None,
    expected: str,
    *,
    status: int = 422,
    slug: str = "invalid-request",
) -> dict[str, Any]:
    """The request is this problem, names the field, says what was expected, and changes nothing."""
    before = api.size()
    body = problem(send(), status, slug)
    assert api.size() == before
    assert expected.lower() in orjson.dumps(body).decode().lower()
    if field is not None:
        assert field in [error["field"] for error in body["errors"]]
        assert all(error["message"] for error in body["errors"])
    return body


MEMORIES: list[tuple[dict[str, Any], str, str]] = [
    ({}, "content", "required"),
    ({"content": None}, "content", "string"),
    ({"content": 5}, "content", "string"),
    ({"content": ["x"]}, "content", "string"),
    ({"content": ""}, "content", "empty"),
    ({"content": " \n\t "}, "content", "blank"),
    ({"content": "a\x00b"}, "content", "NUL"),
    ({"content": "x" * (MIB + 1)}, "content", "1 MiB"),
    ({"content": "é" * (MIB // 2 + 1)}, "content", "1 MiB"),
    ({"content": "x", "colour": "red"}, "colour", "is no known field"),
    ({"content": "x", "tags": "a"}, "tags", "list"),
    ({"content": "x", "tags": [1]}, "tags[0]", "string"),
    ({"content": "x", "tags": ["a", "b\x00"]}, "tags[1]", "NUL"),
    ({"content": "x", "tags": ["t"] * 101}, "tags", "100"),
    ({"content": "x", "category": "a//b"}, "category", "pattern"),
    ({"content": "x", "category": "/a"}, "category", "pattern"),
    ({"content": "x", "category": "c" * 256}, "category", "255"),
    ({"content": "x", "layer": 4}, "layer", "3"),
    ({"content": "x", "layer": -1}, "layer", "0"),
    ({"content": "x", "layer": 10**30}, "layer", "3"),
    ({"content": "x", "layer": "fact"}, "layer", "integer"),
    ({"content": "x", "importance": 1.01}, "importance", "1"),
    ({"content": "x", "importance": 10**400}, "importance", ""),
    ({"content": "x", "confidence": -0.01}, "confidence", "0"),
    ({"content": "x", "confidence": "high"}, "confidence", "number"),
    ({"content": "x", "metadata": []}, "metadata", "dict"),
    ({"content": "x", "metadata": {"k": "a\x00"}}, "metadata", "NUL"),
    ({"content": "x", "metadata": {"k\x00": 1}}, "metadata", "NUL"),
    ({"content": "x", "metadata": nested(100)}, "metadata", "nested"),
    ({"content": "x", "lineage": ""}, "lineage", "1 character"),
    ({"content": "x", "lineage": "l" * 256}, "lineage", "255"),
    ({"content": "x", "parent_id": "top"}, "parent_id", "UUID"),
    ({"content": "x", "parent_id": NOBODY}, "parent_id", "memory in this namespace"),
    ({"content": "x", "valid_from": "yesterday"}, "valid_from", "datetime"),
    (
        {"content": "x", "valid_from": "2020-01-02T00:00:00Z", "valid_to": "2020-01-01T00:00:00Z"},
        "valid_to",
        "before valid_from",
    ),
    ({"content": "x", "valid_to": "2020-01-01T00:00:00Z"}, "valid_to", "before valid_from"),
    ({"content": "x", "entities": [{"name": ""}]}, "entities[0].name", "1 character"),
    ({"content": "x", "entities": [{"name": "Zeus", "type": "A God!"}]}, "entities[0].type", "pattern"),
    ({"content": "x", "edges": [{"source": "a", "type": "t"}]}, "edges[0]", "exactly one"),
    (
        {"content": "x", "edges": [{"source": "a", "type": "t", "target": "b", "literal": "c"}]},
        "edges[0]",
        "exactly one",
    ),
    (
        {"content": "x", "edges": [{"source": "a", "type": "t", "target": "b", "confidence": 2}]},
        "edges[0].confidence",
        "1",
    ),
    ({"content": "x", "embedding": [1.0, 2.0]}, "embedding", "dimensions"),
    ({"content": "x", "embedding": "[1]"}, "embedding", "list"),
    ({"content": "x", "embedding": []}, "embedding", "1 item"),
]


def labels(value: Any) -> str:
    return repr(value)[:60]


@pytest.mark.row("REST")
@pytest.mark.parametrize(("body", "field", "expected"), MEMORIES, ids=labels)
def test_a_wrong_memory_is_refused_by_field(place: Api, body: dict[str, Any], field: str, expected: str) -> None:
    refused(place, lambda: place.post("/memories", body), field, expected)


RAW: list[tuple[bytes, str]] = [
    (b'{"content": "x", "confidence": NaN}', ""),
    (b'{"content": "x", "confidence": Infinity}', ""),
    (b'{"content": "x", "confidence": 1e999}', ""),
    (b'{"content": "x", "metadata": {"k": NaN}}', ""),
    (b'{"content": "\xff\xfe"}', ""),
    (b'{"content": "\\ud800"}', ""),
    (b'{"content": "x", "metadata": {"k": "\\udc00"}}', ""),
    (b'{"content": "x"', "body: is not JSON: Expecting ',' delimiter (character 15)"),
    (b'{"content": "x",}', "body: is not JSON"),
    (b"rubbish", "body: is not JSON: Expecting value (character 0)"),
    (b"", ""),
    (b"null", ""),
    (b"[]", "body: must be a JSON object"),
    (b'"content"', ""),
    (b'{"content": "x", "metadata": ' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}", ""),
    (b'{"content": "x", "layer": ' + b"9" * 5000 + b"}", ""),
]


# One parser reads all bodies; what it makes of them goes to a model of the route. All of each path are in a thorough run.
OF_A_ROUTE = RAW if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else [RAW[0], RAW[4], *RAW[9:14]]


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [("/memories", *raw) for raw in RAW]
    + [(path, *raw) for path in ("/recall", "/entities", "/edges", "/graph/traverse") for raw in OF_A_ROUTE],
    ids=labels,
)
def test_a_body_that_is_not_what_it_should_be_is_refused(place: Api, path: str, body: bytes, expected: str) -> None:
    def send() -> httpx.Response:
        return place.client.post(path, content=body, headers={"content-type": "application/json"})

    assert refused(place, send, None, expected)["errors"]


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/xml", "application/x-www-form-urlencoded", "multipart/form-data"]
)
@pytest.mark.parametrize("path", ["/memories", "/memories/batch", "/recall"])
def test_a_body_of_another_content_type_is_refused(place: Api, path: str, content_type: str) -> None:
    before = place.size()
    response = place.client.post(
        path,
        content=b'{"content": "x", "query": "x", "items": [{"content": "x"}]}',
        headers={"content-type": content_type},
    )
    assert "send application/json" in problem(response, 415, "unsupported-media-type")["detail"]
    assert place.size() == before


BATCHES: list[tuple[Any, str, str]] = [
    ({}, "items", "required"),
    ({"items": []}, "items", "1 item"),
    ({"items": "x"}, "items", "list"),
    ({"items": [{"content": "x"}] * 10_001}, "items", "10000"),
    ({"items": [{"content": "x"}], "colour": 1}, "colour", "is no known field"),
    ({"items": [{"content": "x"}], "atomic": "perhaps"}, "atomic", "boolean"),
    ({"items": [{"content": "x"}, {"content": ""}], "atomic": True}, "items[1].content", "empty"),
    ({"items": [{"content": "x"}, {"content": "y", "colour": 1}], "atomic": True}, "items[1].colour", "is no known field"),
    ({"items": [{"content": "x"}, 5], "atomic": True}, "items[1]", "JSON object"),
]


@pytest.mark.parametrize(("body", "field", "expected"), BATCHES, ids=labels)
def test_a_wrong_batch_is_refused_whole(place: Api, body: Any, field: str, expected: str) -> None:
    refused(place, lambda: place.post("/memories/batch", body), field, expected)


def test_an_atomic_batch_that_the_database_refuses_writes_nothing(place: Api) -> None:
    items = [{"content": "x"}, {"content": "y", "parent_id": NOBODY}]
    refused(
        place,
        lambda: place.post("/memories/batch", {"items": items, "atomic": True}),
        "items[1].parent_id",
        "memory in this namespace",
    )


RECALLS: list[tuple[dict[str, Any], str, str]] = [
    ({}, "query", "required"),
    ({"query": ""}, "query", "empty"),
    ({"query": "a\x00"}, "query", "NUL"),
    ({"query": "x" * (MIB + 1)}, "query", "1 MiB"),
    ({"query": "x", "k": 0}, "k", "1"),
    ({"query": "x", "k": 101}, "k", "100"),
    ({"query": "x", "k": "many"}, "k", "whole number from 1 to 100, or auto"),
    ({"query": "x", "k": "5"}, "k", "whole number from 1 to 100, or auto"),
    ({"query": "x", "k": True}, "k", "number"),
    ({"query": "x", "arms": ["smell"]}, "arms[0]", "lexical"),
    ({"query": "x", "arms": []}, "arms", "1 item"),
    ({"query": "x", "weights": {"lexical": -1}}, "weights.lexical", "0"),
    ({"query": "x", "weights": {"smell": 1}}, "weights.smell", "is no known field"),
    ({"query": "x", "fusion": "cold"}, "fusion", "rrf"),
    ({"query": "x", "rrf_k": -1}, "rrf_k", "0"),
    ({"query": "x", "filters": {"colour": "red"}}, "filters.colour", "is no known field"),
    ({"query": "x", "filters": {"category": "a//b"}}, "filters.category", "pattern"),
    ({"query": "x", "filters": {"layers": [9]}}, "filters.layers[0]", "3"),
    ({"query": "x", "filters": {"under": "top"}}, "filters.under", "UUID"),
    ({"query": "x", "as_of": "then"}, "as_of", "datetime"),
    ({"query": "x", "embedding": [1.0]}, "embedding", "dimensions"),
    ({"query": "x", "colour": 1}, "colour", "is no known field"),
]


@pytest.mark.parametrize(("body", "field", "expected"), RECALLS, ids=labels)
def test_a_wrong_question_is_refused_by_field(place: Api, body: dict[str, Any], field: str, expected: str) -> None:
    refused(place, lambda: place.post("/recall", body), field, expected)


@pytest.mark.parametrize(
    ("filters", "field"), [({"entity": "nobody"}, "filters.entity"), ({"under": NOBODY}, "filters.under")], ids=labels
)
def test_a_question_about_what_is_not_there_is_not_found(place: Api, filters: dict[str, Any], field: str) -> None:
    refused(
        place,
        lambda: place.post("/recall", {"query": "x", "filters": filters}),
        field,
        "does not exist",
        status=404,
        slug="not-found",
    )


PARAMETERS: list[tuple[str, dict[str, Any], str]] = [
    ("/memories", {"limit": 0}, "limit"),
    ("/memories", {"limit": 1001}, "limit"),
    ("/memories", {"limit": "x"}, "limit"),
    ("/memories", {"cursor": "x"}, "cursor"),
    ("/memories", {"cursor": "-1"}, "cursor"),
    ("/memories", {"cursor": "9" * 40}, "cursor"),
    ("/memories", {"cursor": "٣"}, "cursor"),
    ("/memories", {"cursor": "²"}, "cursor"),
    ("/memories", {"under": "x"}, "under"),
    ("/memories", {"as_of": "x"}, "as_of"),
    ("/memories", {"layer": "x"}, "layer[0]"),
    ("/memories", {"layer": 10**12}, "layer[0]"),
    ("/memories", {"category": "a\x00"}, "category"),
    ("/memories", {"source": "a\x00"}, "source"),
    ("/memories/not-a-uuid/subtree", {}, "id"),
    ("/memories/not-a-uuid/ancestors", {}, "id"),
    ("/memories/not-a-uuid/links", {}, "id"),
    ("/categories", {"under": "a\x00"}, "under"),
    ("/entities", {"cursor": "x"}, "cursor"),
    ("/edges", {"cursor": "x"}, "cursor"),
    ("/edges", {"as_of": "x"}, "as_of"),
    ("/model-usage", {"day": "0"}, "day"),
    ("/edges", {"known_at": "x"}, "known_at"),
    ("/entities", {"as_of": "x"}, "as_of"),
    ("/entities", {"known_at": "x"}, "known_at"),
    ("/entities/x", {"known_at": "x"}, "known_at"),
    ("/entities/x/aspects", {"as_of": "x"}, "as_of"),
    ("/entities", {"pinned": "perhaps"}, "pinned"),
    ("/keys", {"cursor": "x"}, "cursor"),
    ("/memory/search", {}, "q"),
    ("/memory/search", {"q": "a\x00"}, "q"),
    ("/memory/search", {"q": "x", "limit": 0}, "limit"),
]


@pytest.mark.parametrize(("path", "params", "field"), PARAMETERS, ids=labels)
def test_a_wrong_parameter_is_refused_by_name(place: Api, path: str, params: dict[str, Any], field: str) -> None:
    refused(place, lambda: place.get(path, **params), field, "")


NAME = "must match pattern '^[a-z0-9][a-z0-9._-]{0,63}$'"
CHOICES: list[tuple[Any, list[tuple[str, str]]]] = [
    ("**", [("namespaces", "must be a valid list, or '*'")]),
    ({"a": 1}, [("namespaces", "must be a valid list, or '*'")]),
    ([], [("namespaces", "must have at least 1 item, not 0, or must be '*'")]),
    (["a", "A B", 1], [("namespaces[1]", NAME), ("namespaces[2]", "must be a valid string")]),
]


@pytest.mark.parametrize(("namespaces", "errors"), CHOICES, ids=labels)
def test_a_field_that_may_be_one_of_several_things_is_named_once(
    place: Api, namespaces: Any, errors: list[tuple[str, str]]
) -> None:
    body = problem(place.post("/recall", {"query": "x", "namespaces": namespaces}), 422, "invalid-request")
    assert [(error["field"], error["message"]) for error in body["errors"]] == errors
    assert body["detail"] == "; ".join(f"{field}: {message}" for field, message in errors)


@pytest.mark.parametrize("name", ["str", "list[str]", "constrained-str"])
def test_an_unknown_name_is_named_as_it_was_sent(place: Api, name: str) -> None:
    for response in (place.get("/memories", **{name: "1"}), place.post("/recall", {"query": "x", name: 1})):
        assert [error["field"] for error in problem(response, 422, "invalid-request")["errors"]] == [name]


@pytest.mark.parametrize("cursor", ["x", "²", "9" * 40])
def test_a_wrong_cursor_of_a_history_is_refused(api: Api, cursor: str) -> None:
    written = api.write("x", lineage="l", entities=[{"name": "Zeus"}])
    refused(api, lambda: api.get(f"/memories/{written['id']}/history", cursor=cursor), "cursor", "next_cursor")
    refused(api, lambda: api.get("/entities/l/history", cursor=cursor), "cursor", "next_cursor")
    refused(api, lambda: api.get("/entities/Zeus/history", cursor=cursor), "cursor", "next_cursor")


NAMESPACES: list[tuple[Any, str]] = [
    ({}, "name"),
    ({"name": ""}, "name"),
    ({"name": "Upper"}, "name"),
    ({"name": "a b"}, "name"),
    ({"name": "x" * 65}, "name"),
    ({"name": "a'; drop table loci_data.memories; --"}, "name"),
    ({"name": "-a"}, "name"),
    ({"name": "a\n"}, "name"),
    ({"name": "a", "language": "klingon"}, "language"),
    ({"name": "a", "settings": {"colour": 1}}, "settings.colour"),
    ({"name": "a", "settings": {"rrf_k": "x"}}, "settings.rrf_k"),
    ({"name": "a", "settings": {"depth": -1}}, "settings.depth"),
    ({"name": "a", "settings": {"reinforcement": "never"}}, "settings.reinforcement"),
    ({"name": "a", "settings": {"weights": {"smell": 1}}}, "settings.weights.smell"),
]


@pytest.mark.parametrize(("body", "field"), NAMESPACES, ids=labels)
def test_a_wrong_namespace_is_refused(place: Api, body: Any, field: str) -> None:
    if "name" in body and body["name"] == "a":
        body = {**body, "name": f"a-{uuid4().hex}"}
    response = place.post("/namespaces", body)
    errors = problem(response, 422, "invalid-request")["errors"]
    assert any(error["field"].endswith(field.removeprefix("settings.weights.")) for error in errors), errors


@pytest.mark.parametrize("path", ["/memories", "/categories", "/entities", "/edges", "/keys"])
def test_an_unknown_namespace_is_not_found(place: Api, path: str) -> None:
    response = place.client.get(path, headers={"X-Namespace": "no-such-place"})
    assert "namespace" in problem(response, 404, "not-found")["errors"][0]["field"].lower()


def test_a_write_to_an_unknown_namespace_is_not_found(place: Api) -> None:
    response = place.client.post("/memories", json={"content": "x"}, headers={"X-Namespace": "no-such-place"})
    problem(response, 404, "not-found")


@pytest.mark.parametrize("name", ["a'; drop table loci_data.memories; --", "%00", "../../etc/passwd", "'", '"', "a b", "🙂"])
def test_a_namespace_with_a_name_like_an_attack_is_only_unknown(place: Api, name: str) -> None:
    response = place.client.get("/memories", headers={"X-Namespace": name.encode()})  # type: ignore[dict-item]
    assert response.status_code in {404, 422}
    assert response.headers["content-type"] == "application/problem+json"
    assert place.size()["memories"] == 1


@pytest.mark.parametrize(
    "text",
    [
        "'; drop table loci_data.memories; --",
        "$$; select 1; $$",
        "%(namespace)s",
        "{0}",
        "\\'; --",
        "%s %s",
        "<script>",
        "\u202e\ufeff\u0001",
    ],
)
def test_a_text_like_an_attack_is_kept_and_found_as_it_is(api: Api, text: str) -> None:
    written = api.write(
        f"{text} marker",
        lineage=text,
        category="a",
        tags=[text],
        source=text,
        session_id=text,
        metadata={text: text},
        entities=[{"name": f"{text} entity"}],
    )
    assert (written["content"], written["lineage"], written["tags"], written["metadata"]) == (
        f"{text} marker",
        text,
        [text],
        {text: text},
    )
    assert api.found("marker", filters={"tags": [text], "source": text}) == [f"{text} marker"]


def test_a_cycle_of_parents_is_refused(api: Api) -> None:
    top = api.write("top")["id"]
    leaf = api.write("leaf", parent_id=top)["id"]
    refused(api, lambda: api.client.patch(f"/memories/{top}", json={"parent_id": leaf}), "parent_id", "under it")
    assert api.get(f"/memories/{top}").json()["parent_id"] is None


@pytest.mark.parametrize("field", [name for name, default in DEFAULTS.items() if default not in (None, {})])
def test_a_change_to_null_is_refused(api: Api, field: str) -> None:
    written = api.write("x")
    response = api.client.patch(f"/memories/{written['id']}", json={field: None})
    assert [error["field"] for error in problem(response, 422, "invalid-request")["errors"]] == [field]


@pytest.mark.parametrize(("path", "method"), [("/nowhere", "GET"), ("/memories/x/y/z", "GET"), ("/nowhere", "POST")])
def test_a_path_that_is_not_there_is_a_problem(place: Api, path: str, method: str) -> None:
    problem(place.client.request(method, path), 404, "not-found")


@pytest.mark.parametrize(("path", "method"), [("/memories", "PUT"), ("/recall", "GET"), ("/namespaces", "DELETE")])
def test_a_method_that_is_not_there_is_a_problem(place: Api, path: str, method: str) -> None:
    problem(place.client.request(method, path), 405, "method-not-allowed")
    problem(place.client.request(method, path, params={"atomic": True}), 405, "method-not-allowed")


@pytest.mark.parametrize("method", ["get", "patch", "delete"])
def test_a_memory_that_is_not_there_is_not_found(place: Api, method: str) -> None:
    options = {"json": {"layer": 1}} if method == "patch" else {}
    body = problem(place.client.request(method, f"/memories/{uuid4()}", **options), 404, "not-found")  # type: ignore[arg-type]
    assert body["errors"][0]["field"] == "id"


@pytest.mark.parametrize("key", ["", "k" * 256])
def test_a_wrong_idempotency_key_is_refused(place: Api, key: str) -> None:
    refused(place, lambda: place.post("/memories", {"content": "x"}, headers={"Idempotency-Key": key}), None, "idempotency")


def test_no_problem_echoes_the_text_that_was_sent(place: Api) -> None:
    response = place.post("/memories", {"content": "x", "layer": "my secret password"})
    assert "my secret password" not in response.text


def test_every_problem_carries_the_id_of_its_request(place: Api) -> None:
    response = place.get("/memories", limit=0)
    assert response.json()["request_id"] == response.headers["x-request-id"]


# Queries


def test_a_query_parameter_that_a_route_does_not_know_is_refused_and_the_nearest_is_named(place: Api) -> None:
    body = problem(place.get("/memories", as_off="2020-01-01T00:00:00Z", limit=1), 422, "invalid-request")
    assert body["errors"] == [{"field": "as_off", "message": "is no query parameter here; did you mean as_of?"}]
    body = problem(place.post("/recall", {"query": "x"}, params={"as_of": "2020-01-01T00:00:00Z"}), 422, "invalid-request")
    assert body["errors"] == [{"field": "as_of", "message": "is no query parameter here; there is none"}]


@pytest.mark.row("M3")
def test_no_route_of_the_api_takes_a_query_parameter_that_it_does_not_know(place: Api) -> None:
    taken = []
    for path, method, _ in list_operations(place.service.app.openapi()):
        if path.startswith("/api/"):
            filled = re.sub(r"\{\w+\}", NOBODY, path.removeprefix("/api/v1"))
            reply = place.client.request(method.upper(), filled, params={"zz": 1})
            if reply.status_code != 422 or "zz" not in [error["field"] for error in reply.json()["errors"]]:
                taken.append((method, path))
    assert taken == []
