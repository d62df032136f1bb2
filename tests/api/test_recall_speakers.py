"""A question names a speaker by another spelling, an alias or "you"; and a model of whole texts is not shown the name."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.test_models_embeddings import Endpoint, asking, listening
from tests.databases import Database
from tests.services import Api, Service, eventually, new_api, ok

TALK = (("Muhhamed", "I go swimming on Mondays."), ("Melanie", "I go climbing on Mondays."))


@pytest.fixture(scope="module")
def dense(own_database: Database) -> Iterator[tuple[Service, Endpoint]]:
    """A service whose model embeds whole texts."""
    with listening() as endpoint, asking(own_database, endpoint) as service:
        yield service, endpoint


@pytest.fixture
def heard(dense: tuple[Service, Endpoint]) -> Iterator[tuple[Api, Endpoint]]:
    """A namespace in which two speak, and the endpoint, which was asked nothing yet."""
    service, endpoint = dense
    with new_api(service) as api:
        tell(api)
        eventually(lambda: ok(api.get(f"/namespaces/{api.namespace}"))["pending_embeddings"] == 0)
        endpoint.asked = []
        yield api, endpoint


def tell(api: Api, *more: tuple[str, str]) -> None:
    api.write_all(*({"content": content, "source": source, "session_id": "s"} for source, content in (*TALK, *more)))


def said_by(api: Api, question: str, **fields: Any) -> dict[str, float]:
    """What each hit of a recall counts, by who said it."""
    return {hit["source"]: hit["explain"].get("factor", 1.0) for hit in api.recall(question, explain=True, **fields)["results"]}


@pytest.mark.parametrize(
    ("question", "embedded"),
    [
        ("What does Melanie do on Mondays?", "What does do on Mondays?"),
        ("Are Melanie's Mondays free?", "Are Mondays free?"),
        ("What do MELANIE and Muhhamed do?", "What do and do?"),
        ("When does Mel go?", "When does go?"),
        ("What does Muhammad do?", "What does do?"),
        ("What does Oslo offer?", "What does Oslo offer?"),
        ("Melanie?", "Melanie?"),
    ],
    ids=["name", "genitive", "two", "short form", "another spelling", "no speaker", "nothing else"],
)
def test_names_of_speakers_are_left_out_of_the_question_that_is_embedded(
    heard: tuple[Api, Endpoint], question: str, embedded: str
) -> None:
    api, endpoint = heard
    api.recall(question)
    assert [texts for texts in endpoint.asked if texts[0] in {question, embedded}] == [[embedded]]  # beside what the worker embeds


def test_an_alias_of_a_speaker_is_left_out_too(heard: tuple[Api, Endpoint]) -> None:
    api, endpoint = heard
    ok(api.post("/entities", {"name": "Melanie", "type": "person", "aliases": ["Doctor Frost"]}), 201)
    endpoint.asked = []
    api.recall("What does Doctor Frost do on Mondays?")
    assert ["What does do on Mondays?"] in endpoint.asked


def test_names_of_those_who_do_not_speak_stay_in_what_is_embedded(heard: tuple[Api, Endpoint]) -> None:
    api, endpoint = heard
    ok(api.post("/entities", {"name": "Ada Lovelace", "type": "person"}), 201)
    endpoint.asked = []
    api.recall("What did Ada Lovelace tell Melanie?")
    assert ["What did Ada Lovelace tell ?"] in endpoint.asked


@pytest.mark.parametrize("spelling", ["Muhammad", "Muhamed", "Muhammed"])
def test_another_spelling_of_a_speaker_counts_as_the_name(api: Api, spelling: str) -> None:
    tell(api)
    found = said_by(api, f"What does {spelling} do on Mondays?")
    assert (found["Muhhamed"] > 1, found["Melanie"]) == (True, 1.0)


def test_an_alias_of_a_speaker_counts_as_the_name(api: Api) -> None:
    tell(api)
    ok(api.post("/entities", {"name": "Melanie", "type": "person", "aliases": ["Kit"]}), 201)
    found = said_by(api, "What does Kit do on Mondays?")
    assert (found["Melanie"] > 1, found["Muhhamed"]) == (True, 1.0)


def test_a_name_that_others_here_have_is_nobodys_spelling(api: Api) -> None:
    tell(api, ("Melanie", "I met Muhammad at the pool."))
    assert said_by(api, "What does Muhammad do on Mondays?")["Muhhamed"] == 1.0


def test_a_spelling_that_two_speakers_are_like_is_neithers(api: Api) -> None:
    tell(api, ("Muhamet", "I go rowing on Mondays."))
    assert set(said_by(api, "What does Muhamed do on Mondays?").values()) == {1.0}


RECOMMENDED = (("user", "The best trail is steep, people say."), ("assistant", "The best trail is the one by the lake."))


@pytest.mark.parametrize(
    "question",
    ["Which trail did you recommend?", "Which trail was it that you recommended?", "What have you said of the best trail?",
     "Welchen trail hast du empfohlen?"],
)  # fmt: skip
def test_you_means_the_assistant_in_questions_about_its_deeds(api: Api, question: str) -> None:
    for source, content in RECOMMENDED:
        api.write(content, source=source, session_id="s")
    found = said_by(api, question)
    assert found["assistant"] > found["user"]
    assert api.recall(question)["results"][0]["source"] == "assistant"


@pytest.mark.parametrize("question", ["Can you tell which trail is best?", "Do you know the best trail?", "Which trail is best?"])
def test_you_is_nobody_where_something_is_asked_for(api: Api, question: str) -> None:
    for source, content in RECOMMENDED:
        api.write(content, source=source, session_id="s")
    assert said_by(api, question)["assistant"] < 1


def test_a_namespace_of_many_sources_is_asked_as_before(api: Api) -> None:
    items = [{"content": f"Page {number} is about tea.", "source": f"https://tea.example/{number}"} for number in range(150)]
    ok(api.post("/memories/batch", {"items": items, "atomic": True}))
    assert len(api.recall("Which Page does Tea name?")["results"]) == 10
