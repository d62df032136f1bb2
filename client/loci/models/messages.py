"""Messages as frameworks have them: a role, and content that is a text or parts; OpenAI's, Anthropic's and LangChain's shapes."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, WithJsonSchema, model_validator

from loci.models.fields import NO_NUL, Label, Metadata, Moment, _mebibyte, _storable, _storable_json

Speaker = Literal["user", "assistant", "system", "tool"]
Role = Literal["user", "human", "assistant", "ai", "model", "system", "developer", "tool", "function"]
SPEAKERS: Mapping[str, Speaker] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}
TEXTS = {"text", "input_text", "output_text", "refusal"}
THOUGHTS = {"thinking", "redacted_thinking", "reasoning"}
CALLS = {"tool_use", "server_tool_use", "tool_call", "function_call"}
RESULTS = {"tool_result", "function_call_output"}
_CLASS = re.compile(r"(Human|AI|System|Tool|Function)Message(Chunk)?")
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_TEXT: dict[str, JsonValue] = {"type": "string", **NO_NUL}


def _parts(content: object) -> object:
    """A text, or parts that are texts and objects with a type, checked one by one."""
    if isinstance(content, str):
        return _mebibyte(_storable(content))
    if content is None:
        return content
    if not isinstance(content, list):
        raise ValueError("must be a text, or a list of parts")
    for place, part in enumerate(content):
        if isinstance(part, str):
            continue
        kind = part.get("type") if isinstance(part, dict) else None
        if not isinstance(kind, str) or not kind.strip():
            raise ValueError(f"part {place} must be a text, or an object with a type such as text")
        if kind in TEXTS and not isinstance(part.get(kind if kind == "refusal" else "text"), str):
            raise ValueError(f"part {place} is of type {kind} and must have a text")
    _mebibyte(json.dumps(_storable_json(content), ensure_ascii=False))
    return content


MessageContent = Annotated[
    Any,
    BeforeValidator(_parts),
    WithJsonSchema(
        {
            "anyOf": [
                _TEXT,
                {
                    "type": "array",
                    "items": {
                        "anyOf": [
                            _TEXT,
                            {
                                "type": "object",
                                "properties": {"type": {"type": "string", "enum": sorted(TEXTS - {"refusal"})}, "text": _TEXT},
                                "required": ["type", "text"],
                            },
                            {
                                "type": "object",
                                "properties": {"type": {"type": "string", "pattern": r"\S", "not": {"enum": sorted(TEXTS)}}},
                                "required": ["type"],
                            },
                        ]
                    },
                },
                {"type": "null"},
            ]
        }
    ),
]


class ToolCall(BaseModel):
    """A call of a tool."""

    name: str = Field(description="The tool")
    arguments: Any = Field(description="What it was given")


class Message(BaseModel):
    """A message: who speaks, and what is said. Other fields that a framework adds are let be."""

    model_config = ConfigDict(extra="ignore")

    role: Role = Field(description="user (human), assistant (ai, model), system (developer) or tool (function)")
    content: MessageContent = Field(default=None, description="A text, or parts with a type; null beside tool calls")
    name: Label | None = Field(default=None, description="Who of those with this role it is: the source of what it tells")
    tool_calls: list[Metadata] | None = Field(default=None, description="Calls of tools, as OpenAI or LangChain have them")
    said_at: Moment | None = Field(default=None, description="When it was said; default now")

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, message: object) -> object:
        return plain_message(message)

    @model_validator(mode="after")
    def _something(self) -> "Message":
        if self.content is None and not self.tool_calls:
            raise ValueError("content must be a text, or a list of parts; only beside tool_calls it may be missing")
        return self

    @property
    def speech(self) -> str:
        """What is said in words."""
        return "\n".join(text for text in self._texts() if text.strip())

    @property
    def prose(self) -> str:
        """What is said in words, without blocks of code."""
        return _CODE.sub("\n", self.speech)

    @property
    def calls(self) -> list[ToolCall]:
        """Calls of tools, whatever shape they have."""
        stated = [*(self.tool_calls or []), *(part for part in self._objects() if part["type"] in CALLS)]
        return [_call(one) for one in stated]

    @property
    def results(self) -> list[str]:
        """What tools answered, where it stands beside other parts."""
        parts = [part for part in self._objects() if part["type"] in RESULTS]
        return [text for part in parts if (text := _result(part.get("content", part.get("output")))).strip()]

    @property
    def others(self) -> list[str]:
        """Types of parts that are no words: images, files."""
        return [part["type"] for part in self._objects() if part["type"] not in TEXTS | THOUGHTS | CALLS | RESULTS]

    @property
    def speaker(self) -> Speaker:
        """Who speaks; a message that only brings results of tools is a tool's."""
        return "tool" if self.results and not self.speech else SPEAKERS[self.role]

    def turn(self) -> dict[str, Any] | None:
        """The turn of a conversation that it is; None: nothing was said."""
        calls = self.calls
        shown = [f"{call.name}({json.dumps(call.arguments, ensure_ascii=False)})" for call in calls]
        content = self.speech or "\n".join(self.results or shown or [f"[{kind}]" for kind in self.others])
        if not content.strip():
            return None
        about = {
            "name": self.name,
            "tool_calls": [call.model_dump(mode="json") for call in calls],
            "tool_results": self.results if self.speech else [],
            "parts": self.others,
        }
        said_at = {} if self.said_at is None else {"said_at": self.said_at.isoformat()}
        return {"role": self.speaker, "content": content, "metadata": {k: v for k, v in about.items() if v}, **said_at}

    def _objects(self) -> list[dict[str, Any]]:
        return [part for part in self.content if isinstance(part, dict)] if isinstance(self.content, list) else []

    def _texts(self) -> Iterator[str]:
        if isinstance(self.content, str):
            yield self.content
        for part in self.content if isinstance(self.content, list) else []:
            if isinstance(part, str):
                yield part
            elif part["type"] in TEXTS:
                yield part[part["type"] if part["type"] == "refusal" else "text"]


