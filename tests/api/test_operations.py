"""The operations log over REST, MCP and the worker: every call that changes something is one operation."""

import json
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.api.clients import client_of
from tests.services import Api, Service, eventually, new_api, ok, problem
from tests.tools import over_http

HEADER = "X-Operation-Id"


def listed(api: Api, **filters: Any) -> list[dict[str, Any]]:
    return ok(api.get("/operations", **filters))["items"]


def operation_of(api: Api, response: Any) -> dict[str, Any]:
    """What the log knows of a call, by the header of its reply."""
    assert response.status_code < 300, response.text
    return ok(api.get(f"/operations/{response.headers[HEADER]}"))


def changes_of(api: Api, response: Any, **params: Any) -> dict[str, Any]:
    return ok(api.get(f"/operations/{response.headers[HEADER]}/changes", **params))


# Each way in


class Graph(dict[str, str]):
    """Something to change, by name: a memory with its entities and edge; what else is there is what is asked for."""

    def __init__(self, api: Api) -> None:
        memory = api.write(
            "tea",
            lineage="drink",
            entities=[{"name": "Alice"}, {"name": "Bob"}],
            edges=[{"source": "Alice", "type": "knows", "target": "Bob"}],
        )
        super().__init__(memory=memory["id"], namespace=api.namespace)
        self._made: dict[str, Callable[[], Any]] = {
            "other": lambda: api.write("cup"),
            "aspect": lambda: ok(api.post("/entities/Alice/aspects", {"name": "Diet"}), 201),
            "attribute": lambda: ok(api.post(f"/aspects/{self['aspect']}/attributes", {"content": "likes tea"}), 201),
            "edge": lambda: ok(api.get("/edges"))["items"][0],
            "alice": lambda: ok(api.get("/entities/Alice")),
        }

    def __missing__(self, name: str) -> str:
        self[name] = self._made[name]()["id"]
        return self[name]


CALLS: list[tuple[str, str, Any, str, dict[str, int]]] = [
    ("POST", "/memories", {"content": "new"}, "write_memory", {"memory.created": 1}),
    ("POST", "/memories/batch", {"items": [{"content": "a"}, {"content": "b"}]}, "write_batch", {"memory.created": 2}),
    ("POST", "/memories/batch", {"items": [{"content": "a"}, {"content": ""}, {"content": "b", "parent_id": str(uuid4())}]},
     "write_batch", {"memory.created": 1}),
    ("PATCH", "/memories/{memory}", {"tags": ["x"]}, "change_memory", {"memory.changed": 1}),
    ("PATCH", "/memories/{memory}", {"parent_id": "{other}"}, "change_memory", {"placement.created": 1}),
    ("DELETE", "/memories/{memory}", None, "forget_memory", {"memory.changed": 1, "edge.changed": 1}),
    ("POST", "/memories/erase", {"ids": ["{other}"]}, "erase_memories", {"memory.erased": 1}),
    ("POST", "/memories/{memory}/links", {"target_id": "{other}"}, "link_memory", {"link.created": 1}),
    ("POST", "/entities", {"name": "Eve"}, "write_entity", {"entity.created": 1}),
    ("PATCH", "/entities/{alice}", {"description": "x"}, "change_entity", {"entity.changed": 1}),
    ("POST", "/entities/{alice}/pin", None, "pin_entity", {"entity.changed": 1}),
    ("POST", "/edges", {"source": "Eve", "type": "knows", "literal": "x"}, "observe_edge", {"entity.created": 1, "edge.created": 1}),
    ("POST", "/edges/batch", {"items": [{"source": "Eve", "type": "knows", "literal": str(n)} for n in range(3)]},
     "observe_edges", {"entity.created": 1, "edge.created": 3}),
    ("DELETE", "/edges/{edge}", None, "delete_edge", {"edge.changed": 1}),
    ("PUT", "/edge-types/knows", {"decay_rate": 0.5}, "set_edge_type", {"edge_type.created": 1}),
    ("POST", "/entities/Alice/aspects", {"name": "Work"}, "write_aspect", {"aspect.created": 1}),
    ("POST", "/aspects/{aspect}/attributes", {"content": "eats plums"}, "write_attribute", {"attribute.created": 1}),
    ("PATCH", "/attributes/{attribute}", {"importance": 0.9}, "change_attribute", {"attribute.changed": 1}),
    ("POST", "/entities/Alice/merge", {"other": "Bob"}, "merge_entities", {"merge.created": 1, "entity.changed": 2, "edge.changed": 1}),
    ("POST", "/conversations/s/turns", {"role": "user", "content": "x"}, "add_turns", {"turn.created": 1}),
    ("POST", "/retain", {"content": "Plums are ripe."}, "retain", {"memory.created": 1}),
    ("PATCH", "/namespaces/{namespace}", {"settings": {"decay_rate": 0.5}}, "change_namespace", {"namespace.changed": 1}),
]  # fmt: skip


