"""Questions that a language model rewrites: what it says is searched, never shown, and costs nothing but itself when it fails."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from service.llm.factory import make_model
from tests.databases import Database
from tests.llm.model_server import ModelServer, Step, garbage, hang, model_server, status
from tests.services import PATIENCE, Api, Service, new_api, ok, problem, serve

Row = dict[str, Any]
QUESTION = "Where does the sister of Alice work?"
PARTS = {"questions": ["Who is Alice's sibling, Carol?", "What is Carol's profession?"]}
ANSWER = "Carol is employed by a bakery in Oslo"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[ModelServer]:
    with model_server() as running:
        yield running


@pytest.fixture(scope="module")
def rewriting(own_database: Database, endpoint: ModelServer) -> Iterator[Service]:
    llm = {"endpoint": endpoint.url, "model": "scripted", "recall_deadline": PATIENCE, "attempts": 1}
    with serve(own_database, llm=llm, worker=False) as running:
        yield running


@pytest.fixture
def family(rewriting: Service, endpoint: ModelServer) -> Iterator[Api]:
    """Memories of which the question's own words find one, in a service whose endpoint has not failed yet."""
    state = rewriting.app.state.loci
    state.resources = replace(state.resources, model=make_model(state.settings.llm), settings=state.settings)
    endpoint.script = [PARTS]
    with new_api(rewriting) as api:
        api.write("Alice has a sister")
        api.write(ANSWER)
        yield api


def wait_shortly(api: Api) -> None:
    """Have a question wait two seconds for its model."""
    state = api.service.app.state.loci
    llm = state.settings.llm.model_copy(update={"recall_deadline": 2.0})
    state.resources = replace(state.resources, settings=state.settings.model_copy(update={"llm": llm}))


def test_a_model_slower_than_the_deadline_of_a_read_costs_the_further_questions_alone(family: Api, endpoint: ModelServer) -> None:
    state = family.service.app.state.loci
    deadlines = state.settings.deadlines.model_copy(update={"read": 1.0})  # the recall itself has all its time
    llm = state.settings.llm.model_copy(update={"recall_deadline": 300.0})
    state.resources = replace(state.resources, settings=state.settings.model_copy(update={"llm": llm, "deadlines": deadlines}))
    endpoint.script = [hang()]
    answer = family.recall(QUESTION, arms=["lexical"], rewrite="decompose")
    assert [row["content"] for row in answer["results"]] == ["Alice has a sister"]
    assert "had not answered after 0.5 s" in answer["skipped"]["rewrite"]


def calls(api: Api) -> list[Row]:
    return ok(api.get("/model-calls", purpose="rewrite"))["items"]


@pytest.mark.row("R13")
def test_parts_of_a_question_find_what_the_question_does_not(family: Api, endpoint: ModelServer) -> None:
    own = family.recall(QUESTION, arms=["lexical"])
    assert [row["content"] for row in own["results"]] == ["Alice has a sister"]
    answer = family.recall(QUESTION, arms=["lexical"], rewrite="decompose", explain=True)
    assert [row["content"] for row in answer["results"]] == ["Alice has a sister", ANSWER]
    assert (answer["rewritten"], answer["skipped"]) == ({"how": "decompose", "questions": 2}, own["skipped"])
    told = answer["results"][1]["explain"]["rewrite"]
    assert told["questions"] == [{"question": PARTS["questions"][0], "rank": 2}, {"question": PARTS["questions"][1], "rank": 1}]
    assert answer["results"][0]["explain"]["rewrite"]["own_score"] == own["results"][0]["score"]
    assert endpoint.chats[-1].data == {"question": QUESTION}
    assert endpoint.chats[-1].purpose == "rewrite"


def test_an_answer_that_is_made_up_is_searched_and_not_shown(family: Api, endpoint: ModelServer) -> None:
    endpoint.script = [{"passage": "She is employed by a bank, the model said."}]
    answer = family.recall("livelihood?", rewrite="hypothetical")
    assert [row["content"] for row in answer["results"]] == [ANSWER]
    assert "bank" not in json.dumps(answer)
    assert (answer["rewritten"], len(calls(family))) == ({"how": "hypothetical", "questions": 1}, 1)


@pytest.mark.row("R13")
def test_by_itself_nothing_is_rewritten(family: Api, endpoint: ModelServer) -> None:
    asked = len(endpoint.chats)
    assert "rewritten" not in family.recall(QUESTION)
    assert len(endpoint.chats) == asked
    problem(family.post("/recall", {"query": QUESTION, "rewrite": "translate"}), 422, "invalid-request")


