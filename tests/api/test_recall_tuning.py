"""Tuning: settings that suit the questions that are asked in a namespace."""

import json
import random
from typing import Any

import pytest

from tests.databases import Database
from tests.services import Api, Service, eventually, new_api, ok, problem, serve

PLACES = ("Oslo", "Turku", "Gdansk", "Porto", "Ghent", "Graz")
GOODS = ("anchors", "barrels", "candles", "dyes", "engines", "flour", "glass", "hinges", "ink", "jars", "kettles", "lamps")
GOODS += ("mirrors", "nails", "oil", "paper", "quilts", "ropes", "saddles", "tiles", "umbrellas", "violins", "wool", "yarn")


def has_read(api: Api) -> bool:
    row = ok(api.get(f"/namespaces/{api.namespace}"))
    return not row["pending_embeddings"] and not row["pending_names"]


def job(api: Api, **asked: Any) -> dict[str, Any]:
    """The job of a tuning, once it is over."""
    made = ok(api.post("/recall/tune", asked), 202)

    def ended() -> dict[str, Any] | None:
        row: dict[str, Any] = ok(api.get(f"/jobs/{made['job_id']}"))
        return row if row["finished_at"] else None

    row = eventually(ended)
    assert row["state"] == "succeeded", row["error"]
    result: dict[str, Any] = row["result"]
    return result


@pytest.fixture
def misled(api: Api) -> tuple[Api, list[dict[str, Any]]]:
    """A namespace where names lead astray: the port that a question names begins other memories, and shares names with them."""
    draw, items, questions = random.Random(7), [], []
    for goods in GOODS:
        place, other = draw.sample(PLACES, 2)
        items += [f"{place} saw a shipment of {goods} go out", f"{place} and {other} signed a treaty, {goods[0]}"]
        questions.append({"question": f"Which {goods} went by {place} to Captain Olsen?", "contents": [items[-2]]})
    items += [f"{place} has met Captain Olsen in {draw.choice(PLACES)}" for place in PLACES for _ in range(2)]
    written = ok(api.post("/memories/batch", {"items": [{"content": content} for content in dict.fromkeys(items)]}))
    assert written
    eventually(lambda: has_read(api))
    return api, questions


@pytest.mark.row("R14")
def test_it_finds_weights_where_names_mislead_and_applies_them_and_undo_takes_them_back(
    misled: tuple[Api, list[dict[str, Any]]],
) -> None:
    api, questions = misled
    own = {"settings": {"weights": {"names": 9, "graph": 3, "walk": 0.2}}}
    ok(api.client.patch(f"/namespaces/{api.namespace}", json=own))
    before = ok(api.get(f"/namespaces/{api.namespace}"))["settings"]
    said = job(api, questions=questions, k=1)
    assert said["verdict"] == "change", said
    assert said["gain"]["value"] > said["gain"]["error"] > 0
    assert said["applied"] is False
    assert ok(api.get(f"/namespaces/{api.namespace}"))["settings"] == before
    applied = job(api, questions=questions, k=1, apply=True)
    assert applied["settings"] == said["settings"]
    after = ok(api.get(f"/namespaces/{api.namespace}"))["settings"]
    assert after["weights"] == before["weights"] | said["settings"]["weights"]
    better = job(api, questions=questions, k=1)
    assert better["present"]["recall@1"] == pytest.approx(said["proposed"]["recall@1"], abs=5)
    right = [api.found(asked["question"], k=1) == asked["contents"] for asked in questions]
    assert better["present"]["recall@1"] == pytest.approx(
        100 * sum(right) / len(right), abs=0.1
    )  # what is reckoned is what is found
    ok(api.post(f"/operations/{applied['operation_id']}/undo", {}))
    assert ok(api.get(f"/namespaces/{api.namespace}"))["settings"] == before


@pytest.mark.row("R14")
def test_the_best_possible_settings_are_kept(misled: tuple[Api, list[dict[str, Any]]]) -> None:
    api, questions = misled
    plain = [{"question": f"shipment of {goods}", "contents": q["contents"]} for goods, q in zip(GOODS, questions, strict=True)]
    said = job(api, questions=plain, apply=True)
    assert (said["verdict"], said["settings"], said["applied"]) == ("keep", None, False)
    assert "keep what you have" in said["said"]


