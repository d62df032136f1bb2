"""An entity is described at once: rules, facts, relations, memories and what happened last, now and as of then."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.services import Api, ok, problem
from tests.tools import Tools, over_http


@pytest.fixture
def tools(api: Api) -> Iterator[Tools]:
    with over_http(api.service, **{"X-Namespace": api.namespace}) as connected:
        yield connected


@pytest.fixture
def petra(api: Api) -> dict[str, Any]:
    """Petra was at Ilex Labs until 2025, and is at Orbit since."""
    api.write(
        "Petra works at Ilex Labs", lineage="job", valid_from="2020-01-01T00:00:00Z", entities=[{"name": "Petra", "type": "person"}]
    )
    api.write("Petra works at Orbit", lineage="job", valid_from="2025-01-01T00:00:00Z", entities=[{"name": "Petra"}])
    ok(api.post("/edges", {"source": "Petra", "type": "member_of", "target": "Ilex Labs",
                           "valid_from": "2020-01-01T00:00:00Z", "valid_to": "2025-01-01T00:00:00Z"}), 201)  # fmt: skip
    ok(api.post("/edges", {"source": "Petra", "type": "member_of", "target": "Orbit", "valid_from": "2025-01-01T00:00:00Z"}), 201)
    aspect = ok(api.post("/entities/Petra/aspects", {"name": "Diet"}), 201)["id"]
    ok(api.post(f"/aspects/{aspect}/attributes", {"content": "no nuts", "kind": "constraint"}), 201)
    ok(api.post(f"/aspects/{aspect}/attributes", {"content": "likes figs"}), 201)
    return ok(api.get("/entities/Petra"))


def overview(api: Api, **parameters: Any) -> dict[str, Any]:
    return ok(api.client.get("/entities/Petra/overview", params=parameters))


def targets(found: dict[str, Any]) -> list[str]:
    return [edge["target"] for edge in found["edges"]]


def test_an_overview_is_what_the_single_routes_say(api: Api, petra: dict[str, Any]) -> None:
    found = overview(api)
    assert found["entity"] == petra
    assert found["aspects"] == ok(api.get("/entities/Petra/aspects"))["items"]
    assert [memory["content"] for memory in found["memories"]] == ["Petra works at Orbit"]
    assert targets(found) == ["Orbit"]
    events = ok(api.get("/entities/Petra/history"))["items"]
    assert [event["id"] for event in found["timeline"]] == [event["id"] for event in reversed(events)][:20]


def test_an_overview_of_a_past_moment_shows_what_held_then(api: Api, petra: dict[str, Any]) -> None:
    then = overview(api, as_of="2022-01-01T00:00:00Z")
    assert [memory["content"] for memory in then["memories"]] == ["Petra works at Ilex Labs"]
    assert targets(then) == ["Ilex Labs"]
    assert max(event["at"] for event in then["timeline"]) <= "2022-01-01T00:00:00Z"
    assert petra["id"] == then["entity"]["id"]


def test_an_entity_unknown_at_a_moment_is_not_found(api: Api, petra: dict[str, Any]) -> None:
    assert petra
    problem(api.client.get("/entities/Petra/overview", params={"known_at": "2001-01-01T00:00:00Z"}), 404, "not-found")


@pytest.mark.parametrize("ref", ["Nobody", "00000000-0000-0000-0000-000000000005"])
def test_an_entity_that_is_not_there_is_named(api: Api, ref: str) -> None:
    assert ref in problem(api.client.get(f"/entities/{ref}/overview"), 404, "not-found")["detail"]


@pytest.mark.parametrize("ref", ["petra", "PETRA"])
def test_the_tool_says_the_same_in_lines(tools: Tools, petra: dict[str, Any], ref: str) -> None:
    text = tools.text("describe", entity=ref)
    assert text.splitlines()[0] == f"[{petra['id']}] Petra (person)"
    assert "Rules that hold:\n- Diet: no nuts (valid since " in text
    assert "Facts:\n- Diet: likes figs (valid since " in text
    assert "Petra --member_of--> Orbit" in text
    assert "Ilex Labs (confidence" not in text.partition("What happened last:")[0]
    assert "Petra works at Orbit" in text
    then = tools("describe", entity=ref, as_of="2022-01-01")
    assert [edge["target"] for edge in then["relations"]] == ["Ilex Labs"]
    assert [memory["content"] for memory in then["memories"]] == ["Petra works at Ilex Labs"]


def test_the_newest_events_of_many_come_first(api: Api) -> None:
    for year in range(2001, 2031):
        api.write(f"Ada walked in {year}", valid_from=f"{year}-01-01T00:00:00Z", entities=[{"name": "Ada"}])
    found = ok(api.client.get("/entities/Ada/overview", params={"limit": 3, "as_of": "2020-06-01T00:00:00Z"}))
    assert [event["at"][:4] for event in found["timeline"]] == ["2020", "2019", "2018"]
    assert [memory["content"][-4:] for memory in found["memories"]] == ["2020", "2019", "2018"]
