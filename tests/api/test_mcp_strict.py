"""Each tool can be a strict one of OpenAI's: no object in what it takes has fields that are not named."""

from typing import Any

import pytest

from service.mcp.profiles.catalogue import PROFILES
from service.mcp.tool import schema_of
from service.mcp.tools.retain import Remember

TOOLS = {f"{name}/{tool.name}": tool for name, profile in PROFILES.items() for tool in profile.tools.values()}


def made_strict(schema: Any) -> Any:
    """A tool's schema as OpenAI's Agents SDK makes it strict: all that is named is required, and nothing else may come.

    Raises ValueError for an object that takes what is not named, which it refuses.
    """
    if isinstance(schema, list):
        return [made_strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: made_strict(part) for name, part in schema.items() if name != "$schema"}
    if schema.get("type") == "object":
        if schema.get("additionalProperties", False) is not False or "properties" not in schema:
            raise ValueError(f"takes fields without a name: {schema}")
        made |= {"additionalProperties": False, "required": list(schema["properties"])}
    return made


def objects(schema: Any) -> list[dict[str, Any]]:
    """Every object of a schema."""
    parts = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    found = [schema] if isinstance(schema, dict) and schema.get("type") == "object" else []
    return found + [inner for part in parts for inner in objects(part)]


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_can_be_made_a_strict_one(name: str) -> None:
    tool = TOOLS[name]
    strict = objects(made_strict(tool.schema or schema_of(tool.arguments)))
    assert strict
    assert all(sorted(each["required"]) == sorted(each["properties"]) for each in strict)


def test_an_object_that_takes_any_field_cannot() -> None:
    with pytest.raises(ValueError, match="without a name"):
        made_strict({"type": "object", "properties": {"rows": {"type": "array", "items": {"type": "object"}}}})


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": "Hi", "name": "Rosa"},
        {"role": "assistant", "content": [{"type": "text", "text": "Hi"}]},
        {"type": "human", "content": "Hi"},
    ],
)
def test_remember_takes_messages_as_frameworks_have_them_nevertheless(message: dict[str, Any]) -> None:
    assert Remember.model_validate({"messages": [message]}).messages == [message]
