"""Composed and decomposed letters are the same ones, wherever texts are compared."""

import unicodedata
from typing import Any

import pytest

from tests.services import Api, ok


def apart(text: str) -> str:
    """A text with its accents as characters of their own, as macOS writes it."""
    return unicodedata.normalize("NFD", text)


def contents(api: Api, **filters: Any) -> list[str]:
    """What a list of memories holds."""
    return [row["content"] for row in ok(api.client.get("/memories", params=filters))["items"]]


@pytest.mark.parametrize(
    ("field", "value", "parameter", "asked"),
    [
        ("tags", ["größe"], "tag", "größe"),
        ("category", "räume/halle", "category", "räume"),
        ("source", "Zoë", "source", "Zoë"),
        ("session_id", "réunion", "session_id", "réunion"),
        ("lineage", "notiz/café", "lineage", "notiz/café"),
    ],
)
@pytest.mark.parametrize("written_apart", [True, False])
def test_a_filter_finds_what_was_written_in_the_other_form(
    api: Api, field: str, value: Any, parameter: str, asked: str, *, written_apart: bool
) -> None:
    other = apart(value) if isinstance(value, str) else list(map(apart, value))
    api.write("The hall measures ten metres.", **{field: other if written_apart else value})
    assert contents(api, **{parameter: asked if written_apart else apart(asked)}) == ["The hall measures ten metres."]


def test_versions_in_either_form_are_of_one_lineage(api: Api) -> None:
    api.write("Note one about lamps.", lineage="notiz/café")
    assert api.write("Note two about lamps.", lineage=apart("notiz/café"))["version"] == 2
    assert contents(api) == ["Note two about lamps."]


def test_a_duplicate_in_the_other_form_is_one(api: Api) -> None:
    api.write("Käse ist gut.")
    assert api.write(apart("Käse ist gut."))["duplicate"]
    retained = ok(api.post("/retain", {"content": apart("Käse ist gut."), "decide": "rules"}))
    assert [row["action"] for row in retained["decisions"]] == ["nothing"]


def test_names_aspects_and_keys_in_the_other_form_are_the_same(api: Api) -> None:
    made = ok(api.post("/entities", {"name": "Zoë Müller"}), 201)
    assert ok(api.post("/entities", {"name": apart("Zoë Müller")}), 201)["id"] == made["id"]
    ok(api.client.put("/working-memory/notiz/café/größe", json={"value": 1}))
    assert ok(api.client.get(f"/working-memory/notiz/café/{apart('größe')}"))["value"] == 1


def test_a_question_in_the_other_form_finds_it(api: Api) -> None:
    api.write("Das Frühstück gibt es im Café Größenwahn.")
    found = ok(api.post("/recall", {"query": apart("Größenwahn"), "arms": ["lexical"]}))["results"]
    assert [row["content"] for row in found] == ["Das Frühstück gibt es im Café Größenwahn."]


def test_metadata_stay_as_they_are(api: Api) -> None:
    written = api.write("Mit Anhang.", metadata={"datei": apart("größe")})
    assert written["metadata"] == {"datei": apart("größe")}


@pytest.mark.parametrize(
    "kinds", [("reports_to", "reportsTo", "Reports To", "ReportsTo", "REPORTS_TO"), ("has_id", "hasID", "has-id")]
)
def test_however_the_words_of_an_edge_type_are_joined_it_is_one(api: Api, kinds: tuple[str, ...]) -> None:
    for kind in kinds:
        ok(api.post("/edges", {"source": "Ali", "type": kind, "target": "Bea"}), 201)
    assert {row["type"] for row in ok(api.get("/edges"))["items"]} == {kinds[0]}
    assert [row["type"] for row in ok(api.post("/graph/traverse", {"start": ["Ali"], "edge_types": [kinds[1]]}))["edges"]] == [
        kinds[0]
    ]


@pytest.mark.parametrize("kind", ["software_project", "SoftwareProject", "softwareProject", "Software Project"])
def test_however_the_words_of_an_entity_type_are_joined_it_is_one(api: Api, kind: str) -> None:
    assert ok(api.post("/entities", {"name": "Heron", "type": kind}), 201)["type"] == "software_project"
