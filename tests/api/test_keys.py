"""API keys and roles: 401 without a key, 403 beyond a role, 404 only for those who may know."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from tests.services import Api, Service, ok, problem, serve

RANKS = ["reader", "writer", "admin"]


@pytest.fixture(scope="module")
def guarded(service: Service) -> Iterator[Service]:
    """The same database behind a service that requires keys, of which it wants to see one before it starts."""
    with service.client() as client:
        ok(client.post("/keys", json={"role": "reader"}), 201)
    with serve(service.database, require_keys=True, worker=False) as running:
        yield running


def make_key(api: Api, role: str, **fields: Any) -> dict[str, Any]:
    return ok(api.post("/keys", {"role": role, **fields}), 201)


def as_holder(guarded: Service, key: str, **headers: str) -> httpx.Client:
    return guarded.client(Authorization=f"Bearer {key}", **headers)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer"},
        {"Authorization": "Basic YTpi"},
        {"Authorization": "Bearer loci_wrong"},
        {"Authorization": "token"},
    ],
    ids=str,
)
@pytest.mark.parametrize("path", ["/memories", "/namespaces", "/keys"])
def test_a_request_without_a_valid_key_is_unauthorized(guarded: Service, headers: dict[str, str], path: str) -> None:
    with guarded.client(**headers) as client:
        response = client.get(path)
    problem(response, 401, "unauthorized")
    assert response.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_health_needs_no_key(guarded: Service, path: str) -> None:
    with guarded.client() as client:
        assert client.get(f"http://loci{path}").status_code == 200


REQUESTS: list[tuple[str, str, Any, str]] = [
    ("GET", "/memories", None, "reader"),
    ("POST", "/recall", {"query": "x"}, "reader"),
    ("GET", "/memory/search?q=x", None, "reader"),
    ("GET", "/categories", None, "reader"),
    ("GET", "/entities", None, "reader"),
    ("GET", "/edges", None, "reader"),
    ("POST", "/entities/match", {"text": "x"}, "reader"),
    ("POST", "/graph/context", {"text": "x"}, "reader"),
    ("POST", "/graph/walk", {"query": "x"}, "reader"),
    ("POST", "/context", {"message": "x"}, "reader"),
    ("POST", "/context", {"message": "x", "session_id": "s"}, "writer"),
    ("GET", "/knowledge/constellation", None, "reader"),
    ("GET", "/feedback", None, "reader"),
    ("GET", "/recalls", None, "reader"),
    ("POST", "/recall", {"query": "x", "log": True}, "reader"),
    ("POST", "/feedback", {"session_id": "s", "confirmed": [str(UUID(int=5))]}, "writer"),
    ("POST", "/sessions/s/end", None, "writer"),
    ("GET", "/working-memory", None, "reader"),
    ("POST", "/working-memory/search", {"query": "x"}, "reader"),
    ("PUT", "/working-memory/plan", {"value": 1}, "writer"),
    ("GET", "/conversations", None, "reader"),
    ("GET", "/conversations/s/turns", None, "reader"),
    ("POST", "/conversations/s/turns", {"role": "user", "content": "x"}, "writer"),
    ("DELETE", "/conversations/nothing/turns", None, "writer"),
    ("POST", "/memories", {"content": "x"}, "writer"),
    ("POST", "/memories/batch", {"items": [{"content": "x"}]}, "writer"),
    ("POST", "/entities", {"name": "Zeus"}, "writer"),
    ("POST", "/edges", {"source": "a", "type": "t", "target": "b"}, "writer"),
    ("PUT", "/edge-types/t", {}, "writer"),
    ("POST", "/entities/touch", {"ids": [str(UUID(int=5))]}, "writer"),
    ("GET", "/keys", None, "admin"),
    ("POST", "/keys", {"role": "reader"}, "admin"),
    ("PATCH", "/namespaces/{namespace}", {"description": "d"}, "admin"),
    ("DELETE", "/namespaces/{namespace}", None, "admin"),
]


@pytest.mark.parametrize("role", RANKS)
@pytest.mark.parametrize(("method", "path", "body", "needed"), REQUESTS, ids=lambda value: str(value)[:30])
def test_a_role_may_do_what_it_includes_and_no_more(
    api: Api, guarded: Service, role: str, method: str, path: str, body: Any, needed: str
) -> None:
    key = make_key(api, role)["key"]
    with as_holder(guarded, key) as client:
        response = client.request(method, path.format(namespace=api.namespace), json=body)
    if RANKS.index(role) >= RANKS.index(needed):
        assert response.status_code in {200, 201, 204}, response.text
    else:
        problem(response, 403, "forbidden")


@pytest.mark.parametrize("role", RANKS)
def test_a_key_creates_no_namespace(api: Api, guarded: Service, role: str) -> None:
    with as_holder(guarded, make_key(api, role)["key"]) as client:
        problem(client.post("/namespaces", json={"name": f"n-{uuid4().hex}"}), 403, "forbidden")


@pytest.mark.parametrize("name", ["default", "no-such-place"])
def test_a_key_learns_nothing_about_other_namespaces(api: Api, guarded: Service, name: str) -> None:
    with as_holder(guarded, make_key(api, "admin")["key"], **{"X-Namespace": name}) as client:
        problem(client.get("/memories"), 403, "forbidden")
        problem(client.get(f"/namespaces/{name}"), 403, "forbidden")


def test_a_key_that_may_only_read_gets_the_context_of_a_message_and_touches_nothing(api: Api, guarded: Service) -> None:
    ok(api.post("/edges", {"source": "Zeus", "type": "loves", "target": "Hera"}), 201)
    with as_holder(guarded, make_key(api, "reader")["key"]) as client:
        context = ok(client.post("/graph/context", json={"text": "What of Zeus?"}))
    assert context["rendered"].endswith("- Zeus --loves--> Hera (confidence=1.00)")
    assert ok(api.get("/entities/Zeus"))["last_referenced_at"] is None


def test_a_key_sees_its_own_namespace_alone(api: Api, guarded: Service) -> None:
    with as_holder(guarded, make_key(api, "reader")["key"]) as client:
        assert [row["name"] for row in ok(client.get("/namespaces"))["items"]] == [api.namespace]
        assert ok(client.get("/namespaces"))["items"][0]["role"] == "reader"


def test_a_memory_of_another_namespace_is_not_found(api: Api, guarded: Service, service: Service) -> None:
    with service.client() as client:
        theirs = ok(client.post("/memories", json={"content": uuid4().hex}), 201)["id"]
    with as_holder(guarded, make_key(api, "admin")["key"]) as client:
        problem(client.get(f"/memories/{theirs}"), 404, "not-found")
        problem(client.patch(f"/memories/{theirs}", json={"layer": 1}), 404, "not-found")
        problem(client.delete(f"/memories/{theirs}"), 404, "not-found")
        problem(client.get(f"/memories/{theirs}/history"), 404, "not-found")
        problem(client.post("/memories", json={"content": "x", "parent_id": theirs}), 422, "invalid-request")


def test_a_key_is_shown_once_and_kept_as_a_hash(api: Api) -> None:
    made = make_key(api, "writer", name="mine")
    assert made["key"].startswith("loci_")
    listed = ok(api.get("/keys"))["items"]
    assert [(row["id"], row["name"], row["role"]) for row in listed] == [(made["id"], "mine", "writer")]
    assert made["key"] not in str(listed)
    with api.service.database.admin() as admin:
        stored = admin.execute("select k::text from loci_data.api_keys k where id = %s", [made["id"]]).fetchone()
    assert stored is not None
    assert made["key"] not in stored[0]


def test_a_revoked_key_is_refused_at_once(api: Api, guarded: Service) -> None:
    made = make_key(api, "writer")
    with as_holder(guarded, made["key"]) as client:
        ok(client.get("/memories"))
        assert api.client.delete(f"/keys/{made['id']}").status_code == 204
        problem(client.get("/memories"), 401, "unauthorized")
    assert ok(api.get("/keys"))["items"][0]["revoked_at"] is not None


def test_an_expired_key_is_refused(api: Api, guarded: Service) -> None:
    made = make_key(api, "writer", expires_at="2021-01-01T00:00:00Z")
    with as_holder(guarded, made["key"]) as client:
        problem(client.get("/memories"), 401, "unauthorized")


def test_a_key_that_is_not_there_cannot_be_revoked(api: Api) -> None:
    problem(api.client.delete(f"/keys/{uuid4()}"), 404, "not-found")


def test_pages_of_keys_visit_each_once(api: Api) -> None:
    made = {make_key(api, "reader")["id"] for _ in range(5)}
    first = ok(api.get("/keys", limit=3))
    second = ok(api.get("/keys", limit=3, cursor=first["next_cursor"]))
    assert {row["id"] for row in first["items"] + second["items"]} == made
    assert second["next_cursor"] is None


def test_an_idempotency_key_of_one_agent_says_nothing_to_another(api: Api, guarded: Service) -> None:
    replies = []
    for content in ("mine", "yours"):
        with as_holder(guarded, make_key(api, "writer")["key"]) as client:
            replies.append(ok(client.post("/memories", json={"content": content}, headers={"Idempotency-Key": "k"}), 201))
    assert [reply["content"] for reply in replies] == ["mine", "yours"]
