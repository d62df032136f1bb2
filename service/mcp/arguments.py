"""What the tools take, by the names that the seeds give their parameters.

Types only: what a value may be is for REST to say, so that both surfaces say it in the same words. The schemas are what a model
reads before every conversation, so they carry nothing that it does not need.
"""

import json
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, model_validator


def _listed(value: object) -> object:
    """A list, also of one that came as JSON in a string or as names with commas between, as models like to send them."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return [part.strip() for part in value.split(",") if part.strip()]


Names = Annotated[list[str], BeforeValidator(_listed)]
Name = Annotated[str, Field(min_length=1)]
Time = Annotated[str, Field(description="RFC 3339 time or date")]
Category = Annotated[str, Field(description="Path such as user-preferences/timezone")]
CategoryFilter = Annotated[str, Field(description="This category and all below it")]
AnyTag = Annotated[Names, Field(description="Any of these")]
Cursor = Annotated[str, Field(description="To go on, as the reply before says")]
DryRun = Annotated[bool, Field(description="Only say what would be done")]
Session = Annotated[str, Field(description="This conversation's id")]
Prefix = Annotated[str, Field(description="Prefix of keys, such as session/abc or patrol; default: your own space")]


class Arguments(BaseModel):
    """Arguments of a tool: unknown ones are errors."""

    model_config = ConfigDict(extra="forbid")


class SaveMemory(Arguments):
    """A statement to keep."""

    content: str = Field(description="One statement that stands alone: full names, no 'he' or 'yesterday'")
    category: Category | None = None
    tags: Names | None = None


class SearchMemory(Arguments):
    """A question, and what the answers are restricted to."""

    query: str
    category: CategoryFilter | None = None
    tags: AnyTag | None = None


class DeleteMemory(Arguments):
    """One memory."""

    id: UUID = Field(description="As in [id] of a result")


class NoArguments(Arguments):
    """Nothing."""


class SaveEntry(Arguments):
    """An entry of working memory."""

    key: Name = Field(description="Plain name in your own space, such as draft, or a full path within it")
    data: JsonValue = Field(description="Text or any JSON")
    ttl_minutes: float | None = Field(None, gt=0, le=366 * 24 * 60, description="Default 5")  # checked here: REST counts seconds
    category: str | None = None
    tags: Names | None = None


class EntryKey(Arguments):
    """One entry of working memory."""

    key: Name = Field(description="Plain name in your own space, or a full path such as subagent/t1/results")


class ListEntries(Arguments):
    """Whose entries."""

    namespace: Prefix | None = None


class SearchEntries(Arguments):
    """What to look for in working memory."""

    query: str | None = Field(None, description="Without it: newest first")
    category: CategoryFilter | None = None
    tags: AnyTag | None = None
    namespace: Prefix | None = None


class Traverse(Arguments):
    """Where to start walking the graph, and how far."""

    startEntity: Name = Field(description="Name, alias or id")  # noqa: N815 (the seed's names, here and below)
    edgeTypes: Names | None = Field(None, description="Such as works_on, uses; default: all")  # noqa: N815
    maxHops: int | None = Field(None, description="Default 2")  # noqa: N815
    limit: int | None = Field(None, description="Edges at most; default 20")


class Decay(Arguments):
    """Which edges, and their new rate."""

    @model_validator(mode="after")
    def _of_a_type(self) -> "Decay":
        if self.decayRate is not None and self.edgeType is None:
            raise ValueError("decayRate needs edgeType beside it: the type of edges that it is for")
        return self

    edgeType: Name | None = Field(None, description="Default: all types")  # noqa: N815
    decayRate: float | None = Field(  # noqa: N815
        None, description="New rate per day for edgeType (0.01: half after 70 days). Without it: recalculate only"
    )


class Retain(Arguments):
    """A text with facts to keep."""

    content: str = Field(description="Any text; each sentence is judged as a fact")
    category: Category | None = None
    tags: Names | None = None
    source: str | None = Field(None, description="Who said it")
    session_id: Session | None = None
    dry_run: DryRun | None = None


Tier = Literal["working_memory", "conversation"]


class Recall(Arguments):
    """A question in full."""

    query: str
    k: int | None = Field(None, description="How many results; default 10")
    category: CategoryFilter | None = None
    tags: AnyTag | None = None
    entity: str | None = Field(None, description="Only memories that mention this entity (name or id)")
    as_of: Time | None = Field(None, description="What was true then")
    known_at: Time | None = Field(None, description="What was believed then")
    tiers: list[Tier] | None = Field(None, description="Search these too")
    namespaces: Names | None = Field(None, description="Other namespaces to search; * for all that you may read")
    session_id: Session | None = None


class Reflect(Arguments):
    """What to put in order."""

    category: CategoryFilter | None = None
    limit: int | None = Field(None, description="Memories to look at; default 200")
    cursor: Cursor | None = None
    dry_run: DryRun | None = None


class GetContext(Arguments):
    """What the next answer is about."""

    message: str | None = Field(None, description="The user's message")
    session_id: Session | None = None
    k: int | None = Field(None, description="Memories at most; default 8")
    max_chars: int | None = Field(None, description="Length of the text at most")


class History(Arguments):
    """Whose history, and which part of it."""

    ref: Name = Field(description="Lineage, memory id, or an entity's name or id")
    limit: int | None = Field(None, description="Items at most; default 50")
    cursor: Cursor | None = None


def schema_of(arguments: type[Arguments]) -> dict[str, Any]:
    """The JSON schema of a tool's arguments, without what costs a model tokens and tells it nothing."""
    schema = arguments.model_json_schema()
    properties = {name: _terse(field) for name, field in schema.get("properties", {}).items()}
    required = {"required": schema["required"]} if schema.get("required") else {}
    return {"type": "object", "properties": properties, **required, "additionalProperties": False}


def _terse(field: dict[str, Any]) -> dict[str, Any]:
    """A property without its title, and without the null that stands for leaving it out."""
    kinds = [kind for kind in field.get("anyOf", []) if kind != {"type": "null"}]
    merged = {**(kinds[0] if len(kinds) == 1 else {}), **field}
    return {key: value for key, value in merged.items() if key in {"type", "format", "items", "description", "enum"}}


Kind = Literal["reads", "adds", "changes", "replaces", "deletes"]
