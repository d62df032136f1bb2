"""The log of recalls over REST, and feedback on it."""

from typing import Any
from uuid import uuid4

import pytest

from tests.services import Api, ok, problem


@pytest.fixture
def answered(api: Api) -> dict[str, Any]:
    """A logged question and its answer."""
    api.write("Alice grows apples in Oslo")
    api.write("Bob grows apples in Porto")
    return api.recall("Who grows apples?", arms=["lexical"], log=True, session_id="s", k=5, filters={"category": "general"})


def test_a_recall_is_logged_when_it_asks_for_it(api: Api, answered: dict[str, Any]) -> None:
    (listed,) = ok(api.get("/recalls"))["items"]
    assert (listed["id"], listed["query"], listed["k"], listed["session_id"]) == (
        answered["recall_id"],
        "Who grows apples?",
        5,
        "s",
    )
    assert (listed["arms"], listed["fusion"], listed["filters"], listed["skipped"]) == (
        ["lexical"],
        "linear",
        {"category": "general"},
        {},
    )
    assert 0 < listed["took_ms"] <= answered["took_ms"]
    logged = ok(api.get(f"/recalls/{answered['recall_id']}"))
    assert [(m["rank"], m["memory_id"], m["score"]) for m in logged["memories"]] == [
        (rank, result["id"], pytest.approx(result["score"])) for rank, result in enumerate(answered["results"], start=1)
    ]


@pytest.mark.row("R4")
def test_the_log_has_the_ranks_and_scores_that_an_explanation_has(api: Api) -> None:
    api.write("Alice grows apples", entities=[{"name": "Alice"}])
    answer = api.recall("What does Alice grow?", log=True, explain=True)
    explained = {
        name: {"rank": arm["rank"], "score": arm["score"]} for name, arm in answer["results"][0]["explain"]["arms"].items()
    }
    assert ok(api.get(f"/recalls/{answer['recall_id']}"))["memories"][0]["arms"] == explained
    assert len(explained) > 1


@pytest.mark.parametrize(("setting", "asked", "logged"), [(False, None, 0), (False, True, 1), (True, None, 1), (True, False, 0)])
def test_the_setting_decides_unless_the_request_does(api: Api, setting: bool, asked: bool | None, logged: int) -> None:
    ok(api.client.patch(f"/namespaces/{api.namespace}", json={"settings": {"recall_log": setting}}))
    answer = api.recall("apples", log=asked)
    assert len(ok(api.get("/recalls"))["items"]) == logged
    assert ("recall_id" in answer) == bool(logged)


def test_an_answer_of_other_tiers_counts_them_and_logs_memories_alone(api: Api, answered: dict[str, Any]) -> None:
    body = {"query": "apples", "arms": ["lexical", "conversation", "working_memory"], "log": True}
    logged = ok(api.get(f"/recalls/{ok(api.post('/recall', body))['recall_id']}"))
    assert (logged["results"], len(logged["memories"])) == (2, 2)


def test_results_are_rated_and_the_session_that_was_shown_them_is_seen(api: Api, answered: dict[str, Any]) -> None:
    first, second = (result["id"] for result in answered["results"])
    ratings = [{"memory_id": first, "useful": True}, {"memory_id": second, "useful": False, "note": "another Bob"}]
    noted = ok(
        api.post("/feedback", {"session_id": "s", "injected": [first], "recall_id": answered["recall_id"], "ratings": ratings})
    )
    assert noted == {"session_id": "s", "injected": [first], "confirmed": [], "rated": sorted([first, second])}
    logged = ok(api.get(f"/recalls/{answered['recall_id']}"))["memories"]
    assert [(m["useful"], m["note"], m["injected_at"] is not None) for m in logged] == [
        (True, None, True),
        (False, "another Bob", False),
    ]
    (listed,) = ok(api.get("/recalls"))["items"]
    assert (listed["useful"], listed["useless"]) == (1, 1)


def test_a_memory_says_when_it_was_recalled_and_how_that_was_rated(api: Api, answered: dict[str, Any]) -> None:
    memory = answered["results"][0]["id"]
    again = api.recall("apples", arms=["lexical"], log=True)
    ok(
        api.post(
            "/feedback", {"recall_id": answered["recall_id"], "ratings": [{"memory_id": memory, "useful": False, "note": "old"}]}
        )
    )
    page = ok(api.get(f"/memories/{memory}/recalls", limit=1))
    (newest,) = page["items"]
    assert (newest["recall_id"], newest["query"], newest["useful"]) == (again["recall_id"], "apples", None)
    (first,) = ok(api.get(f"/memories/{memory}/recalls", cursor=page["next_cursor"]))["items"]
    assert (first["recall_id"], first["session_id"], first["rank"]) == (answered["recall_id"], "s", 1)
    assert (first["useful"], first["note"]) == (False, "old")
    problem(api.get(f"/memories/{uuid4()}/recalls"), 404, "not-found")


def test_ratings_need_no_session(api: Api, answered: dict[str, Any]) -> None:
    rating = {"memory_id": answered["results"][0]["id"], "useful": True}
    noted = ok(api.post("/feedback", {"recall_id": answered["recall_id"], "ratings": [rating]}))
    assert noted == {"session_id": None, "injected": [], "confirmed": [], "rated": [rating["memory_id"]]}


def test_a_wrong_rating_is_refused_by_field(api: Api, answered: dict[str, Any]) -> None:
    recall, memory = answered["recall_id"], answered["results"][0]["id"]
    good = {"memory_id": memory, "useful": True}
    cases: list[tuple[dict[str, Any], int, str]] = [
        ({"ratings": [good]}, 422, "recall_id"),
        ({"recall_id": str(uuid4()), "ratings": [good]}, 404, "recall_id"),
        ({"recall_id": recall, "ratings": [good, {"memory_id": str(uuid4()), "useful": True}]}, 404, "ratings[1].memory_id"),
        ({"recall_id": recall, "ratings": [{"memory_id": memory}]}, 422, "ratings[0].useful"),
        ({"recall_id": recall, "ratings": [{**good, "note": "x" * 10_001}]}, 422, "ratings[0].note"),
        ({"recall_id": recall}, 422, "body"),
    ]
    for body, status, field in cases:
        found = problem(api.post("/feedback", body), status, "not-found" if status == 404 else "invalid-request")
        assert found["errors"][0]["field"] == field, body
    assert ok(api.get(f"/recalls/{recall}"))["memories"][0]["useful"] is None


def test_a_recall_is_taken_out_of_the_log(api: Api, answered: dict[str, Any]) -> None:
    path = f"/recalls/{answered['recall_id']}"
    assert api.client.delete(path).status_code == 204
    problem(api.get(path), 404, "not-found")
    problem(api.client.delete(path), 404, "not-found")
    assert ok(api.get("/recalls"))["items"] == []


def test_the_log_is_narrowed_to_a_session(api: Api) -> None:
    for number in range(5):
        api.recall(f"question {number}", log=True, session_id="a" if number % 2 else "b")
    assert len(ok(api.get("/recalls", session_id="a"))["items"]) == 2
