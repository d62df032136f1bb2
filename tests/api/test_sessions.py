"""Working memory and conversations over REST."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.services import Api, Service, eventually, ok, problem


def put(api: Api, key: str, value: Any = "x", space: str | None = None, **fields: Any) -> httpx.Response:
    return api.client.put(f"/working-memory/{quote(key)}", json={"value": value, **fields}, headers=declared(space))


def get(api: Api, key: str, space: str | None = None) -> httpx.Response:
    return api.client.get(f"/working-memory/{quote(key)}", headers=declared(space))


def delete(api: Api, key: str, space: str | None = None) -> httpx.Response:
    return api.client.delete(f"/working-memory/{quote(key)}", headers=declared(space))


def declared(space: str | None) -> dict[str, Any]:
    return {} if space is None else {"X-Space": space.encode()}


def keys(api: Api, space: str | None = None, **params: Any) -> list[str]:
    reply = ok(api.client.get("/working-memory", params=params, headers=declared(space)))
    return [item["key"] for item in reply["items"]]


def search(api: Api, **fields: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ok(api.post("/working-memory/search", fields))["items"]
    return found


def test_an_entry_is_found_by_what_it_means_too(api: Api) -> None:
    put(api, "session/a/pets", "The dog chased the cat through the garden")
    put(api, "session/a/puppy", "Bought on Monday")
    put(api, "session/a/taxes", "Forms of the fiscal year")
    found = search(api, query="puppy")
    assert [row["key"] for row in found] == ["session/a/puppy", "session/a/pets"]
    assert 1 >= found[0]["score"] > found[1]["score"] > 0
    assert search(api, query="puppy", prefix="session/b") == []
    assert [row["key"] for row in search(api, query="puppy", limit=1)] == ["session/a/puppy"]


@pytest.fixture
def writer(api: Api, guarded: Service) -> Iterator[Callable[..., Api]]:
    """Makes clients with writers' keys of their own, in the namespace of `api`."""
    with ExitStack() as opened:

        def make(space: str | None = None) -> Api:
            key = ok(api.post("/keys", {"role": "writer", "space": space}), 201)["key"]
            client = opened.enter_context(guarded.client(Authorization=f"Bearer {key}", **{"X-Namespace": api.namespace}))
            return Api(client, api.namespace, guarded)

        yield make


# Working memory


@pytest.mark.row("W2")
@pytest.mark.parametrize("key", ["session/abc/plan", "session/abc", "a/b/c/d/e", "session/ä ö/ü?#%&+", "session/abc/search"])
def test_an_entry_is_written_read_and_deleted_by_its_path(api: Api, key: str) -> None:
    written = ok(put(api, key, {"step": 1}, ttl_seconds=60, category="work", tags=["a"]))
    assert (written["key"], written["space"]) == (key, "/".join(key.split("/")[:2]))
    assert ok(get(api, key)) == {**written, "value": {"step": 1}}
    assert delete(api, key).status_code == 204
    problem(get(api, key), 404, "not-found")
    assert problem(delete(api, key), 404, "not-found")["errors"][0]["field"] == "key"


def test_a_plain_key_stands_under_the_declared_space_or_ones_own(api: Api, writer: Callable[[], Api]) -> None:
    assert ok(put(api, "plan"))["key"] == "agent/operator/plan"
    assert ok(put(api, "plan", space="session/ü"))["key"] == "session/ü/plan"
    other = writer()
    own = ok(put(other, "plan", "mine"))
    assert own["space"].startswith("agent/")
    assert own["space"] != "agent/operator"
    assert ok(get(other, "plan"))["value"] == "mine"
    assert ok(get(other, "agent/operator/plan"))["value"] == "x"


def test_a_list_shows_what_is_there_without_the_values(api: Api) -> None:
    for key in ("session/a/x", "session/ab/x", "patrol/p/y"):
        ok(put(api, key, "secret"))
    assert keys(api) == ["patrol/p/y", "session/a/x", "session/ab/x"]
    assert keys(api, prefix="session/a") == keys(api, "session/a") == ["session/a/x"]
    (item,) = ok(api.get("/working-memory", prefix="patrol"))["items"]
    assert set(item) == {"key", "space", "category", "tags", "stored_at", "expires_at"}


def test_entries_are_found_by_words_category_and_tags(api: Api) -> None:
    ok(put(api, "session/a/inbox", "three mails about apples", category="mail/new", tags=["urgent"]))
    ok(put(api, "session/b/other", {"text": "pears"}))
    (found,) = search(api, query="apple mail")
    assert (found["key"], found["value"]) == ("session/a/inbox", "three mails about apples")
    assert found["score"] > 0
    assert [item["key"] for item in search(api)] == ["session/b/other", "session/a/inbox"]
    assert [item["key"] for item in search(api, category="mail")] == ["session/a/inbox"]
    assert [item["key"] for item in search(api, tags=["urgent"])] == ["session/a/inbox"]
    assert [item["key"] for item in search(api, prefix="session/b")] == ["session/b/other"]
    assert len(search(api, limit=1)) == 1


