"""A question finds what is about whom it names, and what the one who asks said of himself."""

from typing import Any

import pytest

from service.recall.score_plan import ABOUT_PART, NAMING_ARMS
from tests.services import Api, eventually

BESIDE = [
    "The kitchen was painted in May.",
    "Invoices go out on Fridays.",
    "The van is red.",
    "Omar drives to work.",
    "Bruno lives in Oslo.",
    "Petra works at Ilex Labs.",
    "Ines lives in Bergen.",
]


def told(api: Api, *texts: str, **fields: Any) -> None:
    api.write_all(*({"content": text, **fields} for text in (*BESIDE, *texts)))
    eventually(api.embedded)


def first(api: Api, question: str, **fields: Any) -> str:
    return str(api.recall(question, **fields)["results"][0]["content"])


@pytest.mark.row("R16")
@pytest.mark.parametrize(
    ("fact", "turn", "question"),
    [
        ("Alice lives in Porto", "I can review the schema on Thursday, after my cello rehearsal.", "Where does Alice live?"),
        ("Alice is the lead of RockBot", "We did that last spring. Build the index after the load.", "Who is Alice?"),
        ("Alice is the lead of RockBot", "I was late again, start without me.", "What is Alice at RockBot?"),
        ("Tamara wohnt in Kiel", "Ich komme am Donnerstag, nach der Probe.", "Wo wohnt Tamara?"),
    ],
)
def test_statements_about_a_person_come_before_statements_by_her(api: Api, fact: str, turn: str, question: str) -> None:
    api.write(turn, source=fact.split(maxsplit=1)[0], session_id="s")
    told(api, fact)
    answer = api.recall(question, explain=True)["results"]
    assert (answer[0]["content"], answer[0]["explain"]["standing"]) == (fact, "about")
    assert answer[0]["relevance"] > 0.8


@pytest.mark.row("R16")
def test_words_of_a_speaker_count_where_a_question_asks_for_them(api: Api) -> None:
    api.write("The index must be built after the load.", source="Alice", session_id="s")
    told(api, "The index of RockBot is small.", "Alice likes tea.")
    assert first(api, "What did Alice say about the index?") == "The index must be built after the load."


@pytest.mark.row("R16")
@pytest.mark.parametrize(("one", "other"), [("Andrea", "Andreas"), ("Luca", "Lucas"), ("Nicola", "Nicolas"), ("Simon", "Simone")])
def test_a_name_is_equal_or_not_whatever_its_stem_is(api: Api, one: str, other: str) -> None:
    told(api, f"{one} lives in Brno.", f"{other} lives in Ghent.")
    assert first(api, f"Where does {one} live?") == f"{one} lives in Brno."
    assert first(api, f"Where does {other} live?") == f"{other} lives in Ghent."


def test_a_namesake_is_no_answer(api: Api) -> None:
    told(api, "Andreas lives in Ghent.")
    assert api.recall("Where does Andrea live?")["relevance"] < 0.4


@pytest.mark.row("R16")
@pytest.mark.parametrize("question", ["What is my name?", "What is my job?", "Suggest a dinner for me", "Where do I live?"])
def test_first_person_statements_answer_questions_about_oneself(api: Api, question: str) -> None:
    api.post(
        "/remember",
        {"messages": [{"role": "user", "content": "Hi, I am Marta, I live in Oslo and I work as a nurse."}], "user": "m1"},
    )
    told(api)
    results = api.recall(question, user="m1", explain=True)["results"]
    assert "Marta" in results[0]["content"]
    assert results[0]["explain"]["standing"] == "own"
    assert results[0]["relevance"] >= 0.5


@pytest.mark.row("R16")
def test_a_question_in_the_first_person_is_about_the_one_who_asks(api: Api) -> None:
    for user, city in (("ada", "Rome"), ("ben", "Oslo"), ("cleo", "Kiel")):
        api.post("/retain", {"content": f"I live in {city}.", "user": user})
    told(api)
    assert [first(api, "Where do I live?", user=user) for user in ("ada", "ben", "cleo")] == [
        f"I live in {city}." for city in ("Rome", "Oslo", "Kiel")
    ]


