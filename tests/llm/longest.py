"""The longest value that a schema allows."""

from typing import Any


def longest(schema: dict[str, Any]) -> Any:
    """The longest value that a schema allows: what a model says that repeats itself until it may not. Raises KeyError without limits."""
    if "anyOf" in schema:
        return max((longest(part) for part in schema["anyOf"]), key=lambda value: len(repr(value)))
    if "enum" in schema:
        return max(schema["enum"], key=lambda value: len(repr(value)))
    if schema["type"] == "object":
        return {name: longest(field) for name, field in schema["properties"].items()}
    if schema["type"] == "array":
        return [longest(schema["items"]) for _ in range(schema["maxItems"])]
    if schema["type"] == "string":
        return "x" * schema["maxLength"]
    return {"integer": schema.get("maximum", 10**15), "number": -1.2345678901234567e-300, "boolean": False, "null": None}[
        schema["type"]
    ]
