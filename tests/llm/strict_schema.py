"""What a strict endpoint refuses in a request for a completion: parameters, messages, and schemas outside the subset it follows."""

import json
import re
from typing import Any

KNOWN = {
    *("model", "messages", "response_format", "stream", "stream_options", "max_tokens", "max_completion_tokens", "temperature"),
    *("seed", "top_p", "stop", "user", "n"),
}  # fmt: skip
# Keywords that every endpoint with strict schemas takes. Some take more (pattern, format, minimum, …); none needs to.
KEYWORDS = {
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "anyOf",
    "description",
    "$defs",
    "$ref",
}
LIMITS = {"maxItems", "minItems", "maxLength", "minLength", "maximum", "minimum"}  # which some take and others refuse
TYPES = {"object", "array", "string", "number", "integer", "boolean", "null"}
DEEPEST, MOST_PROPERTIES, MOST_VALUES = 5, 100, 500
Wrong = tuple[str, str]  # the parameter, and what is wrong with it


def refusal_of(body: dict[str, Any], *, limits: bool = True) -> Wrong | None:
    """The first thing that is wrong with a request; None: nothing. `limits`: whether schemas may have them."""
    unknown = sorted(set(body) - KNOWN)
    if unknown:
        return unknown[0], f"Unrecognized request argument supplied: {unknown[0]}"
    if not isinstance(body.get("model"), str) or not body["model"]:
        return "model", "you must provide a model parameter"
    wrong = _messages(body.get("messages")) or _numbers(body)
    if wrong is not None:
        return wrong
    if "stream_options" in body and not body.get("stream"):
        return "stream_options", "stream_options is only allowed when stream is set"
    return _format(body, limits=limits)


def _messages(messages: Any) -> Wrong | None:
    if not isinstance(messages, list) or not messages:
        return "messages", "messages must be a list that is not empty"
    for n, message in enumerate(messages):
        if not isinstance(message, dict) or set(message) != {"role", "content"}:
            return f"messages.{n}", "a message has a role and a content"
        if (
            message["role"] not in {"system", "user", "assistant"}
            or not isinstance(message["content"], str)
            or not message["content"]
        ):
            return f"messages.{n}", "the role is system, user or assistant, the content a text"
    return None


def _numbers(body: dict[str, Any]) -> Wrong | None:
    for name in ("max_tokens", "max_completion_tokens"):
        if name in body and (not isinstance(body[name], int) or body[name] < 1):
            return name, f"{name} must be a positive integer"
    warmth = body.get("temperature", 0)
    if not isinstance(warmth, (int, float)) or not 0 <= warmth <= 2:
        return "temperature", "temperature must be between 0 and 2"
    if not isinstance(body.get("stream", False), bool):
        return "stream", "stream must be a boolean"
    return None


def _format(body: dict[str, Any], *, limits: bool) -> Wrong | None:
    wanted = body.get("response_format", {"type": "text"})
    kind = wanted.get("type")
    if kind == "json_object":
        if not any("json" in message["content"].lower() for message in body["messages"]):
            return (
                "messages",
                "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
            )
        return None if set(wanted) == {"type"} else ("response_format", "json_object takes nothing beside its type")
    if kind == "text":
        return None
    if kind != "json_schema" or set(wanted) != {"type", "json_schema"}:
        return "response_format", f"unknown response_format {kind}"
    problem = _stated(wanted["json_schema"], limits=limits)
    return None if problem is None else ("response_format", problem)


def _stated(stated: dict[str, Any], *, limits: bool) -> str | None:
    if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", str(stated.get("name", ""))):
        return "the name of a schema has letters, digits, dashes and underscores, at most 64"
    if stated.get("strict") is not True or set(stated) - {"name", "schema", "strict", "description"}:
        return "this endpoint follows strict schemas alone"
    problem = schema_refusal(stated.get("schema"), limits=limits)
    return None if problem is None else f"Invalid schema for response_format '{stated['name']}': {problem}"


def schema_refusal(schema: Any, *, limits: bool = True) -> str | None:
    """What a strict endpoint has against a schema; None: it follows it. `limits`: whether it may have them."""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return "the root must be an object"
    counts = {"properties": 0, "values": 0}
    problem = _node(schema, "", 0, schema.get("$defs", {}), counts)
    stated = next((name for name in sorted(LIMITS) if f'"{name}":' in json.dumps(schema)), None)
    if problem is None and not limits and stated is not None:
        return f"In context=root, {stated!r} is not permitted"
    if problem is None and counts["properties"] > MOST_PROPERTIES:
        return f"more than {MOST_PROPERTIES} properties"
    if problem is None and counts["values"] > MOST_VALUES:
        return f"more than {MOST_VALUES} enum values"
    return problem


def _node(node: Any, path: str, depth: int, defined: dict[str, Any], counts: dict[str, int]) -> str | None:
    where = f"In context={path or 'root'}, "
    problem = _keywords(node, where, defined)
    if problem is None and node.get("type") == "object":
        problem = _object(node, where, depth, counts)
    if problem is not None:
        return problem
    counts["values"] += len(node.get("enum", []))
    children = (
        list(enumerate(node.get("anyOf", []))) + list(node.get("$defs", {}).items()) + list(node.get("properties", {}).items())
    )
    if "items" in node:
        children.append(("items", node["items"]))
    depth += node.get("type") == "object"
    return next((p for name, child in children if (p := _node(child, f"{path}/{name}", depth, defined, counts))), None)


def _keywords(node: Any, where: str, defined: dict[str, Any]) -> str | None:
    """What is wrong with the words of a schema, whatever is below it."""
    strange = sorted(set(node) - KEYWORDS - LIMITS)
    problem = None
    if strange:
        problem = f"{strange[0]!r} is not permitted"
    elif "$ref" in node and set(node) != {"$ref"}:
        problem = "$ref cannot have keywords beside it"
    elif "$ref" in node and str(node["$ref"]).removeprefix("#/$defs/") not in defined:
        problem = f"{node['$ref']} is not defined"
    elif not {"$ref", "anyOf", "enum", "const"} & set(node) and node.get("type") not in TYPES:
        problem = "a schema must have a 'type' key"
    elif node.get("type") == "array" and "items" not in node:
        problem = "array schema missing items"
    return None if problem is None else where + problem


def _object(node: dict[str, Any], where: str, depth: int, counts: dict[str, int]) -> str | None:
    properties = node.get("properties")
    if not isinstance(properties, dict):
        return where + "an object needs its properties"
    if node.get("additionalProperties") is not False:
        return where + "'additionalProperties' is required to be supplied and to be false"
    if sorted(node.get("required", [])) != sorted(properties):
        return where + "'required' is required to be supplied and to be an array including every key in properties"
    counts["properties"] += len(properties)
    return where + f"more than {DEEPEST} levels" if depth >= DEEPEST else None
