"""What replies say of the operations log (row X5)."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

Via = Literal["rest", "mcp", "cli", "worker", "sql"]


class OperationOut(BaseModel):
    """A call that changed something: who, through what, when, and how much."""

    id: UUID
    action: str = Field(description="The name of a REST operation, the words of a command, or a step of the worker")
    via: Via
    agent_id: UUID | None
    agent: str | None = Field(description="Its name")
    key_id: UUID | None = Field(description="The API key that was used; null: none")
    request_id: str | None = Field(description="X-Request-Id of the reply")
    started_at: datetime
    undoes: UUID | None = Field(description="The operation that this one took back")
    undone_by: UUID | None = Field(description="The operation that took this one back")
    changes: dict[str, int] = Field(description="How many changes, by kind and action", examples=[{"memory.created": 2}])


class OperationPage(BaseModel):
    """A page of the operations log, newest first."""

    items: list[OperationOut]
    next_cursor: str | None


class OperationChange(BaseModel):
    """One thing that an operation changed."""

    position: int = Field(description="Place in the change feed")
    kind: str = Field(description="memory, placement, link, entity, edge, aspect, attribute, …")
    action: Literal["created", "changed", "erased"]
    subject_id: UUID | None = Field(description="Id of the thing; of a place the lineage's, of a link its source")
    content: str | None = Field(description="Of a memory: its content now, unless it was erased")
    before: dict[str, Any] | None = Field(description="Changed fields as they were; null for what is new, or was erased since")
    after: dict[str, Any] | None = Field(description="Changed fields as they became; null once it was erased")
    changed_at: datetime


class OperationChangePage(BaseModel):
    """A page of what an operation changed, in order."""

    items: list[OperationChange]
    next_cursor: str | None
