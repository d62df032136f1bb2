"""Whose fact a memory is: what is compared with what, and who speaks."""

from typing import Any

import pytest

from tests.services import Api, Service, eventually, new_api, ok, problem

PAIRS = [
    ("My phone number is 555-0100.", "My phone number is 555-0200."),
    ("I live in Rome.", "I moved to Oslo."),
    ("My name is Ada.", "My name is Ben."),
    ("We live in Rome.", "We moved to Oslo."),
    ("Meine Telefonnummer ist 555-0100.", "Meine Telefonnummer ist 555-0200."),
]
OPPOSITES = [("love", "hate"), ("like", "dislike"), ("enjoy", "hate"), ("trust", "distrust")]


def texts(api: Api, **query: Any) -> list[str]:
    return sorted(memory["content"] for memory in ok(api.get("/memories", limit=1000, **query))["items"])


def retain(api: Api, text: str, **fields: Any) -> Any:
    return ok(api.post("/retain", {"content": text, "decide": "rules", **fields}))


def remember(api: Api, *messages: Any, **fields: Any) -> Any:
    return ok(api.post("/remember", {"messages": list(messages), "decide": "rules", **fields}))


def said(text: str, name: str | None = None) -> dict[str, str]:
    return {"role": "user", "content": text} | ({"name": name} if name else {})


@pytest.mark.row("M11")
@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_statements_in_users_own_categories_end_nothing_of_others(api: Api, one: str, other: str) -> None:
    retain(api, one, category="users/ada")
    retain(api, other, category="users/ben")
    assert (texts(api, category="users/ada"), texts(api, category="users/ben")) == ([one], [other])


@pytest.mark.row("M11")
@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_statements_of_users_through_one_agent_end_nothing_of_others(api: Api, one: str, other: str) -> None:
    remember(api, said(one), user="ada")
    remember(api, said(other), user="ben")
    retain(api, other, user="cleo")
    assert texts(api) == sorted([one, other, other])
    assert texts(api, source="ada") == [one]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_a_users_later_statement_ends_an_earlier_one_of_the_same_user(api: Api, one: str, other: str) -> None:
    retain(api, one, user="Ada")
    retain(api, other, user="ada")
    assert texts(api) == [other]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_speakers_of_one_call_are_told_apart(api: Api, one: str, other: str) -> None:
    remember(api, said(one, "Bob"), said(other, "Ann"), session="group")
    assert {(m["content"], m["source"]) for m in ok(api.get("/memories"))["items"]} == {(one, "Bob"), (other, "Ann")}


@pytest.mark.parametrize("fact", ["The deploy window is {}.", "The release is on {}.", "Der Port ist {}."])
def test_the_same_sentence_about_two_projects_is_two_facts(api: Api, fact: str) -> None:
    one, other = fact.format("9:00"), fact.format("14:00")
    retain(api, one, category="projects/falcon")
    retain(api, other, category="projects/heron")
    assert texts(api, category="projects/falcon") == [one]


def test_a_fact_ends_one_of_a_category_that_it_stands_in(api: Api) -> None:
    retain(api, "The deploy window is 9:00.", category="projects")
    retain(api, "The deploy window is 14:00.", category="projects/heron")
    assert texts(api) == ["The deploy window is 14:00."]


@pytest.mark.row("M11")
def test_two_agents_without_users_are_two_parties(service: Service, guarded: Service) -> None:
    with new_api(service) as operator:
        keys = [ok(operator.post("/keys", {"role": "writer", "name": name}), 201)["key"] for name in ("one", "two")]
        for key, employer in zip(keys, ("Acme", "Globex"), strict=True):
            with guarded.client(**{"Authorization": f"Bearer {key}", "X-Namespace": operator.namespace}) as client:
                remember(Api(client, operator.namespace, guarded), said(f"I work at {employer}."))
        assert texts(operator) == ["I work at Acme.", "I work at Globex."]


@pytest.mark.row("M11")
def test_a_key_that_is_bound_to_a_user_speaks_for_no_other(service: Service, guarded: Service) -> None:
    with new_api(service) as operator:
        made = ok(operator.post("/keys", {"role": "writer", "user": "ada"}), 201)
        assert made["user"] == "ada"
        with guarded.client(**{"Authorization": f"Bearer {made['key']}", "X-Namespace": operator.namespace}) as client:
            api = Api(client, operator.namespace, guarded)
            assert ok(api.get("/agents/me"))["user"] == "ada"
            retain(api, "I live in Rome.")
            retain(api, "I like pears.", user="Ada")
            assert api.write("I like plums.")["source"] == "ada"
            for path, body in (
                ("/retain", {"content": "I live in Oslo.", "user": "ben"}),
                ("/remember", {"messages": [said("I live in Oslo.")], "user": "ben"}),
                ("/recall", {"query": "Where do I live?", "user": "ben"}),
                ("/context", {"message": "Where do I live?", "user": "ben"}),
            ):
                problem(api.post(path, body), 403, "forbidden")
        assert {memory["source"] for memory in ok(operator.get("/memories"))["items"]} == {"ada"}


