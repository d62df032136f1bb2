"""Walk, constellation, constraints in recall, and feedback over REST."""

from typing import Any
from uuid import UUID

import pytest

from tests.services import Api, Service, eventually, new_api, ok, problem, serve


def aspect(api: Api, entity: str, name: str = "Rules", **fields: Any) -> str:
    return ok(api.post(f"/entities/{entity}/aspects", {"name": name, **fields}), 201)["id"]


def fact(api: Api, under: str, content: str, **fields: Any) -> dict[str, Any]:
    return ok(api.post(f"/aspects/{under}/attributes", {"content": content, **fields}), 201)


def walk(api: Api, **fields: Any) -> dict[str, Any]:
    return ok(api.post("/graph/walk", fields))


@pytest.fixture
def alice(api: Api) -> dict[str, str]:
    """Alice, a fact and a rule about her, and the memories behind them, which do not say her name."""
    api.write("Alice is here", entities=[{"name": "Alice", "type": "person"}])
    tea, nuts = api.write("green tea is what she drinks")["id"], api.write("an allergy was found in spring")["id"]
    under = aspect(api, "Alice", "Diet", weight=0.8)
    fact(api, under, "drinks green tea", memory_id=tea, importance=0.5)
    fact(api, under, "never serve nuts", memory_id=nuts, importance=0.9, kind="constraint")
    return {"aspect": under, "tea": tea, "nuts": nuts}


# The walk


def test_a_walk_says_what_to_know_about_what_a_query_names(api: Api, alice: dict[str, str]) -> None:
    found = walk(api, query="What does Alice want?", attributes=True)
    assert [(focal["name"], focal["source"], focal["pinned"]) for focal in found["focal"]] == [("Alice", "query", False)]
    assert [item["content"] for item in found["constraints"]] == ["never serve nuts"]
    assert [item["content"] for item in found["attributes"]] == ["drinks green tea"]
    assert found["memory_ids"] == [alice["nuts"], alice["tea"]]
    assert (found["source"], found["entity_count"], found["aspect_ids"], found["timed_out"]) == (
        "query",
        1,
        [alice["aspect"]],
        False,
    )
    assert walk(api, query="Alice")["attributes"] == []


def test_a_walk_about_nothing_is_empty(api: Api) -> None:
    found = walk(api)
    assert found["took_ms"] >= 0
    del found["took_ms"]
    assert found == {"focal": [], "source": None, "memory_ids": [], "constraints": [], "attributes": [], "entity_count": 0,
                     "aspect_ids": [], "timed_out": False}  # fmt: skip


@pytest.mark.row("S3")
def test_a_walk_begins_at_the_first_of_checkpoint_path_query_and_session(api: Api) -> None:
    ids = {name: ok(api.post("/entities", {"name": name, "type": "project"}), 201)["id"] for name in ("apple", "berry", "cherry")}
    given: dict[str, Any] = {"checkpoint": [ids["cherry"]], "project_path": "/home/berry", "query": "apple?", "session_key": "s"}
    seen = []
    for left_out in (None, *given):
        given.pop(left_out, None) if left_out else None
        found = walk(api, **given)
        seen.append((found["source"], [focal["name"] for focal in found["focal"]]))
    assert seen == [("checkpoint", ["cherry"]), ("project", ["berry"]), ("query", ["apple"]), ("session_key", ["s"]), (None, [])]


def test_a_walk_looks_at_any_moment(api: Api, alice: dict[str, str]) -> None:
    fact(api, alice["aspect"], "was on a diet", kind="constraint", valid_from="2020-01-01T00:00Z", valid_to="2021-01-01T00:00Z")
    assert [item["content"] for item in walk(api, query="Alice", as_of="2020-06-01T00:00Z")["constraints"]] == ["was on a diet"]
    assert walk(api, query="Alice", known_at="2020-06-01T00:00Z")["constraints"] == []


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"query": ""}, "query"),
    ({"query": "x\u0000"}, "query"),
    ({"project_path": ""}, "project_path"),
    ({"project_path": "x" * 4097}, "project_path"),
    ({"checkpoint": ["x"]}, "checkpoint[0]"),
    ({"session_key": " "}, "session_key"),
    ({"as_of": "yesterday"}, "as_of"),
    ({"attributes": "some"}, "attributes"),
    ({"other": 1}, "other"),
]


