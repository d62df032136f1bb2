"""A model's answer as the type that was asked for, or not at all."""

import json
import math
import re
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from loci.models.fields import check_marks, compose_text
from service.json_parts import MOST_IN_A_PART
from service.llm.endpoint_replies import THOUGHT
from service.llm.model import Completion, InvalidAnswer

LONGEST_ANSWER_CHARACTERS = 500_000  # characters of an answer
DEEPEST_LEVELS = 32  # levels of its JSON
STARTS = 200  # braces in the prose around it that are tried
SHOWN, TOLD = 3, 100  # errors that a refusal names, and beyond which it only says how many they are
NAMED = {"int": "integer", "bool": "boolean", "float": "number"}
NO_TEXT = re.compile("[\x00\ud800-\udfff]")  # what the database cannot store


class Answer(BaseModel):
    """An answer of a model: every field stated, none beside them. Its parts are Answers too."""

    model_config = ConfigDict(extra="forbid", strict=False, str_strip_whitespace=True, allow_inf_nan=False)


A = TypeVar("A", bound=Answer)


def read_answer(completion: Completion, answer: type[A]) -> A:
    """The answer in a text, which may have prose or a fence around it. Raises InvalidAnswer, which says nothing of the text."""
    try:
        return _parse_answer(completion.text, answer)
    except ValueError as error:
        raise InvalidAnswer(str(error), completion) from None


def _parse_answer(text: str, answer: type[A]) -> A:
    if len(text) > LONGEST_ANSWER_CHARACTERS:
        raise ValueError(f"the answer is longer than {LONGEST_ANSWER_CHARACTERS} characters")
    found = _find_objects(text.strip())
    if not found:
        raise ValueError("the answer holds no JSON object")
    valid: list[Any] = []
    problem = ""
    for candidate in found:
        try:
            _check_values(candidate)
            made = answer.model_validate_json(_compose_json(candidate))
        except ValidationError as error:
            problem = f"the answer is not what was asked for: {_explain_validation(error)}"
        except ValueError as error:
            problem = str(error)
        else:
            if made not in valid:
                valid.append(made)
    if len(valid) > 1:
        raise ValueError(f"the answer holds {len(valid)} different objects that could be meant")
    if not valid:
        raise ValueError(problem)
    first: A = valid[0]
    return first


def _find_objects(text: str) -> list[Any]:
    """JSON objects of a text: the whole text, or those in the prose, behind what the model thought aloud. Raises ValueError."""
    whole = _object_at(text, 0)
    if whole is not None and whole[1] == len(text):
        return [whole[0]]
    thoughts = [found.end() for found in THOUGHT.finditer(text)]
    if thoughts and (said := _find_objects(text[thoughts[-1] :].strip())):
        return said
    found = []
    place = text.find("{")
    for _ in range(STARTS):
        if place < 0:
            break
        made = _object_at(text, place)
        if made is None and text[place + 1 :].lstrip()[:1] == '"':
            raise ValueError("the answer holds JSON that is broken or breaks off")
        if made is not None:
            found.append(made[0])
        place = text.find("{", place + 1 if made is None else made[1])
    return found


def _object_at(text: str, place: int) -> tuple[Any, int] | None:
    """The object that begins there, and where it ends; None: there is none."""
    if text[place : place + 1] != "{":
        return None
    try:
        return _DECODER.raw_decode(text, place)
    except (ValueError, RecursionError):
        return None


def _refuse_constant(*_: object) -> NoReturn:
    raise ValueError("not a number")


def _parse_finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse_constant()


def _stated_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a field is stated twice")
    return made


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_parse_finite, object_pairs_hook=_stated_once)


def _check_values(whole: Any) -> None:
    """Raise ValueError for what holds too much, is nested too deep, or holds text that the database could not store."""
    values, depth, count = [whole], 1, 0
    while values:
        if depth > DEEPEST_LEVELS:
            raise ValueError(f"the answer is nested deeper than {DEEPEST_LEVELS} levels")
        count += sum(len(value) for value in values if isinstance(value, list | dict))
        if count > MOST_IN_A_PART:
            raise ValueError(f"the answer holds more than {MOST_IN_A_PART:,} values")
        if any(isinstance(value, str) and NO_TEXT.search(value) for value in values):
            raise ValueError("the answer holds characters that are no text")
        values, depth = [part for value in values for part in _inner_values(value)], depth + 1


def _compose_json(value: Any) -> str:
    """The JSON of a value, in composed form. Raises ValueError for marks whose composing would take long."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        check_marks(text)
    except ValueError as error:
        raise ValueError(f"a text of the answer {error}") from None
    return compose_text(text)


def _inner_values(value: Any) -> list[Any]:
    """All texts of a value; of an object its names, too."""
    if isinstance(value, dict):
        return [*value, *value.values()]
    return value if isinstance(value, list) else []


def _explain_validation(error: ValidationError) -> str:
    """Which fields are wrong and what was expected of them, in words of ours."""
    if error.error_count() > TOLD:  # to tell them all takes longer than to read the answer
        return f"{error.error_count():,} of its fields are wrong"
    told: dict[str, None] = {}  # each once: a model makes the same mistake again and again
    for one in error.errors(include_input=False, include_url=False, include_context=False):
        kind, place = one["type"], one["loc"]
        if kind == "extra_forbidden":
            said, place = "has fields that were not asked for", place[:-1]
        elif kind in {"value_error", "assertion_error"}:
            said = "does not keep to its rules"
        elif kind.endswith("_parsing"):
            name = kind.removesuffix("_parsing").replace("_", " ")
            said = f"should be a valid {NAMED.get(name, name)}"
        else:
            said = one["msg"].replace("Input should be", "should be").replace("Field required", "is missing")
        told[f"{'.'.join(map(str, place)) or 'it'} {said}"] = None
    more = len(told) - SHOWN
    return "; ".join(list(told)[:SHOWN]) + (f"; and {more} more" if more > 0 else "")
