"""What a request for a context may say, and what it gets."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from service.schemas import Constraint, MemoryOut
from service.schemas_fields import Content, Label, Model, Moment, Text

SectionName = Literal["memories", "constraints", "graph", "working_memory", "patrol", "subagents", "turns"]
Space = Annotated[
    Text,
    Field(
        pattern=r"^[^/]+/[^/]+$",
        max_length=255,
        examples=["session/abc", "patrol/heartbeat"],
        json_schema_extra={"pattern": r"^[^/\u0000-\u001f\u007f-\u009f]+/[^/\u0000-\u001f\u007f-\u009f]+$"},
    ),
]


class ContextInput(Model):
    """What a context is for, and how large it may be."""

    message: Content | None = Field(None, description="What is about to be answered; without it nothing is searched for")
    session_id: Label | None = Field(
        None, description="The conversation: a memory is shown to it once. Without it nothing is stored and nothing is held back"
    )
    space: Space | None = Field(
        None,
        description="Own space of working memory; default: X-Space, else session/ and the session. "
        "Under patrol/ and subagent/ the working memory of others is left out",
    )
    k: int | None = Field(None, ge=1, le=100, description="Memories to recall; default: the namespace's setting `context_memories`")
    max_chars: int | None = Field(None, ge=0, le=2**31 - 1, description="The text is never longer; default: no limit")
    sections: list[SectionName] | None = Field(None, min_length=1, description="Default: all")
    as_of: Moment | None = Field(None, description="Memories and edges that held at this moment; default now")
    known_at: Moment | None = Field(None, description="As believed at this moment; default now")


class ContextMemory(MemoryOut):
    """A memory in a context."""

    score: float | None = Field(description="Of the recall; null: shown because nothing was found in the first context")


class ContextGraph(BaseModel):
    """What the message names, and the edges around that."""

    entities: list[dict[str, Any]]
    edges: list[dict[str, Any]]


class ContextKey(BaseModel):
    """An entry of working memory, without its value."""

    key: str
    space: str
    category: str | None
    tags: list[str]
    stored_at: datetime
    expires_at: datetime
    expires_in: float = Field(description="Seconds")


class ContextTurn(BaseModel):
    """A turn of the conversation."""

    id: int
    session_id: str
    role: str
    content: str
    metadata: dict[str, Any]
    said_at: datetime


class LeftOut(BaseModel):
    """What a section lacks."""

    section: SectionName
    left_out: int | None = Field(description="Items; null: not counted")
    reason: str = Field(description="max_chars, context_keys (setting), or what ended the walk through the graph")


class ContextOut(BaseModel):
    """What to inject: as text, and as the data of what is in the text."""

    session_id: str | None
    space: str
    text: str
    memories: list[ContextMemory]
    constraints: list[Constraint]
    graph: ContextGraph
    working_memory: list[ContextKey] = Field(description="Of the own space")
    patrol: list[ContextKey]
    subagents: list[ContextKey] = Field(description="Keys that end in -index")
    turns: list[ContextTurn]
    first: bool = Field(description="The first context of the session, or since its end")
    held_back: int = Field(description="Memories that were found and had been shown to the session before")
    truncated: list[LeftOut]
    skipped: dict[str, str] = Field(description="Arms of the recall that did not take part, and why")
    took_ms: float
