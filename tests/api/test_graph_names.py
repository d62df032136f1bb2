"""What counts as a name in a text, by the customs of its language."""

import pytest

from service.text.proper_nouns import find_names, list_name_phrases


@pytest.mark.row("R9")
@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("We met Alice in Berlin", ["Alice", "Berlin"]),
        ("Tomorrow is fine", []),
        ("The Great Wall of China is long", ["The Great Wall of China"]),
        ("I think I've seen Bob's dog", ["Bob"]),
        ("Leonard Cohen (singer)\nwas born in Montreal.", ["Leonard Cohen", "Montreal"]),
        ("Yesterday Maria Gonzalez presented the plan", ["Maria Gonzalez"]),
        ("On Monday Maria called from Rome", ["Maria", "Rome"]),
        ("Black Friday and Friday Harbor", ["Black Friday and Friday Harbor"]),
        ("In Berlin it rains", ["Berlin"]),
        ("Yesterday it rained", []),
        ("", []),
    ],
)
def test_english_capitals_are_names(text: str, names: list[str]) -> None:
    assert find_names(text) == names


def test_a_name_is_tried_from_every_word_but_the_last() -> None:
    tried = ["Presumably Professor Maria Gonzalez", "Professor Maria Gonzalez", "Maria Gonzalez", "Bank of England", "Bob"]
    assert list_name_phrases(["Presumably Professor Maria Gonzalez", "Bank of England", "Bob"]) == tried


def test_the_speaker_is_no_name_of_the_text() -> None:
    assert find_names("Hello, this is Ann; ask Bob", source="ann") == ["Bob"]


@pytest.mark.row("R9")
@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Der Hund frisst das Futter in der Küche.", []),
        ("Die Deutsche Bahn hat mir geschrieben.", ["Deutsche Bahn"]),
        ("Ich habe mit Frau Weber über die Rechnung gesprochen.", ["Frau Weber"]),
        ("Gestern Maria Gonzalez gesehen, am Montag Frau Weber.", ["Maria Gonzalez", "Frau Weber"]),
        ("Gestern habe ich etwas über Alexander von Humboldt gelesen.", ["Alexander von Humboldt"]),
        ("Wir nutzen PostgreSQL und ein iPhone bei der BMW.", ["PostgreSQL", "BMW"]),
        ("Die Katze der Nachbarin ist im Garten.", []),
    ],
)
def test_a_german_noun_is_no_name(text: str, names: list[str]) -> None:
    assert find_names(text) == names


def test_the_namespace_decides_the_language_where_words_do_not() -> None:
    assert find_names("früh Zahnarzt angerufen", language="german") == []
    assert find_names("früh Zahnarzt angerufen", language="english") == ["Zahnarzt"]


def test_an_english_text_in_a_german_namespace_has_english_names() -> None:
    assert find_names("The train to Hamburg is late", language="german") == ["Hamburg"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("昨日、田中さんに会った。", ["田中さん"]),
        ("スターバックスでPostgreSQLの話をした", ["スターバックス", "PostgreSQL"]),
        ("東京大学の近くに住む", ["東京大学"]),
        ("マイケル・ジャクソンの歌", ["マイケル・ジャクソン"]),
        ("今日はいい天気だ", []),
    ],
)
def test_japanese_names_are_what_another_script_or_a_form_of_address_marks(text: str, names: list[str]) -> None:
    assert find_names(text, language="simple") == names
