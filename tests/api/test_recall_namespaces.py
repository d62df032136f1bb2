"""One recall over several namespaces: what is found, what is told apart, and who may."""

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from tests.api.test_recall_tiers import save, say
from tests.services import Api, Service, eventually, new_api, ok, problem

MINUTE = "2020-01-01T00:0{}:00Z"


@pytest.fixture
def two(service: Service) -> Iterator[tuple[Api, Api]]:
    """Two empty namespaces."""
    with ExitStack() as stack:
        yield stack.enter_context(new_api(service)), stack.enter_context(new_api(service))


@pytest.fixture
def orchards(two: tuple[Api, Api]) -> tuple[Api, Api]:
    """Two namespaces that know Alice, each its own."""
    for api, city in zip(two, ("Oslo", "Porto"), strict=True):
        api.write(
            f"Alice grows apples in {city}", entities=[{"name": "Alice", "type": "person"}], category=f"places/{city.lower()}"
        )
        under = ok(api.post("/entities/Alice/aspects", {"name": "Rules"}), 201)["id"]
        ok(api.post(f"/aspects/{under}/attributes", {"content": f"no apples from {city}", "kind": "constraint"}), 201)
    return two


def names(*apis: Api) -> list[str]:
    return [api.namespace for api in apis]


def found(answer: dict[str, Any]) -> set[tuple[str, str]]:
    return {(result["namespace"], result["content"]) for result in answer["results"]}


def make_key(api: Api, role: str = "reader") -> dict[str, Any]:
    return ok(api.post("/keys", {"role": role}), 201)


def grant(api: Api, agent: str, *, expires_at: datetime | None = None) -> None:
    """Give an agent one more namespace, or another end to its grant there."""
    with api.service.database.admin() as admin:
        admin.execute(
            """insert into loci_data.grants (namespace_id, agent_id, role, expires_at)
               select id, %s, 'reader', %s from loci_data.namespaces where name = %s
               on conflict (namespace_id, agent_id) do update set expires_at = excluded.expires_at""",
            [agent, expires_at, api.namespace],
        )


# What is found


@pytest.mark.row("R7")
def test_a_question_finds_memories_entities_and_rules_of_every_namespace_and_says_whose_they_are(orchards: tuple[Api, Api]) -> None:
    first, second = orchards
    answer = first.recall("What does Alice grow?", namespaces=names(first, second))
    assert found(answer) == {(first.namespace, "Alice grows apples in Oslo"), (second.namespace, "Alice grows apples in Porto")}
    assert {(entity["namespace"], entity["name"]) for entity in answer["entities"]} == {
        (api.namespace, "Alice") for api in orchards
    }
    assert {(rule["namespace"], rule["content"]) for rule in answer["constraints"]} == {
        (first.namespace, "no apples from Oslo"),
        (second.namespace, "no apples from Porto"),
    }


def test_a_question_to_one_namespace_stays_there_and_says_so(orchards: tuple[Api, Api]) -> None:
    first, _ = orchards
    answer = first.recall("What does Alice grow?")
    assert {row["namespace"] for part in ("results", "entities", "constraints") for row in answer[part]} == {first.namespace}


def test_asking_a_namespace_by_name_is_the_same_as_being_in_it(orchards: tuple[Api, Api]) -> None:
    first, second = orchards
    for number in range(8):
        first.write(f"turn {number} about apples", session_id="s", layer=3, valid_from=MINUTE.format(number))
    eventually(first.embedded)
    inside = first.recall("What does Alice grow?", explain=True)
    by_name = first.recall("What does Alice grow?", explain=True, namespaces=names(first))
    assert {**by_name, "took_ms": 0} == {**inside, "took_ms": 0}
    outside = second.recall("What does Alice grow?", explain=True, namespaces=names(first))
    assert {**outside, "took_ms": 0} == {**inside, "took_ms": 0}


def test_a_namespace_named_twice_is_searched_once(orchards: tuple[Api, Api]) -> None:
    first, second = orchards
    assert len(first.recall("Alice", namespaces=names(first, second, first))["results"]) == 2


