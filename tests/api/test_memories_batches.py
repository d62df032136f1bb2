"""Bulk writes, NDJSON and idempotency keys."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest

from tests.services import Api, Service, new_api, ok, problem

ITEMS: list[Any] = [
    {"content": "a"},
    {"content": ""},
    {"content": "b", "layer": 9},
    {"content": "c", "parent_id": str(uuid4())},
    5,
    {"content": "d", "lineage": "l"},
    {"content": "e", "lineage": "l"},
    {"content": "a"},
]
WRONG = {1: "content", 2: "layer", 3: "parent_id", 4: "body"}


def ndjson(items: list[Any]) -> bytes:
    return b"\n".join(json.dumps(item).encode() for item in items)


@pytest.mark.row("M10")
def test_each_item_has_its_own_result_in_order(api: Api) -> None:
    results = ok(api.post("/memories/batch", {"items": ITEMS}))["items"]
    assert {n for n, result in enumerate(results) if "problem" in result} == set(WRONG)
    assert {n: results[n]["problem"]["errors"][0]["field"] for n in WRONG} == WRONG
    assert [(results[n]["duplicate"], results[n]["superseded"]) for n in (0, 5, 6, 7)] == [
        (False, None),
        (False, None),
        (False, results[5]["id"]),
        (True, None),
    ]
    assert api.size() == {"memories": 3, "current_memories": 2, "entities": 0, "edges": 0}


@pytest.mark.row("M10")
def test_an_atomic_batch_names_every_wrong_item_and_writes_none(api: Api) -> None:
    body = problem(api.post("/memories/batch", {"items": ITEMS, "atomic": True}), 422, "invalid-request")
    assert {"items[1].content", "items[2].layer", "items[4]"} <= {error["field"] for error in body["errors"]}
    assert api.size()["memories"] == 0


def test_an_atomic_batch_writes_all(api: Api) -> None:
    results = ok(api.post("/memories/batch", {"items": [{"content": f"m{n}"} for n in range(50)], "atomic": True}))["items"]
    assert len({result["id"] for result in results}) == 50
    assert api.size()["memories"] == 50


@pytest.mark.release
@pytest.mark.row("M10")
def test_ten_thousand_items_are_taken(start_service: Callable[..., Service]) -> None:
    with new_api(start_service(worker=False)) as api:  # nobody indexes them all meanwhile
        results = ok(api.post("/memories/batch", {"items": [{"content": f"m{n}", "layer": 3} for n in range(10_000)]}))["items"]
        assert len(results) == 10_000
        assert api.size()["memories"] == 10_000
        ids = [row["id"] for row in results[:1000]] * 10  # to erase a row takes three times as long as to write it
        assert ok(api.post("/memories/erase", {"ids": ids}))["erased"] == 1000
        assert api.size()["memories"] == 9000


@pytest.mark.row("M10")
@pytest.mark.parametrize("content_type", ["application/x-ndjson", "application/jsonl", "application/x-ndjson; charset=utf-8"])
def test_a_batch_may_come_as_lines(api: Api, content_type: str) -> None:
    response = api.client.post(
        "/memories/batch",
        content=ndjson([{"content": "a"}, {"content": ""}]) + b"\n\n{nonsense\n",
        headers={"content-type": content_type},
    )
    results = ok(response)["items"]
    assert ["problem" in result for result in results] == [False, True, True]
    assert results[2]["problem"]["errors"][0]["field"] == "line"


def test_a_long_integer_in_a_line_keeps_its_digits(api: Api) -> None:
    digits = 12345678901234567890123
    headers = {"content-type": "application/x-ndjson"}
    body = ndjson([{"content": "a", "metadata": {"n": digits, "deep": [digits, -digits, 2**63]}}])
    (made,) = ok(api.client.post("/memories/batch", content=body, headers=headers))["items"]
    lines = body.replace(b'"a"', b'"b"')
    ok(api.client.post(f"/namespaces/{api.namespace}/import", content=lines, params={"format": "lines"}))
    stored = {row["content"]: row["metadata"] for row in ok(api.get("/memories"))["items"]}
    assert stored["a"] == stored["b"] == {"n": digits, "deep": [digits, -digits, 2**63]}
    assert ok(api.get(f"/memories/{made['id']}"))["metadata"] == stored["a"]
    deep = b'{"content": "c", "metadata": {"n": %d, "m": %s1%s}}' % (digits, b"[" * 50_000, b"]" * 50_000)
    for wrong in (deep, b"{%d" % digits, b'{"content": "c", "metadata": {"n": NaN, "m": %d}}' % digits):
        (refused,) = ok(api.client.post("/memories/batch", content=wrong, headers=headers))["items"]
        assert refused["problem"]["errors"][0]["field"] == "line"


def test_lines_may_be_all_or_nothing(api: Api) -> None:
    response = api.client.post(
        "/memories/batch?atomic=true",
        content=ndjson([{"content": "a"}, {"content": ""}]),
        headers={"content-type": "application/x-ndjson"},
    )
    problem(response, 422, "invalid-request")
    assert api.size()["memories"] == 0


@pytest.mark.parametrize("count", [0, 10_001])
def test_too_few_or_too_many_lines_are_refused(api: Api, count: int) -> None:
    response = api.client.post(
        "/memories/batch", content=ndjson([{"content": "a"}] * count), headers={"content-type": "application/x-ndjson"}
    )
    problem(response, 422, "invalid-request")


@pytest.mark.parametrize(
    "line",
    [
        b'{"content": "\xff"}',
        b'{"content": "\\ud800"}',
        b'{"content": NaN}',
        b'{"content": "x", "importance": NaN}',
        b"null",
    ],
)
def test_a_line_that_is_not_what_it_should_be_has_its_own_problem(api: Api, line: bytes) -> None:
    response = api.client.post(
        "/memories/batch",
        content=ndjson([{"content": "a"}]) + b"\n" + line,
        headers={"content-type": "application/x-ndjson"},
    )
    assert ["problem" in result for result in ok(response)["items"]] == [False, True]


def test_a_wrong_item_of_the_database_costs_only_itself_among_many(api: Api) -> None:
    items: list[Any] = [{"content": f"m{n}"} for n in range(200)]
    items[77] = {"content": "x", "parent_id": str(uuid4())}
    results = ok(api.post("/memories/batch", {"items": items}))["items"]
    assert [n for n, result in enumerate(results) if "problem" in result] == [77]
    assert api.size()["memories"] == 199


# Idempotency keys


@pytest.mark.row("M10")
@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/memories", {"content": "x", "layer": 3}, 201),
        ("/memories/batch", {"items": [{"content": "x", "layer": 3}]}, 200),
        ("/edges", {"source": "a", "type": "t", "target": "b"}, 201),
        ("/entities", {"name": "Zeus"}, 201),
    ],
)
def test_the_same_request_again_gets_the_same_reply_and_writes_nothing(
    api: Api, path: str, body: dict[str, Any], status: int
) -> None:
    first = api.post(path, body, headers={"Idempotency-Key": "k"})
    size = api.size()
    second = api.post(path, body, headers={"Idempotency-Key": "k"})
    assert ok(first, status) == ok(second, status)
    assert second.headers["idempotency-replayed"] == "true"
    assert "idempotency-replayed" not in first.headers
    assert api.size() == size


@pytest.mark.parametrize(
    ("path", "body"),
    [("/memories", {"content": "y"}), ("/memories", {"content": "x", "layer": 1}), ("/entities", {"name": "x"})],
)
def test_the_same_key_with_another_request_is_a_conflict(api: Api, path: str, body: dict[str, Any]) -> None:
    ok(api.post("/memories", {"content": "x"}, headers={"Idempotency-Key": "k"}), 201)
    size = api.size()
    answer = problem(api.post(path, body, headers={"Idempotency-Key": "k"}), 409, "conflict")
    assert answer["errors"][0]["field"] == "Idempotency-Key"
    assert api.size() == size


def test_another_key_is_another_request(api: Api) -> None:
    replies = [ok(api.post("/memories", {"content": "x", "layer": 3}, headers={"Idempotency-Key": key}), 201) for key in "ab"]
    assert replies[0]["id"] != replies[1]["id"]


def test_a_request_that_failed_leaves_its_key_free(api: Api) -> None:
    problem(
        api.post("/memories", {"content": "x", "parent_id": str(uuid4())}, headers={"Idempotency-Key": "k"}),
        422,
        "invalid-request",
    )
    ok(api.post("/memories", {"content": "x"}, headers={"Idempotency-Key": "k"}), 201)


def test_concurrent_requests_with_one_key_write_once(api: Api) -> None:
    def send(_: int) -> Any:
        return ok(api.post("/memories", {"content": "x", "layer": 3}, headers={"Idempotency-Key": "k"}), 201)

    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(send, range(16)))
    assert {reply["id"] for reply in replies} == {replies[0]["id"]}
    assert api.size()["memories"] == 1


def test_the_same_key_in_two_namespaces_is_two_requests(api: Api) -> None:
    other = f"{api.namespace}-2"
    ok(api.post("/namespaces", {"name": other}), 201)
    replies = [
        ok(api.post("/memories", {"content": "x"}, headers={"Idempotency-Key": "k", "X-Namespace": name}), 201)
        for name in (api.namespace, other)
    ]
    assert replies[0]["id"] != replies[1]["id"]


@pytest.mark.row("X9")
def test_a_body_over_the_limit_is_refused_before_it_is_read(start_service: Any) -> None:
    service = start_service(max_body_bytes=2000)
    with service.client() as client:
        problem(client.post("/memories", json={"content": "x" * 3000}), 413, "too-large")
        chunks = (b"x" * 500 for _ in range(10))
        problem(client.post("/memories", content=chunks, headers={"content-type": "application/json"}), 413, "too-large")
        problem(client.post("http://loci/mcp", content=(b"x" * 500 for _ in range(10))), 413, "too-large")
        ok(client.post("/memories", json={"content": "x"}), 201)


# What the database refuses in a batch

NOWHERE = str(uuid4())


@pytest.mark.row("M10")
@pytest.mark.parametrize(
    ("item", "field", "status"),
    [
        ({"content": "x", "parent_id": NOWHERE}, "items[7].parent_id", 422),
        ({"content": "x", "corrects": NOWHERE}, "items[7].corrects", 404),
        ({"content": "x", "edges": [{"source": "Al", "type": "t", "target": NOWHERE}]}, "items[7].edges[0].target", 404),
    ],
)
def test_an_item_that_the_database_refuses_in_an_atomic_batch_is_named_by_index_and_field(
    api: Api, item: dict[str, Any], field: str, status: int
) -> None:
    items: list[Any] = [{"content": f"m{n}", "lineage": f"l{n % 3}"} for n in range(20)]
    items[7] = items[12] = item
    reply = api.post("/memories/batch", {"items": items, "atomic": True})
    body = problem(reply, status, "not-found" if status == 404 else "invalid-request")
    assert ([error["field"] for error in body["errors"]], body["detail"].startswith("items[7]: ")) == ([field], True)
    assert api.size()["memories"] == 0


@pytest.mark.row("M10")
@pytest.mark.parametrize(
    ("edge", "field", "status"),
    [
        ({"target": "b", "memory_id": NOWHERE}, "memory_id", 422),
        ({"target": NOWHERE}, "target", 404),
        ({"target": "b", "valid_to": "2020-01-01T00:00:00Z"}, "valid_from", 422),
    ],
)
def test_an_edge_that_the_database_refuses_is_named_by_index_and_field(
    api: Api, edge: dict[str, Any], field: str, status: int
) -> None:
    wrong = {"source": "a", "type": "t", **edge}
    items: list[Any] = [{"source": f"s{n}", "type": "t", "target": "b"} for n in range(9)]
    slug = "not-found" if status == 404 else "invalid-request"
    body = problem(api.post("/edges/batch", {"items": [*items, wrong, wrong]}), status, slug)
    assert [error["field"] for error in body["errors"]] == [f"items[9].{field}"]
    assert "edges[" not in str(body)
    alone = problem(api.post("/edges", wrong), status, slug)
    assert ([error["field"] for error in alone["errors"]], "edges[" in str(alone)) == ([field], False)
    assert api.size()["edges"] == 0


@pytest.mark.row("M10")
def test_a_bare_array_is_the_items_of_a_batch(api: Api) -> None:
    made = ok(api.post("/memories/batch", [{"content": "a"}, {"content": ""}]))["items"]
    assert ["problem" in result for result in made] == [False, True]
    problem(api.post("/memories/batch", [{"content": "b"}, {"content": ""}], params={"atomic": True}), 422, "invalid-request")
    assert len(ok(api.post("/edges/batch", [{"source": "a", "type": "t", "target": "b"}]))["items"]) == 1
    wrong = problem(
        api.post("/edges/batch", [{"source": "a", "type": "t", "target": "b", "confidence": 2}]), 422, "invalid-request"
    )
    assert wrong["errors"][0]["field"] == "items[0].confidence"
    for path in ("/memories/batch", "/edges/batch"):
        assert problem(api.post(path, []), 422, "invalid-request")["errors"][0]["field"] == "items"
