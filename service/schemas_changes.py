"""What readers of the change feed are told (row X4)."""

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field


class Change(BaseModel):
    """A change: of what, by whom, and the fields before and after."""

    position: int = Field(description="Place in the feed; grows over all namespaces, with gaps")
    namespace: str
    kind: str = Field(description="memory, entity, edge, turn, …", examples=["memory"])
    action: str = Field(description="created, changed or erased (deleted for good)", examples=["created"])
    subject_id: UUID | None = Field(description="Id of the thing; null where before and after hold its key")
    operation_id: UUID = Field(description="The operation that made the change, as in GET /operations")
    content: str | None = Field(description="Text of the memory or turn; null for other kinds, and once it was erased")
    before: dict[str, Any] | None = Field(description="Changed fields as they were; null for what is new, and once it was erased")
    after: dict[str, Any] | None = Field(description="Changed fields as they are since; null once it was erased")
    changed_at: datetime
    agent_id: UUID | None = Field(description="Who did it; null: somebody with rights of the owner")
    agent: str | None = Field(description="Name of that agent")
    via: str = Field(description="rest, mcp, cli, worker or sql")


class ChangePage(BaseModel):
    """Changes, oldest first, and where the next page begins. It is always said: a reader that comes back later goes on there."""

    items: list[Change]
    next_cursor: str = Field(description="What to send as `after` next; past changes that the filter left out, too")
