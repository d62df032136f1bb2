"""What requests about working memory and conversations may say, and what they are told (rows W1 to W3)."""

from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.config import JsonDict

from service.schemas_fields import Category, Content, Json, Label, Metadata, Model, Moment, Tags, Text

Seconds = Annotated[float, Field(gt=0, le=31_622_400, allow_inf_nan=False)]
Prefix = Annotated[Text, Field(max_length=512)]
Role = Annotated[Label, Field(max_length=64)]


class EntryInput(Model):
    """An entry of working memory."""

    value: Json = Field(description="Any JSON, at most 1 MiB")
    ttl_seconds: Seconds | None = Field(None, description="How long it lives; default: the setting working_memory_ttl")
    category: Category | None = None
    tags: Tags | None = None


class Entry(BaseModel):
    """An entry, without its value."""

    key: str = Field(description="Full path")
    space: str = Field(description="Its first two segments")
    category: str | None
    tags: list[str]
    stored_at: datetime
    expires_at: datetime = Field(description="From when it is unseen")


class EntryOut(Entry):
    """An entry."""

    value: Any


class EntryPage(BaseModel):
    """A page of entries, in order of their keys."""

    items: list[Entry]
    next_cursor: str | None


class EntrySearch(Model):
    """Which entries to look for."""

    query: Content | None = Field(None, description="Words; without them the newest come first")
    category: Category | None = Field(None, description="This category and all below it")
    tags: Tags | None = Field(None, description="Any of these")
    prefix: Prefix | None = Field(None, description="Under these segments; default: the space of X-Space, else everywhere")
    limit: int = Field(10, ge=1, le=1000)


class EntryFound(EntryOut):
    """An entry that was found."""

    score: float | None = Field(description="BM25; null without a query")


class EntriesFound(BaseModel):
    """Entries, best first."""

    items: list[EntryFound]


class TurnInput(Model):
    """What somebody said."""

    role: Role = Field(examples=["user", "assistant"])
    content: Content
    metadata: Metadata | None = None
    said_at: Moment | None = Field(None, description="Default: now")


ONE_OR_MANY: JsonDict = {
    "oneOf": [
        {
            "required": ["role", "content"],
            "properties": {"role": {"type": "string"}, "content": {"type": "string"}, "turns": {"type": "null"}},
        },
        {"required": ["turns"], "properties": {"turns": {"type": "array"}}, "maxProperties": 1},
    ]
}


class TurnsInput(Model):
    """One turn, or several in order: either `role` and `content`, or `turns`."""

    model_config = ConfigDict(json_schema_extra=ONE_OR_MANY)

    role: Role | None = None
    content: Content | None = None
    metadata: Metadata | None = None
    said_at: Moment | None = None
    turns: Annotated[list[TurnInput], Field(min_length=1, max_length=1000)] | None = None

    @model_validator(mode="after")
    def _one_or_many(self) -> Self:
        single = self.model_fields_set - {"turns"}
        if self.turns is not None:
            if single:
                raise ValueError(f"either turns, or one turn by itself: {', '.join(sorted(single))} must not stand beside turns")
        elif self.role is None or self.content is None:
            raise ValueError("role and content are needed, or turns")
        return self

    def listed(self) -> list[dict[str, Any]]:
        """The turns, JSON-ready."""
        return [turn.stated() for turn in self.turns] if self.turns is not None else [self.stated()]


class Turn(BaseModel):
    """A turn of a conversation."""

    id: int = Field(description="Grows within a session")
    session_id: str
    role: str
    content: str
    metadata: dict[str, Any]
    said_at: datetime


class Turns(BaseModel):
    """Turns, oldest first."""

    items: list[Turn]


class TurnPage(Turns):
    """Turns, oldest first; `next_cursor` leads to those before them."""

    next_cursor: str | None


class TurnsDeleted(BaseModel):
    """How many turns were deleted."""

    session_id: str
    deleted: int


class Conversation(BaseModel):
    """A session that has turns."""

    session_id: str
    turns: int
    first_said_at: datetime
    last_said_at: datetime
    logged: int = Field(description="Turns that no pass has learned from yet")


class ConversationPage(BaseModel):
    """A page of conversations, in order of their sessions."""

    items: list[Conversation]
    next_cursor: str | None