@pytest.mark.row("R7")
def test_an_arms_hits_are_merged_by_score_and_the_best_k_of_all_come_back(two: tuple[Api, Api]) -> None:
    first, second = two
    first.post("/memories/batch", {"items": [{"content": f"apple {'filler ' * n}"} for n in range(2, 6)]})
    second.post("/memories/batch", {"items": [{"content": f"apple {'filler ' * n}"} for n in range(2, 6)]})
    answer = first.recall("apple", arms=["lexical"], k=5, namespaces=names(first, second), explain=True)
    words = [result["explain"]["arms"]["lexical"] for result in answer["results"]]
    assert len(words) == 5
    assert [word["rank"] for word in words] == [1, 2, 3, 4, 5]
    assert [word["score"] for word in words] == sorted((word["score"] for word in words), reverse=True)
    assert [result["namespace"] for result in answer["results"]] == [*names(first, second) * 2, first.namespace]


def test_the_order_of_namespaces_decides_nothing_but_ties(orchards: tuple[Api, Api]) -> None:
    first, second = orchards
    first.write("apples, apples and more apples")
    one = first.recall("apples", namespaces=names(first, second), arms=["lexical"])
    other = first.recall("apples", namespaces=names(second, first), arms=["lexical"])
    assert sorted((r["id"], r["score"]) for r in one["results"][:1]) == sorted((r["id"], r["score"]) for r in other["results"][:1])
    assert found(one) == found(other)


def test_neighbours_and_relatives_of_a_hit_come_from_its_own_namespace(two: tuple[Api, Api]) -> None:
    first, second = two
    second.write("Where did you go last summer?", session_id="s", layer=3, valid_from=MINUTE.format(1))
    second.write("Norway.", session_id="s", layer=3, valid_from=MINUTE.format(2))
    first.write("Nowhere.", session_id="s", layer=3, valid_from=MINUTE.format(2))
    top = second.write("holidays")["id"]
    second.write("a summer house", parent_id=top)
    answer = first.recall("summer", arms=["lexical", "hierarchy"], namespaces=names(first, second), explain=True)
    assert found(answer) == {
        (second.namespace, text) for text in ("Where did you go last summer?", "Norway.", "a summer house", "holidays")
    }
    relations = {
        r["content"]: r["explain"]["arms"]["hierarchy"]["path"]["relation"]
        for r in answer["results"]
        if "hierarchy" in r["explain"]["arms"]
    }
    assert relations == {"holidays": "parent"}


def test_weights_and_k_are_those_of_the_request_s_own_namespace(orchards: tuple[Api, Api]) -> None:
    first, second = orchards
    ok(first.client.patch(f"/namespaces/{first.namespace}", json={"settings": {"weights": {"lexical": 7.0}, "rrf_k": 11}}))
    question = {"namespaces": names(second), "arms": ["lexical"], "explain": True, "fusion": "rrf"}
    (result,) = first.recall("Porto", **question)["results"]
    assert (result["explain"]["rrf_k"], result["explain"]["arms"]["lexical"]["weight"]) == (11, 7.0)
    (result,) = second.recall("Porto", **question)["results"]
    assert (result["explain"]["rrf_k"], result["explain"]["arms"]["lexical"]["weight"]) == (5, 1.0)


def test_other_tiers_of_every_namespace_take_part(two: tuple[Api, Api]) -> None:
    first, second = two
    for api in two:
        save(api, "session/a/apples", f"apples of {api.namespace}")
        say(api, "s", f"we spoke of apples in {api.namespace}")
    answer = first.recall("apples", arms=["working_memory", "conversation"], namespaces=names(first, second))
    assert {(r["tier"], r["namespace"]) for r in answer["results"]} == {
        (tier, api.namespace) for tier in ("working_memory", "conversation") for api in two
    }
    assert all(r["namespace"] in str(r.get("value", r.get("content"))) for r in answer["results"])


# Filters


def test_a_filter_holds_in_every_namespace(orchards: tuple[Api, Api]) -> None:
    first, second = orchards
    answer = first.recall("Alice", namespaces=names(first, second), filters={"category": "places/porto"})
    assert found(answer) == {(second.namespace, "Alice grows apples in Porto")}