@pytest.mark.row("R13")
@pytest.mark.parametrize(
    "script",
    [
        hang(30),
        status(500),
        status(401),
        garbage(),
        "I would ask where Carol works.",
        {"questions": "Carol?"},
        {"questions": []},
        {"questions": [" ", QUESTION, "x" * 501]},
    ],
)
def test_a_model_that_fails_costs_its_questions_and_not_the_answer(family: Api, endpoint: ModelServer, script: Step) -> None:
    own = family.recall(QUESTION)["results"]
    endpoint.script = [script]
    wait_shortly(family)
    answer = family.recall(QUESTION, rewrite="decompose")
    assert [(row["id"], row["score"]) for row in answer["results"]] == [(row["id"], row["score"]) for row in own]
    assert answer["skipped"]["rewrite"]
    assert "Carol" not in answer["skipped"]["rewrite"]
    assert "rewritten" not in answer
    assert answer["took_ms"] < 25_000


@pytest.mark.row("R13")
def test_a_model_that_is_too_slow_names_the_setting_that_says_so(family: Api, endpoint: ModelServer) -> None:
    endpoint.script = [hang(30)]
    wait_shortly(family)
    skipped = family.recall(QUESTION, rewrite="decompose")["skipped"]["rewrite"]
    assert "had not answered after 2 s (LOCI_LLM__RECALL_DEADLINE)" in skipped


def test_rewritten_questions_are_cut_to_a_few_short_lines(family: Api, endpoint: ModelServer) -> None:
    said = [QUESTION.upper(), "Carol\n\nbakery?", "carol  bakery?", *(f"Question {n} about Oslo?" for n in range(9))]
    endpoint.script = [{"questions": said}]
    explained = family.recall(QUESTION, rewrite="decompose", explain=True)["results"][0]["explain"]["rewrite"]["questions"]
    assert [one["question"] for one in explained] == ["Carol bakery?", *(f"Question {n} about Oslo?" for n in range(3))]


def test_a_model_cannot_reach_beyond_what_the_question_may_see(family: Api, endpoint: ModelServer) -> None:
    with new_api(family.service) as other:
        other.write("Carol keeps bees in Oslo")
        endpoint.script = [{"questions": ["'; drop table memories; -- bees & honey:*", f"namespace {other.namespace}: bees"]}]
        answer = family.recall("Oslo", rewrite="decompose", filters={"min_importance": 0.0})
    assert {row["namespace"] for row in answer["results"]} == {family.namespace}


def test_a_spent_budget_a_setting_and_a_missing_model_are_said(family: Api, api: Api, endpoint: ModelServer) -> None:
    asked = len(endpoint.chats)
    where = f"/namespaces/{family.namespace}"
    ok(family.client.patch(where, json={"settings": {"model_tokens": 1}}))
    assert "budget" in family.recall(QUESTION, rewrite="decompose")["skipped"]["rewrite"]
    ok(family.client.patch(where, json={"settings": {"model_tokens": 0, "recall_rewrite": False}}))
    assert "recall_rewrite" in family.recall(QUESTION, rewrite="decompose")["skipped"]["rewrite"]
    assert "2,000 characters" in family.recall("Oslo " * 500, rewrite="decompose")["skipped"]["rewrite"]
    assert len(endpoint.chats) == asked
    assert api.recall(QUESTION, rewrite="decompose")["skipped"]["rewrite"] == "no language model is configured"


def test_over_several_namespaces_the_requests_own_pays(family: Api, endpoint: ModelServer) -> None:
    with new_api(family.service) as other:
        other.write("Carol's profession is baking")
        body = {"query": QUESTION, "namespaces": [other.namespace, family.namespace], "rewrite": "decompose", "log": True}
        answer = ok(family.post("/recall", body))
        assert {row["namespace"] for row in answer["results"]} == {family.namespace, other.namespace}
        assert (len(calls(family)), len(calls(other))) == (1, 0)


def test_no_connection_is_held_while_the_model_thinks(own_database: Database, endpoint: ModelServer) -> None:
    llm = {"endpoint": endpoint.url, "recall_deadline": 60.0}
    with serve(own_database, pool_size=1, llm=llm, worker=False) as running, new_api(running) as api:
        api.write(ANSWER)
        meanwhile: list[list[str]] = []

        def another(_: object) -> Row:
            meanwhile.append(api.found("bakery"))
            return {"questions": ["Carol?"]}

        endpoint.script = another
        assert api.found("livelihood", rewrite="decompose") == [ANSWER]
        assert meanwhile == [[ANSWER]]
