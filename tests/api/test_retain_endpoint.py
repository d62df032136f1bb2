"""Retain and reflect over a real endpoint: what it says is used, and what it costs when it fails is no more than its answer."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from loci.attempts import Options
from service.llm.factory import make_model
from service.settings import EmbeddingSettings, LLMSettings
from tests.databases import Database
from tests.llm.model_server import ModelServer, garbage, hang, model_server, status
from tests.services import PATIENCE, Api, Service, new_api, ok, problem, serve

Row = dict[str, Any]


@pytest.fixture(scope="module")
def endpoint() -> Iterator[ModelServer]:
    with model_server() as running:
        yield running


@pytest.fixture(scope="module")
def asking(own_database: Database, endpoint: ModelServer) -> Iterator[Service]:
    llm = {"endpoint": endpoint.url, "model": "scripted", "request_deadline": PATIENCE, "attempts": 1}
    with serve(own_database, llm=llm, worker=False) as running:
        yield running


@pytest.fixture
def told(asking: Service) -> Iterator[Api]:
    """A namespace that knows where Alice lives, in a service whose endpoint has not failed yet."""
    state = asking.app.state.loci
    state.resources = replace(state.resources, model=make_model(state.settings.llm), settings=state.settings)
    with new_api(asking) as api:
        api.write("Alice lives in Munich")
        yield api


def updates(target: int = 1) -> Row:
    decision = {"fact": 1, "action": "update", "target": target, "confidence": 0.9, "reason": "she moved", "links": []}
    return {"decisions": [decision]}


def test_a_model_decides_about_what_is_known_beside_a_fact(told: Api, endpoint: ModelServer) -> None:
    endpoint.script = [updates()]
    (decision,) = ok(told.post("/retain", {"content": "Alice's home is Berlin now, in the old town"}))["decisions"]
    assert (decision["action"], decision["decided_by"], decision["reason"]) == ("update", "model", "she moved")
    (fact,) = endpoint.chats[-1].data["facts"]
    assert [one["text"] for one in fact["known"]] == ["Alice lives in Munich"]


MOVED = [
    {"role": "user", "content": "Alice's home is Berlin now, in the old town"},
    {"role": "assistant", "content": "Thanks a lot!"},
]
LATER = [{"role": "user", "content": "Hello!"}, {"role": "tool", "content": "It rains."}]
BEGUN = [{"role": "system", "content": "You are an assistant."}]


@pytest.mark.row("L7")
@pytest.mark.parametrize(
    ("before", "meanwhile", "turns"),
    [
        ([], MOVED, MOVED),
        ([], MOVED + LATER, MOVED + LATER),
        ([], MOVED[:1], MOVED),
        ([], LATER, LATER + MOVED),
        (BEGUN, BEGUN + MOVED, BEGUN + MOVED),
        (BEGUN, BEGUN + MOVED + LATER, BEGUN + MOVED + LATER),
    ],
    ids=["the same", "more", "less", "something else", "the same, further on", "more, further on"],
)
def test_concurrent_calls_with_one_conversation_keep_it_once(
    told: Api, endpoint: ModelServer, before: list[Row], meanwhile: list[Row], turns: list[Row]
) -> None:
    def remember(messages: list[Row], **fields: Any) -> Row:
        return dict(ok(told.post("/remember", {"session": "s", "messages": messages, **fields})))

    def others(_: Any) -> Row:
        remember(meanwhile, decide="rules")
        endpoint.script = [updates()]
        return updates()

    if before:
        remember(before)
    endpoint.script = [others]
    remember(before + MOVED)
    kept = ok(told.get("/conversations/s/turns"))["items"]
    assert [turn["content"] for turn in kept] == [one["content"] for one in turns]
    again = remember(turns + LATER)
    assert (again["turns"], again["known_turns"]) == (2, len(turns))


@pytest.mark.parametrize(
    "script", [hang(30), status(500), status(401), garbage(), "I think it is an update.", {"decisions": "none"}]
)
def test_an_endpoint_that_fails_costs_its_decision_and_not_the_text(told: Api, endpoint: ModelServer, script: Any) -> None:
    endpoint.script = [script]
    state = told.service.app.state.loci
    llm = state.settings.llm.model_copy(update={"request_deadline": 2.0})
    state.resources = replace(state.resources, settings=state.settings.model_copy(update={"llm": llm}))
    answer = ok(told.post("/retain", {"content": "Alice moved to Berlin"}))
    assert [(row["action"], row["decided_by"]) for row in answer["decisions"]] == [("update", "rules")]
    assert "Berlin" not in answer["skipped"]["model"]


def test_a_client_waits_long_enough_for_what_rules_say_after_a_model_that_hangs() -> None:
    client = Options().timeout
    assert client is not None
    assert LLMSettings().request_deadline + EmbeddingSettings().query_timeout + 5 < client


def test_a_spent_budget_leaves_the_decision_to_rules(told: Api, endpoint: ModelServer) -> None:
    endpoint.script = [updates()]
    asked = len(endpoint.chats)
    ok(told.client.patch(f"/namespaces/{told.namespace}", json={"settings": {"model_tokens": 1}}))
    answer = ok(told.post("/retain", {"content": "Alice moved to Berlin"}))
    assert answer["decisions"][0]["decided_by"] == "rules"
    assert answer["skipped"]["model"]
    problem(told.post("/retain", {"content": "Alice is in Rome", "decide": "model"}), 409, "limit-reached")
    ok(told.post("/reflect", {}))
    assert len(endpoint.chats) == asked


def test_deciding_by_an_absent_model_writes_nothing(api: Api) -> None:
    for path, body in (("/retain", {"content": "Alice moved to Berlin"}), ("/reflect", {})):
        problem(api.post(path, {**body, "decide": "model"}), 409, "needs-a-model")
    assert ok(api.get("/memories"))["items"] == []


def test_calls_of_a_model_by_a_request_are_logged(told: Api, endpoint: ModelServer) -> None:
    endpoint.script = [updates()]
    ok(told.post("/retain", {"content": "Alice's home is Berlin"}))
    endpoint.script = [{"places": [], "concepts": [], "links": [], "summaries": []}]
    ok(told.post("/reflect", {}))
    with told.service.database.admin() as connection:
        rows = connection.execute(
            "select c.purpose, c.state, c.job_id from loci_data.model_calls c join loci_data.namespaces n on n.id = c.namespace_id "
            "where n.name = %s order by c.id",
            [told.namespace],
        ).fetchall()
    assert rows == [("retain", "succeeded", None), ("reflect", "succeeded", None)]