def test_a_namespace_that_lacks_what_a_filter_names_gives_nothing(orchards: tuple[Api, Api]) -> None:
    first, second = orchards
    bob = second.write("Bob eats apples", entities=[{"name": "Bob"}])["id"]
    for filters in ({"entity": "Bob"}, {"under": bob}):
        answer = first.recall("apples", namespaces=names(first, second), filters=filters)
        assert found(answer) == {(second.namespace, "Bob eats apples")}


@pytest.mark.parametrize(
    ("filters", "field"),
    [({"entity": "Nobody"}, "filters.entity"), ({"under": "00000000-0000-0000-0000-000000000007"}, "filters.under")],
)
def test_a_filter_on_something_that_no_namespace_has_is_not_found(
    orchards: tuple[Api, Api], filters: dict[str, str], field: str
) -> None:
    body = {"query": "apples", "namespaces": names(*orchards), "filters": filters}
    assert problem(orchards[0].post("/recall", body), 404, "not-found")["errors"][0]["field"] == field


def test_the_past_is_asked_of_every_namespace(two: tuple[Api, Api]) -> None:
    for api in two:
        api.write("Alice lives in Oslo", lineage="city", valid_from="2020-01-01T00:00:00Z")
        api.write("Alice lives in Paris", lineage="city", valid_from="2021-01-01T00:00:00Z")
    answer = two[0].recall("Where does Alice live?", namespaces=names(*two), as_of="2020-06-01T00:00:00Z")
    assert found(answer) == {(name, "Alice lives in Oslo") for name in names(*two)}


# Who may


def ask(guarded: Service, key: dict[str, Any], namespaces: Any, **headers: str) -> httpx.Response:
    with guarded.client(Authorization=f"Bearer {key['key']}", **headers) as client:
        return client.post("/recall", json={"query": "What does Alice grow?", "namespaces": namespaces})


@pytest.mark.row("R7")
def test_a_key_searches_every_namespace_that_it_was_granted_and_no_other(
    orchards: tuple[Api, Api], guarded: Service, api: Api
) -> None:
    first, second = orchards
    api.write("Alice grows pears")
    key = make_key(first)
    assert {name for name, _ in found(ok(ask(guarded, key, "*")))} == {first.namespace}
    grant(second, key["agent_id"])
    assert {name for name, _ in found(ok(ask(guarded, key, "*")))} == set(names(first, second))
    assert {name for name, _ in found(ok(ask(guarded, key, names(second))))} == {second.namespace}


def test_a_namespace_that_may_not_be_read_is_forbidden_by_name(orchards: tuple[Api, Api], guarded: Service) -> None:
    first, second = orchards
    body = problem(ask(guarded, make_key(first), names(first, second)), 403, "forbidden")
    assert second.namespace in body["detail"]
    missing = problem(ask(guarded, make_key(first), [first.namespace, "no-such-place"]), 403, "forbidden")
    assert missing["detail"].replace("no-such-place", "…") == body["detail"].replace(second.namespace, "…")


def test_a_grant_that_has_ended_ends_at_the_next_request(orchards: tuple[Api, Api], guarded: Service) -> None:
    first, second = orchards
    key = make_key(first)
    grant(second, key["agent_id"])
    assert len(ok(ask(guarded, key, names(first, second)))["results"]) == 2
    grant(second, key["agent_id"], expires_at=datetime(2021, 1, 1, tzinfo=UTC))
    problem(ask(guarded, key, names(first, second)), 403, "forbidden")
    assert {name for name, _ in found(ok(ask(guarded, key, "*")))} == {first.namespace}


def test_the_namespace_of_the_header_needs_no_grant_and_lends_no_settings_then(orchards: tuple[Api, Api], guarded: Service) -> None:
    first, second = orchards
    ok(second.client.patch(f"/namespaces/{second.namespace}", json={"settings": {"rrf_k": 99}}))
    answer = ok(ask(guarded, make_key(first), names(first), **{"X-Namespace": second.namespace}))
    assert {name for name, _ in found(answer)} == {first.namespace}
    assert answer["results"][0]["score"] > 1 / 20