def test_first_person_statements_of_others_do_not_answer_about_oneself(api: Api) -> None:
    for user in ("ada", "cleo"):
        api.post("/retain", {"content": f"I live in the house of {user}.", "user": user})
    eventually(api.embedded)
    assert api.recall("Where do I live?", user="ada")["relevance"] > 0.5
    assert api.recall("Where do I live?", user="ben")["relevance"] < 0.3


def test_the_latest_statement_of_a_party_displaces_none_of_another(api: Api) -> None:
    for user in ("ada", "bo"):
        api.post("/retain", {"content": f"I drink tea{' with milk' if user == 'bo' else ''}.", "user": user})
    told(api)
    assert first(api, "What do I drink?", user="ada") == "I drink tea."


@pytest.mark.row("R16")
@pytest.mark.parametrize(
    ("one", "other", "question"),
    [
        ("Ann manages Bob.", "Bob manages Ann.", "Who manages Bob?"),
        ("Carla trains Dora.", "Dora trains Carla.", "Who trains Dora?"),
        ("Lena leitet Marek.", "Marek leitet Lena.", "Wer leitet Marek?"),
    ],
)
def test_subject_and_object_of_a_verb_are_told_apart(api: Api, one: str, other: str, question: str) -> None:
    told(api, one, other)
    assert first(api, question) == one


def test_an_observation_is_found_by_whom_it_is_about(api: Api) -> None:
    for name, city in (("Rosa", "Braga"), ("Emil", "Kiel")):
        api.write(f"Lives in {city}", about=name)
        api.write("Allergic to nuts" if name == "Rosa" else "Vegetarian", about=name)
    told(api)
    (best, *_) = api.recall("Where does Emil live?")["results"]
    assert (best["content"], best["about"]) == ("Lives in Kiel", "Emil")
    assert best["relevance"] > 0.8


@pytest.mark.parametrize(
    "question",
    ["Who directed My Three Merry Widows?", "Which nationality has the singer of Am I Wrong?", 'Who wrote "I never cry"?'],
)
def test_a_title_does_not_make_a_question_one_about_the_one_who_asks(api: Api, question: str) -> None:
    api.post("/retain", {"content": "I live in Oslo and wrote a letter.", "user": "ada"})
    told(api)
    results = api.recall(question, user="ada", explain=True)["results"]
    assert "own" not in {each["explain"]["standing"] for each in results}


def test_an_assistants_answer_belongs_to_the_speaker_who_asks(api: Api) -> None:
    api.write("I need a plan for my garden.", source="user", session_id="s")
    api.write("I suggest you begin the garden with two beds of beans.", source="assistant", session_id="s")
    told(api)
    found = {each["content"]: each["explain"] for each in api.recall("How do I begin my garden?", explain=True)["results"]}
    own, answer = found["I need a plan for my garden."], found["I suggest you begin the garden with two beds of beans."]
    assert own["standing"] == "own"
    assert answer["standing"] is None
    assert answer["factor"] == own["factor"] / 2  # the weight of an assistant, and nothing else


def test_one_speaker_in_two_spellings_is_one(api: Api) -> None:
    api.write("I moved to the mill.", source="Yusra", session_id="s")
    api.write("I work at night.", source="yusra", session_id="s")
    told(api)
    results = api.recall("When does Yusra work?", explain=True)["results"]
    factors = {each["content"]: each["explain"]["factor"] for each in results if each["explain"]["standing"] == "told"}
    assert factors == {"I moved to the mill.": 2.0, "I work at night.": 2.0}


def test_a_memory_about_the_one_who_is_named_counts_so_whether_the_arms_for_names_found_it_or_not(api: Api) -> None:
    api.write("Sits on the fourth floor", about="Kofi")
    told(api, "Kofi came from the railway.")
    results = api.recall("Where does Kofi come from?", explain=True)["results"]
    about = [each["explain"] for each in results if each["explain"]["standing"] == "about"]
    assert len(about) == 2
    for each in about:
        found = sum(arm["part"] or 0 for name, arm in each["arms"].items() if name in NAMING_ARMS)
        assert found >= ABOUT_PART or f"whose it is {ABOUT_PART - found:.3g}" in each["because"]


def test_an_agents_first_person_statement_is_foreign_to_a_user(api: Api) -> None:
    told(api, "I live in Oslo.")
    results = api.recall("Where do I live?", user="ada", explain=True)["results"]
    assert {each["content"]: each["explain"]["standing"] for each in results}["I live in Oslo."] == "foreign"