def filled(value: Any, names: Graph) -> Any:
    if isinstance(value, dict):
        return {key: filled(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, names) for item in value]
    return value.format_map(names) if isinstance(value, str) else value


@pytest.mark.parametrize(
    ("method", "path", "body", "action", "expected"), CALLS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_call_over_rest_is_one_operation(
    api: Api, method: str, path: str, body: Any, action: str, expected: dict[str, int]
) -> None:
    names = Graph(api)
    path, body = filled(path, names), filled(body, names)
    before = {row["id"] for row in listed(api, via="rest")}
    response = api.client.request(method, path, json=body)
    row = operation_of(api, response)
    told = {key: row[key] for key in ("action", "via", "agent", "key_id", "request_id", "undoes", "undone_by", "changes")}
    assert told == {"action": action, "via": "rest", "agent": "operator", "key_id": None, "request_id": response.headers["X-Request-Id"],
                    "undoes": None, "undone_by": None, "changes": expected}  # fmt: skip
    assert [new["id"] for new in listed(api, via="rest") if new["id"] not in before] == [row["id"]]


def test_a_list_right_after_a_write_has_all_its_counts(start_service: Callable[..., Service]) -> None:
    with new_api(start_service(worker=False)) as api:  # nobody else gives changes their positions
        response = api.post("/memories", {"content": "tea", "entities": [{"name": "Alice"}]})
        (first, *_) = listed(api)
        assert first == operation_of(api, response)
        assert first["changes"] == {"memory.created": 1, "entity.created": 1}
        items = changes_of(api, response)["items"]
        assert [(item["kind"], item["action"]) for item in items] in (
            [("memory", "created"), ("entity", "created")],
            [("entity", "created"), ("memory", "created")],
        )


def test_a_change_shows_the_old_and_the_new_value(api: Api) -> None:
    memory = api.write("tea", tags=["a"])["id"]
    (item,) = changes_of(api, api.client.patch(f"/memories/{memory}", json={"tags": ["b"]}))["items"]
    assert (item["kind"], item["action"], item["subject_id"], item["content"]) == ("memory", "changed", memory, "tea")
    assert (item["before"]["tags"], item["after"]["tags"]) == (["a"], ["b"])


def test_a_repetition_under_an_idempotency_key_is_no_operation(api: Api) -> None:
    headers = {"Idempotency-Key": "once"}
    first = api.post("/memories", {"content": "tea"}, headers=headers)
    count = len(listed(api))
    again = api.post("/memories", {"content": "tea"}, headers=headers)
    assert again.headers["idempotency-replayed"] == "true"
    assert HEADER not in again.headers
    assert len(listed(api)) == count
    assert operation_of(api, first)["changes"] == {"memory.created": 1}


def test_a_request_that_fails_leaves_no_operation(api: Api) -> None:
    count = len(listed(api))
    response = api.post(
        "/memories/batch", {"items": [{"content": "a"}, {"content": "b", "parent_id": str(uuid4())}], "atomic": True}
    )
    assert response.status_code == 422
    assert HEADER not in response.headers
    assert len(listed(api)) == count


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [("POST", "/recall", {"query": "tea"}), ("POST", "/graph/traverse", {"start": ["Alice"]}), ("GET", "/memories", None)],
    ids=lambda value: str(value)[:20],
)
def test_reading_leaves_no_operation(api: Api, method: str, path: str, body: Any) -> None:
    Graph(api)
    count = len(listed(api, via="rest"))
    response = api.client.request(method, path, json=body)
    assert response.status_code == 200
    assert HEADER not in response.headers
    assert len(listed(api, via="rest")) == count


