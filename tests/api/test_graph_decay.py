"""Evidence, aspects and changes of decay over REST."""

import math
import time
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from tests.services import Api, ok, problem

EDGE = {"source": "Alice", "type": "works_on", "target": "Loci"}


def aged(api: Api, *days: int) -> None:
    """Edges of type works_on, observed so many days ago."""
    now = datetime.now(UTC)
    items = [{**EDGE, "target": f"{n} days", "observed_at": (now - timedelta(days=n)).isoformat()} for n in days]
    ok(api.post("/edges/batch", {"items": items}))


def alive(api: Api) -> int:
    return len(ok(api.get("/edges"))["items"])


def counts(reply: dict[str, Any]) -> tuple[int, int]:
    return reply["faded"], reply["revived"]


def test_a_recalculation_says_how_many_edges_faded_and_came_back(api: Api) -> None:
    aged(api, 10, 100)
    assert counts(ok(api.post("/edges/decay", {"type": "works_on"}))) == (0, 0)
    with api.service.database.admin() as admin:
        admin.execute(
            "update loci_data.edges set fades_at = '2000-01-01' where namespace_id = (select id from loci_data.namespaces where name = %s)",
            [api.namespace],
        )
    assert alive(api) == 0
    assert counts(ok(api.post("/edges/decay", {}))) == (0, 2)
    assert alive(api) == 2


def test_a_change_of_a_namespaces_threshold_says_how_many_edges_faded_and_came_back(api: Api) -> None:
    aged(api, 10, 100)
    path = f"/namespaces/{api.namespace}"
    changed = ok(api.client.patch(path, json={"settings": {"edge_threshold": 0.5}}))
    assert (changed["settings"]["edge_threshold"], *counts(changed)) == (0.5, 1, 0)
    assert alive(api) == 1
    assert counts(ok(api.client.patch(path, json={"settings": {"edge_threshold": None}}))) == (0, 1)
    assert "faded" not in ok(api.client.patch(path, json={"settings": {"max_hops": 3}}))


def test_settings_of_a_type_that_leave_its_rate_move_no_edge(api: Api) -> None:
    aged(api, 10, 100)
    ok(api.client.put("/edge-types/works_on", json={"decay_rate": 0.1}))
    assert counts(ok(api.client.put("/edge-types/works_on", json={"description": "who works on what"}))) == (0, 0)


@pytest.mark.parametrize("path", ["/edges/decay", "/edge-types/works_on"])
def test_a_change_of_decay_that_is_sent_again_has_the_same_reply(api: Api, path: str) -> None:
    aged(api, 10, 100)
    method, body = ("POST", {"type": "works_on"}) if path == "/edges/decay" else ("PUT", {"decay_rate": 0.1})
    first, again = (api.client.request(method, path, json=body, headers={"Idempotency-Key": "k"}) for _ in range(2))
    assert ok(again) == ok(first)
    assert (first.headers.get("Idempotency-Replayed"), again.headers["Idempotency-Replayed"]) == (None, "true")
    other = api.client.request(
        method, path, json={**body, "type": "u"} if method == "POST" else {}, headers={"Idempotency-Key": "k"}
    )
    problem(other, 409, "conflict")


@pytest.mark.parametrize("body", [{"type": ""}, {"type": 3}, {"kind": "t"}])
def test_a_recalculation_of_nothing_sensible_is_refused(api: Api, body: dict[str, Any]) -> None:
    problem(api.post("/edges/decay", body), 422, "invalid-request")


@pytest.mark.parametrize(
    ("rate", "expected"),
    [(-1, "greater than or equal to 0"), (1e10, "less than or equal to 1000000000"), ("fast", "a valid number")],
)
def test_a_rate_that_cannot_be_is_refused_with_what_can(api: Api, rate: object, expected: str) -> None:
    refused = problem(api.client.put("/edge-types/works_on", json={"decay_rate": rate}), 422, "invalid-request")
    assert [(error["field"], expected in error["message"]) for error in refused["errors"]] == [("decay_rate", True)]
    assert ok(api.client.put("/edge-types/works_on", json={"decay_rate": 1e9}))["decay_rate"] == 1e9


def test_an_entity_that_another_conversation_states_is_restored(api: Api) -> None:
    said = [
        ok(api.post("/entities", {"name": "Zeus", "confidence": 0.4, "session_id": session}), 201)["confidence"]
        for session in ("s1", "s1", "s2")
    ]
    assert said == [0.4, 0.4, 1.0]


def test_an_edge_of_a_memory_that_does_not_exist_names_the_field(api: Api) -> None:
    body = problem(api.post("/edges", {**EDGE, "memory_id": str(uuid4())}), 422, "invalid-request")
    assert [error["field"] for error in body["errors"]] == ["memory_id"]
    assert ok(api.get("/entities"))["items"] == []


def test_an_edge_shows_the_aspect_that_it_was_observed_with(api: Api) -> None:
    ok(api.post("/edges", {**EDGE, "aspect": "Work"}), 201)
    api.write("Alice likes tea", edges=[{"source": "Alice", "type": "likes", "literal": "tea", "aspect": "Taste"}])
    assert [edge["aspect"] for edge in ok(api.get("/edges"))["items"]] == ["Work", "Taste"]
    assert sorted(aspect["name"] for aspect in ok(api.get("/entities/Alice/aspects"))["items"]) == ["Taste", "Work"]


def test_a_recalculation_counts_what_time_has_faded_since_the_last_one(api: Api) -> None:
    aged(api, 10, 300)
    first = ok(api.post("/edges/decay", {}))
    assert first == {"edges": 2, "faded": 1, "revived": 0, "faded_now": 1}
    assert ok(api.post("/edges/decay", {})) == {"edges": 2, "faded": 0, "revived": 0, "faded_now": 1}
    edge = {**EDGE, "target": "soon", "confidence": 0.1 * math.exp(0.01 * 1 / 86400)}  # falls below 0.1 in a second
    ok(api.post("/edges", edge), 201)
    assert ok(api.post("/edges/decay", {}))["faded"] == 0
    time.sleep(1.1)
    assert ok(api.post("/edges/decay", {})) == {"edges": 3, "faded": 1, "revived": 0, "faded_now": 2}
    assert ok(api.post("/edges/decay", {"type": "works_on"}))["faded"] == 2  # the first of this type alone
