"""The JSON schema that a model is asked to follow: strict, with limits that end an answer, and the numbers that were shown."""

import json
import math
from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel, BeforeValidator, Field

STRICT_KEYWORDS = {
    "type",
    "enum",
    "description",
}  # what every endpoint with strict schemas understands, beside objects, arrays and anyOf
LIMITS = {"maxItems", "minItems", "maxLength", "minLength", "maximum", "minimum"}
OURS = {"shown", "each", "least"}  # marks that parts of an answer have, until a call says what is shown and what room there is
DROPPED = {"title", "default", "examples", "discriminator"}
LARGEST_LIMIT = 2000  # a grammar of llama.cpp repeats nothing more often
MOST_LISTED = 100  # numbers that an enum lists; strict endpoints take 500 values in all
SHARES: list[Any] = [number / 20 for number in range(21)]  # 0 to 1: a grammar lets any other number have fifty digits
CHARACTERS_OF_TOKEN = 1.8  # of an answer's texts and names, as a small model repeats itself; of digits each is a token
DIGITS, DECIMALS = 16, 36  # of a number without bounds, as grammars write one
BETWEEN = 3  # tokens around a value: a comma, quotes, a new line
SHORTEST_TEXT = 40  # characters, or as many as are allowed, to which the limit of a text may shrink
STEPS = 8  # halvings by which the widest limits are found
Numbers = Mapping[str, Collection[int]]  # the numbers that were shown, by what they stand for
Schema = dict[str, Any]


def mark_shown_number(what: str) -> Any:
    """Mark an integer of an answer: it is the number of a thing that was shown."""
    return Field(json_schema_extra={"shown": what})


def mark_bounded_list(what: str, times: int = 1, *, least: float = 0, **stated: Any) -> Any:
    """Mark a list of an answer: it has `times` entries at most for each thing that was shown, and room for `least` of them."""
    return Field(json_schema_extra={"each": [what, times, least]}, **stated)


def at_most(items: int, *, least: int = 0, **stated: Any) -> Any:
    """Limit a list in the schema alone: guards judge longer texts, which do not spoil the answer."""
    return Field(json_schema_extra={"maxItems": items, "least": least}, **stated)


def text_of(characters: int, *, least: int = SHORTEST_TEXT, **stated: Any) -> Any:
    """Limit a text in the schema alone; where an answer has little room the limit is smaller, down to `least`."""
    return Field(json_schema_extra={"maxLength": characters, "least": least}, **stated)


def share(*default: float, **stated: Any) -> Any:
    """State in the schema alone that a number is from 0 to 1, in steps."""
    return Field(*default, json_schema_extra={"enum": SHARES}, **stated)


# Numbers begin at 1: a model that writes 0 means none of them.
NOUGHT_IS_NONE = BeforeValidator(lambda value: None if value in (0, "0") and value is not False else value)


def schema_of(answer: type[BaseModel], numbers: Numbers | None = None, room: int | None = None) -> Schema:
    """The JSON schema that the model is asked to follow, as strict endpoints take it: all fields required, no others.

    Limits end an answer; formats and patterns are said in descriptions, and the reader checks them. A number that stands for
    something that was shown is one of `numbers`. `room`: tokens that the longest answer may have; limits shrink until it has no
    more, or can shrink no further (`least_tokens`). Raises TypeError for a type that cannot be stated so: a map, a tuple, anything,
    or one that holds itself.
    """
    stated, shown = _schema_with_marks(answer), numbers or {}
    made = _limit_to_call(stated, shown) or {}
    if room is None or most_tokens(made) <= room:
        return made
    made, low, high = _limit_to_call(stated, shown, 0.0) or {}, 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        tried = _limit_to_call(stated, shown, middle) or {}
        made, low, high = (tried, middle, high) if most_tokens(tried) <= room else (made, low, middle)
    return made


def least_tokens(answer: type[BaseModel], numbers: Numbers | None = None) -> int:
    """Tokens of the longest answer where limits are as small as they become; 1 where something has none."""
    most = most_tokens(_limit_to_call(_schema_with_marks(answer), numbers or {}, 0.0) or {})
    return 1 if math.isinf(most) else math.ceil(most)


def most_tokens(node: Schema) -> float:
    """About how many tokens the longest answer has, rather too many; infinite where something has no limit."""
    if "anyOf" in node:
        return max(most_tokens(part) for part in node["anyOf"])
    kind = node.get("type")
    if "enum" in node:
        return max(_tokens(value) for value in node["enum"])
    if kind == "object":
        fields = node["properties"].items()
        return BETWEEN + sum(BETWEEN + len(name) / CHARACTERS_OF_TOKEN + most_tokens(part) for name, part in fields)
    if kind == "array":
        most = node.get("maxItems", math.inf)
        return BETWEEN + (most * (BETWEEN + most_tokens(node["items"])) if most else 0)
    text = BETWEEN + float(node.get("maxLength", math.inf)) / CHARACTERS_OF_TOKEN
    digits = _tokens(node["maximum"]) if node.get("minimum", -1) >= 0 and "maximum" in node else DIGITS
    return {"string": text, "integer": digits, "number": DECIMALS}.get(str(kind), BETWEEN)


def _tokens(value: Any) -> float:
    """Tokens of a value that is stated."""
    said = json.dumps(value, ensure_ascii=False)
    return BETWEEN + len(said) / CHARACTERS_OF_TOKEN if isinstance(value, str) else len(said)


