"""Memories that may outdate others over REST, the client and tools: they are named, stay open, and are settled once."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.api.clients import client_of
from tests.services import Api, ok, problem
from tests.tools import Tools, over_http

Row = dict[str, Any]
OLD, NEW = "Nadia follows a vegan diet", "Nadia has gone low-salt"
OPERATION = "X-Operation-Id"


@pytest.fixture
def tools(api: Api) -> Iterator[Tools]:
    with over_http(api.service, **{"X-Namespace": api.namespace}) as opened:
        yield opened


def retain(api: Api, text: str, **fields: Any) -> list[Row]:
    decisions: list[Row] = ok(api.post("/retain", {"content": text, **fields}))["decisions"]
    return decisions


def settle(api: Api, newer: str, older: str, verdict: str = "replaces") -> Any:
    return api.post(f"/memories/{newer}/settle", {"older": older, "verdict": verdict})


def opened(api: Api) -> list[tuple[str, str]]:
    pairs = ok(api.get("/memories/unsettled"))["items"]
    return [(pair["newer"]["content"], pair["older"]["content"]) for pair in pairs]


@pytest.fixture
def pair(api: Api) -> tuple[str, str]:
    """A newer memory and an older one, as a pair that is open."""
    older = api.write(OLD)
    newer = api.write(NEW)
    ok(api.post(f"/memories/{newer['id']}/links", {"target_id": older["id"], "type": "contradicts", "strength": 0.6}), 201)
    return newer["id"], older["id"]


# Replies


@pytest.mark.row("M12")
def test_retain_names_what_each_fact_may_outdate(api: Api) -> None:
    (known,) = retain(api, OLD)
    (decision,) = retain(api, NEW)
    (named,) = decision["unsettled"]
    assert (known["unsettled"], named["id"], named["content"]) == ([], known["memory_id"], OLD)
    assert 0 <= named["similarity"] <= 1
    assert named["valid_from"] == ok(api.get(f"/memories/{known['memory_id']}"))["valid_from"]


def test_remember_names_what_a_message_may_outdate(api: Api) -> None:
    retain(api, "I go fencing twice a week", source="Ann")
    messages = [{"role": "user", "content": "I have taken up rowing"}]
    (decision,) = ok(api.post("/remember", {"messages": messages, "source": "Ann"}))["decisions"]
    assert [row["content"] for row in decision["unsettled"]] == ["I go fencing twice a week"]


def test_a_first_person_statement_of_another_is_not_outdated(api: Api) -> None:
    retain(api, "I go fencing twice a week", source="Bea")
    (decision,) = retain(api, "I have taken up rowing", source="Ann")
    assert decision["unsettled"] == []


def test_a_dry_run_names_the_same_and_opens_nothing(api: Api) -> None:
    retain(api, "My sport is rowing")
    dry = retain(api, "I have taken up rowing and swimming", dry_run=True)
    assert opened(api) == []
    done = retain(api, "I have taken up rowing and swimming")
    assert [row["unsettled"] for row in dry] == [row["unsettled"] for row in done]
    assert opened(api) == [("I have taken up rowing and swimming", "My sport is rowing")]


def test_a_single_memory_is_compared_where_the_write_asks_for_it(api: Api) -> None:
    retain(api, "My sport is rowing")
    assert "unsettled" not in api.write("I row on Mondays")
    written = api.write("I have taken up rowing and swimming", compare=True)
    assert {row["content"] for row in written["unsettled"]} == {"My sport is rowing", "I row on Mondays"}
    assert ("I have taken up rowing and swimming", "My sport is rowing") in opened(api)


def test_a_repetition_and_a_first_memory_outdate_nothing(api: Api) -> None:
    assert api.write(OLD, compare=True)["unsettled"] == []
    assert api.write(OLD, compare=True)["unsettled"] == []


def test_a_write_that_is_sent_twice_is_compared_once(api: Api) -> None:
    retain(api, "My sport is rowing")
    body, headers = {"content": "I have taken up rowing and swimming", "compare": True}, {"Idempotency-Key": "twice"}
    first, second = (ok(api.post("/memories", body, headers=headers), 201) for _ in range(2))
    assert (first == second, len(opened(api))) == (True, 1)


# Settling


@pytest.mark.row("M12")
@pytest.mark.parametrize(("verdict", "visible"), [("replaces", [NEW]), ("corrects", [NEW]), ("both_true", [NEW, OLD])])
def test_a_verdict_closes_the_pair_and_undoing_it_opens_it_again(
    api: Api, pair: tuple[str, str], verdict: str, visible: list[str]
) -> None:
    answer = settle(api, *pair, verdict)
    body = ok(answer)
    assert (body["newer"]["id"], body["older"]["id"], body["verdict"]) == (*pair, verdict)
    assert (sorted(row["content"] for row in ok(api.get("/memories"))["items"]), opened(api)) == (sorted(visible), [])
    ok(api.post(f"/operations/{answer.headers[OPERATION]}/undo"))
    assert (sorted(row["content"] for row in ok(api.get("/memories"))["items"]), opened(api)) == (sorted([NEW, OLD]), [(NEW, OLD)])


@pytest.mark.row("M12")
def test_the_second_of_concurrent_settlers_is_told_what_is_not_current(api: Api, pair: tuple[str, str]) -> None:
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda verdict: settle(api, *pair, verdict), ["replaces", "corrects"]))
    first, second = sorted(answers, key=lambda answer: answer.status_code)
    ok(first)
    assert f"memory {pair[1]} is not current" in problem(second, 409, "conflict")["detail"]


def test_an_unknown_memory_or_verdict_is_refused(api: Api, pair: tuple[str, str]) -> None:
    problem(settle(api, pair[0], pair[0]), 422, "invalid-request")
    problem(settle(api, *pair, "maybe"), 422, "invalid-request")
    problem(settle(api, pair[0], "00000000-0000-0000-0000-000000000009"), 404, "not-found")


def test_the_client_lists_and_settles(api: Api, pair: tuple[str, str]) -> None:
    client = client_of(api.service, api.namespace)
    (found,) = client.memories.unsettled()
    assert (str(found.newer.id), str(found.older.id)) == pair
    assert client.memories.settle(found.newer.id, found.older.id, "replaces").older.current is False
    assert list(client.memories.unsettled()) == []


# What shows it


@pytest.mark.row("M12")
def test_recall_shows_both_and_says_so(api: Api, pair: tuple[str, str]) -> None:
    results = {row["id"]: row for row in api.recall("What does Nadia eat? vegan low-salt diet", explain=True)["results"]}
    assert {one: results[one]["contradicts"] for one in pair} == {pair[0]: [pair[1]], pair[1]: [pair[0]]}
    assert f"may contradict {pair[1]}" in results[pair[0]]["explain"]["because"]
    settle(api, *pair)
    (left,) = api.recall("What does Nadia eat? vegan low-salt diet")["results"]
    assert (left["id"], left.get("contradicts")) == (pair[0], None)


def test_a_recall_of_the_past_says_nothing_of_it(api: Api, pair: tuple[str, str]) -> None:
    moment = ok(api.get(f"/memories/{pair[0]}"))["valid_from"]
    results = api.recall("vegan low-salt", as_of=moment)["results"]
    assert len(results) == 2
    assert all("contradicts" not in row for row in results)


def test_a_context_has_the_pairs_of_what_it_shows(api: Api, pair: tuple[str, str]) -> None:
    context = ok(api.post("/context", {"message": "Cook something low-salt or vegan for Nadia"}))
    (shown,) = context["unsettled"]
    assert (shown["newer"]["id"], shown["older"]["id"]) == pair
    assert f"- [{pair[0]}] {NEW} / may outdate [{pair[1]}] {OLD}" in context["text"]
    assert f"may contradict [{pair[1]}]" in context["text"]
    settle(api, *pair)
    assert ok(api.post("/context", {"message": "Cook something for Nadia"}))["unsettled"] == []


# Tools


def test_save_memory_names_what_it_may_outdate_and_settle_ends_it(api: Api, tools: Tools) -> None:
    older = retain(api, "My sport is rowing")[0]["memory_id"]
    text = tools.text("save_memory", content="I have taken up rowing and swimming")
    saved, outdated, how = text.splitlines()
    assert outdated.startswith(f"May outdate [{older}] (since ")
    assert outdated.endswith("): My sport is rowing")
    assert how.startswith("If one does, say so: settle(new, old, ")
    newer = saved.removeprefix("Saved as [").removesuffix("].")
    assert f"may outdate [{older}]" in tools.text("settle")
    assert tools.text("settle", new=newer, old=older, verdict="replaces").splitlines()[1] == f"[{older}] ended: My sport is rowing"
    assert tools.text("settle") == "Nothing is open."


def test_retain_and_remember_name_it_in_a_line_each(api: Api, tools: Tools) -> None:
    older = retain(api, "My sport is rowing")[0]["memory_id"]
    text = tools.text("retain", content="I have taken up rowing and swimming")
    assert f"\nMay outdate [{older}] (since " in text
    assert text.splitlines()[-1].startswith("If one does, say so: settle(")
    said = tools.text("remember", messages=[{"role": "user", "content": "I signed up for rowing and judo"}])
    assert f"\nMay outdate [{older}] (since " in said


@pytest.mark.parametrize("verdict", ["both true", "both_true"])
def test_a_verdict_may_be_spoken(tools: Tools, pair: tuple[str, str], verdict: str) -> None:
    assert f"[{pair[1]}] is true as well" in tools.text("settle", new=pair[0], old=pair[1], verdict=verdict)


def test_a_search_says_which_results_may_contradict_each_other(tools: Tools, pair: tuple[str, str]) -> None:
    assert f"may contradict [{pair[1]}]" in tools.text("search_memory", query="What does Nadia eat, low-salt?")
