"""What a model answers is the type that was asked for, or nothing of it is used."""

import json
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID, uuid4

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import Field, field_validator

from service.llm.answer_parsing import Answer, read_answer
from service.llm.model import Completion, InvalidAnswer
from service.llm.schemas import NOUGHT_IS_NONE, gist_of, mark_bounded_list, mark_shown_number, schema_of, without_limits
from tests.llm.strict_schema import schema_refusal


class Kind(StrEnum):
    PERSON = "person"
    PLACE = "place"


class Item(Answer):
    id: UUID
    name: str = Field(min_length=1, max_length=20, description="What it is called")
    kind: Kind = Kind.PERSON
    confidence: float = Field(default=0.5, ge=0, le=1)
    at: datetime | None = None


class Merge(Answer):
    action: Literal["merge"]
    ids: list[UUID] = Field(max_length=5)


class Drop(Answer):
    action: Literal["drop"]
    id: int


class Everything(Answer):
    """What was found."""

    items: list[Item]
    steps: list[Annotated[Merge | Drop, Field(discriminator="action")]] = Field(default=[])
    first: Item | None = None
    note: Annotated[str, Field(pattern="^[a-z]*$")] = ""
    sure: bool = True
    number: int = 0


class Small(Answer):
    value: int
    words: list[str]

    @field_validator("words")
    @classmethod
    def _few(cls, value: list[str]) -> list[str]:
        if len(value) > 3:
            raise ValueError(f"too many: {value}")
        return value


def read(text: str, kind: type[Answer] = Small) -> Any:
    return read_answer(Completion(text, 1, 1, 1), kind)


def refused(text: str, kind: type[Answer] = Small) -> str:
    with pytest.raises(InvalidAnswer) as raised:
        read(text, kind)
    assert raised.value.completion is not None
    return str(raised.value)


# Schemas


def test_schemas_are_those_that_strict_endpoints_take() -> None:
    assert schema_refusal(schema_of(Everything)) is None


def test_a_schema_of_pydantic_alone_would_be_refused() -> None:
    assert schema_refusal(Everything.model_json_schema()) is not None


def test_every_field_is_required_limits_stay_and_formats_are_said_in_words() -> None:
    item = schema_of(Everything)["properties"]["items"]["items"]
    assert item["required"] == ["id", "name", "kind", "confidence", "at"]
    assert item["additionalProperties"] is False
    assert item["properties"]["name"] == {"type": "string", "description": "What it is called", "maxLength": 20, "minLength": 1}
    assert item["properties"]["confidence"] == {"type": "number", "minimum": 0, "maximum": 1}
    assert item["properties"]["id"] == {"type": "string", "description": "format: uuid"}
    assert item["properties"]["kind"] == {"type": "string", "enum": ["person", "place"]}


def test_an_endpoint_that_refuses_limits_is_told_them_in_words() -> None:
    plain = without_limits(schema_of(Everything))
    assert schema_refusal(schema_of(Everything), limits=False) is not None
    assert schema_refusal(plain, limits=False) is None
    name = plain["properties"]["items"]["items"]["properties"]["name"]
    assert name == {"type": "string", "description": "What it is called (maxLength: 20, minLength: 1)"}


class Chosen(Answer):
    ids: list[Annotated[int, mark_shown_number("memories")]]
    existing: Annotated[Annotated[int, mark_shown_number("known")] | None, NOUGHT_IS_NONE] = None
    verdicts: list[Small] = mark_bounded_list("memories", 2)


def test_a_number_is_one_of_those_that_were_shown() -> None:
    fields = schema_of(Chosen, {"memories": {3, 1, 2}, "known": [7]})["properties"]
    assert fields["ids"] == {"type": "array", "items": {"type": "integer", "enum": [1, 2, 3]}, "maxItems": 3}
    assert fields["existing"] == {"anyOf": [{"type": "integer", "enum": [7]}, {"type": "null"}]}
    assert fields["verdicts"]["maxItems"] == 6


def test_a_long_list_of_numbers_is_stated_by_its_ends() -> None:
    items = schema_of(Chosen, {"memories": range(1, 1001), "known": ()})["properties"]["ids"]["items"]
    assert items == {"type": "integer", "minimum": 1, "maximum": 1000}


def test_an_empty_list_lets_no_number_be_named() -> None:
    fields = schema_of(Chosen, {"memories": (), "known": ()})["properties"]
    assert fields["ids"]["maxItems"] == fields["verdicts"]["maxItems"] == 0
    assert fields["existing"] == {"anyOf": [{"type": "null"}]}


@pytest.mark.parametrize(("said", "meant"), [("0", None), ('"0"', None), ("null", None), ("7", 7)])
def test_nought_names_nothing(said: str, meant: int | None) -> None:
    assert read(f'{{"ids": [], "existing": {said}, "verdicts": []}}', Chosen).existing == meant


def test_the_gist_of_a_schema_says_its_fields_and_how_many_there_may_be() -> None:
    assert gist_of(schema_of(Chosen, {"memories": [1, 2], "known": [1]})) == (
        '{"ids": [1…2, up to 2], "existing": 1 | null, "verdicts": [{"value": number, "words": [text, …]}, up to 4]}'
    )


class Tree(Answer):
    children: list["Tree"]


class Map(Answer):
    scores: dict[str, float]


class Loose(Answer):
    anything: Any


class Pair(Answer):
    pair: tuple[int, str]


