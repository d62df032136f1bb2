"""Reflect with a language model: it proposes places, concepts, links and summaries; guards and the rules of the hierarchy stand behind it."""

from collections.abc import Callable
from typing import Any

import pytest

from service.llm.model import ModelError
from tests.api.test_retain_model import model
from tests.services import Api, ok

Row = dict[str, Any]


def reflect(api: Api, **fields: Any) -> Row:
    answer: Row = ok(api.post("/reflect", fields))
    return answer


def parents(api: Api) -> dict[str, str | None]:
    rows = ok(api.get("/memories"))["items"]
    names = {row["id"]: row["content"] for row in rows}
    return {row["content"]: names.get(row["parent_id"]) for row in rows}


def number(data: Row, kind: str, begins: str) -> int:
    """The number of the memory or concept whose text begins so."""
    name = {"memories": "text", "concepts": "title"}[kind]
    return next(row["number"] for row in data[kind] if row[name].startswith(begins))


def puts(concept: str, *memories: str, **more: Any) -> Callable[[Row], Row]:
    """A model that puts memories under a concept that there is."""
    return lambda data: {
        "places": [{"memory": number(data, "memories", m), "concept": number(data, "concepts", concept)} for m in memories],
        **more,
    }


def makes(title: str, *memories: str, layer: int = 1, under: int | None = None, summary: str | None = None) -> Callable[[Row], Row]:
    """A model that makes a concept for memories."""
    return lambda data: {
        "concepts": [{"number": 90, "title": title, "layer": layer, "under": under}],
        "places": [{"memory": number(data, "memories", m), "concept": 90} for m in memories],
        "summaries": [{"concept": 90, "summary": summary}] if summary else [],
    }


def refusals(answer: Row) -> list[str]:
    return [refusal["guard"] for refusal in answer["refused"]]


# What a model proposes


def test_orphans_stand_where_the_model_puts_them(api: Api) -> None:
    api.write("Colleagues", layer=1)
    api.write("Erik sits by the window")
    with model(api, puts("Colleagues", "Erik")):
        answer = reflect(api)
    assert [(row["parent_id"] is not None, row["reason"]) for row in answer["placed"]] == [(True, "a model says so")]
    assert parents(api)["Erik sits by the window"] == "Colleagues"


def test_a_new_concept_stands_under_a_domain_and_says_what_is_under_it(api: Api) -> None:
    domain = api.write("Kitchen work", layer=0)
    for content in ("Bread bakes at 230 degrees", "Bread needs 500 g of flour"):
        api.write(content)
    made = makes("Bread", "Bread bakes", "Bread needs", under=1, summary="Bread needs 500 g of flour and bakes at 230 degrees.")
    with model(api, made):
        answer = reflect(api)
    concept = "Bread\nBread needs 500 g of flour and bakes at 230 degrees."
    assert [(row["content"], row["layer"], row["parent_id"]) for row in answer["created"]] == [(concept, 1, domain["id"])]
    assert parents(api) == {
        "Kitchen work": None,
        concept: "Kitchen work",
        "Bread bakes at 230 degrees": concept,
        "Bread needs 500 g of flour": concept,
    }


def test_a_new_memory_of_a_concept_made_by_reflect_enters_its_summary(api: Api) -> None:
    for n in (4, 7):
        api.write(f"The oven has {n} racks", category="kitchen")
    reflect(api)
    api.write("The oven is in Porto", category="kitchen")
    say = {"summaries": [{"concept": 1, "summary": "The oven is in Porto and has 4 or 7 racks."}]}
    with model(api, say):
        (made,) = reflect(api)["summarised"]
    assert made["content"] == "Kitchen\nThe oven is in Porto and has 4 or 7 racks."
    versions = ok(api.get("/memories/category/kitchen/history"))["items"]
    assert [(row["version"], row["current"]) for row in versions] == [(1, False), (2, True)]
    assert parents(api)["The oven is in Porto"] == made["content"]


def test_links_have_the_types_that_the_model_finds(api: Api) -> None:
    one, two = api.write("The bridge is closed"), api.write("Buses take the tunnel")
    say = {"links": [{"source": 1, "target": 2, "type": "Leads to", "strength": 3}]}
    with model(api, say):
        answer = reflect(api)
    assert answer["linked"] == [{"source_id": one["id"], "target_id": two["id"], "type": "leads_to", "strength": 1}]
    with model(api, say):
        assert reflect(api)["linked"] == []


def test_rules_place_memories_that_the_model_leaves_out(api: Api) -> None:
    api.write("Functional programming", layer=1)
    api.write("Alice likes functional programming a lot")
    with model(api, {"places": []}) as asked:
        reflect(api)
    assert (asked.calls, parents(api)["Alice likes functional programming a lot"]) == (1, "Functional programming")


def test_a_dry_run_equals_the_run(api: Api) -> None:
    for content in ("Bread bakes at 230 degrees", "Bread needs 500 g of flour"):
        api.write(content)
    say = makes("Bread", "Bread bakes", "Bread needs")
    with model(api, say):
        planned = reflect(api, dry_run=True)
        assert len(parents(api)) == 2
        done = reflect(api)
    assert [row["memory_id"] for row in planned["placed"]] == [row["memory_id"] for row in done["placed"]]
    assert ([row["id"] for row in planned["created"]], planned["created"][0]["lineage"]) == ([None], done["created"][0]["lineage"])