@cache
def _schema_with_marks(answer: type[BaseModel]) -> Schema:
    """The schema with marks where numbers of things stand."""
    whole = answer.model_json_schema()
    return _make_strict(whole, whole.get("$defs", {}), ())


def _make_strict(node: Schema, defined: Schema, within: tuple[str, ...]) -> Schema:
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        if name in within:
            raise TypeError(f"{name} holds itself")
        beside = {key: value for key, value in node.items() if key != "$ref"}
        return _make_strict({**defined[name], **beside}, defined, (*within, name))
    made = {
        key: value for key, value in node.items() if key in STRICT_KEYWORDS | OURS or (key in LIMITS and value <= LARGEST_LIMIT)
    }
    options = node.get("anyOf") or node.get("oneOf")
    if "const" in node:
        made["enum"] = [node["const"]]
    if options:
        made["anyOf"] = [_make_strict(option, defined, within) for option in options]
    elif node.get("type") == "object":
        if not node.get("properties"):
            raise TypeError("an answer has named fields, no maps")
        made["properties"] = {name: _make_strict(child, defined, within) for name, child in node["properties"].items()}
        made |= {"required": list(made["properties"]), "additionalProperties": False}
    elif node.get("type") == "array":
        if "prefixItems" in node or not node.get("items"):
            raise TypeError("an answer has lists of one kind, no tuples")
        made["items"] = _make_strict(node["items"], defined, within)
    elif "type" not in node and "enum" not in made:
        raise TypeError("an answer states what each field is")
    return _word_limits(made, node)


def _word_limits(made: Schema, node: Schema) -> Schema:
    """The schema with the limits that it leaves out said in its description."""
    said = {*made, *DROPPED, "const", "anyOf", "oneOf", "properties", "required", "additionalProperties", "items", "$defs"}
    limits = ", ".join(f"{name}: {value}" for name, value in node.items() if name not in said)
    if limits:
        made["description"] = f"{made['description']} ({limits})" if "description" in made else limits
    return made


def _limit_to_call(node: Schema, numbers: Numbers, width: float = 1.0) -> Schema | None:
    """The schema of one call; None: a number where nothing was shown. `width`: how wide its limits are, from 0 to 1."""
    made = {key: value for key, value in node.items() if key not in OURS}
    if node.get("shown") in numbers:
        listed = sorted(numbers[node["shown"]])
        if not listed:
            return None
        made |= {"enum": listed} if len(listed) <= MOST_LISTED else {"minimum": listed[0], "maximum": listed[-1]}
    if "anyOf" in node:
        made["anyOf"] = [option for part in node["anyOf"] if (option := _limit_to_call(part, numbers, width)) is not None]
    if "properties" in node:
        fields = node["properties"].items()
        made["properties"] = {name: _limit_to_call(part, numbers, width) or {"type": "integer"} for name, part in fields}
    if "maxLength" in node:
        least = max(node.get("least", SHORTEST_TEXT), node.get("minLength", 0))
        made["maxLength"] = _between(least, node["maxLength"], width)
    if "items" in node:
        made |= _list(node, numbers, width)
    return made


def _list(node: Schema, numbers: Numbers, width: float) -> Schema:
    """Entries of a list, and how many it may have."""
    made: Schema = {"items": _limit_to_call(node["items"], numbers, width) or {"type": "integer"}}
    what, times, each_least = node.get("each", [node["items"].get("shown"), 1, 0])
    if what not in numbers and "maxItems" not in node:
        return made
    count = len(numbers[what]) if what in numbers else 0
    most = min(count * times, node.get("maxItems", LARGEST_LIMIT)) if what in numbers else node["maxItems"]
    least = max(math.ceil(count * each_least), node.get("minItems", 0), node.get("least", 1))
    return made | {"maxItems": _between(least, most, width)}


def _between(least: int, most: int, width: float) -> int:
    """A limit between the least that is of use and the most that is wanted; by ratio, so that what is large shrinks first."""
    low = min(least, most) + 1
    return int(round(low * ((most + 1) / low) ** width) - 1)


def without_limits(node: Schema) -> Schema:
    """The same schema for an endpoint that refuses limits: they are said in its descriptions."""
    made = {key: value for key, value in node.items() if key not in LIMITS}
    if "anyOf" in node:
        made["anyOf"] = [without_limits(part) for part in node["anyOf"]]
    if "properties" in node:
        made["properties"] = {name: without_limits(part) for name, part in node["properties"].items()}
    if "items" in node:
        made["items"] = without_limits(node["items"])
    return _word_limits(made, node)


def gist_of(node: Schema) -> str:
    """A schema in few words: {"names": [text, up to 5], "pair": 1…7, "kind": "a" | "b"}."""
    if "anyOf" in node:
        return " | ".join(dict.fromkeys(gist_of(part) for part in node["anyOf"]))
    if "enum" in node:
        listed = [json.dumps(value, ensure_ascii=False) for value in node["enum"]]
        return f"{listed[0]}…{listed[-1]}" if node.get("type") in ("integer", "number") and len(listed) > 1 else " | ".join(listed)
    kind = node.get("type")
    if kind == "object":
        return "{" + ", ".join(f'"{name}": {gist_of(part)}' for name, part in node["properties"].items()) + "}"
    if kind == "array":
        most = f", up to {node['maxItems']}" if "maxItems" in node else ", …"
        return f"[{gist_of(node['items'])}{most}]"
    return {"string": "text", "boolean": "true | false", "null": "null"}.get(str(kind), "number")
