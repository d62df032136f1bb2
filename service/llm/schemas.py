"""The JSON schema that a model is asked to follow: strict, with limits that end an answer, and the numbers that were shown."""

import json
from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel, BeforeValidator, Field

KEPT = {"type", "enum", "description"}  # what every endpoint with strict schemas understands, beside objects, arrays and anyOf
LIMITS = {"maxItems", "minItems", "maxLength", "minLength", "maximum", "minimum"}
OURS = {"shown", "each"}  # marks that numbers and lists of an answer have, until a call says what is shown
DROPPED = {"title", "default", "examples", "discriminator"}
LARGEST_LIMIT = 2000  # a grammar of llama.cpp repeats nothing more often
MOST_LISTED = 100  # numbers that an enum lists; strict endpoints take 500 values in all
Numbers = Mapping[str, Collection[int]]  # the numbers that were shown, by what they stand for
Schema = dict[str, Any]


def shown(what: str) -> Any:
    """Mark an integer of an answer: it is the number of a thing that was shown."""
    return Field(json_schema_extra={"shown": what})


def each(what: str, times: int = 1, **stated: Any) -> Any:
    """Mark a list of an answer: it has `times` entries at most for each thing that was shown."""
    return Field(json_schema_extra={"each": [what, times]}, **stated)


def at_most(items: int, **stated: Any) -> Any:
    """Limit a list in the schema alone: what is longer is for the guards to judge, and does not spoil the answer."""
    return Field(json_schema_extra={"maxItems": items}, **stated)


def text_of(characters: int, **stated: Any) -> Any:
    """Limit a text in the schema alone."""
    return Field(json_schema_extra={"maxLength": characters}, **stated)


# Numbers begin at 1: a model that writes 0 means none of them.
NOUGHT_IS_NONE = BeforeValidator(lambda value: None if value in (0, "0") and value is not False else value)


def schema_of(answer: type[BaseModel], numbers: Numbers | None = None) -> Schema:
    """The JSON schema that the model is asked to follow, as strict endpoints take it: all fields required, no others.

    Limits end an answer; formats and patterns are said in descriptions, and the reader checks them. A number that stands for
    something that was shown is one of `numbers`. Raises TypeError for a type that cannot be stated so: a map, a tuple, anything, or
    one that holds itself.
    """
    return _limited(_stated(answer), numbers or {}) or {}


@cache
def _stated(answer: type[BaseModel]) -> Schema:
    """The schema with marks where numbers of things stand."""
    whole = answer.model_json_schema()
    return _strict(whole, whole.get("$defs", {}), ())


def _strict(node: Schema, defined: Schema, within: tuple[str, ...]) -> Schema:
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        if name in within:
            raise TypeError(f"{name} holds itself")
        beside = {key: value for key, value in node.items() if key != "$ref"}
        return _strict({**defined[name], **beside}, defined, (*within, name))
    made = {key: value for key, value in node.items() if key in KEPT | OURS or (key in LIMITS and value <= LARGEST_LIMIT)}
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


def _worded(made: Schema, node: Schema) -> Schema:
    """The schema with the limits that it leaves out said in its description."""
    said = {*made, *DROPPED, "const", "anyOf", "oneOf", "properties", "required", "additionalProperties", "items", "$defs"}
    limits = ", ".join(f"{name}: {value}" for name, value in node.items() if name not in said)
    if limits:
        made["description"] = f"{made['description']} ({limits})" if "description" in made else limits
    return made


def _limited(node: Schema, numbers: Numbers) -> Schema | None:
    """The schema of one call; None: a number where nothing was shown."""
    made = {key: value for key, value in node.items() if key not in OURS}
    if node.get("shown") in numbers:
        listed = sorted(numbers[node["shown"]])
        if not listed:
            return None
        made |= {"enum": listed} if len(listed) <= MOST_LISTED else {"minimum": listed[0], "maximum": listed[-1]}
    if "anyOf" in node:
        made["anyOf"] = [option for part in node["anyOf"] if (option := _limited(part, numbers)) is not None]
    if "properties" in node:
        made["properties"] = {name: _limited(part, numbers) or {"type": "integer"} for name, part in node["properties"].items()}
    if "items" in node:
        items = _limited(node["items"], numbers)
        made["items"] = items or {"type": "integer"}
        what, times = node.get("each", [node["items"].get("shown"), 1])
        if what in numbers:
            made["maxItems"] = min(len(numbers[what]) * times, made.get("maxItems", LARGEST_LIMIT))
    return made


def without_limits(node: Schema) -> Schema:
    """The same schema for an endpoint that refuses limits: they are said in its descriptions."""
    made = {key: value for key, value in node.items() if key not in LIMITS}
    if "anyOf" in node:
        made["anyOf"] = [without_limits(part) for part in node["anyOf"]]
    if "properties" in node:
        made["properties"] = {name: without_limits(part) for name, part in node["properties"].items()}
    if "items" in node:
        made["items"] = without_limits(node["items"])
    return _worded(made, node)


def gist_of(node: Schema) -> str:
    """A schema in few words: {"names": [text, up to 5], "pair": 1…7, "kind": "a" | "b"}."""
    if "anyOf" in node:
        return " | ".join(dict.fromkeys(gist_of(part) for part in node["anyOf"]))
    if "enum" in node:
        listed = [json.dumps(value, ensure_ascii=False) for value in node["enum"]]
        return f"{listed[0]}…{listed[-1]}" if node.get("type") == "integer" and len(listed) > 1 else " | ".join(listed)
    kind = node.get("type")
    if kind == "object":
        return "{" + ", ".join(f'"{name}": {gist_of(part)}' for name, part in node["properties"].items()) + "}"
    if kind == "array":
        most = f", up to {node['maxItems']}" if "maxItems" in node else ", …"
        return f"[{gist_of(node['items'])}{most}]"
    return {"string": "text", "boolean": "true | false", "null": "null"}.get(str(kind), "number")
