"""What a model answered, as the type that was asked for, or not at all."""

import json
import math
import re
from functools import cache
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from loci.models.fields import check_marks, compose_text
from service.json_parts import MOST_IN_A_PART
from service.llm.model import Completion, InvalidAnswer

LONGEST = 500_000  # characters of an answer
DEEPEST = 32  # levels of its JSON
STARTS = 200  # braces in the prose around it that are tried
SHOWN, TOLD = 3, 100  # errors that a refusal names, and beyond which it only says how many they are
KEPT = {"type", "enum", "description"}  # what every endpoint with strict schemas understands, beside objects, arrays and anyOf
NAMED = {"int": "integer", "bool": "boolean", "float": "number"}
NO_TEXT = re.compile("[\x00\ud800-\udfff]")  # what the database cannot store
DROPPED = {"title", "default", "examples", "discriminator"}


class Answer(BaseModel):
    """An answer of a model: every field stated, none beside them. Its parts are Answers too."""

    model_config = ConfigDict(extra="forbid", strict=False, str_strip_whitespace=True, allow_inf_nan=False)


A = TypeVar("A", bound=Answer)


@cache
def schema_of(answer: type[Answer]) -> dict[str, Any]:
    """The JSON schema that the model is asked to follow, as strict endpoints take it: all fields required, no others.

    Limits (lengths, ranges, formats) are said in the descriptions; the reader checks them. Raises TypeError for a type that cannot
    be stated so: a map, a tuple, anything, or one that holds itself.
    """
    whole = answer.model_json_schema()
    return _strict(whole, whole.get("$defs", {}), ())


def _strict(node: dict[str, Any], defined: dict[str, Any], within: tuple[str, ...]) -> dict[str, Any]:
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        if name in within:
            raise TypeError(f"{name} holds itself")
        beside = {key: value for key, value in node.items() if key != "$ref"}
        return _strict({**defined[name], **beside}, defined, (*within, name))
    made = {key: value for key, value in node.items() if key in KEPT}
    options = node.get("anyOf") or node.get("oneOf")
    if "const" in node:
        made["enum"] = [node["const"]]
    if options:
        made["anyOf"] = [_strict(option, defined, within) for option in options]
    elif node.get("type") == "object":
        if not node.get("properties"):
            raise TypeError("an answer has named fields, no maps")
        made["properties"] = {name: _strict(child, defined, within) for name, child in node["properties"].items()}
        made |= {"required": list(made["properties"]), "additionalProperties": False}
    elif node.get("type") == "array":
        if "prefixItems" in node or not node.get("items"):
            raise TypeError("an answer has lists of one kind, no tuples")
        made["items"] = _strict(node["items"], defined, within)
    elif "type" not in node and "enum" not in made:
        raise TypeError("an answer states what each field is")
    return _worded(made, node)


def _worded(made: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    """The schema with the limits that it leaves out said in its description."""
    said = {*made, *DROPPED, "const", "anyOf", "oneOf", "properties", "required", "additionalProperties", "items", "$defs"}
    limits = ", ".join(f"{name}: {value}" for name, value in node.items() if name not in said)
    if limits:
        made["description"] = f"{made['description']} ({limits})" if "description" in made else limits
    return made


def read_answer(completion: Completion, answer: type[A]) -> A:
    """The answer in a text, which may have prose or a fence around it. Raises InvalidAnswer, which says nothing of the text."""
    try:
        return _read(completion.text, answer)
    except ValueError as error:
        raise InvalidAnswer(str(error), completion) from None


def _read(text: str, answer: type[A]) -> A:
    if len(text) > LONGEST:
        raise ValueError(f"the answer is longer than {LONGEST} characters")
    found = _objects(text.strip())
    if not found:
        raise ValueError("the answer holds no JSON object")
    valid: list[Any] = []
    problem = ""
    for candidate in found:
        try:
            _check_values(candidate)
            made = answer.model_validate_json(_composed(candidate))
        except ValidationError as error:
            problem = f"the answer is not what was asked for: {_explained(error)}"
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


def _objects(text: str) -> list[Any]:
    """JSON objects of a text: the whole text, or those in the prose, behind what the model thought aloud. Raises ValueError."""
    whole = _object_at(text, 0)
    if whole is not None and whole[1] == len(text):
        return [whole[0]]
    if text.startswith("<think>") and "</think>" in text:
        return _objects(text.partition("</think>")[2].strip())
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


def _refused(*_: object) -> NoReturn:
    raise ValueError("not a number")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refused()


def _stated_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a field is stated twice")
    return made


_DECODER = json.JSONDecoder(parse_constant=_refused, parse_float=_finite, object_pairs_hook=_stated_once)


def _check_values(whole: Any) -> None:
    """Raise ValueError for what holds too much, is nested too deep, or holds text that the database could not store."""
    values, depth, count = [whole], 1, 0
    while values:
        if depth > DEEPEST:
            raise ValueError(f"the answer is nested deeper than {DEEPEST} levels")
        count += sum(len(value) for value in values if isinstance(value, list | dict))
        if count > MOST_IN_A_PART:
            raise ValueError(f"the answer holds more than {MOST_IN_A_PART:,} values")
        if any(isinstance(value, str) and NO_TEXT.search(value) for value in values):
            raise ValueError("the answer holds characters that are no text")
        values, depth = [part for value in values for part in _parts(value)], depth + 1


def _composed(value: Any) -> str:
    """The JSON of a value, in composed form. Raises ValueError for marks whose composing would take long."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        check_marks(text)
    except ValueError as error:
        raise ValueError(f"a text of the answer {error}") from None
    return compose_text(text)


def _parts(value: Any) -> list[Any]:
    """What a value holds; of an object its names, too."""
    if isinstance(value, dict):
        return [*value, *value.values()]
    return value if isinstance(value, list) else []


def _explained(error: ValidationError) -> str:
    """Which fields are wrong and what was expected of them, in words of ours."""
    if error.error_count() > TOLD:  # to tell them all takes longer than to read the answer
        return f"{error.error_count():,} of its fields are wrong"
    told = []
    for one in error.errors(include_input=False, include_url=False, include_context=False)[:SHOWN]:
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
        told.append(f"{'.'.join(map(str, place)) or 'it'} {said}")
    more = error.error_count() - SHOWN
    return "; ".join(told) + (f"; and {more} more" if more > 0 else "")