def test_a_key_without_any_grant_finds_nothing_anywhere(orchards: tuple[Api, Api], guarded: Service) -> None:
    first, _ = orchards
    key = make_key(first)
    grant(first, key["agent_id"], expires_at=datetime(2021, 1, 1, tzinfo=UTC))
    answer = ok(ask(guarded, key, "*"))
    assert (answer["results"], answer["entities"], answer["constraints"]) == ([], [], [])


def test_an_unknown_key_is_refused_before_anything_is_searched(orchards: tuple[Api, Api], guarded: Service) -> None:
    problem(ask(guarded, {"key": "loci_wrong"}, names(*orchards)), 401, "unauthorized")
    problem(ask(guarded, {"key": "loci_wrong"}, "*"), 401, "unauthorized")


def test_a_namespace_that_is_not_there_is_named(orchards: tuple[Api, Api]) -> None:
    body = {"query": "apples", "namespaces": [*names(*orchards), "no-such-place"]}
    assert "no-such-place" in problem(orchards[0].post("/recall", body), 404, "not-found")["detail"]


@pytest.mark.parametrize("namespaces", [[], ["Not A Name"], "all", [""], 5, ["a", None]], ids=str)
def test_an_invalid_choice_of_namespaces_is_refused_by_field(api: Api, namespaces: Any) -> None:
    body = problem(api.post("/recall", {"query": "apples", "namespaces": namespaces}), 422, "invalid-request")
    assert body["errors"][0]["field"].startswith("namespaces")


def test_more_namespaces_than_the_setting_allows_are_refused(orchards: tuple[Api, Api], guarded: Service) -> None:
    first, second = orchards
    ok(first.client.patch(f"/namespaces/{first.namespace}", json={"settings": {"recall_namespaces": 1}}))
    key = make_key(first)
    grant(second, key["agent_id"])
    for namespaces in (names(first, second), "*"):
        body = problem(ask(guarded, key, namespaces, **{"X-Namespace": first.namespace}), 422, "invalid-request")
        assert (body["errors"][0]["field"], "2" in body["detail"], "recall_namespaces" in body["detail"]) == (
            "namespaces",
            True,
            True,
        )
    assert len(ok(ask(guarded, key, names(first), **{"X-Namespace": first.namespace}))["results"]) == 1


# The log


def test_each_namespace_logs_its_own_memories_under_one_id(orchards: tuple[Api, Api]) -> None:
    first, second = orchards
    answer = first.recall("What does Alice grow?", namespaces=names(first, second), log=True, session_id="s")
    ranks = set()
    for api in orchards:
        logged = ok(api.get(f"/recalls/{answer['recall_id']}"))
        mine = [(rank, r["id"]) for rank, r in enumerate(answer["results"], start=1) if r["namespace"] == api.namespace]
        assert [(row["rank"], row["memory_id"]) for row in logged["memories"]] == mine
        assert (logged["results"], logged["session_id"]) == (2, "s")
        ranks |= {row["rank"] for row in logged["memories"]}
    assert ranks == {1, 2}


def test_only_namespaces_with_a_memory_in_the_answer_log_and_the_first_where_there_is_none(orchards: tuple[Api, Api]) -> None:
    first, second = orchards
    porto = first.recall("Porto", arms=["lexical"], namespaces=names(first, second), log=True)["recall_id"]
    problem(first.get(f"/recalls/{porto}"), 404, "not-found")
    assert ok(second.get(f"/recalls/{porto}"))["query"] == "Porto"
    nothing = first.recall("zeppelin", arms=["lexical"], namespaces=names(first, second), log=True)["recall_id"]
    assert ok(first.get(f"/recalls/{nothing}"))["memories"] == []
    problem(second.get(f"/recalls/{nothing}"), 404, "not-found")


def test_the_setting_of_each_namespace_says_whether_it_logs(orchards: tuple[Api, Api]) -> None:
    first, second = orchards
    ok(second.client.patch(f"/namespaces/{second.namespace}", json={"settings": {"recall_log": True}}))
    answer = first.recall("What does Alice grow?", namespaces=names(first, second))
    assert len(ok(second.get(f"/recalls/{answer['recall_id']}"))["memories"]) == 1
    assert ok(first.get("/recalls"))["items"] == []
