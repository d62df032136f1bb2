"""Texts for a model fit their budget, whatever is stored, and of a long memory they show the passage that answers."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.services import Api, Service, new_api, ok
from tests.tools import Tools, over_http

BUDGET = 16_000
FILLER = "The committee discussed budget lines and parking permits at length. "
ANSWERS = {  # question, and the sentence that answers
    "en": ("What is the vault combination?", "The vault combination is 77-31-04."),
    "de": ("Wie lautet die Kombination des Tresors?", "Die Kombination des Tresors lautet 77-31-04."),
    "es": ("¿Cuál es la combinación de la bóveda?", "La combinación de la bóveda es 77-31-04."),
    "zh": ("金库的密码是什么?", "金库的密码是77-31-04。"),
    "ru": ("Какой шифр сейфа?", "Шифр этого сейфа 77-31-04."),
    "meaning": ("How do I unlock the safe?", "To open the strongbox, dial 77-31-04."),
}
PLACES = {"end": (90, 0), "middle": (60, 60), "beginning": (0, 90), "of 60,000 characters": (700, 200)}


@pytest.fixture
def tools(api: Api) -> Iterator[Tools]:
    with over_http(api.service, **{"X-Namespace": api.namespace}) as connected:
        yield connected


@pytest.fixture(scope="module")
def crowded(service: Service) -> Iterator[Api]:
    """A namespace where everything is long: memories, entries, turns, facts, rules, edges, categories, versions."""
    with new_api(service) as api:
        for number in range(12):
            long = FILLER * (60 + 10 * number)
            api.write(f"Ada noted: {long}", category=f"minutes/{'of-the-committee-' * 6}{number}", entities=[{"name": "Ada"}])
            api.write(f"{long} {number}", lineage="protocol", valid_from=f"20{10 + number}-01-01T00:00:00Z")
            ok(api.client.put(f"/working-memory/agent/operator/{number}", json={"value": {"found": long}, "ttl_seconds": 600}))
            ok(api.post("/conversations/talk/turns", {"role": "user", "content": long}), 201)
            ok(api.post("/edges", {"source": "Ada", "type": "notes", "literal": f"{number} {FILLER * 6}"}), 201)
        aspect = ok(api.post("/entities/Ada/aspects", {"name": "Habits"}), 201)["id"]
        for kind in ("constraint", "attribute"):
            for number in range(6):
                ok(api.post(f"/aspects/{aspect}/attributes", {"content": f"{number} {FILLER * 100}", "kind": kind}), 201)
        yield api


EVERY: dict[str, dict[str, Any]] = {
    "search_memory": {"query": "What did the committee discuss?"},
    "recall": {"query": "What did Ada note?", "k": 100, "tiers": ["working_memory", "conversation"]},
    "get_context": {"message": "What did Ada note of the committee?", "session_id": "talk"},
    "describe": {"entity": "Ada"},
    "graph_traverse": {"startEntity": "Ada", "limit": 100},
    "memory_history": {"ref": "protocol"},
    "list_working_memory": {"namespace": "agent"},
    "search_working_memory": {"query": "committee", "namespace": "agent"},
    "get_from_working_memory": {"key": "11"},
    "list_memory_categories": {},
    "settle": {},
}


@pytest.mark.sample(20)
@pytest.mark.parametrize("room", [None, 5000, 1000, 300, 20, 200_000])
@pytest.mark.parametrize("name", EVERY)
def test_the_text_of_every_reading_tool_fits_its_room(crowded: Api, name: str, room: int | None) -> None:
    with over_http(crowded.service, **{"X-Namespace": crowded.namespace}) as tools:
        stated = {} if room is None or name == "settle" else {"max_chars": room}
        text = (
            tools.text(name, **EVERY[name], repeat=True, **stated)
            if name == "get_context"
            else tools.text(name, **EVERY[name], **stated)
        )
    assert 0 < len(text) <= (stated.get("max_chars") or BUDGET)


@pytest.mark.parametrize("name", ["search_memory", "recall", "memory_history", "describe", "get_context", "search_working_memory"])
def test_an_omission_is_told_with_how_to_get_the_rest(crowded: Api, name: str) -> None:
    with over_http(crowded.service, **{"X-Namespace": crowded.namespace}) as tools:
        more = {"repeat": True} if name == "get_context" else {}
        short = tools.text(name, **EVERY[name], **more, max_chars=2500)
        long = tools.text(name, **EVERY[name], **more, max_chars=40_000)
    assert "max_chars" in short or "get_from_working_memory" in short
    assert "left out for length" in short.lower() or "more characters" in short
    assert len(long) > len(short)


def test_data_beside_a_text_are_no_longer_than_it(crowded: Api) -> None:
    with over_http(crowded.service, **{"X-Namespace": crowded.namespace}) as tools:
        found = tools("recall", **EVERY["recall"])["results"]
        kept = tools("get_from_working_memory", key="11", max_chars=500)
    assert sum(len(str(row.get("content", row.get("value")))) for row in found) <= BUDGET
    assert len(kept["value"]) <= 510


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("language", ANSWERS)
def test_a_long_memory_shows_the_passage_that_answers(api: Api, tools: Tools, language: str, place: str) -> None:
    (question, answer), (before, after) = ANSWERS[language], PLACES[place]
    content = FILLER * before + answer + " " + FILLER * after
    key = api.write(content)["id"]
    for name, asked in (
        ("recall", {"query": question}),
        ("search_memory", {"query": question}),
        ("get_context", {"message": question}),
    ):
        text = tools.text(name, **asked)
        assert "77-31-04" in text, name
        assert f'memory_history("{key}")' in text
        assert len(text) < 5000
    (row,) = tools("recall", query=question)["results"]
    assert "77-31-04" in row["content"]
    assert "77-31-04" in ok(api.post("/context", {"message": question}))["text"]


def test_one_memory_that_is_longer_than_the_whole_budget_is_shown_in_part(api: Api, tools: Tools) -> None:
    question, answer = ANSWERS["en"]
    api.write(FILLER * 400 + answer)
    for room in (600, 1000, 3000):
        assert "77-31-04" in tools.text("recall", query=question, max_chars=room)
        assert "77-31-04" in tools.text("get_context", message=question, max_chars=room)


@pytest.mark.parametrize("tier", ["working_memory", "conversation"])
def test_a_long_entry_and_a_long_turn_show_their_passage(api: Api, tools: Tools, tier: str) -> None:
    question, answer = ANSWERS["en"]
    if tier == "working_memory":
        tools("save_to_working_memory", key="minutes", data=FILLER * 90 + answer)
    else:
        ok(api.post("/conversations/s/turns", {"role": "user", "content": FILLER * 90 + answer}), 201)
    assert "77-31-04" in tools.text("recall", query=question, tiers=[tier])


def test_a_passage_says_where_it_stands(api: Api) -> None:
    question, answer = ANSWERS["en"]
    content = FILLER * 50 + answer + " " + FILLER * 50
    api.write(content)
    (row,) = api.recall(question, max_chars=2000)["results"]
    passage = row["passage"]
    assert content[passage["start"] : passage["end"]] == passage["text"]
    assert answer in passage["text"]
    assert len(passage["text"]) <= 2000
    assert row["content"] == content
    assert api.recall(question)["results"][0].get("passage") is None


def test_short_memories_are_shown_whole_whatever_stands_beside_them(api: Api, tools: Tools) -> None:
    api.write("The vault is in Basel.")
    for number in range(8):
        api.write(f"{number} vault {FILLER * 100}")
    text = tools.text("recall", query="Where is the vault?", max_chars=4000)
    assert "The vault is in Basel." in text
    assert len(text) <= 4000


def test_a_context_over_rest_has_the_same_budget(crowded: Api) -> None:
    built = ok(crowded.post("/context", {"message": "What did Ada note of the committee?", "session_id": "talk", "repeat": True}))
    assert len(built["text"]) <= BUDGET
    short = ok(crowded.post("/context", {"message": "What did Ada note?", "session_id": "talk", "repeat": True, "max_chars": 2000}))
    assert len(short["text"]) <= 2000
    assert "(Left out for length: " in short["text"]
    assert {item["reason"] for item in short["truncated"]} >= {"max_chars"}


def test_the_window_of_a_question_without_known_words_is_the_beginning(api: Api, tools: Tools) -> None:
    api.write("Beginning. " + FILLER * 200, importance=1)
    assert "Beginning." in tools.text("get_context")