def plain_message(message: object) -> object:
    """A message of a framework as role, content and tool_calls; what is none of theirs stays as it is."""
    if isinstance(message, (list, tuple)) and len(message) == 2 and all(isinstance(part, str) for part in message):  # noqa: PLR2004
        return {"role": message[0].lower(), "content": message[1]}
    if not isinstance(message, dict):
        return message
    if isinstance(inner := message.get("kwargs"), dict) and isinstance(message.get("id"), list) and message["id"]:
        message = {"type": message["id"][-1], **inner}  # LangChain: dumpd
    elif isinstance(inner := message.get("data"), dict) and "role" not in message:
        message = {**inner, "type": message.get("type", inner.get("type"))}  # LangChain: messages_to_dict
    kind = message.get("type")
    if "role" not in message and isinstance(kind, str):
        message = _of_type(kind, message)
    if isinstance(message.get("role"), str):
        message = {**message, "role": message["role"].lower()}
    return message


def _of_type(kind: str, message: dict[str, Any]) -> dict[str, Any]:
    """A message that is told by its type: LangChain's, and the items of OpenAI's Responses."""
    if kind == "function_call":
        return {"role": "assistant", "tool_calls": [message]}
    if kind == "function_call_output":
        return {"role": "tool", "content": _result(message.get("output"))}
    if kind == "reasoning":
        return {"role": "assistant", "content": ""}
    named = _CLASS.fullmatch(kind)
    role = named[1].lower() if named else kind.lower()
    return {**message, "role": role} if role in SPEAKERS else message


def _call(stated: Mapping[str, Any]) -> ToolCall:
    function = stated.get("function")
    said: Mapping[str, Any] = function if isinstance(function, dict) else stated
    given: Any = next((said[key] for key in ("arguments", "input", "args") if key in said), {})
    if isinstance(given, str):
        with suppress(ValueError):  # a text, then
            given = json.loads(given)
    return ToolCall(name=str(said.get("name") or "tool"), arguments=given)


def _result(content: Any) -> str:
    if isinstance(content, list):
        texts = [part if isinstance(part, str) else part.get("text") for part in content if isinstance(part, (str, dict))]
        return "\n".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else "" if content is None else json.dumps(content, ensure_ascii=False)