def test_it_is_one_operation_that_can_be_undone(api: Api) -> None:
    for content in ("Bread bakes at 230 degrees", "Bread needs 500 g of flour"):
        api.write(content)
    before = parents(api)
    say = makes("Bread", "Bread bakes", "Bread needs", summary="Bread bakes at 230 degrees.")
    with model(api, lambda data: {**say(data), "links": [{"source": 1, "target": 2, "type": "goes_with", "strength": 0.5}]}):
        done = api.post("/reflect", {})
    assert len(ok(done)["placed"]) == 2
    ok(api.post(f"/operations/{done.headers['X-Operation-Id']}/undo"))
    assert parents(api) == before
    assert ok(api.get(f"/memories/{done.json()['placed'][0]['memory_id']}/links"))["items"] == []


# What no model can talk past


def test_a_model_does_not_override_the_place_that_a_category_says(api: Api) -> None:
    api.write("Haskell", layer=1, category="programming/haskell")
    api.write("Gardening", layer=1)
    api.write("Lenses compose", category="programming/haskell")
    with model(api, puts("Gardening", "Lenses")):
        assert refusals(reflect(api)) == ["category"]
    assert parents(api)["Lenses compose"] == "Haskell"


@pytest.mark.parametrize(
    ("guard", "made"),
    [
        ("small", makes("Bread", "Bread bakes")),
        ("invented", makes("Bakery Dubois", "Bread bakes", "Bread needs")),
        ("invented", makes("Bread 2024", "Bread bakes", "Bread needs")),
        ("form", makes("Bread", "Bread bakes", "Bread needs", layer=2)),
    ],
)
def test_a_concept_that_does_not_come_from_its_memories_is_not_made(api: Api, guard: str, made: Any) -> None:
    for content in ("Bread bakes at 230 degrees", "Bread needs 500 g of flour"):
        api.write(content)
    with model(api, made):
        answer = reflect(api)
    assert guard in refusals(answer)
    assert (answer["created"], answer["placed"]) == ([], [])


@pytest.mark.parametrize(
    "summary", ["Bread needs 600 g of flour.", "Bread is what Madame Dubois bakes at 230 degrees.", "x" * 1001]
)
def test_a_summary_says_nothing_that_its_memories_do_not_say(api: Api, summary: str) -> None:
    for content in ("Bread bakes at 230 degrees", "Bread needs 500 g of flour"):
        api.write(content)
    with model(api, makes("Bread", "Bread bakes", "Bread needs", summary=summary)):
        answer = reflect(api)
    assert refusals(answer)[0] in {"invented", "length"}
    assert [row["content"] for row in answer["created"]] == ["Bread"]


def test_a_person_gets_no_summary(api: Api) -> None:
    api.write("Kitchen", layer=1)
    api.write("The oven has 4 racks")
    with model(api, puts("Kitchen", "The oven", summaries=[{"concept": 1, "summary": "The oven has 4 racks."}])):
        answer = reflect(api)
    assert (refusals(answer), answer["summarised"]) == (["written"], [])
    assert parents(api)["The oven has 4 racks"] == "Kitchen"


def test_numbers_that_stand_for_nothing_are_refused(api: Api) -> None:
    api.write("The oven has 4 racks")
    say = {
        "places": [{"memory": 1, "concept": 5}, {"memory": 9, "concept": 1}],
        "links": [{"source": 1, "target": 1, "type": "x", "strength": 0.5}],
        "summaries": [{"concept": 3, "summary": "4 racks"}],
    }
    with model(api, say):
        answer = reflect(api)
    assert (refusals(answer), answer["placed"], answer["linked"]) == (["form"] * 3, [], [])


def test_a_concept_that_somebody_forgot_is_not_made_again(api: Api) -> None:
    for content in ("Bread bakes at 230 degrees", "Bread needs 500 g of flour"):
        api.write(content)
    ok(api.client.delete(f"/memories/{api.write('Bread', lineage='concept/bread', layer=1)['id']}"))
    with model(api, makes("Bread", "Bread bakes", "Bread needs")):
        answer = reflect(api)
    assert (answer["created"], answer["placed"]) == ([], [])


@pytest.mark.parametrize("said", [ModelError("the endpoint is dead"), "this is not JSON"])
def test_without_a_usable_answer_rules_decide_and_the_reply_says_so(api: Api, said: Any) -> None:
    api.write("Haskell", layer=1, category="haskell")
    api.write("Lenses compose", category="haskell")
    with model(api, said):
        answer = reflect(api)
    assert (len(answer["placed"]), bool(answer["skipped"]["model"])) == (1, True)


def test_no_model_is_asked_when_nothing_is_left_to_place(api: Api) -> None:
    api.write("Kitchen", layer=1)
    with model(api, {}) as asked:
        reflect(api)
    assert asked.calls == 0


def test_a_page_is_as_large_as_the_model_can_be_shown_and_the_next_one_follows(api: Api) -> None:
    for row in range(15):
        api.write(f"Erik sits by window number {row}, where he keeps plants, papers and a lamp" + " of his own" * 5)
    with model(api, {}, context=2048) as scripted:
        pages = [reflect(api)]
        while (cursor := pages[-1]["next_cursor"]) is not None:
            pages.append(reflect(api, cursor=cursor))
    assert all(page["skipped"] == {} for page in pages)
    assert 1 < scripted.calls < 15


def test_concepts_that_do_not_fit_are_left_out_before_the_model_is(api: Api) -> None:
    for row in range(60):
        api.write(f"Colleagues of department number {row}", layer=1)
    api.write("Erik sits by the window")
    with model(api, {}, context=2048) as scripted:
        answer = reflect(api)
    assert (answer["skipped"], scripted.calls) == ({}, 1)
