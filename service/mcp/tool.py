"""A tool: its description, its arguments, the REST call behind it, and how the reply reads.

Types only: what a value may be is for REST to say, so that both surfaces say it in the same words. The schemas are what a model
reads before every conversation, so they carry nothing that it does not need.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal
from urllib.parse import quote

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from service.mcp.result_texts import JsonObject, Shown


def parse_list(value: object) -> object:
    """A list, also of one that came as JSON in a string or as names with commas between, as models like to send them."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return [part.strip() for part in value.split(",") if part.strip()]


Names = Annotated[list[str], BeforeValidator(parse_list)]
Name = Annotated[str, Field(min_length=1)]
Time = Annotated[str, Field(description="RFC 3339 time or date")]
Category = Annotated[str, Field(description="Such as user-preferences/timezone")]
CategoryFilter = Annotated[str, Field(description="With all below it")]
AnyTag = Annotated[Names, Field(description="Any of these")]
Cursor = Annotated[str, Field(description="From the last reply")]
DryRun = Annotated[bool, Field(description="Change nothing")]
About = Annotated[str, Field(description="Name of whom or what it is about")]
AboutFilter = Annotated[str, Field(description="Only about this one (name or id)")]
User = Annotated[str, Field(description="For whom you speak: who `I` is")]
Session = Annotated[str, Field()]
MaxChars = Annotated[int, Field(ge=1)]
Prefix = Annotated[str, Field(description="Prefix of keys; default: your space")]
Kind = Literal["reads", "looks", "adds", "changes", "replaces", "deletes"]


LEFT_OUT = ("", "null", "undefined", "[]", "{}")  # how clients spell that they say nothing


class Arguments(BaseModel):
    """Arguments of a tool: unknown ones are errors."""

    model_config = ConfigDict(extra="forbid")

    @classmethod
    def drop_empty_arguments(cls, arguments: JsonObject) -> JsonObject:
        """Arguments without those that may be left out and are, in words: null as a text, an empty one."""
        names = {field.alias or name for name, field in cls.model_fields.items() if not field.is_required()}
        return {
            name: value
            for name, value in arguments.items()
            if not (name in names and isinstance(value, str) and value.strip() in LEFT_OUT)
        }


@dataclass(frozen=True)
class Call:
    """A request to REST: its path below /api/v1."""

    method: str
    path: str
    json: Any = None
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Tool:
    """A tool. `call` makes the request from the arguments that were given and the caller's session, if its space names one.

    `renamed` are fields of REST and what they are called here; `missing` says what to do where the thing is not there. `speaker`:
    the field that names the user of the connection, where nothing else is stated there. `show` makes the reply of at most so many
    characters; `sized`: the request says how many they are, as `max_chars`.
    `schema` and `output` stand in profiles of other servers, word for word as there; the errors of `plain` ones are bare sentences.
    """

    name: str
    title: str
    kind: Kind
    description: str
    arguments: type[Arguments]
    call: Callable[[JsonObject, str | None], Call]
    show: Callable[[JsonObject, int], Shown]
    renamed: Mapping[str, str] = field(default_factory=dict)
    missing: str = ""
    schema: JsonObject | None = None
    output: JsonObject | None = None
    plain: bool = False
    sized: bool = False
    speaker: str | None = None


def quote_path_segment(text: str) -> str:
    """Text as one segment of a path, also where it is only dots, which clients would fold."""
    return text.replace(".", "%2E") if not text.strip(".") else quote(text, safe="")


def of_session(session: str | None) -> JsonObject:
    """The field of a request that names the session."""
    return {} if session is None else {"session_id": session}


def in_session(path: str) -> Callable[[JsonObject, str | None], Call]:
    """A POST of all that was given, in the caller's session."""
    return lambda given, session: Call("POST", path, {**of_session(session), **given})


def schema_of(arguments: type[Arguments]) -> dict[str, Any]:
    """The JSON schema of a tool's arguments, without what costs a model tokens and tells it nothing."""
    schema = arguments.model_json_schema()
    properties = {name: _make_terse_property(field) for name, field in schema.get("properties", {}).items()}
    required = {"required": schema["required"]} if schema.get("required") else {}
    return {"type": "object", "properties": properties, **required, "additionalProperties": False}


def _make_terse_property(field: dict[str, Any]) -> dict[str, Any]:
    """A property without its title, and without the null that stands for leaving it out."""
    kinds = [kind for kind in field.get("anyOf", []) if kind != {"type": "null"}]
    merged = {**(kinds[0] if len(kinds) == 1 else {}), **field}
    if "items" in merged:
        merged["items"] = _make_terse_property(merged["items"])
    said = {"type", "items", "description", "enum"}
    if "properties" in merged:
        merged["properties"] = {name: _make_terse_property(part) for name, part in merged["properties"].items()}
        said |= {"properties", "required", "additionalProperties"}
    return {key: value for key, value in merged.items() if key in said}
