"""Undoing operations over REST and the client."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from tests.api.clients import client_of
from tests.services import Api, eventually, ok, problem

OPERATION = "X-Operation-Id"


def undo(api: Api, id: str, **body: Any) -> Any:
    return api.post(f"/operations/{id}/undo", body or None)


def key(api: Api, role: str) -> dict[str, str]:
    made = ok(api.post("/keys", {"role": role}), 201)
    return {"Authorization": f"Bearer {made['key']}"}


def test_a_written_memory_is_gone_once_its_operation_is_undone_and_back_once_that_is(api: Api) -> None:
    written = api.post(
        "/memories", {"content": "Alice lives in Lisbon", "edges": [{"source": "Alice", "type": "lives_in", "target": "Lisbon"}]}
    )
    assert written.status_code == 201
    undone = undo(api, written.headers[OPERATION])
    body = ok(undone)
    assert body["undone"] == {"memory": 1, "edge": 1, "entity": 2}
    assert body["skipped"] == []
    assert (body["undoes"], body["operation_id"]) == (written.headers[OPERATION], undone.headers[OPERATION])
    assert ok(api.get("/memories"))["items"] == []
    assert ok(api.get("/edges"))["items"] == []
    assert ok(api.get("/entities"))["items"] == []
    assert api.found("Lisbon") == []
    ok(undo(api, body["operation_id"]))
    assert [memory["content"] for memory in ok(api.get("/memories"))["items"]] == ["Alice lives in Lisbon"]
    assert [edge["type"] for edge in ok(api.get("/edges"))["items"]] == ["lives_in"]
    assert api.found("Lisbon") == ["Alice lives in Lisbon"]


def test_undoing_twice_is_a_conflict_that_names_the_operation_that_undid_it(api: Api) -> None:
    written = api.post("/memories", {"content": "once"}).headers[OPERATION]
    first = ok(undo(api, written))["operation_id"]
    assert first in problem(undo(api, written), 409, "conflict")["detail"]


def test_an_undo_that_skips_everything_undoes_nothing_and_can_be_repeated(api: Api) -> None:
    written = api.post("/memories", {"content": "tea", "lineage": "drink"}).headers[OPERATION]
    later = api.post("/memories", {"content": "coffee", "lineage": "drink"}).headers[OPERATION]
    before = ok(api.get("/operations"))["items"]
    body = ok(undo(api, written, skip_changed=True))
    assert (body["undone"], body["operation_id"]) == ({}, None)
    assert body["skipped"] == [{"kind": "memory", "count": 1, "reason": "changed since"}]
    assert [conflict["operation_id"] for conflict in body["conflicts"]] == [later]
    assert ok(api.get("/operations"))["items"] == before
    ok(undo(api, later))
    assert ok(undo(api, written))["undone"] == {"memory": 1}
    assert ok(api.get("/memories"))["items"] == []


def test_a_later_change_is_a_conflict_that_names_thing_and_operation_and_changes_nothing(api: Api) -> None:
    written = api.post("/memories/batch", {"items": [{"content": "one"}, {"content": "two"}]})
    one = ok(written)["items"][0]["id"]
    changed = api.client.patch(f"/memories/{one}", json={"tags": ["x"]})
    detail = problem(undo(api, written.headers[OPERATION]), 409, "conflict")["detail"]
    assert one in detail
    assert changed.headers[OPERATION] in detail
    assert len(ok(api.get("/memories"))["items"]) == 2
    body = ok(undo(api, written.headers[OPERATION], skip_changed=True))
    assert body["skipped"] == [{"kind": "memory", "count": 1, "reason": "changed since"}]
    assert [memory["content"] for memory in ok(api.get("/memories"))["items"]] == ["one"]


@pytest.mark.row("X7")
def test_a_dry_run_says_what_undoing_does_and_what_stands_in_its_way_and_changes_nothing(api: Api) -> None:
    written = api.post(
        "/memories/batch",
        {
            "items": [
                {"content": "Ada lives in Oslo", "edges": [{"source": "Ada", "type": "lives_in", "target": "Oslo"}]},
                {"content": "Ada likes tea"},
            ]
        },
    )
    made = [item["id"] for item in ok(written)["items"]]
    eventually(lambda: ok(api.get("/entities/Ada"))["mentions"] == 2)  # so that Ada is there without the first one
    changed = api.client.patch(f"/memories/{made[1]}", json={"tags": ["x"]}).headers[OPERATION]
    log = ok(api.get("/operations"))["items"]
    foreseen = ok(undo(api, written.headers[OPERATION], dry_run=True))
    (conflict,) = foreseen["conflicts"]
    assert (conflict["kind"], conflict["subject_id"], conflict["content"]) == ("memory", made[1], "Ada likes tea")
    assert (conflict["operation_id"], conflict["action"]) == (changed, "change_memory")
    assert (foreseen["dry_run"], foreseen["operation_id"], foreseen["more"]) == (True, None, 0)
    shown = {(each["kind"], each["content"]) for each in foreseen["changes"]}
    assert {("memory", "Ada lives in Oslo"), ("edge", "Ada lives_in Oslo")} <= shown
    assert ok(api.get("/operations"))["items"] == log
    assert len(ok(api.get("/memories"))["items"]) == 2
    done = ok(undo(api, written.headers[OPERATION], skip_changed=True))
    assert (done["undone"], done["skipped"]) == (foreseen["undone"], foreseen["skipped"])
    logged = ok(api.get(f"/operations/{done['operation_id']}/changes"))["items"]
    assert sorted((each["kind"], each["action"], each["subject_id"]) for each in logged) == sorted(
        (each["kind"], each["action"], each["subject_id"]) for each in foreseen["changes"]
    )
    problem(undo(api, written.headers[OPERATION], dry_run=True), 409, "conflict")  # undone by now


def test_an_operation_that_does_not_exist_is_not_found(api: Api) -> None:
    problem(undo(api, str(uuid4())), 404, "not-found")
    problem(undo(api, "nonsense"), 422, "invalid-request")


def test_a_reader_undoes_nothing(api: Api) -> None:
    written = api.post("/memories", {"content": "mine"}).headers[OPERATION]
    for body in (None, {"dry_run": True}):
        problem(api.post(f"/operations/{written}/undo", body, headers=key(api, "reader")), 403, "forbidden")
    ok(api.post(f"/operations/{written}/undo", headers=key(api, "writer")))


def test_settings_are_given_back_by_admins_only_and_edges_follow_the_rate(api: Api) -> None:
    ok(
        api.post(
            "/edges",
            {"source": "a", "type": "knows", "target": "b", "observed_at": (datetime.now(UTC) - timedelta(days=20)).isoformat()},
        ),
        201,
    )
    path = f"/namespaces/{api.namespace}"
    alive = len(ok(api.get("/edges"))["items"])
    changed = api.client.patch(path, json={"settings": {"decay_rate": 5.0, "max_hops": 3}})
    assert len(ok(api.get("/edges"))["items"]) != alive
    problem(api.post(f"/operations/{changed.headers[OPERATION]}/undo", headers=key(api, "writer")), 403, "forbidden")
    ok(undo(api, changed.headers[OPERATION]))
    assert len(ok(api.get("/edges"))["items"]) == alive
    assert ok(api.get(path))["settings"]["max_hops"] != 3


def test_an_erased_memory_cannot_come_back(api: Api) -> None:
    secret = api.write("a secret")["id"]
    erased = api.client.delete(f"/memories/{secret}", params={"erase": True})
    assert "for good" in problem(undo(api, erased.headers[OPERATION]), 409, "conflict")["detail"]


def test_turns_are_a_log_and_stay(api: Api) -> None:
    said = api.post("/conversations/s1/turns", {"role": "user", "content": "hello"})
    assert "turn" in problem(undo(api, said.headers[OPERATION]), 409, "conflict")["detail"]


def test_an_undo_that_is_sent_again_with_its_key_has_the_same_reply(api: Api) -> None:
    written = api.post("/memories", {"content": "once"}).headers[OPERATION]
    first, second = (api.post(f"/operations/{written}/undo", headers={"Idempotency-Key": "k"}) for _ in range(2))
    assert ok(first) == ok(second)


@pytest.mark.parametrize("skip_changed", [None, True])
def test_the_client_undoes(api: Api, skip_changed: bool | None) -> None:
    written = api.post("/memories", {"content": "once"}).headers[OPERATION]
    with client_of(api.service, api.namespace) as client:
        assert client.operations.undo(written, skip_changed=skip_changed).undone == {"memory": 1}