@pytest.mark.parametrize(("body", "field"), WRONG, ids=[str(body)[:40] for body, _ in WRONG])
def test_a_wrong_walk_is_refused_by_field(api: Api, body: dict[str, Any], field: str) -> None:
    assert problem(api.post("/graph/walk", body), 422, "invalid-request")["errors"][0]["field"] == field


# The constellation


@pytest.mark.row("X7")
def test_the_constellation_shows_entities_aspects_and_edges(api: Api, alice: dict[str, str]) -> None:
    api.write("Bob is here", entities=[{"name": "Bob"}])
    api.post("/edges", {"source": "Alice", "type": "knows", "target": "Bob", "strength": 0.4})
    found = ok(api.get("/knowledge/constellation"))
    stars = {star["name"]: star for star in found["entities"]}
    assert set(stars) == {"Alice", "Bob"}
    (diet,) = stars["Alice"]["aspects"]
    assert [item["content"] for item in diet["attributes"]] == ["never serve nuts", "drinks green tea"]
    assert (diet["id"], diet["weight"], stars["Bob"]["aspects"]) == (alice["aspect"], 0.8, [])
    (line,) = found["edges"]
    assert (line["source_id"], line["target_id"], line["type"], line["strength"]) == (
        stars["Alice"]["id"],
        stars["Bob"]["id"],
        "knows",
        0.4,
    )
    assert found["more"] is False
    assert ok(api.get("/knowledge/constellation", limit=1))["more"] is True
    assert ok(api.get("/knowledge/constellation", known_at="2020-01-01T00:00Z"))["entities"] == []


@pytest.mark.parametrize(("params", "field"), [({"limit": 0}, "limit"), ({"limit": 10_001}, "limit"), ({"as_of": "x"}, "as_of")])
def test_a_wrong_constellation_is_refused_by_field(api: Api, params: dict[str, Any], field: str) -> None:
    assert problem(api.get("/knowledge/constellation", **params), 422, "invalid-request")["errors"][0]["field"] == field


# Recall


@pytest.mark.row("S5")
def test_the_walk_finds_what_no_word_and_no_edge_leads_to_and_says_how(api: Api, alice: dict[str, str]) -> None:
    results = api.recall("Alice", explain=True)["results"]
    arms = {result["id"]: result["explain"]["arms"] for result in results}
    assert arms[alice["nuts"]]["walk"] == {
        "rank": 1,
        "score": 0.9,
        "weight": 0.35,
        "part": 0.35,
        "path": {"path": ["Alice", "Diet", "never serve nuts"]},
    }
    assert arms[alice["tea"]]["walk"]["path"] == {"path": ["Alice", "Diet", "drinks green tea"]}
    assert (arms[alice["tea"]]["walk"]["rank"], arms[alice["tea"]]["walk"]["score"]) == (2, pytest.approx(0.4))
    assert {result["content"] for result in results} >= {"Alice is here"}


@pytest.mark.row("S5")
def test_constraints_surface_whatever_is_found_and_whatever_the_arms(api: Api, alice: dict[str, str]) -> None:
    for arms in (None, ["lexical"], ["walk"]):
        answer = api.recall("Alice", arms=arms, filters={"category": "nothing"})
        assert answer["results"] == []
        (rule,) = answer["constraints"]
        assert (rule["content"], rule["entity"], rule["aspect"], rule["importance"]) == ("never serve nuts", "Alice", "Diet", 0.9)
    assert api.recall("somebody else")["constraints"] == []
    assert api.recall("Alice", as_of="2020-01-01T00:00Z")["constraints"] == []
    assert alice["nuts"] is not None


def test_constraints_come_most_important_first_and_from_pinned_entities_always(api: Api, alice: dict[str, str]) -> None:
    fact(api, alice["aspect"], "minor", kind="constraint", importance=0.1)
    fact(api, alice["aspect"], "major", kind="constraint", importance=1)
    assert [item["content"] for item in api.recall("Alice")["constraints"]] == ["major", "never serve nuts", "minor"]
    assert api.recall("tea")["constraints"] == []
    alice_id = ok(api.get("/entities/Alice"))["id"]
    ok(api.post(f"/entities/{alice_id}/pin"))
    assert [item["content"] for item in api.recall("tea")["constraints"]] == ["major", "never serve nuts", "minor"]


