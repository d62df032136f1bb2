"""Retain and reflect over REST."""

from collections.abc import Callable
from typing import Any

import pytest

from service.embedding.active_model import UNKNOWN, ActiveModel
from tests.services import Api, Service, new_api, ok, problem


def retain(api: Api, content: str, **fields: Any) -> dict[str, Any]:
    answer: dict[str, Any] = ok(api.post("/retain", {"content": content, **fields}))
    return answer


def counts(answer: dict[str, Any]) -> tuple[int, ...]:
    return tuple(answer[name] for name in ("created", "updated", "linked", "unchanged"))


def contents(api: Api) -> list[str]:
    return sorted(row["content"] for row in ok(api.get("/memories"))["items"])


def test_a_text_is_taken_in_fact_by_fact(api: Api) -> None:
    api.write("Alice lives in Berlin", lineage="alice-home")
    api.write("Bob likes tea")
    answer = retain(
        api, "- Alice moved to Porto\n- Bob likes tea.\n- Postgres holds the invoices", source="standup", session_id="s1"
    )
    assert [(row["fact"], row["action"]) for row in answer["decisions"]] == [
        ("Alice moved to Porto", "update"),
        ("Bob likes tea.", "nothing"),
        ("Postgres holds the invoices", "create"),
    ]
    assert counts(answer) == (1, 1, 0, 1)
    assert (answer["decisions"][0]["lineage"], answer["decisions"][0]["signal"]) == ("alice-home", "change")
    assert contents(api) == ["Alice moved to Porto", "Bob likes tea", "Postgres holds the invoices"]
    assert ok(api.get(f"/memories/{answer['decisions'][2]['memory_id']}"))["source"] == "standup"


def test_a_fact_near_another_in_meaning_is_linked_to_it(api: Api) -> None:
    ok(api.client.patch(f"/namespaces/{api.namespace}", json={"settings": {"unsettled_named": 0}}))
    first = retain(api, "The API gateway times out after 30 seconds.")["decisions"][0]
    second = retain(api, "The API gateway is written in Go.")["decisions"][0]
    assert (second["action"], second["target_id"]) == ("link", first["memory_id"])
    assert second["links"] == [
        {"target_id": first["memory_id"], "type": "related_to", "strength": pytest.approx(second["confidence"])}
    ]
    (link,) = ok(api.get(f"/memories/{second['memory_id']}/links"))["items"]
    assert link["target_id"] == first["memory_id"]


def test_retained_facts_have_their_vectors_at_once(api: Api) -> None:
    (decision,) = retain(api, "Dana plays the violin")["decisions"]
    (found,) = [
        row for row in api.recall("Dana plays the violin", arms=["vector"])["results"] if row["id"] == decision["memory_id"]
    ]
    assert found["content"] == "Dana plays the violin"


@pytest.mark.parametrize("looked", [ActiveModel(UNKNOWN, None), ActiveModel(999, None, "it was active once")])
def test_a_retain_looks_which_model_is_active_in_a_service_that_does_not_know_yet_or_knows_another(
    api: Api, looked: ActiveModel
) -> None:
    provider = api.service.app.state.loci.provider
    provider.serving = looked
    first = retain(api, "The API gateway times out after 30 seconds.")["decisions"][0]
    provider.serving = looked
    second = retain(api, "The API gateway is written in Go.")
    assert (second["decisions"][0]["target_id"], second["skipped"]) == (first["memory_id"], {})


def test_text_is_another_name_of_content(api: Api) -> None:
    answer = ok(api.post("/retain", {"text": "Alice lives in Berlin"}))
    assert counts(answer) == (1, 0, 0, 0)


def test_a_retain_with_an_idempotency_key_happens_once(api: Api) -> None:
    first, again = (api.post("/retain", {"content": "Alice lives in Berlin"}, headers={"Idempotency-Key": "k"}) for _ in range(2))
    assert ok(first) == ok(again)
    assert ok(api.get("/memories"))["items"][0]["observations"] == 1


def test_a_dry_run_keeps_no_reply(api: Api) -> None:
    request = {"json": {"content": "Alice lives in Berlin", "dry_run": True}, "headers": {"Idempotency-Key": "k"}}
    assert ok(api.client.post("/retain", **request))["created"] == 1
    api.write("Alice lives in Berlin")
    assert ok(api.client.post("/retain", **request))["unchanged"] == 1


@pytest.mark.parametrize("action", ["create", "nothing"])
def test_the_kept_reply_of_a_retain_is_gone_with_what_it_speaks_of(api: Api, action: str) -> None:
    if action == "nothing":
        api.write("Alice lives in Berlin")
    request = {"json": {"content": "Alice lives in Berlin."}, "headers": {"Idempotency-Key": "k"}}
    (decision,) = ok(api.client.post("/retain", **request))["decisions"]
    assert decision["action"] == action
    ok(api.post("/memories/erase", {"ids": [decision["memory_id"]]}))
    assert "Berlin" not in api.client.post("/retain", **request).text


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "content"),
        ({"content": "  "}, "content"),
        ({"content": "x", "category": "/"}, "category"),
        ({"content": "x", "layer": 2}, "layer"),
        ({"content": "\n".join(f"fact {n}" for n in range(201))}, "content"),
        ({"content": "\n".join(f"fact {n}" for n in range(1001))}, "content"),
    ],
)
def test_a_wrong_body_is_refused_by_its_field_and_nothing_is_written(api: Api, body: dict[str, Any], field: str) -> None:
    errors = problem(api.post("/retain", body), 422, "invalid-request")["errors"]
    assert field in {error["field"].rpartition("body.")[2] for error in errors}
    assert contents(api) == []


def test_a_dead_embedding_endpoint_costs_the_vectors_and_not_the_facts(start_service: Callable[..., Service]) -> None:
    service = start_service(
        embedding={"provider": "openai", "endpoint": "http://127.0.0.1:9/v1", "api_key": "x", "query_timeout": 0.5}, worker=False
    )
    with new_api(service) as api:
        api.write("Alice lives in Berlin")
        answer = retain(api, "Alice moved to Porto")
        assert counts(answer) == (0, 1, 0, 0)
        assert set(answer["skipped"]) == {"vector"}


def test_reflect_places_orphans_and_says_where(api: Api) -> None:
    for n in range(2):
        api.write(f"Alice wrote lens number {n}", category="programming/haskell")
    planned = ok(api.post("/reflect", {"dry_run": True}))
    done = ok(api.post("/reflect", {}))
    assert [row["content"] for row in done["created"]] == ["Programming", "Haskell"]
    assert [row["lineage"] for row in planned["created"]] == [row["lineage"] for row in done["created"]]
    assert {row["parent"] for row in done["placed"]} == {"category/programming/haskell"}
    above = ok(api.get(f"/memories/{done['placed'][0]['memory_id']}/ancestors"))["items"]
    assert [row["content"] for row in above] == ["Haskell", "Programming"]
    again = ok(api.post("/reflect", {}))
    assert (again["placed"], again["created"], again["orphans_left"], again["next_cursor"]) == ([], [], 0, None)


@pytest.mark.parametrize("body", [{"limit": 0}, {"cursor": "x"}, {"category": ""}])
def test_a_wrong_reflect_is_refused(api: Api, body: dict[str, Any]) -> None:
    problem(api.post("/reflect", body), 422, "invalid-request")
