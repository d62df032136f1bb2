"""What may be said about the agent's work, and how it is listed (row L4)."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from service.schemas_fields import Content, Label, Model

SignalKind = Literal["correction", "tool_failure", "praise", "complaint", "note"]


class SignalInput(Model):
    """What somebody, or a tool, said about the agent's work."""

    kind: SignalKind = Field(description="Lessons are learned from corrections; the others are shown beside them")
    content: Annotated[Content, Field(max_length=10_000)] = Field(examples=["use grep for content search, not search_files"])
    session_id: Label | None = Field(None, description="The conversation; default: that of the report")
    memory_id: UUID | None = Field(None, description="The memory that it is about; the signal is erased with it")


class Signal(BaseModel):
    """A signal that was noted."""

    id: UUID
    kind: SignalKind = Field(description="correction, tool_failure, praise, complaint or note")
    content: str
    session_id: str | None
    memory_id: UUID | None = Field(description="The memory that it is about")
    agent_id: UUID | None = Field(description="Who noted it")
    at: datetime


class SignalPage(BaseModel):
    """A page of signals, newest first."""

    items: list[Signal]
    next_cursor: str | None
