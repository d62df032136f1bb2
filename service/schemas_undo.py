"""Undoing an operation: what is sent, and what comes back."""

from uuid import UUID

from pydantic import BaseModel, Field

from service.schemas_fields import Model


class UndoInput(Model):
    """How to undo an operation."""

    skip_changed: bool = Field(
        False, description="Leave alone what was changed again since, and undo the rest; else that is a conflict"
    )


class Left(BaseModel):
    """Things that undoing left as they are."""

    kind: str = Field(description="What they are, as in changes", examples=["entity"])
    count: int
    reason: str


class OperationUndone(BaseModel):
    """What undoing an operation did."""

    operation_id: UUID = Field(description="The operation that undoes; undo it to have the first one in force again")
    undoes: UUID = Field(description="The operation that is undone")
    undone: dict[str, int] = Field(description="How many things of each kind are as before", examples=[{"memory": 2, "edge": 1}])
    skipped: list[Left] = Field(description="What stays as it is, and why")
