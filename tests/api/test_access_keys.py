"""API keys and roles: 401 without a key, 403 beyond a role, 404 only for those who may know."""

import threading
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from tests.services import Api, Service, eventually, new_api, ok, problem

RANKS = ["reader", "writer", "admin"]


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


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
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
    ("GET", "/feedback/signals", None, "reader"),
    ("POST", "/feedback", {"signals": [{"kind": "note", "content": "x"}]}, "writer"),
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
]


@pytest.fixture(scope="module")
def holders(service: Service, guarded: Service) -> Iterator[tuple[str, dict[str, httpx.Client]]]:
    """A namespace, and who has a key of each role in it."""
    with new_api(service) as api, ExitStack() as stack:
        yield api.namespace, {role: stack.enter_context(as_holder(guarded, make_key(api, role)["key"])) for role in RANKS}


@pytest.mark.sample(35)
@pytest.mark.parametrize("role", RANKS)
@pytest.mark.parametrize(("method", "path", "body", "needed"), REQUESTS, ids=lambda value: str(value)[:30])
def test_a_role_has_the_rights_it_includes_and_no_more(
    holders: tuple[str, dict[str, httpx.Client]], role: str, method: str, path: str, body: Any, needed: str
) -> None:
    namespace, clients = holders
    response = clients[role].request(method, path.format(namespace=namespace), json=body)
    if RANKS.index(role) >= RANKS.index(needed):
        assert response.status_code in {200, 201, 204}, response.text
    else:
        problem(response, 403, "forbidden")


@pytest.mark.parametrize("role", RANKS)
def test_only_an_admins_key_deletes_its_namespace(api: Api, guarded: Service, role: str) -> None:
    with as_holder(guarded, make_key(api, role)["key"]) as client:
        response = client.delete(f"/namespaces/{api.namespace}")
    if role == "admin":
        assert response.status_code == 204
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
    past = "2021-01-01T00:00:00Z"
    refused = problem(api.post("/keys", {"name": "k", "role": "writer", "expires_at": past}), 422, "invalid-request")
    assert [error["field"] for error in refused["errors"]] == ["expires_at"]  # it was meant for the year to come
    made = make_key(api, "writer")
    ok(api.client.patch(f"/keys/{made['id']}", json={"expires_at": past}))
    with as_holder(guarded, made["key"]) as client:
        problem(client.get("/memories"), 401, "unauthorized")


def test_a_key_that_is_not_there_cannot_be_revoked(api: Api) -> None:
    problem(api.client.delete(f"/keys/{uuid4()}"), 404, "not-found")


def test_an_idempotency_key_of_one_agent_says_nothing_to_another(api: Api, guarded: Service) -> None:
    replies = []
    for content in ("mine", "yours"):
        with as_holder(guarded, make_key(api, "writer")["key"]) as client:
            replies.append(ok(client.post("/memories", json={"content": content}, headers={"Idempotency-Key": "k"}), 201))
    assert [reply["content"] for reply in replies] == ["mine", "yours"]


# What a key may do of what its agent may


@pytest.mark.parametrize(("scope", "allowed"), [("read", 1), ("write", 2), ("admin", 3)])
def test_the_scope_of_a_key_caps_the_role_of_its_agent(api: Api, guarded: Service, scope: str, allowed: int) -> None:
    made = make_key(api, "admin", scope=scope)
    assert (made["role"], made["scope"]) == ("admin", scope)
    with as_holder(guarded, made["key"]) as client:
        statuses = [
            client.get("/memories").status_code,
            client.post("/memories", json={"content": "x"}).status_code,
            client.get("/keys").status_code,
        ]
    assert statuses == [200, 201, 200][:allowed] + [403] * (3 - allowed)


def test_a_key_of_several_namespaces_works_in_those_it_names(api: Api, guarded: Service, service: Service) -> None:
    with new_api(service) as other, new_api(service) as third:
        made = ok(api.post("/keys", {"role": "writer", "namespaces": [api.namespace, other.namespace]}), 201)
        assert made["namespaces"] == sorted([api.namespace, other.namespace])
        with as_holder(guarded, made["key"]) as client:
            names = [row["name"] for row in ok(client.get("/namespaces"))["items"]]
            problem(client.get("/memories", headers={"X-Namespace": third.namespace}), 403, "forbidden")
    assert names == sorted([api.namespace, other.namespace])


