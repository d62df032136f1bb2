"""Recall in other languages than English, and in a namespace of several."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from tests.services import Api, Service, eventually, ok

GERMAN = (
    "Katharina Lindner leitet die Buchhaltung in Osnabrück.",
    "Die Schlüssel zum Serverraum hängen im Büro hinter der Tür.",
    "Die Kündigungsfrist beträgt drei Monate.",
    "Der Hund hat Angst vor Gewittern.",
    "Im Garten haben Schnecken den Salat gefressen.",
    "Der Tierarzt in der Mühlenstraße hat auch samstags geöffnet.",
)
WIDE = "".join(chr(ord(letter) + 0xFEE0) for letter in "PostgreSQL")  # full-width letters
JAPANESE = (
    "田中さんは大阪支店で働いている。",
    "大阪支店の会議室は三階にある。",
    "犬の名前はコタローで、雷が苦手だ。",
    "タイヤは山本自動車に預けてある。",
    "サーバー室の鍵は中村さんの引き出しに入っている。",
    f"データベースに{WIDE}を使うことに決めた。",
)
ENGLISH = (
    "Nora is allergic to peanuts and carries an injector.",
    "We deploy with Terraform and keep the state in a bucket in Dublin.",
    "The cat is called Miso and hates the vacuum cleaner.",
)
IN_GERMAN = [
    ("Wo hängt der Schlüssel für den Serverraum?", GERMAN[1]),
    ("Wie lang sind Kündigungsfristen?", GERMAN[2]),
    ("Wovor hat der Hund bei einem Gewitter Angst?", GERMAN[3]),
    ("Was machte die Schnecke im Garten?", GERMAN[4]),
    ("Wer leitete die Buchhaltungen?", GERMAN[0]),
    ("MÜHLENSTRASSE", GERMAN[5]),
]
IN_JAPANESE = [
    ("田中さんの職場はどこ", JAPANESE[0]),
    ("会議室は何階ですか", JAPANESE[1]),
    ("犬", JAPANESE[2]),
    ("タイヤはどこに預けましたか", JAPANESE[3]),
    ("サーバーの鍵", JAPANESE[4]),
    ("PostgreSQLを使いますか", JAPANESE[5]),
]
IN_ENGLISH = [("What is Nora allergic to?", ENGLISH[0]), ("where is the Terraform state", ENGLISH[1]), ("Miso hates", ENGLISH[2])]


def holding(service: Service, language: str, contents: tuple[str, ...]) -> Iterator[Api]:
    """A namespace in a language, with memories."""
    name = f"api-{uuid4().hex[:12]}"
    with service.client(**{"X-Namespace": name}) as client:
        ok(client.post("/namespaces", json={"name": name, "language": language}), 201)
        api = Api(client, name, service)
        api.write_all(*({"content": content} for content in contents))
        eventually(lambda: ok(api.get(f"/namespaces/{name}"))["pending_embeddings"] == 0)
        yield api


@pytest.fixture(scope="module")
def german(service: Service) -> Iterator[Api]:
    yield from holding(service, "german", GERMAN)


@pytest.fixture(scope="module")
def japanese(service: Service) -> Iterator[Api]:
    yield from holding(service, "simple", JAPANESE)


@pytest.fixture(scope="module")
def mixed(service: Service) -> Iterator[Api]:
    yield from holding(service, "simple", GERMAN + JAPANESE + ENGLISH)


@pytest.mark.row("R6")
@pytest.mark.parametrize(("question", "answer"), IN_GERMAN)
def test_a_german_question_finds_its_answer_first(german: Api, question: str, answer: str) -> None:
    assert german.found(question)[0] == answer


@pytest.mark.row("R6")
@pytest.mark.parametrize(("question", "answer"), IN_JAPANESE)
def test_a_japanese_question_finds_its_answer_first(japanese: Api, question: str, answer: str) -> None:
    assert japanese.found(question)[0] == answer


@pytest.mark.parametrize(("question", "answer"), [*IN_GERMAN[:4], *IN_JAPANESE, *IN_ENGLISH])
def test_a_namespace_of_three_languages_answers_in_each(mixed: Api, question: str, answer: str) -> None:
    assert answer in mixed.found(question)[:5]


def test_a_question_in_one_language_does_not_bring_the_others(mixed: Api) -> None:
    assert set(mixed.found("会議室は何階ですか", arms=["lexical"])) <= set(JAPANESE)


def test_a_known_entity_is_found_in_a_text_without_spaces(japanese: Api) -> None:
    ok(japanese.post("/entities", {"name": "山本自動車", "type": "organization"}), 201)
    entities = ok(japanese.post("/entities/match", {"text": "山本自動車にはいつ行きますか"}))
    assert [entity["name"] for entity in entities["entities"]] == ["山本自動車"]