def test_an_import_of_several_statements_is_one_operation(api: Api) -> None:
    api.write("tea", entities=[{"name": "Alice"}])
    lines = api.client.get(f"/namespaces/{api.namespace}/export").content
    with new_api(api.service) as other:
        headers = {"content-type": "application/x-ndjson"}
        response = other.client.post(f"/namespaces/{other.namespace}/import", content=lines, headers=headers)
        row = operation_of(other, response)
        assert (row["action"], row["via"]) == ("import_namespace", "rest")
        assert (row["changes"]["memory.created"], row["changes"]["entity.created"]) == (1, 1)
        again = other.client.post(f"/namespaces/{other.namespace}/import", content=lines, headers=headers)
        problem(other.get(f"/operations/{again.headers[HEADER]}"), 404, "not-found")


def test_a_change_of_decay_in_many_transactions_is_one_operation(api: Api) -> None:
    Graph(api)
    response = api.client.put("/edge-types/knows", json={"decay_rate": 10})
    assert response.json()["faded"] == 0
    assert operation_of(api, response)["changes"] == {"edge_type.created": 1}
    assert [row["action"] for row in listed(api, action="set_edge_type")] == ["set_edge_type"]


def test_working_memory_is_in_the_log_where_its_namespace_asks_for_it(api: Api) -> None:
    entry = {"value": {"step": 1}}
    quiet = api.client.put("/working-memory/plan", json=entry)
    problem(api.get(f"/operations/{quiet.headers[HEADER]}"), 404, "not-found")
    ok(api.client.patch(f"/namespaces/{api.namespace}", json={"settings": {"log_working_memory": True}}))
    said = operation_of(api, api.client.put("/working-memory/plan", json=entry))
    assert (said["action"], said["changes"]) == ("save_entry", {"working_memory.changed": 1})
    gone = operation_of(api, api.client.delete("/working-memory/plan"))
    assert (gone["action"], gone["changes"]) == ("delete_entry", {"working_memory.erased": 1})


# Who, through what


@pytest.mark.row("X5")
def test_the_log_names_the_key_and_its_agent(api: Api, guarded: Service) -> None:
    made = ok(api.post("/keys", {"role": "writer", "name": "scout"}), 201)
    with guarded.client(**{"X-Namespace": api.namespace, "Authorization": f"Bearer {made['key']}"}) as client:
        response = client.post("/memories", json={"content": "tea"})
        row = ok(client.get(f"/operations/{response.headers[HEADER]}"))
    assert (row["key_id"], row["agent"]) == (made["id"], "scout")
    assert [found["id"] for found in listed(api, agent=row["agent_id"])] == [row["id"]]


def test_a_key_of_another_namespace_sees_nothing_of_the_log(api: Api, guarded: Service) -> None:
    response = api.post("/memories", {"content": "tea"})
    with new_api(api.service) as other:
        made = ok(other.post("/keys", {"role": "admin"}), 201)
    with guarded.client(**{"X-Namespace": api.namespace, "Authorization": f"Bearer {made['key']}"}) as client:
        for path in ("/operations", f"/operations/{response.headers[HEADER]}", f"/operations/{response.headers[HEADER]}/changes"):
            problem(client.get(path), 403, "forbidden")


