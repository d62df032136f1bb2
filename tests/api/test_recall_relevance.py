"""How likely a result answers: over REST, MCP, command line and in contexts."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.services import Api, Service, eventually, new_api, ok, problem
from tests.tools import Tools, over_http

TEA = "Bob likes green tea."
NOTES = [
    TEA,
    "The deploy key is in the vault under infra/deploy.",
    "The garden was watered on Monday.",
    "Carla painted the kitchen blue.",
    "The train to Lyon leaves at nine.",
]
KEY = "Where is the deploy key?"


@pytest.fixture
def tools(api: Api) -> Iterator[Tools]:
    with over_http(api.service, **{"X-Namespace": api.namespace}) as connected:
        yield connected


def embedded(api: Api, contents: list[str]) -> None:
    ok(api.post("/memories/batch", {"items": [{"content": content} for content in contents]}))
    eventually(api.embedded)


@pytest.fixture(scope="module")
def noted(service: Service) -> Iterator[Api]:
    """A namespace of all notes, which are only asked about."""
    with new_api(service) as api:
        embedded(api, NOTES)
        yield api


def best(api: Api, query: str, **stated: Any) -> float:
    return float(api.recall(query, **stated)["relevance"])


@pytest.mark.row("R11")
@pytest.mark.parametrize("among", [1, 4])
def test_nothing_found_is_an_answer(api: Api, among: int) -> None:
    embedded(api, [note for note in NOTES if "key" not in note][:among])
    answer = api.recall(KEY, min_relevance=0.5)
    assert (answer["results"], answer["left_out"] > 0, answer["relevance"] < 0.5) == ([], True, True)


@pytest.mark.row("R11")
def test_a_relevant_result_stays_above_the_threshold(noted: Api) -> None:
    answer = noted.recall(KEY, min_relevance=0.5)
    assert [result["content"] for result in answer["results"]] == [NOTES[1]]
    assert answer["results"][0]["relevance"] == answer["relevance"]


def test_nothing_is_left_out_unless_it_is_asked_for(noted: Api) -> None:
    answer = noted.recall("Who paints?")
    shown = [result["relevance"] for result in answer["results"]]
    assert answer["left_out"] == 0
    assert shown == sorted(shown, reverse=True)
    assert all(0 <= value <= 1 for value in shown)


@pytest.mark.parametrize("others", [0, 3, 8, 18])
def test_each_of_several_answers_is_likely_however_few_memories_there_are(api: Api, others: int) -> None:
    answers = ["Bob is allergic to peanuts.", "Bob is allergic to shellfish."]
    beside = [f"Bob's neighbour number {n} collects stamps of the year {1900 + n}." for n in range(others)]
    api.write_all(*({"content": text} for text in (*answers, *beside)))
    eventually(api.embedded)
    results = api.recall("What is Bob allergic to?", min_relevance=0.3)["results"]
    assert sorted(result["content"] for result in results if result["relevance"] > 0.8) == answers


@pytest.mark.row("R11")
@pytest.mark.parametrize("arms", [["lexical"], ["vector"], ["lexical", "vector"]])
@pytest.mark.parametrize("fusion", ["linear", "rrf", "relative_score"])
def test_an_answer_is_likely_and_a_non_answer_is_not_whichever_arm_searched(noted: Api, arms: list[str], fusion: str) -> None:
    asked = {"arms": arms, "fusion": fusion}
    assert best(noted, KEY, **asked) > 0.6
    nothing = noted.recall("Which quarterly revenue forecast did marketing publish?", **asked)["relevance"]
    assert nothing is None or nothing < 0.3


@pytest.mark.row("R11")
def test_more_that_has_nothing_to_do_with_it_changes_little(api: Api) -> None:
    embedded(api, NOTES)
    before = best(api, KEY)
    embedded(api, [f"Ship {number} sailed to port {number * 7}." for number in range(20)])
    assert best(api, KEY) == pytest.approx(before, abs=0.15)


@pytest.mark.row("R11")
def test_relevance_asks_that_the_named_person_said_it(api: Api) -> None:
    for who, said in [
        ("Ana", "I adopted a puppy at the shelter."),
        ("Ben", "The marathon in Oslo was hot."),
        ("Ben", "Lovely, a puppy!"),
    ]:
        api.write(said, source=who)
    eventually(api.embedded)
    assert best(api, "When was Ben's marathon in Oslo?") > 0.8
    assert best(api, "When was Ana's marathon in Oslo?") < 0.5


@pytest.mark.row("R11")
def test_a_note_about_somebody_who_also_speaks_is_not_held_against_them(api: Api) -> None:
    for said in ("I can review the schema on Thursday.", "Build the index after the bulk load."):
        api.write(said, source="Alice")
    embedded(api, ["Alice drinks green tea", "Alice lives in Porto", "The standup is at ten"])
    assert best(api, "What does Alice drink?") > 0.5
    assert best(api, "Where does Alice live?") > 0.5


@pytest.mark.row("R11")
def test_a_statement_by_the_subject_of_a_question_alone_does_not_answer(api: Api) -> None:
    for who, said in [
        ("Alice", "We did that for RockBot: build the index after the bulk load."),
        ("Bob", "How do I load a million rows?"),
        ("Alice", "I can review the schema on Thursday."),
    ]:
        api.write(said, source=who)
    embedded(api, ["Alice drinks green tea", "Alice lives in Porto", "The standup is at ten", "Bob likes coffee"])
    first, *rest = api.recall("What does Alice drink?")["results"]
    assert (first["content"], first["relevance"] > 0.8) == ("Alice drinks green tea", True)
    assert all(result["relevance"] < 0.5 for result in rest)


@pytest.mark.row("R11")
def test_half_of_what_is_asked_for_is_no_answer_among_few(api: Api) -> None:
    embedded(api, [TEA, "RockBot is deployed by a pipeline on every merge", *(note for note in NOTES if "key" not in note)])
    assert best(api, KEY) < 0.5


def test_the_explanation_says_what_it_is_made_of(noted: Api) -> None:
    result = noted.recall(KEY, explain=True)["results"][0]
    parts = result["explain"]["relevance"]
    assert (parts["memories"], parts["unknown"], parts["said"], parts["coverage"]) == (len(NOTES), 0, None, 1)
    assert parts["topic"] * parts["speaker"] * parts["share"] == pytest.approx(result["relevance"])


@pytest.mark.parametrize("stated", [-0.1, 1.1, "much"])
def test_a_relevance_is_from_nought_to_one(api: Api, stated: Any) -> None:
    refused = problem(api.post("/recall", {"query": "tea", "min_relevance": stated}), 422, "invalid-request")
    assert "min_relevance" in str(refused)


@pytest.mark.row("R11")
def test_a_context_shows_nothing_rather_than_what_does_not_answer(api: Api) -> None:
    embedded(api, [TEA])
    context = ok(api.post("/context", {"message": KEY, "session_id": "s", "min_relevance": 0.5}))
    assert (context["memories"], context["text"]) == ([], "")


def test_a_context_says_how_many_it_left_out_and_how_likely_the_others_answer(api: Api) -> None:
    embedded(api, NOTES)
    shown = ok(api.post("/context", {"message": KEY, "k": 5, "min_relevance": 0.5}))
    assert [memory["content"] for memory in shown["memories"]] == [NOTES[1]]
    assert shown["memories"][0]["relevance"] >= 0.5
    whole = ok(api.post("/context", {"message": "green key", "k": 5, "min_relevance": 0.99}))
    assert {"section": "memories", "reason": "min_relevance"} in [
        {name: row[name] for name in ("section", "reason")} for row in whole["truncated"]
    ]


@pytest.mark.row("R11")
def test_tools_say_it_in_words(api: Api, tools: Tools) -> None:
    embedded(api, NOTES)
    assert "very likely among these." in tools.text("recall", query=KEY)
    assert "not among these" in tools.text("search_memory", query="Which quarterly revenue did marketing report?")
    assert "likely to answer" in tools.text("recall", query="Which quarterly revenue did marketing report?", min_relevance=0.5)