@pytest.mark.parametrize("kind", [Tree, Map, Loose, Pair])
def test_a_type_that_no_strict_schema_can_state_is_an_error_of_ours(kind: type[Answer]) -> None:
    with pytest.raises(TypeError):
        schema_of(kind)


# Reading

GOOD = '{"value": 1, "words": ["a", "b"]}'


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"  {GOOD}\n",
        f"```json\n{GOOD}\n```",
        f"Here you are:\n```\n{GOOD}\n```\nCall {{me}} if {{}} is not enough.",
        f"As a set {{x | x > 0}} this is: {GOOD}",
        f'<think>Perhaps {{"value": 2, "words": []}}? No.</think>{GOOD}',
        f'I wonder {{"value": 2</think>{GOOD}',
        f'<thinking>{{"value": 2, "words": []}}</thinking>\n\n{GOOD}',
        f"<|channel|>analysis<|message|>Is it {{}}?<|channel|>final<|message|>{GOOD}",
        f"{GOOD} Again: {GOOD}",
        f"[{GOOD}]",
        '{"value": "1", "words": [" a ", "b"]}',
    ],
)
def test_an_answer_is_found_in_surrounding_prose(text: str) -> None:
    assert read(text) == Small(value=1, words=["a", "b"])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no JSON object"),
        ("I would rather not.", "no JSON object"),
        ("[1, 2]", "no JSON object"),
        ("{}", "value is missing; words is missing"),
        ('{"value": 1, "words": ["a"], "canary": 1}', "it has fields that were not asked for"),
        ('{"value": "canary", "words": []}', "value should be a valid integer"),
        ('{"value": 1, "words": "canary"}', "words should be a valid array"),
        ('{"value": 1, "words": ["canary", 2]}', "words.1 should be a valid string"),
        ('{"value": 1, "words": ["canary", "b", "c", "d"]}', "words does not keep to its rules"),
        ('{"value": 1.5, "words": []}', "value should be a valid integer"),
        ('{"value": NaN, "words": []}', "broken"),
        ('{"value": 1e999, "words": []}', "broken"),
        ('{"value": 1, "value": 2, "words": []}', "broken"),
        ('{"value": 1, "words": ["can', "broken"),
        ('So: {"value": 1, "words": [{"value": 2, "words": []}', "broken"),
        ('{"value": 1, "words": []} or {"value": 2, "words": []}', "2 different objects"),
        ('{"value": 1, "words": ["can\\u0000ary"]}', "no text"),
        ('{"value": 1, "words": ["\\ud800"]}', "no text"),
        ('{"value": 1, "words": [' + "[" * 40 + "]" * 40 + "]}", "nested deeper"),
        ('{"value": ' + "[" * 200_000, "broken"),
        ('{"value": 1' + "0" * 5000 + ', "words": []}', "broken"),
        ("x" * 2_000_001, "longer than"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_anything_else_is_invalid_and_the_reason_quotes_nothing(text: str, why: str) -> None:
    said = refused(text)
    assert why in said
    assert "canary" not in said


def test_the_same_mistake_is_told_once() -> None:
    said = refused('{"value": 1, "words": [], "one": 1, "two": 2, "three": 3}')
    assert said == "the answer is not what was asked for: it has fields that were not asked for"


def test_a_wrong_value_of_an_id_is_not_repeated() -> None:
    said = refused(json.dumps({"items": [{"id": "canary", "name": "n"}]}), Everything)
    assert said == "the answer is not what was asked for: items.0.id should be a valid uuid"


def test_three_of_many_errors_are_named() -> None:
    said = refused(json.dumps({"items": [{}] * 9}), Everything)
    assert said.endswith("and 15 more")


def test_a_number_that_is_none_does_not_get_in_by_a_default() -> None:
    text = json.dumps({"items": [{"id": str(uuid4()), "name": "n", "confidence": 2}]})
    assert "items.0.confidence should be less than or equal to 1" in refused(text, Everything)


# Laws

ANSWERS = st.builds(Small, value=st.integers(-(10**12), 10**12), words=st.lists(st.text(max_size=20), max_size=3))
PROSE = st.text(max_size=200)


@given(answer=ANSWERS, before=PROSE, after=PROSE)
def test_an_answer_is_read_back_whatever_prose_is_around_it(answer: Small, before: str, after: str) -> None:
    assume("</think>" not in before + after)
    begins = [place for text in (before, after) for place in range(len(text)) if text[place] == "{"]
    assume(not any(text[n + 1 :].lstrip()[:1] == '"' for text in (before, after) for n in range(len(text)) if text[n] == "{"))
    assume(len(begins) < 100)
    assume(not any("\ud800" <= character <= "\udfff" or character == "\0" for word in answer.words for character in word))
    stated = Small.model_validate(answer.model_dump())
    assert read(before + answer.model_dump_json() + after) == stated


@given(text=st.text(max_size=500) | st.text(alphabet='{}[]":,0123456789.e- \\valuewords', max_size=200))
def test_no_text_raises_anything_else(text: str) -> None:
    with suppress(InvalidAnswer):
        assert isinstance(read(text), Small)


@given(
    text=st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda c: st.lists(c) | st.dictionaries(st.text(), c))
)
def test_no_json_raises_anything_else(text: Any) -> None:
    with suppress(InvalidAnswer):
        assert isinstance(read(json.dumps(text)), Small)