def test_filters_and_times_apply_inside_the_walk(api: Api, alice: dict[str, str]) -> None:
    kept = api.write("kept apart", category="people")["id"]
    fact(api, alice["aspect"], "a fact of people", memory_id=kept)
    found = api.recall("Alice", arms=["walk"], filters={"category": "people"})["results"]
    assert [result["content"] for result in found] == ["kept apart"]
    assert api.found("Alice", arms=["walk"], known_at="2020-01-01T00:00Z") == []
    api.client.delete(f"/memories/{alice['tea']}")
    assert "green tea is what she drinks" not in api.found("Alice", arms=["walk"])


def test_the_walk_of_a_recall_follows_strong_edges_and_leaves_out_the_rules_beyond_them(api: Api) -> None:
    far = api.write("the engine is made of brass")["id"]
    api.post("/edges", {"source": "Alice", "type": "builds", "target": "Engine", "strength": 0.5})
    under = aspect(api, "Engine", weight=0.5)
    fact(api, under, "is made of brass", memory_id=far, importance=0.8)
    fact(api, under, "keep it dry", kind="constraint")
    (result,) = api.recall("Alice", arms=["walk"], explain=True)["results"]
    assert result["explain"]["arms"]["walk"]["score"] == pytest.approx(0.5 * 0.5 * 0.8)
    assert api.recall("Alice")["constraints"] == []


def test_without_aspects_the_walk_is_silent(api: Api) -> None:
    api.write("Alice is here", entities=[{"name": "Alice"}])
    answer = api.recall("Alice", explain=True)
    assert (answer["constraints"], answer["skipped"]) == ([], {})
    assert "walk" not in answer["results"][0]["explain"]["arms"]
    assert api.recall("Alice", arms=["walk"])["results"] == []


@pytest.mark.row("S5")
def test_the_walk_can_be_weighed_and_left_out(api: Api, alice: dict[str, str]) -> None:
    assert api.found("Alice", weights={"walk": 100})[0] == "an allergy was found in spring"
    arms = [set(result["explain"]["arms"]) for result in api.recall("Alice", arms=["lexical", "graph"], explain=True)["results"]]
    assert arms
    assert all("walk" not in of_one for of_one in arms)
    assert alice["nuts"] is not None


def test_a_walk_that_was_cut_short_is_said_so_in_the_recall(api: Api, alice: dict[str, str]) -> None:
    ok(api.client.patch(f"/namespaces/{api.namespace}", json={"settings": {"walk_ms": 0}}))
    assert "walk_ms" in api.recall("Alice")["skipped"]["walk"]
    assert alice["nuts"] is not None


# Feedback


def test_a_shown_memory_recalled_by_words_in_its_session_raises_its_aspect(api: Api, alice: dict[str, str]) -> None:
    noted = ok(api.post("/feedback", {"session_id": "s", "injected": [alice["tea"], alice["nuts"]]}))
    assert (sorted(noted["injected"]), noted["confirmed"]) == (sorted([alice["tea"], alice["nuts"]]), [])
    api.recall("green tea")
    api.recall("green tea", session_id="other")
    assert ok(api.post("/sessions/other/end"))["hit"] == 0
    api.recall("green tea", session_id="s")
    row = ok(api.post("/sessions/s/end"))
    assert (row["ended"], row["injected"], row["hit"], row["confirmed"]) == (True, 2, 1, 1)
    (item,) = ok(api.get("/entities/Alice/aspects"))["items"]
    assert item["weight"] == pytest.approx(0.82)
    assert ok(api.post("/sessions/s/end"))["ended"] is False
    (event,) = ok(api.get("/feedback", session_id="s"))["items"]
    assert (event["kind"], event["aspects"], event["confirmations"], round(event["change"], 6)) == ("confirmation", 1, 1, 0.02)
    assert ok(api.get("/feedback", session_id="other"))["items"] == []


@pytest.mark.parametrize("arms", [["walk"], ["graph"]])
def test_a_find_of_other_arms_is_no_hit(api: Api, alice: dict[str, str], arms: list[str]) -> None:
    ok(api.post("/feedback", {"session_id": "s", "injected": [alice["tea"]]}))
    api.recall("Alice tea", session_id="s", arms=arms)
    assert ok(api.post("/sessions/s/end"))["hit"] == 0


