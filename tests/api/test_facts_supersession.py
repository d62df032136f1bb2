"""Supersession over REST: what a write says of it, the list, the sweep, and decisions."""

from typing import Any
from uuid import uuid4

import pytest

from tests.services import Api, ok, problem


def aspect(api: Api, name: str = "home", **fields: Any) -> str:
    api.post("/entities", {"name": "Alice"})
    made: dict[str, Any] = ok(api.post("/entities/Alice/aspects", {"name": name, **fields}), 201)
    return str(made["id"])


def add(api: Api, content: str, **fields: Any) -> dict[str, Any]:
    made: dict[str, Any] = ok(api.post(f"/aspects/{aspect(api)}/attributes", {"content": content, **fields}), 201)
    return made


def setting(api: Api, mode: str) -> None:
    ok(api.client.patch(f"/namespaces/{api.namespace}", json={"settings": {"supersession": mode}}))


def held(api: Api) -> list[str]:
    items = ok(api.get("/entities/Alice/aspects"))["items"]
    return sorted(attribute["content"] for item in items for attribute in item["attributes"])


def decisions(api: Api, **filters: Any) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = ok(api.get("/supersessions", **filters))["items"]
    return items


def test_a_write_says_what_it_superseded_and_why_is_listed(api: Api) -> None:
    old, new = add(api, "Alice lives in Paris"), add(api, "Alice lives in Berlin")
    assert (new["superseded"], new["proposed"]) == ([old["id"]], [])
    (made,) = decisions(api)
    assert made.keys() >= {"id", "entity_id", "aspect_id", "created_at", "decided_at", "decided_by"}
    assert {key: made[key] for key in ("status", "signal", "confidence", "evidence", "older", "newer", "entity", "aspect")} == {
        "status": "applied",
        "signal": "value_conflict",
        "confidence": 0.75,
        "evidence": ["paris", "berlin"],
        "older": "Alice lives in Paris",
        "newer": "Alice lives in Berlin",
        "entity": "Alice",
        "aspect": "home",
    }


def test_a_decision_is_undone_and_accepted_again(api: Api) -> None:
    add(api, "Alice lives in Paris")
    add(api, "Alice lives in Berlin")
    (made,) = decisions(api)
    assert ok(api.post(f"/supersessions/{made['id']}/undo"))["status"] == "undone"
    assert held(api) == ["Alice lives in Berlin", "Alice lives in Paris"]
    assert ok(api.post(f"/supersessions/{made['id']}/accept"))["status"] == "applied"
    assert held(api) == ["Alice lives in Berlin"]


def test_in_propose_mode_nothing_is_superseded_until_it_is_accepted(api: Api) -> None:
    setting(api, "propose")
    add(api, "Alice lives in Paris")
    proposed = add(api, "Alice lives in Berlin")["proposed"]
    assert [row["id"] for row in decisions(api, status="proposed")] == proposed
    assert len(held(api)) == 2
    ok(api.post(f"/supersessions/{proposed[0]}/accept"))
    assert held(api) == ["Alice lives in Berlin"]


def test_a_dismissed_proposal_stays_dismissed(api: Api) -> None:
    setting(api, "propose")
    add(api, "Alice lives in Paris")
    proposed = add(api, "Alice lives in Berlin")["proposed"]
    assert ok(api.post(f"/supersessions/{proposed[0]}/dismiss"))["status"] == "dismissed"
    assert ok(api.post("/supersessions", {"mode": "apply"}))["items"] == []
    assert len(held(api)) == 2


def test_a_sweep_returns_what_it_decided_a_page_at_a_time(api: Api) -> None:
    setting(api, "off")
    for city in ("Paris", "Berlin", "Rome"):
        add(api, f"Alice lives in {city}")
    first = ok(api.post("/supersessions", {"entity": "alice", "mode": "apply", "limit": 1}))
    assert (first["visited"], [row["older"] for row in first["items"]]) == (1, ["Alice lives in Paris"])
    rest = ok(api.post("/supersessions", {"entity": "alice", "mode": "apply", "cursor": first["next_cursor"]}))
    assert ([row["origin"] for row in rest["items"]], rest["next_cursor"]) == (["sweep"], None)
    assert held(api) == ["Alice lives in Rome"]


def test_an_aspect_is_undeclared_until_it_is_declared(api: Api) -> None:
    aspect(api)
    (shown,) = ok(api.get("/entities/Alice/aspects"))["items"]
    assert shown["single_valued"] is None
    aspect(api, single_valued=True)
    (shown,) = ok(api.get("/entities/Alice/aspects"))["items"]
    assert shown["single_valued"] is True


def test_a_single_valued_edge_type_keeps_the_newest_target(api: Api) -> None:
    ok(api.client.put("/edge-types/lives_in", json={"single_valued": True}))
    for city in ("Paris", "Berlin"):
        ok(api.post("/edges", {"source": "Alice", "type": "lives_in", "target": city}), 201)
    assert [edge["target"] for edge in ok(api.get("/edges", entity="Alice"))["items"]] == ["Berlin"]


@pytest.mark.parametrize("params", [{"status": "gone"}, {"signal": "luck"}, {"limit": 0}, {"cursor": "x"}], ids=str)
def test_a_wrong_list_is_refused_by_name(api: Api, params: dict[str, Any]) -> None:
    errors = problem(api.get("/supersessions", **params), 422, "invalid-request")["errors"]
    assert [error["field"] for error in errors] == list(params)


@pytest.mark.parametrize("body", [{"mode": "off"}, {"limit": 0}, {"cursor": "x"}, {"colour": 1}], ids=str)
def test_a_wrong_sweep_is_refused_by_name(api: Api, body: dict[str, Any]) -> None:
    errors = problem(api.post("/supersessions", body), 422, "invalid-request")["errors"]
    assert [error["field"] for error in errors] == list(body)


@pytest.mark.parametrize("verb", ["accept", "undo", "dismiss"])
def test_a_decision_that_is_not_there_is_not_found(api: Api, verb: str) -> None:
    problem(api.post(f"/supersessions/{uuid4()}/{verb}"), 404, "not-found")


@pytest.mark.parametrize("field", ["content", "status", "confidence", "importance", "valid_from"])
def test_a_change_of_an_attribute_to_null_is_refused_by_name(api: Api, field: str) -> None:
    response = api.client.patch(f"/attributes/{add(api, 'lives in Porto')['id']}", json={field: None})
    assert [error["field"] for error in problem(response, 422, "invalid-request")["errors"]] == [field]