def test_the_first_namespace_of_a_key_is_where_it_is_made_if_none_is_named(api: Api, service: Service) -> None:
    with service.client() as client:
        made = ok(client.post("/keys", json={"namespaces": [api.namespace]}), 201)
    assert [row["id"] for row in ok(api.get("/keys"))["items"]] == [made["id"]]


def test_an_admin_makes_a_further_key_of_an_agent_at_home(api: Api, guarded: Service) -> None:
    agent = make_key(api, "writer")["agent_id"]
    with as_holder(guarded, make_key(api, "admin")["key"]) as admin:
        further = ok(admin.post("/keys", json={"agent_id": agent, "scope": "read"}), 201)
        problem(admin.post("/keys", json={"agent_id": agent, "role": "admin"}), 422, "invalid-request")
    with as_holder(guarded, further["key"]) as client:
        ok(client.get("/memories"))
        problem(client.post("/memories", json={"content": "x"}), 403, "forbidden")
    assert (further["agent_id"], further["namespaces"], further["default_namespace"]) == (agent, None, api.namespace)


def test_to_an_admin_elsewhere_there_is_neither_the_agent_nor_its_key(api: Api, guarded: Service, service: Service) -> None:
    """Also where the agent has a grant there: a guest's keys are its home's."""
    with new_api(service) as home:
        key = make_key(home, "writer", name="gamma's scout")
        with as_holder(guarded, make_key(api, "admin")["key"]) as admin, as_holder(guarded, key["key"]) as scout:
            for accepted in (False, True):
                assert ok(admin.put(f"/grants/{key['agent_id']}", json={"role": "writer"}))["accepted"] == accepted
                assert ok(admin.get("/keys"))["items"][0]["agent_id"] != key["agent_id"]
                for name, said in (("agent_id", "agent"), ("id", "key")):
                    unknown = str(uuid4())
                    asked = [
                        ("POST", "/keys", {"agent_id": "{id}"}) if name == "agent_id" else ("DELETE", "/keys/{id}", None),
                        *([] if name == "agent_id" else [("GET", "/keys/{id}/uses", None), ("POST", "/keys/{id}/rotate", {})]),
                    ]
                    for method, path, body in asked:
                        answers = []
                        for id_ in (key[name], unknown):
                            sent = body and {field: value.format(id=id_) for field, value in body.items()}
                            told = problem(admin.request(method, path.format(id=id_), json=sent), 404, "not-found")
                            answers.append(
                                {**told, "request_id": None} | {"detail": told["detail"].replace(id_, "ID"), "errors": None}
                            )
                        assert answers[0] == answers[1], said
                ok(scout.post(f"/agents/me/invitations/{api.namespace}/accept"))
            ok(scout.get("/memories"))
        uses = eventually(lambda: ok(home.get(f"/keys/{key['id']}/uses"))["items"])
        assert {(row["outcome"], row["namespace"]) for row in uses} == {("answered", home.namespace)}


# The namespace of a request that names none


def test_an_absent_thing_is_told_of_the_namespace_that_the_key_means(api: Api, guarded: Service) -> None:
    with as_holder(guarded, make_key(api, "reader")["key"]) as client:
        told = problem(client.get("/memories/nothing/history"), 404, "not-found")
    assert told["detail"] == f"no memory and no lineage 'nothing' in namespace '{api.namespace}'"


def test_a_default_namespace_that_is_not_granted_is_refused_by_its_field(api: Api) -> None:
    agent = make_key(api, "writer")["agent_id"]
    asked = {"name": "further", "agent_id": agent, "default_namespace": "default"}
    told = problem(api.post("/keys", asked), 404, "not-found")
    assert [error["field"] for error in told["errors"]] == ["default_namespace"]
    told = problem(
        api.post("/keys", {**asked, "namespaces": [api.namespace, "default"], "default_namespace": None}), 404, "not-found"
    )
    assert [error["field"] for error in told["errors"]] == ["namespaces"]