@pytest.mark.row("M11")
@pytest.mark.parametrize("text", ["I like pears.", "Alice is my boss.", "Ich mag Birnen."])
def test_the_same_words_of_another_in_the_first_person_are_another_memory(api: Api, text: str) -> None:
    retain(api, text, source="ann")
    retain(api, text, source="bob")
    assert not api.write(text, source="cleo")["duplicate"]
    assert [texts(api, source=name) for name in ("ann", "bob", "cleo")] == [[text]] * 3
    assert api.write(text, source="Ann")["duplicate"]


def test_the_same_words_of_another_about_somebody_else_are_one_memory(api: Api) -> None:
    api.write("Alice leads RockBot.", source="ann")
    assert api.write("Alice leads RockBot.", source="bob")["duplicate"]


def test_the_same_words_in_another_category_are_another_memory(api: Api) -> None:
    api.write("Likes tea.", category="users/ada")
    assert not api.write("Likes tea.", category="users/ben")["duplicate"]
    assert api.write("Likes tea.", category="users/ben")["duplicate"]
    assert api.write("Likes tea.")["duplicate"]  # no category is stated


def test_the_same_words_about_another_are_another_memory(api: Api) -> None:
    first = api.write("Lives in Braga", about="Rosa")
    assert not api.write("Lives in Braga", about="Emil")["duplicate"]
    assert api.write("Lives in Braga", about="rosa")["id"] == first["id"]


def test_a_category_that_would_make_two_memories_one_is_refused(api: Api) -> None:
    api.write("Likes tea.", category="users/ada")
    other = api.write("Likes tea.", category="users/ben")
    problem(api.client.patch(f"/memories/{other['id']}", json={"category": "users/ada"}), 409, "conflict")


@pytest.mark.parametrize(("one", "other"), OPPOSITES)
def test_a_first_person_statement_ends_its_opposite(api: Api, one: str, other: str) -> None:
    for who in ("I {}", "Priya {}s"):
        retain(api, f"{who.format(one)} the new tool.", source="ann")
        retain(api, f"{who.format(other)} the new tool.", source="ann")
    assert texts(api) == [f"I {other} the new tool.", f"Priya {other}s the new tool."]


@pytest.mark.row("M11")
def test_the_subject_is_stated_or_what_the_text_begins_with_or_who_says_it(api: Api) -> None:
    api.post("/entities", {"name": "Rosa", "type": "person", "aliases": ["Rosie"]})
    rosa = ok(api.get("/entities/Rosa"))["id"]
    stated = api.write("Lives in Braga", about=rosa)
    named = api.write("Rosie cannot eat nuts.")
    told = api.write("I cook on Sundays.", source="Emil")
    called = api.write("Rosa, come here.")
    nobody = api.write("It rains.")
    assert [m["about"] for m in (stated, named, told, called, nobody)] == ["Rosa", "Rosa", "Emil", None, None]
    assert texts(api, about="rosie") == ["Lives in Braga", "Rosie cannot eat nuts."]
    assert texts(api, about="Emil") == ["I cook on Sundays."]
    found = api.recall("Who?", filters={"about": "Rosie"})["results"]
    assert {row["content"] for row in found} == {"Lives in Braga", "Rosie cannot eat nuts."}


def test_a_subject_that_is_not_known_becomes_an_entity_that_the_memory_mentions(api: Api) -> None:
    written = api.write("Lives in Kiel", about="Emil")
    assert ok(api.get("/entities/Emil"))["mentions"] == 1
    assert texts(api, entity="Emil") == [written["content"]]


def test_a_subject_can_be_changed_and_taken_away(api: Api) -> None:
    written = api.write("Lives in Kiel", about="Emil")
    changed = ok(api.client.patch(f"/memories/{written['id']}", json={"about": "Rosa"}))
    assert changed["about"] == "Rosa"
    assert ok(api.client.patch(f"/memories/{written['id']}", json={"about": None}))["about"] is None


def test_a_subject_by_an_id_that_does_not_exist_is_not_found(api: Api) -> None:
    problem(api.post("/memories", {"content": "x", "about": "00000000-0000-4000-8000-000000000000"}), 404, "not-found")


def test_retained_facts_about_one_are_versions_whoever_tells_them(api: Api) -> None:
    api.post("/entities", {"name": "Rosa", "type": "person", "aliases": ["Rosie"]})
    retain(api, "Lives in Braga.", about="Rosa", source="ann")
    eventually(api.embedded)
    retain(api, "Rosie lives in Kiel.", source="bob")
    retain(api, "Lives in Porto.", about="Emil", source="ann")
    assert texts(api) == ["Lives in Porto.", "Rosie lives in Kiel."]
