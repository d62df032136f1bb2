"""A context begins with what is known of the one who asks."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.api.test_sessions_context import FALLBACK, contents, context
from tests.services import Api, Service, eventually, ok, problem

HEADER = "About the one who asks:"
OSLO, ROME = "I live in Oslo", "I live in Rome"


def profile(found: dict[str, Any]) -> list[str]:
    return [memory["content"] for memory in found["profile"]]


@pytest.fixture
def told(api: Api) -> dict[str, Any]:
    """What two users have said of themselves; what Rosa said."""
    ok(api.post("/memories", {"content": ROME, "source": "Ann"}), 201)
    return ok(api.post("/memories", {"content": OSLO, "source": "Rosa", "category": "home"}), 201)


@pytest.fixture
def bound(api: Api, guarded: Service) -> Iterator[httpx.Client]:
    """A client whose key speaks for Rosa."""
    key = ok(api.post("/keys", {"role": "writer", "user": "Rosa"}), 201)["key"]
    with guarded.client(Authorization=f"Bearer {key}", **{"X-Namespace": api.namespace}) as client:
        yield client


@pytest.mark.row("W4")
def test_a_context_begins_with_what_the_user_said_of_herself(api: Api, told: dict[str, Any]) -> None:
    api.write("The harbour of Oslo is frozen")
    found = context(api, "harbour", "s", user="Rosa")
    assert found["text"].splitlines()[:2] == [HEADER, f"- [{told['id']}] (home): Rosa: {OSLO}"]
    assert (profile(found), contents(found)) == ([OSLO], ["The harbour of Oslo is frozen"])
    assert found["profile"][0]["about"] == "Rosa"
    assert profile(context(api, "harbour", "t", user="Ann")) == [ROME]
    assert profile(context(api, "harbour", "u")) == []


def test_a_memory_of_the_profile_comes_as_recall_shows_it_and_only_there(api: Api, told: dict[str, Any]) -> None:
    found = context(api, "Where do I live? In Oslo?", None, user="Rosa")
    [memory] = found["profile"]
    assert memory.pop("score") > 0
    assert 0 < memory.pop("relevance") < 1
    assert memory == ok(api.get(f"/memories/{told['id']}"))
    assert OSLO not in contents(found)
    assert context(api, None, None, user="Rosa")["profile"][0]["score"] is None


@pytest.mark.row("W4")
def test_a_key_that_is_bound_to_a_user_asks_for_no_other(told: dict[str, Any], bound: httpx.Client) -> None:
    assert profile(ok(bound.post("/context", json={}))) == [OSLO]
    assert profile(ok(bound.post("/context", json={"user": "rosa"}))) == [OSLO]
    for sections in (["profile"], ["memories"], ["turns"]):
        refused = problem(bound.post("/context", json={"user": "Ann", "sections": sections}), 403, "forbidden")
        assert "bound to user Rosa" in refused["detail"]


def test_a_session_is_shown_the_profile_once_unless_it_asks_again(api: Api, told: dict[str, Any]) -> None:
    first = context(api, None, user="Rosa")
    assert (profile(first), contents(first), first["held_back"]) == ([OSLO], [ROME], 0)
    assert first["text"].splitlines()[3] == FALLBACK
    again = context(api, "Where do I live? In Oslo?", user="Rosa")
    assert (profile(again), OSLO in again["text"]) == ([], False)
    assert again["held_back"] >= 1
    assert profile(context(api, None, user="Rosa", repeat=True)) == [OSLO]
    assert ok(api.post("/sessions/s/end"))["injected"] == 2
    assert profile(context(api, None, user="Rosa")) == [OSLO]


def test_facts_learned_about_her_meanwhile_are_shown_then(api: Api, told: dict[str, Any]) -> None:
    context(api, None, user="Rosa")
    ok(api.post("/memories", {"content": "Is left-handed", "about": "Rosa"}), 201)
    assert profile(context(api, None, user="Rosa")) == ["Is left-handed"]


def test_a_preview_shows_the_profile_and_stores_nothing(api: Api, told: dict[str, Any]) -> None:
    for preview in (True, True, False):
        assert profile(context(api, None, user="Rosa", preview=preview)) == [OSLO]
    assert profile(context(api, None, user="Rosa", preview=True)) == []


def test_a_reader_gets_it_without_a_session(api: Api, told: dict[str, Any], guarded: Service) -> None:
    key = ok(api.post("/keys", {"role": "reader"}), 201)["key"]
    with guarded.client(Authorization=f"Bearer {key}", **{"X-Namespace": api.namespace}) as reader:
        assert profile(ok(reader.post("/context", json={"user": "Rosa"}))) == [OSLO]


def test_the_profile_keeps_the_budget_and_what_did_not_fit_comes_later(api: Api, told: dict[str, Any]) -> None:
    line = f"- [{told['id']}] (home): Rosa: {OSLO}"
    exact = len(HEADER) + 1 + len(line)
    short = context(api, None, user="Rosa", sections=["profile"], max_chars=exact - 1)
    assert (short["text"], short["truncated"]) == ("", [{"section": "profile", "left_out": 1, "reason": "max_chars"}])
    assert context(api, None, user="Rosa", sections=["profile"], max_chars=exact)["text"] == f"{HEADER}\n{line}"


def test_only_the_profile_comes_where_only_that_is_asked_for(api: Api, told: dict[str, Any]) -> None:
    found = context(api, "Oslo", user="Rosa", sections=["profile"])
    assert (profile(found), found["memories"], found["first"]) == ([OSLO], [], False)
    found = context(api, None, user="Rosa", sections=["memories"])
    assert (found["profile"], contents(found), found["first"], found["held_back"]) == ([], [ROME], True, 1)


def test_a_patrol_gets_none(api: Api, told: dict[str, Any]) -> None:
    found = context(api, "Where do I live? In Oslo?", user="Rosa", space="patrol/heartbeat")
    assert found["profile"] == []
    assert OSLO in contents(found)


def test_the_profile_of_another_moment_is_that_of_then(api: Api) -> None:
    for text, since in ((OSLO, "2020-01-01"), (ROME, "2021-01-01")):
        item = {"content": text, "source": "Rosa", "lineage": "city", "valid_from": f"{since}T00:00:00Z"}
        ok(api.post("/memories", item), 201)
    assert profile(context(api, None, None, user="Rosa")) == [ROME]
    assert profile(context(api, None, None, user="Rosa", as_of="2020-06-01T00:00:00Z")) == [OSLO]
    assert profile(context(api, None, None, user="Rosa", known_at="2020-06-01T00:00:00Z")) == []


def test_a_context_recalls_as_the_user_who_asks(api: Api, told: dict[str, Any]) -> None:
    eventually(api.embedded)
    scores = []
    for user in ("Rosa", "Ann"):
        found = context(api, "My place to live", None, user=user, sections=["memories"])["memories"]
        recalled = api.recall("My place to live", user=user)["results"]
        assert [(row["content"], row["score"]) for row in found] == [(row["content"], row["score"]) for row in recalled]
        scores.append({row["content"]: row["score"] for row in found})
    assert scores[0] != scores[1]


def test_a_line_says_whom_it_is_about_where_the_words_do_not(api: Api) -> None:
    api.write("Lives in Braga", about="Rosa")
    api.write("Rosa lives in Porto", about="Rosa", lineage="other")
    lines = context(api, "Who lives where?", None)["text"].splitlines()
    assert sorted(line.partition("): ")[2] for line in lines[1:3]) == ["Rosa lives in Porto", "Rosa: Lives in Braga"]