@pytest.mark.row("R14")
def test_too_few_questions_say_nothing(api: Api) -> None:
    api.write("Bob likes green tea.")
    said = job(api, questions=[{"question": "Who likes tea?", "contents": ["Bob likes green tea."]}], apply=True)
    assert (said["verdict"], said["settings"], said["applied"]) == ("too few", None, False)
    assert "at least 20" in said["said"]


@pytest.mark.row("R14")
def test_without_questions_those_of_the_log_count_that_were_answered_well(api: Api) -> None:
    written = api.write("Bob likes green tea.")
    for useful in (True, False):
        asked = ok(api.post("/recall", {"query": f"Who likes tea? {useful}", "log": True}))
        rating = {"memory_id": written["id"], "useful": useful}
        ok(api.post("/feedback", {"recall_id": asked["recall_id"], "ratings": [rating]}))
    assert job(api)["questions"] == 1


@pytest.mark.row("R14")
def test_a_memory_of_another_namespace_is_refused_by_name(api: Api, service: Service) -> None:
    here = api.write("Bob likes green tea.")["id"]
    with new_api(service) as other:
        foreign = other.write("Ann keeps bees.")["id"]
    by_id = {"questions": [{"question": "?", "ids": [here]}, {"question": "Who?", "ids": [here, foreign]}]}
    refused = problem(api.post("/recall/tune", by_id), 404, "not-found")
    assert (refused["errors"][0]["field"], foreign in str(refused)) == ("questions[1].ids[1]", True)
    by_content = {"questions": [{"question": "?", "contents": ["Ann keeps bees."]}]}
    assert "Ann keeps bees." in str(problem(api.post("/recall/tune", by_content), 404, "not-found"))


def test_a_memory_that_is_forgotten_before_its_question_is_asked_is_left_out(own_database: Database) -> None:
    with serve(own_database, worker=False) as service, new_api(service) as api:
        kept, gone = (api.write(f"{name} keeps bees.")["id"] for name in ("Ann", "Ben"))
        asked = [{"question": f"Who is {n}?", "ids": ids} for n, ids in enumerate(([kept], [gone], [kept, gone]))]
        made = ok(api.post("/recall/tune", {"questions": asked}), 202)
        ok(api.client.delete(f"/memories/{gone}"))
        with serve(own_database):
            row = eventually(lambda: (job := ok(api.get(f"/jobs/{made['job_id']}")))["finished_at"] and job)
    assert (row["state"], row["tries"], row["result"]["questions"]) == ("succeeded", 1, 2)


@pytest.mark.row("R14")
@pytest.mark.parametrize("role", ["reader", "writer"])
def test_settings_are_the_admin_s(api: Api, role: str) -> None:
    key = ok(api.post("/keys", {"role": role}), 201)["key"]
    with api.service.client(**{"X-Namespace": api.namespace, "Authorization": f"Bearer {key}"}) as caller:
        problem(caller.post("/recall/tune", json={}), 403, "forbidden")


def test_an_earlier_version_stands_for_the_one_that_holds_now(api: Api) -> None:
    first = api.write("Bob likes tea.", lineage="tea")["id"]
    second = api.write("Bob likes coffee.", lineage="tea")["id"]
    made = ok(api.post("/recall/tune", {"questions": [{"question": "What does Bob like?", "ids": [first]}]}), 202)
    assert ok(api.get(f"/jobs/{made['job_id']}"))["arguments"]["questions"][0]["ids"] == [second]
    eventually(lambda: ok(api.get(f"/jobs/{made['job_id']}"))["finished_at"])  # it would be counted in the next tests


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"questions": []}, "questions"),
        ({"questions": [{"question": "Who?"}]}, "ids or contents"),
        ({"questions": [{"question": "", "contents": ["a"]}]}, "question"),
        ({"fusion": "relative_score"}, "fusion"),
        ({"k": 0}, "k"),
    ],
)
def test_wrong_fields_of_a_tuning_are_named(api: Api, asked: dict[str, Any], named: str) -> None:
    assert named in json.dumps(problem(api.post("/recall/tune", asked), 422, "invalid-request"))
