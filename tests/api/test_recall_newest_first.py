"""Of memories that tell the same of the same, the latest comes first: nobody has said that it ends the others."""

import pytest

from tests.services import Api, eventually, ok

TOLD = (
    ("Bob lives in Rome with his cat.", "2021-01-01"),
    ("Bob has settled in Oslo.", "2023-01-01"),
    ("Bob moved to Kiel.", "2022-01-01"),
    ("Anna lives in Bonn.", "2024-01-01"),
    ("Bob likes Rome, where the food is good.", "2024-06-01"),
)
HOMES = ["Bob has settled in Oslo.", "Bob moved to Kiel.", "Bob lives in Rome with his cat."]


@pytest.fixture
def told(api: Api) -> Api:
    api.write_all(*({"content": content, "valid_from": f"{since}T00:00:00Z"} for content, since in TOLD))
    eventually(lambda: ok(api.get(f"/namespaces/{api.namespace}"))["pending_embeddings"] == 0)
    return api


def homes(api: Api, question: str, **more: str) -> list[str]:
    """Where Bob lives, in the order found."""
    return [content for content in api.found(question, **more) if content in HOMES]


@pytest.mark.parametrize("question", ["Where does Bob live?", "Which town is Bob living in now?", "Wo wohnt Bob?"])
def test_the_latest_of_statements_of_one_fact_comes_first(told: Api, question: str) -> None:
    assert homes(told, question) == HOMES


@pytest.mark.parametrize(("as_of", "first"), [("2022-06-01", HOMES[1]), ("2021-06-01", HOMES[2])])
def test_the_latest_statement_is_judged_as_of_the_asked_moment(told: Api, as_of: str, first: str) -> None:
    assert homes(told, "Where did Bob live?", as_of=f"{as_of}T00:00:00Z")[0] == first


@pytest.mark.parametrize(
    "question", ["Where did Bob live?", "Where did Bob live before he moved?", "Bob lives in Rome with his cat"]
)
def test_a_question_about_what_was_and_a_mere_search_go_by_score(told: Api, question: str) -> None:
    results = told.recall(question, explain=True)["results"]
    assert results
    assert all("succession" not in result["explain"] for result in results)


def test_only_those_change_places_and_the_explanation_says_so(told: Api) -> None:
    results = told.recall("Where does Bob live?", explain=True)["results"]
    moved = {result["content"]: result["explain"]["succession"] for result in results if "succession" in result["explain"]}
    assert moved.keys() <= set(HOMES)
    assert {key: moved["Bob has settled in Oslo."][key] for key in ("place", "of")} == {"place": 1, "of": 3}
    assert sorted(each["own_score"] for each in moved.values()) == sorted(
        result["score"] for result in results if result["content"] in moved
    )
    (first,) = [result for result in results if result["content"] == "Bob has settled in Oslo."]
    assert first["explain"]["because"].endswith(f"; ranked by {first['score']:.3g}: 1 of 3 that tell the same, the latest first")
    scores = [result["score"] for result in results]
    assert scores == sorted(scores, reverse=True)


KITCHEN = (
    ("The water hardness of the north kitchen is 14.", "2021-01-01"),
    ("The north kitchen got down to 9 after the filter.", "2023-01-01"),
    ("The north kitchen smells of the new paint.", "2024-01-01"),
    ("The water hardness of the south kitchen is 11.", "2024-01-01"),
)


def test_values_of_one_kind_under_an_unknown_relation_are_the_same_fact(api: Api) -> None:
    for content, since in KITCHEN:
        api.write(content, valid_from=f"{since}T00:00:00Z")
    eventually(lambda: ok(api.get(f"/namespaces/{api.namespace}"))["pending_embeddings"] == 0)
    results = api.recall("What is the water hardness of the north kitchen?", explain=True)["results"]
    assert results[0]["content"] == KITCHEN[1][0]
    assert {each["content"] for each in results if "succession" in each["explain"]} == {KITCHEN[0][0], KITCHEN[1][0]}


def test_a_question_of_many_parts_is_not_narrowed_to_whom_it_names(api: Api) -> None:
    for nth, content in enumerate(("Danielle reviews drafts in room 12.", "Danielle has 3 cats.", "Danielle keeps 40 books.")):
        api.write(content, valid_from=f"202{nth}-01-01T00:00:00Z")
    eventually(lambda: ok(api.get(f"/namespaces/{api.namespace}"))["pending_embeddings"] == 0)
    asked = "Which quiet room is there to go over drafts and comments with Danielle after lunch?"
    assert api.found(asked)[0] == "Danielle reviews drafts in room 12."


@pytest.mark.parametrize("question", ["Where does the user live?", "Where do I live?"])
def test_a_first_person_question_finds_first_person_statements(api: Api, question: str) -> None:
    for nth, content in enumerate(("I moved to Bergen last week.", "My cat is called Miso.", "The user likes green tea.")):
        api.write(content, valid_from=f"202{nth}-01-01T00:00:00Z")
    eventually(lambda: ok(api.get(f"/namespaces/{api.namespace}"))["pending_embeddings"] == 0)
    assert api.found(question)[0] == "I moved to Bergen last week."


def test_statements_that_answer_come_before_other_statements_of_the_subject(api: Api) -> None:
    for lineage, versions in (
        ("diet", ("Nadia follows a vegan diet.", "Nadia turned vegetarian.", "Nadia has gone low-salt.")),
        ("way", ("Nadia comes by bus.", "Nadia comes by tram now.")),
        ("desk", ("Nadia sits near the door.", "Nadia now sits by the window.")),
    ):
        for nth, content in enumerate(versions):
            api.write(content, lineage=lineage, valid_from=f"202{nth}-01-01T00:00:00Z")
    eventually(lambda: ok(api.get(f"/namespaces/{api.namespace}"))["pending_embeddings"] == 0)
    results = api.recall("Which diet does Nadia follow?", explain=True)["results"]
    assert results[0]["content"] == "Nadia has gone low-salt."
    behind = [result["explain"] for result in results if "behind" in result["explain"].get("succession", {})]
    assert all(explained["because"].endswith("behind what tells it") for explained in behind)