def test_a_search_by_words_is_a_hit_too(api: Api, alice: dict[str, str]) -> None:
    ok(api.post("/feedback", {"session_id": "s", "injected": [alice["tea"]]}))
    ok(api.get("/memory/search", q="tea", session_id="s"))
    assert ok(api.post("/sessions/s/end"))["hit"] == 1


def test_programs_report_what_they_found_themselves_and_only_what_was_injected_before_counts(
    api: Api, alice: dict[str, str]
) -> None:
    both = {"session_id": "s", "injected": [alice["tea"]], "confirmed": [alice["tea"]]}
    assert ok(api.post("/feedback", both)) == {"session_id": "s", "injected": [alice["tea"]], "confirmed": []}
    assert ok(api.post("/feedback", both)) == {"session_id": "s", "injected": [], "confirmed": [alice["tea"]]}
    assert ok(api.post("/sessions/s/end"))["hit"] == 1


def test_an_end_that_is_sent_again_with_its_key_gets_the_same_answer(api: Api, alice: dict[str, str]) -> None:
    ok(api.post("/feedback", {"session_id": "s", "injected": [alice["tea"]]}))
    first, again = (ok(api.post("/sessions/s/end", headers={"Idempotency-Key": "k"})) for _ in range(2))
    assert first == again
    assert first["ended"] is True


WRONG_FEEDBACK: list[tuple[dict[str, Any], int, str]] = [
    ({"injected": [str(UUID(int=7))]}, 422, "session_id"),
    ({"session_id": "s"}, 422, ""),
    ({"session_id": "", "injected": [str(UUID(int=7))]}, 422, "session_id"),
    ({"session_id": "s", "injected": ["x"]}, 422, "injected[0]"),
    ({"session_id": "s", "injected": [str(UUID(int=7))]}, 404, "injected[0]"),
]


@pytest.mark.parametrize(("body", "status", "field"), WRONG_FEEDBACK, ids=[str(body)[:60] for body, *_ in WRONG_FEEDBACK])
def test_wrong_feedback_is_refused_by_field(api: Api, body: dict[str, Any], status: int, field: str) -> None:
    found = problem(api.post("/feedback", body), status, "not-found" if status == 404 else "invalid-request")
    assert field in found["errors"][0]["field"]


# Who may


def test_a_reader_walks_and_recalls_in_a_session_but_reports_and_ends_nothing(
    api: Api, guarded: Service, alice: dict[str, str]
) -> None:
    ok(api.post("/feedback", {"session_id": "s", "injected": [alice["tea"]]}))
    key = ok(api.post("/keys", {"role": "reader"}), 201)["key"]
    with guarded.client(Authorization=f"Bearer {key}") as client:
        assert ok(client.post("/graph/walk", json={"query": "Alice"}))["entity_count"] == 1
        assert ok(client.get("/knowledge/constellation"))["entities"]
        assert ok(client.get("/feedback"))["items"] == []
        found = ok(client.post("/recall", json={"query": "tea", "session_id": "s"}))["results"]
        assert found[0]["id"] == alice["tea"]
        problem(client.post("/feedback", json={"session_id": "s", "confirmed": [alice["tea"]]}), 403, "forbidden")
        problem(client.post("/sessions/s/end"), 403, "forbidden")
    assert ok(api.post("/sessions/s/end"))["hit"] == 0


@pytest.mark.row("S6")
def test_the_loop_goes_on_over_a_service_that_starts_again(service: Service) -> None:
    with new_api(service) as api:
        api.write("green tea", entities=[{"name": "Alice"}])
        tea = api.recall("green tea")["results"][0]["id"]
        under = aspect(api, "Alice")
        fact(api, under, "drinks tea", memory_id=tea)
        ok(api.post("/feedback", {"session_id": "s", "injected": [tea]}))
        with serve(service.database) as other, other.client(**{"X-Namespace": api.namespace}) as client:
            ok(client.post("/recall", json={"query": "green tea", "session_id": "s"}))
        assert ok(api.post("/sessions/s/end"))["confirmed"] == 1
        assert eventually(lambda: ok(api.get("/feedback"))["items"])