@pytest.mark.row("X8")
def test_a_grant_moves_no_request_that_names_no_namespace(api: Api, guarded: Service, service: Service) -> None:
    with new_api(service) as home:
        made = make_key(home, "writer")
        ok(api.client.put(f"/grants/{made['agent_id']}", json={"role": "writer"}))
        ok(service.client().put(f"/grants/{made['agent_id']}", json={"role": "writer"}))  # in `default`
        with as_holder(guarded, made["key"]) as client:
            ok(client.post("/memories", json={"content": "confidential"}), 201)
            ok(home.client.delete(f"/grants/{made['agent_id']}"))
            told = problem(client.post("/memories", json={"content": "confidential"}), 403, "forbidden")
            me = ok(client.get("/agents/me"))
        assert "default namespace of this key" in told["detail"]
        assert (me["default_namespace"], [grant["namespace"] for grant in me["grants"]]) == (
            None,
            sorted([api.namespace, "default"]),
        )
        assert (home.size()["memories"], api.size()["memories"]) == (1, 0)


def test_the_default_namespace_of_a_key_is_stated_once(api: Api, guarded: Service, service: Service) -> None:
    with new_api(service) as other:
        names = [api.namespace, other.namespace]
        made = ok(api.post("/keys", {"role": "writer", "namespaces": names, "default_namespace": other.namespace}), 201)
        assert made["default_namespace"] == other.namespace
        new = ok(api.post(f"/keys/{made['id']}/rotate"), 201)
        with as_holder(guarded, new["key"]) as client:
            ok(client.post("/memories", json={"content": "x"}), 201)
        assert (api.size()["memories"], other.size()["memories"]) == (0, 1)
        problem(api.client.patch(f"/keys/{new['id']}", json={"default_namespace": api.namespace}), 422, "invalid-request")
        problem(api.post("/keys", {"namespaces": [api.namespace], "default_namespace": other.namespace}), 404, "not-found")


# Rotation


def test_a_rotated_key_works_until_its_grace_is_over(api: Api, guarded: Service) -> None:
    old = make_key(api, "writer", scope="read", rate_limit=100)
    new = ok(api.post(f"/keys/{old['id']}/rotate", {"grace_seconds": 3600}), 201)
    assert (new["replaces"], new["scope"], new["rate_limit"], new["agent_id"]) == (old["id"], "read", 100, old["agent_id"])
    with as_holder(guarded, old["key"]) as before, as_holder(guarded, new["key"]) as after:
        assert [before.get("/memories").status_code, after.get("/memories").status_code] == [200, 200]
        ok(api.client.patch(f"/keys/{old['id']}", json={"expires_at": "2021-01-01T00:00:00Z"}))  # as if it were over
        problem(before.get("/memories"), 401, "unauthorized")
        ok(after.get("/memories"))
    problem(api.post(f"/keys/{old['id']}/rotate"), 409, "conflict")


def test_no_request_is_lost_when_a_key_is_rotated_under_load(api: Api, guarded: Service) -> None:
    keys = [make_key(api, "writer")]
    statuses: list[int] = []
    stop = threading.Event()

    def ask() -> None:
        with guarded.client() as client:
            while not stop.is_set():
                sent = {"Authorization": f"Bearer {keys[-1]['key']}"}
                statuses.append(client.get("/categories", headers=sent).status_code)

    askers = [threading.Thread(target=ask) for _ in range(3)]
    for asker in askers:
        asker.start()
    for _ in range(5):
        keys.append(ok(api.post(f"/keys/{keys[-1]['id']}/rotate", {"grace_seconds": 3600}), 201))
        asked = len(statuses)
        eventually(lambda: len(statuses) > asked + 10)  # noqa: B023
    stop.set()
    for asker in askers:
        asker.join()
    assert set(statuses) == {200}


def test_a_key_is_renamed_limited_and_given_an_end(api: Api, guarded: Service) -> None:
    key = make_key(api, "reader")
    path = f"/keys/{key['id']}"
    assert ok(api.client.patch(path, json={"name": "n", "rate_limit": 9}))["rate_limit"] == 9
    assert ok(api.client.patch(path, json={"rate_limit": None}))["name"] == "n"
    ok(api.client.patch(path, json={"expires_at": "2021-01-01T00:00:00Z"}))
    with as_holder(guarded, key["key"]) as client:
        problem(client.get("/memories"), 401, "unauthorized")


