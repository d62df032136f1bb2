"""Operations: the log, undo, and the change feed."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from loci.models.fields import Flag, Id, Items, Model, NextCursor


class Change(BaseModel):
    """A change: of what, by whom, and the fields before and after."""

    position: int = Field(description="Number in the feed of its namespace, from 1 on")
    cursor: str = Field(description="What to send as `after` to go on behind this change")
    namespace: str = Field(description="Name of the namespace")
    kind: str = Field(description="memory, entity, edge, turn, …", examples=["memory"])
    action: str = Field(description="created, changed or erased (deleted for good)", examples=["created"])
    subject_id: UUID | None = Field(description="Id of the thing; null where before and after hold its key")
    operation_id: UUID = Field(description="The operation that made the change, as in GET /operations")
    content: str | None = Field(description="Text of the memory or turn; null for other kinds, and once it was erased")
    before: dict[str, Any] | None = Field(description="Changed fields as they were; null for what is new, and once it was erased")
    after: dict[str, Any] | None = Field(description="Changed fields as they are since; null once it was erased")
    changed_at: datetime = Field(description="When it was written, by the clock of the database")
    agent_id: UUID | None = Field(description="Who did it; null: somebody with rights of the owner")
    agent: str | None = Field(description="Name of that agent")
    via: str = Field(description="rest, mcp, cli, worker or sql")


class ChangePage(BaseModel):
    """Changes, oldest first, and where the next page begins. It is always said: a reader that comes back later goes on there."""

    items: Items[Change]
    next_cursor: str = Field(description="What to send as `after` next; past changes that the filter left out, too")


Via = Literal["rest", "mcp", "cli", "worker", "sql"]


class OperationOut(BaseModel):
    """A call that changed something: who, through what, when, and how much."""

    id: Id
    action: str = Field(description="The name of a REST operation, the words of a command, or a step of the worker")
    via: Via = Field(description="Through what it came: rest, mcp, cli, worker (background work) or sql")
    agent_id: UUID | None = Field(description="The agent that did it; null: somebody with rights of the owner")
    agent: str | None = Field(description="Its name")
    key_id: UUID | None = Field(description="The API key that was used; null: none")
    request_id: str | None = Field(description="X-Request-Id of the reply")
    started_at: datetime = Field(description="When it began to write")
    undoes: UUID | None = Field(description="The operation that this one took back")
    undone_by: UUID | None = Field(description="The operation that took this one back")
    changes: dict[str, int] = Field(description="How many changes, by kind and action", examples=[{"memory.created": 2}])


class OperationPage(BaseModel):
    """A page of the operations log, newest first."""

    items: Items[OperationOut]
    next_cursor: NextCursor


class OperationChange(BaseModel):
    """One thing that an operation changed."""

    position: int = Field(description="Number in the change feed of the namespace")
    kind: str = Field(description="memory, placement, link, entity, edge, aspect, attribute, …")
    action: Literal["created", "changed", "erased", "moved"] = Field(
        description="created, changed, erased (deleted for good), or moved (of a namespace: to this cell)"
    )
    subject_id: UUID | None = Field(description="Id of the thing; of a place the lineage's, of a link its source")
    content: str | None = Field(description="Of a memory: its content now, unless it was erased")
    before: dict[str, Any] | None = Field(description="Changed fields as they were; null for what is new, or was erased since")
    after: dict[str, Any] | None = Field(description="Changed fields as they became; null once it was erased")
    changed_at: datetime = Field(description="When it was written, by the clock of the database")


class OperationChangePage(BaseModel):
    """A page of what an operation changed, in order."""

    items: Items[OperationChange]
    next_cursor: NextCursor


class ForeseenChange(BaseModel):
    """A thing that a dry run would change or erase."""

    kind: str = Field(description="memory, attribute, edge, entity, placement, link, …", examples=["memory"])
    action: Literal["created", "changed", "erased", "moved"] = Field(
        description="created, changed, erased (deleted for good), or moved (of a namespace: to this cell)"
    )
    subject_id: UUID | None = Field(description="Id of the thing; of a place the lineage's, of a link its source")
    content: str | None = Field(description="What it is in words, as it is now; null for kinds that have no text")
    before: dict[str, Any] | None = Field(description="Changed fields as they are; null for what is new or would be erased")
    after: dict[str, Any] | None = Field(description="Changed fields as they would be; null for what would be erased")


class ChangedSince(BaseModel):
    """A thing that was changed again since, so that undoing would take that back too."""

    kind: str = Field(description="What it is, as in changes", examples=["memory"])
    subject_id: UUID | None = Field(description="Its id; null: it has a name alone")
    name: str = Field(description="Its id or name")
    content: str | None = Field(default=None, description="What it is in words; in a dry run")
    operation_id: UUID | None = Field(description="The last operation that changed it; null: something else stands in the way")
    action: str | None = Field(description="What that was, such as change_memory")


class UndoInput(Model):
    """How to undo an operation."""

    dry_run: Flag = Field(
        default=False,
        description="Change nothing, and say what would be: of what was not changed since, with what was in `conflicts`",
    )
    skip_changed: Flag = Field(
        default=False, description="Leave alone what was changed again since, and undo the rest; else that is a conflict"
    )


class Left(BaseModel):
    """Things that undoing left as they are."""

    kind: str = Field(description="What they are, as in changes", examples=["entity"])
    count: int = Field(description="How many things")
    reason: str = Field(description="Why they stay")


class OperationUndone(BaseModel):
    """What undoing an operation did."""

    operation_id: UUID | None = Field(
        description="The operation that undoes; undo it to have the first one in force again. Null: a dry run, or all of it was "
        "changed since and skipped, so that nothing was undone"
    )
    undoes: UUID = Field(description="The operation that is undone")
    undone: dict[str, int] = Field(description="How many things of each kind are as before", examples=[{"memory": 2, "edge": 1}])
    skipped: list[Left] = Field(description="What stays as it is, and why")
    conflicts: list[ChangedSince] = Field(
        description="What was changed since, the first twenty: without `skip_changed`, any of it refuses the undoing"
    )
    dry_run: bool = Field(description="Whether nothing was changed")
    changes: list[ForeseenChange] = Field(description="Of a dry run: what would be changed, the first hundred; else empty")
    more: int = Field(description="Of a dry run: how many more")
