"""Why a recall does not bring a memory: what dropped it, in the order in which a recall drops."""

from typing import Any

import pytest

from tests.services import Api, ok, problem


def why_not(api: Api, memory: str, query: str, **asked: Any) -> dict[str, Any]:
    said: dict[str, Any] = ok(api.post("/recall/why-not", {"memory": memory, "recall": {"query": query, **asked}}))
    return said


def arms(said: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {arm["arm"]: arm for arm in said["arms"]}


@pytest.mark.row("X7")
def test_each_thing_that_drops_a_memory_is_named_and_one_that_is_there_has_its_place(api: Api) -> None:
    first = api.write("Bob drinks green tea", lineage="tea", valid_from="2023-01-01T00:00:00Z", category="drinks")
    api.write("Bob drinks oolong", lineage="tea", valid_from="2025-01-01T00:00:00Z", category="drinks")
    gone = api.write("Bob drank kvass once", category="drinks")
    ok(api.client.delete(f"/memories/{gone['id']}"))
    for n in range(3):
        api.write(f"Bob drinks green tea number {n} with green leaves of tea", category="other")

    there = why_not(api, "tea", "What does Bob drink?")
    results = api.recall("What does Bob drink?")["results"]
    assert (there["dropped_by"], there["content"]) == ("nothing", "Bob drinks oolong")
    assert results[there["rank"] - 1]["id"] == there["memory_id"]
    assert there["score"] == results[there["rank"] - 1]["score"]

    before = why_not(api, first["id"], "What does Bob drink?")
    assert (before["dropped_by"], before["instead"]) == ("time", there["memory_id"])
    assert "from 2023-01-01" in before["because"]
    assert why_not(api, "tea", "tea", as_of="2024-01-01T00:00:00Z")["content"] == "Bob drinks green tea"
    assert why_not(api, "tea", "tea", known_at="2020-01-01T00:00:00Z")["dropped_by"] == "time"
    assert why_not(api, gone["id"], "kvass")["dropped_by"] == "status"

    filtered = why_not(api, "tea", "tea", filters={"category": "other", "min_importance": 0.1})
    assert (filtered["dropped_by"], "asks for other; it has drinks" in filtered["because"]) == ("filter", True)
    assert {check["name"]: check["passes"] for check in filtered["checks"]} == {
        "known_at": True, "status": True, "as_of": True, "category": False, "min_importance": True
    }  # fmt: skip

    last = why_not(api, "tea", "green tea leaves Bob", k=1)
    assert (last["dropped_by"], last["rank"] > 1, last["score"] < last["last_score"]) == ("rank", True, True)

    unfound = why_not(api, "tea", "parliamentary procedure", arms=["lexical", "graph"])
    assert unfound["dropped_by"] == "arms"
    assert arms(unfound)["lexical"]["because"] == "it has none of the question's words"
    assert arms(unfound)["graph"]["because"] == "the question names no entity"


@pytest.mark.row("X7")
def test_a_name_that_was_only_read_out_of_texts_leads_nowhere_and_nothing_weighs_more(api: Api) -> None:
    api.write("We met Marisol Quintana", lineage="met", entities=[{"name": "Marisol Quintana", "type": "extracted"}])
    said = why_not(api, "met", "What does Marisol Quintana like?", arms=["graph"])
    assert arms(said)["graph"]["hits"] == 0
    assert arms(said)["graph"]["because"] == (
        "it mentions Marisol Quintana, which leads nowhere: what was only read out of texts, or is in very many, is left to the search "
        "by words"
    )


def test_it_looks_into_one_namespace_leaves_no_trace_and_refuses_what_is_not_there(api: Api) -> None:
    api.write("Bob drinks oolong", lineage="tea")
    ok(api.client.patch(f"/namespaces/{api.namespace}", json={"settings": {"recall_log": True}}))
    why_not(api, "tea", "oolong", log=True)
    assert ok(api.get("/recalls"))["items"] == []
    assert (
        "memory coffee does not exist"
        in problem(api.post("/recall/why-not", {"memory": "coffee", "recall": {"query": "x"}}), 404, "not-found")["detail"]
    )
    refused = problem(
        api.post("/recall/why-not", {"memory": "tea", "recall": {"query": "x", "namespaces": "*"}}), 422, "invalid-request"
    )
    assert "one namespace" in str(refused)