@pytest.mark.parametrize(
    "body",
    [
        *({"scope": "owner"}, {"rate_limit": 0}, {"rate_limit": 1_000_001}, {"namespaces": []}, {"namespaces": ["A"]}),
        *({"namespaces": ["default"]}, {"agent_id": "x"}, {"agent_id": str(UUID(int=0))}, {"key": "mine"}),
    ],
    ids=str,
)
def test_a_key_that_cannot_be_is_refused_and_nothing_is_made(api: Api, body: dict[str, Any]) -> None:
    assert api.post("/keys", body).status_code in {404, 422}
    assert ok(api.get("/keys"))["items"] == []


# What keys are used for


def used(api: Api, id: str) -> list[tuple[str | None, str, int]]:
    """How often, in all hours."""
    found: Counter[tuple[str | None, str]] = Counter()
    for row in ok(api.get(f"/keys/{id}/uses"))["items"]:
        found[row["namespace"], row["outcome"]] += row["requests"]
    return sorted(((*of, requests) for of, requests in found.items()), key=str)


def test_the_uses_of_a_key_are_counted_by_outcome(api: Api, guarded: Service) -> None:
    key = make_key(api, "reader", rate_limit=5)
    with as_holder(guarded, key["key"], **{"X-Namespace": api.namespace}) as client:
        assert client.post("/memories", json={"content": "x"}).status_code == 403
        answered = 0
        while (status := client.get("/memories").status_code) == httpx.codes.OK:
            answered += 1
        assert status == httpx.codes.TOO_MANY_REQUESTS
    assert answered >= 4
    expected = [(api.namespace, "answered", answered), (api.namespace, "limited", 1), (api.namespace, "refused", 1)]
    assert eventually(lambda: used(api, key["id"]) == expected)
    (row,) = ok(api.get("/keys"))["items"]
    assert row["last_used_at"] is not None


def test_a_path_names_the_namespace_of_a_use(api: Api, guarded: Service) -> None:
    key = make_key(api, "reader")
    with as_holder(guarded, key["key"], **{"X-Namespace": "elsewhere"}) as client:
        ok(client.get(f"/namespaces/{api.namespace}"))
        problem(client.get("/memories"), 403, "forbidden")
    expected = [(None, "refused", 1), (api.namespace, "answered", 1)]
    assert eventually(lambda: used(api, key["id"]) == sorted(expected, key=str))


def test_keys_that_are_not_valid_are_counted_without_them(api: Api, guarded: Service) -> None:
    made = make_key(api, "reader")
    assert api.client.delete(f"/keys/{made['id']}").status_code == 204

    def refusals() -> int:
        rows = ok(api.get("/keys/refusals"))["items"]
        return sum(row["requests"] for row in rows if row["outcome"] == "unauthorized")

    before = refusals()
    with as_holder(guarded, made["key"]) as client:
        assert [client.get("/memories").status_code for _ in range(3)] == [401] * 3
    eventually(lambda: refusals() >= before + 3)
    with as_holder(guarded, make_key(api, "admin")["key"]) as client:
        problem(client.get("/keys/refusals"), 403, "forbidden")
    assert used(api, made["id"]) == []


# Where a key stands


@pytest.mark.parametrize("place", ["query", "X-Api-Key", "Cookie", "Basic", "body"])
def test_a_key_counts_in_the_authorization_header_alone(api: Api, guarded: Service, place: str) -> None:
    key = make_key(api, "writer")["key"]
    basic = b64encode(f"{key}:".encode()).decode()
    headers = {
        "X-Api-Key": {"X-Api-Key": key},
        "Cookie": {"Cookie": f"key={key}; Authorization=Bearer {key}"},
        "Basic": {"Authorization": f"Basic {basic}"},
    }.get(place, {})
    with guarded.client(**headers) as client:
        query = {"key": key, "api_key": key, "access_token": key} if place == "query" else {}
        body = {"query": "x", **({"key": key} if place == "body" else {})}
        response = client.post("/recall", json=body, params=query)
    problem(response, 401, "unauthorized")
    assert key not in response.text