def test_a_write_outside_the_declared_space_is_forbidden_and_reading_is_not(api: Api) -> None:
    ok(put(api, "session/b/plan"))
    body = problem(put(api, "session/b/plan", space="session/a"), 403, "forbidden")
    assert {"session/a", "session/b"} <= set(body["detail"].replace(",", "").split())
    assert body["hint"]
    problem(delete(api, "session/b/plan", space="session/a"), 403, "forbidden")
    assert ok(get(api, "session/b/plan", space="session/a"))["value"] == "x"


def test_a_writer_writes_under_the_space_of_its_key_and_a_header_narrows_that(api: Api, writer: Callable[..., Api]) -> None:
    ok(put(api, "patrol/heartbeat/findings"))
    plain, patrol, sessions = writer(), writer("patrol/heartbeat"), writer("session")
    for response in (
        put(plain, "patrol/heartbeat/findings"),
        delete(plain, "patrol/heartbeat/findings"),
        put(plain, "findings", space="patrol/heartbeat"),
        put(patrol, "findings", space="patrol/other"),
        put(sessions, "patrol/heartbeat/findings", space="session/abc"),
    ):
        problem(response, 403, "forbidden")
    assert ok(put(plain, "plan"))["space"].startswith("agent/")
    assert ok(put(patrol, "patrol/heartbeat/findings", "mine", space="patrol/heartbeat"))["space"] == "patrol/heartbeat"
    assert ok(put(sessions, "plan", space="session/abc"))["key"] == "session/abc/plan"
    assert ok(get(plain, "patrol/heartbeat/findings"))["value"] == "mine"
    assert keys(patrol) == ["patrol/heartbeat/findings"]
    assert problem(api.post("/keys", {"space": "agent/x"}), 422, "invalid-request")["errors"][0]["field"] == "space"


def test_another_agents_space_is_read_and_not_written(api: Api, writer: Callable[..., Api]) -> None:
    first, second = writer("session"), writer("session")
    ok(put(first, "session/abc/plan", "first"))
    for response in (
        put(second, "session/abc/plan"),
        put(second, "session/abc/other"),
        put(second, "other", space="session/abc"),
        delete(second, "session/abc/plan"),
    ):
        assert "another agent" in problem(response, 403, "forbidden")["detail"]
    assert ok(get(second, "session/abc/plan"))["value"] == "first"
    assert delete(first, "session/abc/plan").status_code == 204
    ok(put(second, "session/abc/other"))


def test_a_full_space_is_a_conflict_that_says_what_to_do(api: Api) -> None:
    ok(api.client.patch(f"/namespaces/{api.namespace}", json={"settings": {"working_memory_entries": 2}}))
    for key in ("a", "b"):
        ok(put(api, f"session/abc/{key}"))
    body = problem(put(api, "session/abc/c"), 409, "limit-reached")
    assert "session/abc" in body["detail"]
    assert "working_memory_entries" in body["hint"]
    ok(put(api, "session/abc/a", "replaced"))
    ok(put(api, "session/abd/c"))


def test_an_expired_entry_is_not_found(api: Api) -> None:
    ok(put(api, "session/abc/plan", ttl_seconds=0.000001))
    problem(get(api, "session/abc/plan"), 404, "not-found")
    assert keys(api) == []


def test_the_worker_deletes_what_has_expired(start_service: Callable[..., Service]) -> None:
    service = start_service()
    with service.client() as client, service.database.admin() as admin:
        ok(client.put("/working-memory/short", json={"value": 1, "ttl_seconds": 0.05}))
        ok(client.put("/working-memory/session/a/long", json={"value": 1}))

        def left() -> list[str]:
            service.loop.call_soon_threadsafe(service.app.state.loci.worker._woken["sweep"].set)  # or wait ten seconds
            return [row[0] for row in admin.execute("select key from loci_data.working_memory order by key").fetchall()]

        assert eventually(lambda: left() == ["session/a/long"])


ENTRIES: list[tuple[str, dict[str, Any], str]] = [
    ("plan", {}, "value"),
    ("plan", {"value": 1, "colour": "red"}, "colour"),
    ("plan", {"value": "a\x00b"}, "value"),
    ("plan", {"value": "x" * 1_048_576}, "value"),
    ("plan", {"value": 1, "ttl_seconds": 0}, "ttl_seconds"),
    ("plan", {"value": 1, "ttl_seconds": -1}, "ttl_seconds"),
    ("plan", {"value": 1, "ttl_seconds": 1e9}, "ttl_seconds"),
    ("plan", {"value": 1, "ttl_seconds": "soon"}, "ttl_seconds"),
    ("plan", {"value": 1, "category": "a//b"}, "category"),
    ("plan", {"value": 1, "tags": "a"}, "tags"),
    ("", {"value": 1}, "key"),
    ("a//b", {"value": 1}, "key"),
    ("a/b/", {"value": 1}, "key"),
    ("/a/b", {"value": 1}, "key"),
    ("a/" + "b" * 511, {"value": 1}, "key"),
    ("a%00b", {"value": 1}, "key"),
    ("a/%2e%2e/b", {"value": 1}, "key"),
    ("a/%0a", {"value": 1}, "key"),
]


