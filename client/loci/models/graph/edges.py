"""Edges, their types and their decay."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.config import JsonDict

from loci.models.fields import (
    MAX_BATCH,
    Description,
    EdgeType,
    Flag,
    Label,
    Literal1000,
    Metadata,
    Model,
    Moment,
    Rate,
    Unit,
    without_null,
)

ONE_TARGET: JsonDict = {
    "oneOf": [
        {"required": ["target"], "properties": {"target": {"type": "string"}, "literal": {"type": "null"}}},
        {"required": ["literal"], "properties": {"literal": {"type": "string"}, "target": {"type": "null"}}},
    ]
}


class EdgeInput(Model):
    """A relation stated in a write: to an entity (`target`) or to a literal."""

    model_config = ConfigDict(json_schema_extra=ONE_TARGET)

    source: Label
    type: EdgeType
    target: Label | None = None
    literal: Literal1000 | None = None
    aspect: Label | None = Field(default=None, description="Name of the source's aspect that motivates it; made if there is none")
    confidence: Unit | None = None
    strength: Unit | None = None

    @model_validator(mode="after")
    def _one_target(self) -> "EdgeInput":
        if (self.target is None) == (self.literal is None):
            raise ValueError("exactly one of target and literal is needed")
        return self


class EdgeWrite(EdgeInput):
    """An observation of an edge."""

    session_id: Label | None = None
    memory_id: UUID | None = None
    observed_at: Moment | None = None
    valid_from: Moment | None = None
    valid_to: Moment | None = None
    metadata: Metadata | None = None


class EdgeBatch(Model):
    """Many observations, all or nothing."""

    items: Annotated[list[EdgeWrite], Field(min_length=1, max_length=MAX_BATCH)]


class EdgeTypeChanges(Model):
    """Settings of an edge type."""

    model_config = ConfigDict(json_schema_extra=without_null("decay_rate", "description"))

    decay_rate: Rate | None = Field(default=None, description="Per day; null: the namespace's")
    single_valued: Flag | None = None
    description: Description | None = None


class DecayInput(Model):
    """Which edges to recalculate."""

    type: EdgeType | None = Field(default=None, description="Default: all types")


class EdgeOut(BaseModel):
    """An edge, to an entity (`target`) or to a literal."""

    id: UUID
    source_id: UUID
    source: str
    type: str
    target_id: UUID | None
    target: str | None
    literal: str | None
    confidence: float = Field(description="After decay")
    strength: float
    faded: bool
    observations: int
    first_observed_at: datetime
    last_observed_at: datetime
    fades_at: datetime | None
    valid_from: datetime
    valid_to: datetime | None
    recorded_at: datetime
    superseded_at: datetime | None
    metadata: dict[str, Any]
    aspect: str | None


class EdgePage(BaseModel):
    """A page of edges."""

    items: list[EdgeOut]
    next_cursor: str | None


class EdgeObserved(BaseModel):
    """What became of an observation."""

    id: UUID
    source: str
    source_id: UUID
    type: str
    target: str | None = None
    target_id: UUID | None
    literal: str | None = None
    created: bool
    restored: bool = Field(description="Seen in a new conversation, so that its confidence is full again")


class EdgesObserved(BaseModel):
    """What became of each observation, in order."""

    items: list[EdgeObserved]


class EdgeTypeOut(BaseModel):
    """Settings of an edge type."""

    type: str
    decay_rate: float = Field(description="Per day, in force")
    single_valued: bool
    description: str | None
    updated_at: datetime | None


class Decayed(BaseModel):
    """What a change of decay has done."""

    faded: int
    revived: int


class EdgeTypeChanged(EdgeTypeOut, Decayed):
    """Settings of an edge type after a change, and what that did to its edges."""
