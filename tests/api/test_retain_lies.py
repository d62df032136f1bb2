"""A model that lies to retain: what it can do to what is stored, and what it cannot."""

import logging
from typing import Any

import pytest

from tests.api.test_retain_model import about, actions, contents, model, retain
from tests.services import Api, ok

Row = dict[str, Any]
TEN = [
    f"Person{n} keeps the {thing} in drawer {n}"
    for n, thing in enumerate(["stamps", "coins", "keys", "maps", "pens", "cards", "seals", "tapes", "lamps", "nails"])
]
TOLD = [
    f"Person{n} finds the {thing} in cabinet {n}"
    for n, thing in enumerate(["beans", "plums", "pears", "limes", "dates", "figs", "olives", "nuts", "herbs", "grapes"])
]


def mislead(data: Row) -> Row:
    """Each fact replaces the first that is known beside it."""
    return {
        "decisions": [
            {"fact": f["number"], "action": "update", "target": 1, "confidence": 1.0, "reason": "sure"} for f in data["facts"]
        ]
    }


def match(data: Row) -> Row:
    """Each fact replaces what is known of the same person."""
    decisions = []
    for fact in data["facts"]:
        who = fact["text"].split()[0]
        target = next(one["number"] for one in fact["known"] if one["text"].startswith(f"{who} "))
        decisions.append({"fact": fact["number"], "action": "update", "target": target, "confidence": 1.0})
    return {"decisions": decisions}


@pytest.mark.row("L3")
@pytest.mark.parametrize(
    ("known", "told"),
    [
        ("Carol Diaz joined Acme Corp.", "Dan Brown joined Umbrella."),  # a word in common
        ("Carol Diaz joined Acme Corp.", "Dan Brown joined Acme Corp."),  # and a company
        ("Carol Diaz joined Acme Corp.", "Carol Jones joined Umbrella."),  # half a name
        ("Carol Diaz joined Acme Corp.", "Dan Brown met Carol Diaz at Umbrella."),  # the name in another place
        ("The printer is on the second floor", "The kitchen is on the second floor"),
        ("The team in Oslo uses Jenkins", "Our cat in Oslo uses the door"),
        ("Carol Diaz works at Acme", "The boss of Carol Diaz works at Umbrella"),
    ],
)
def test_an_update_about_something_else_ends_nothing(api: Api, known: str, told: str, caplog: pytest.LogCaptureFixture) -> None:
    old = api.write(known)
    with caplog.at_level(logging.WARNING, "service.retain.retain_text"), model(api, about("update", known, confidence=1.0)):
        (decision,) = retain(api, told)["decisions"]
    assert (decision["superseded"], decision["decided_by"]) == (None, "rules")
    assert contents(api) == sorted([known, told])
    assert ok(api.get(f"/memories/{old['id']}"))["valid_to"] is None
    if decision["action"] == "link":
        assert "the two do not speak of the same thing" in decision["reason"]
        assert [link["type"] for link in decision["links"]] == ["contradicts"]
    assert f"retain in {api.namespace}: of 1 decisions of the model, guards refused: subject 1" in caplog.messages
    assert not any(word in line for line in caplog.messages for word in known.split() if len(word) > 4)


@pytest.mark.parametrize(
    ("known", "told"),
    [
        ("Carol Diaz joined Acme Corp.", "Carol has a desk at Umbrella."),
        ("Carol stays with Acme", "Carol Diaz sits at Umbrella"),
        ("The printer is on the second floor", "The printer stands in the cellar"),
    ],
)
def test_an_update_about_the_same_may_end_it(api: Api, known: str, told: str) -> None:
    old = api.write(known)
    with model(api, about("update", known, confidence=1.0)):
        (decision,) = retain(api, told)["decisions"]
    assert (decision["superseded"], decision["decided_by"]) == (old["id"], "model")


@pytest.mark.row("L3")
@pytest.mark.parametrize("say", [match, mislead], ids=["each its own", "each the first"])
def test_a_call_that_would_end_much_ends_nothing_and_loses_nothing(api: Api, say: Any, caplog: pytest.LogCaptureFixture) -> None:
    ok(api.post("/memories/batch", {"items": [{"content": text} for text in TEN]}))
    with caplog.at_level(logging.WARNING, "service.retain.retain_text"), model(api, say):
        answer = retain(api, "\n".join(TOLD))
    ended = [row["superseded"] for row in answer["decisions"] if row["superseded"]]
    assert len(contents(api)) == 20 - len(ended)
    assert set(TOLD) <= set(contents(api))
    assert len(ended) <= (say is mislead)
    if say is match:
        why = "10 facts would end by it in one call; the setting dream_removed_share (0.1) allows 1"
        assert [why in row["reason"] for row in answer["decisions"]] == [True] * 10
        said = [record.getMessage() for record in caplog.records if record.name == "service.retain.retain_text"]
        assert said[-1].endswith("guards refused: breaker 10")


def test_as_many_as_the_setting_allows_may_end(api: Api) -> None:
    ok(api.post("/memories/batch", {"items": [{"content": text} for text in TEN]}))
    ok(api.client.patch(f"/namespaces/{api.namespace}", json={"settings": {"dream_removed_share": 0.2}}))
    with model(api, match):
        answer = retain(api, "\n".join(TOLD[:2]))
    assert actions(answer) == [("update", "model")] * 2
    assert len(contents(api)) == 10


def test_a_share_of_zero_ends_not_even_one(api: Api) -> None:
    ok(api.post("/memories/batch", {"items": [{"content": text} for text in TEN]}))
    ok(api.client.patch(f"/namespaces/{api.namespace}", json={"settings": {"dream_removed_share": 0}}))
    with model(api, match):
        (decision,) = retain(api, TOLD[0])["decisions"]
    assert (decision["superseded"], len(contents(api))) == (None, 11)
    assert "dream_removed_share (0) allows 0" in decision["reason"]


def test_a_contradiction_that_rules_see_is_not_counted_against_the_model(api: Api) -> None:
    known = [f"Person{n} lives in Oslo" for n in range(5)]
    ok(api.post("/memories/batch", {"items": [{"content": text} for text in known]}))
    with model(api, match):
        answer = retain(api, "\n".join(f"Person{n} lives in Rome" for n in range(5)))
    assert actions(answer) == [("update", "model")] * 5