@pytest.mark.parametrize(("key", "body", "field"), ENTRIES, ids=lambda value: repr(value)[:40])
def test_a_wrong_entry_is_refused_by_field(api: Api, key: str, body: dict[str, Any], field: str) -> None:
    answer = problem(api.client.put(f"/working-memory/{key}", json=body), 422, "invalid-request")
    assert field in [error["field"] for error in answer["errors"]]
    assert keys(api) == []


@pytest.mark.parametrize("space", ["abc", "a/b/c", "", "a/", b"a/\xff"])
def test_a_wrong_space_is_refused(api: Api, space: str | bytes) -> None:
    headers: dict[str, Any] = {"X-Space": space}
    for response in (
        api.client.put("/working-memory/plan", json={"value": 1}, headers=headers),
        api.client.get("/working-memory", headers=headers),
        api.client.post("/working-memory/search", json={}, headers=headers),
    ):
        assert problem(response, 422, "invalid-request")["errors"][0]["field"] in {"space", "X-Space"}


# Conversations


def say(api: Api, session: str, *contents: str) -> list[dict[str, Any]]:
    turns = [{"role": "user", "content": content} for content in contents]
    said: list[dict[str, Any]] = ok(api.post(f"/conversations/{session}/turns", {"turns": turns}), 201)["items"]
    return said


def test_one_turn_or_many_are_appended_and_replayed_in_order(api: Api) -> None:
    (first,) = ok(api.post("/conversations/s 1/turns", {"role": "user", "content": "Hello", "metadata": {"a": 1}}), 201)["items"]
    assert (first["session_id"], first["role"], first["content"], first["metadata"]) == ("s 1", "user", "Hello", {"a": 1})
    turns = [{"role": "assistant", "content": "Hi"}, {"role": "user", "content": "Bye", "said_at": "2024-05-01T12:00:00Z"}]
    rest = ok(api.post("/conversations/s 1/turns", {"turns": turns}), 201)["items"]
    assert ok(api.get("/conversations/s 1/turns")) == {"items": [first, *rest], "next_cursor": None}
    assert rest[1]["said_at"] == "2024-05-01T12:00:00Z"


@pytest.mark.row("W3")
def test_the_last_twenty_turns_are_replayed_and_pages_go_back(api: Api) -> None:
    contents = [f"turn {n}" for n in range(45)]
    say(api, "s1", *contents)
    page = ok(api.get("/conversations/s1/turns"))
    assert [turn["content"] for turn in page["items"]] == contents[25:]
    seen = page["items"]
    while page["next_cursor"]:
        page = ok(api.get("/conversations/s1/turns", cursor=page["next_cursor"], limit=10))
        seen = page["items"] + seen
    assert [turn["content"] for turn in seen] == contents


def test_a_repeated_request_says_it_once(api: Api) -> None:
    body = {"role": "user", "content": "Hello"}
    replies = [api.post("/conversations/s1/turns", body, headers={"Idempotency-Key": "k"}) for _ in range(2)]
    assert ok(replies[0], 201) == ok(replies[1], 201)
    assert len(ok(api.get("/conversations/s1/turns"))["items"]) == 1


def test_conversations_are_listed_and_deleted(api: Api) -> None:
    say(api, "b", "x", "y")
    say(api, "a", "z")
    page = ok(api.get("/conversations", limit=1))
    assert [(item["session_id"], item["turns"], item["logged"]) for item in page["items"]] == [("a", 1, 1)]
    assert [item["session_id"] for item in ok(api.get("/conversations", cursor=page["next_cursor"]))["items"]] == ["b"]
    assert ok(api.client.delete("/conversations/b/turns")) == {"session_id": "b", "deleted": 2}
    assert ok(api.get("/conversations/b/turns"))["items"] == []
    assert [item["session_id"] for item in ok(api.get("/conversations"))["items"]] == ["a"]


TURNS: list[tuple[Any, str]] = [
    ({}, "body"),
    ({"role": "user"}, "body"),
    ({"role": "user", "content": " "}, "content"),
    ({"role": "r" * 65, "content": "x"}, "role"),
    ({"role": "user", "content": "x", "metadata": 5}, "metadata"),
    ({"role": "user", "content": "x", "said_at": "soon"}, "said_at"),
    ({"role": "user", "content": "x", "colour": "red"}, "colour"),
    ({"turns": []}, "turns"),
    ({"turns": [{"role": "user", "content": "x"}] * 1001}, "turns"),
    ({"turns": [{"role": "user", "content": "x"}, {"role": "user"}]}, "turns[1].content"),
    ({"turns": [{"role": "user", "content": "x"}], "role": "user"}, "body"),
]


@pytest.mark.parametrize(("body", "field"), TURNS, ids=lambda value: repr(value)[:40])
def test_a_wrong_turn_is_refused_by_field_and_nothing_is_said(api: Api, body: Any, field: str) -> None:
    answer = problem(api.post("/conversations/s1/turns", body), 422, "invalid-request")
    assert field in [error["field"] for error in answer["errors"]]
    assert ok(api.get("/conversations"))["items"] == []