def test_a_tool_of_mcp_is_an_operation_via_mcp(api: Api) -> None:
    with over_http(api.service, **{"X-Namespace": api.namespace}) as tools:
        tools("save_memory", content="tea")
    (row,) = listed(api, via="mcp")
    assert (row["action"], row["changes"]) == ("write_memory", {"memory.created": 1})


def test_mcp_beside_a_service_that_runs_elsewhere_says_so(api: Api) -> None:
    response = api.post("/memories", {"content": "tea"}, headers={"User-Agent": "loci-mcp"})
    assert operation_of(api, response)["via"] == "mcp"


def test_names_that_the_worker_finds_are_operations_of_the_worker(api: Api) -> None:
    for text in ("We met at Blue Harbour today.", "Then back to Blue Harbour by train."):
        api.write(text)
    (row,) = eventually(lambda: listed(api, via="worker"))
    assert (row["action"], row["changes"], row["agent"]) == ("find_names", {"entity.created": 1}, "operator")


# The list


def test_the_list_is_paged_and_filtered(api: Api) -> None:
    memory = api.write("memory 0")["id"]
    for n in range(1, 4):
        api.write(f"memory {n}")
    api.client.patch(f"/memories/{memory}", json={"tags": ["x"]})
    first = ok(api.get("/operations", limit=2, via="rest"))
    rest = ok(api.get("/operations", limit=1000, cursor=first["next_cursor"], via="rest"))
    ids = [row["id"] for row in first["items"] + rest["items"]]
    assert rest["next_cursor"] is None
    assert len(set(ids)) == len(ids) == 6
    assert [row["action"] for row in listed(api, subject=memory)] == ["change_memory", "write_memory"]
    started = listed(api, action="change_memory")[0]["started_at"]
    assert [row["action"] for row in listed(api, since=started)] == ["change_memory"]
    assert "change_memory" not in {row["action"] for row in listed(api, until=started)}


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"cursor": "x"}, "cursor"),
        ({"via": "pigeon"}, "via"),
        ({"limit": 0}, "limit"),
        ({"since": "x"}, "since"),
        ({"agent": "x"}, "agent"),
    ],
    ids=str,
)
def test_a_wrong_filter_names_its_field(api: Api, params: Any, field: str) -> None:
    assert problem(api.get("/operations", **params), 422, "invalid-request")["errors"][0]["field"] == field


def test_an_unknown_operation_is_not_found(api: Api) -> None:
    for path in (f"/operations/{uuid4()}", f"/operations/{uuid4()}/changes"):
        problem(api.get(path), 404, "not-found")
    problem(api.get(f"/operations/{uuid4()}/changes", cursor="x"), 422, "invalid-request")


def test_the_document_names_the_header_on_writes_and_only_there(service: Service) -> None:
    paths = service.app.openapi()["paths"]
    assert HEADER in paths["/api/v1/memories"]["post"]["responses"]["201"]["headers"]
    assert HEADER not in paths["/api/v1/recall"]["post"]["responses"]["200"]["headers"]
    assert HEADER not in paths["/api/v1/memories"]["get"]["responses"]["200"]["headers"]


def test_the_client_reads_the_log(api: Api) -> None:
    with client_of(api.service, namespace=api.namespace) as client:
        memory = client.memories.write("tea")
        (row,) = list(client.operations.list(subject=memory.id))
        assert client.operations.get(row.id) == row
        assert (row.action, row.changes) == ("write_memory", {"memory.created": 1})
        assert [(c.kind, c.content) for c in client.operations.list_changes(row.id)] == [("memory", "tea")]


def test_the_log_keeps_json_as_it_was_written(api: Api) -> None:
    response = api.post("/memories", {"content": "tea", "metadata": {"a": [1, None, "ä"]}})
    (item,) = changes_of(api, response)["items"]
    assert json.loads(json.dumps(item["after"]["metadata"])) == {"a": [1, None, "ä"]}
    assert UUID(item["subject_id"])
