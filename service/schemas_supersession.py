"""What requests about supersession may say, and how decisions are shown."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from service.schemas_fields import Label, Model, Text

Status = Literal["proposed", "applied", "dismissed", "undone"]
Signal = Literal["negation", "antonym", "value_conflict", "temporal_marker", "model"]


class Sweep(Model):
    """Which facts to look at, and what to do."""

    entity: Label | None = Field(None, description="Only facts of this entity: name, alias or id")
    mode: Literal["apply", "propose"] | None = Field(
        None, description="Default: the setting `supersession`; propose where it is off"
    )
    limit: int = Field(500, ge=1, le=10_000, description="Facts to visit in this call")
    cursor: Annotated[Text | None, Field(max_length=1000, description="`next_cursor` of the call before")] = None


class Supersession(BaseModel):
    """A decision that one attribute supersedes a sibling."""

    id: UUID
    status: Status
    signal: Signal
    confidence: float
    evidence: list[str] = Field(description="The words that decided; empty once one of the two was erased")
    origin: Literal["inline", "sweep", "manual", "pass"]
    entity_id: UUID
    entity: str
    aspect_id: UUID
    aspect: str
    older_id: UUID
    older: str
    newer_id: UUID
    newer: str
    created_at: datetime
    decided_at: datetime | None
    decided_by: UUID | None
    undone_at: datetime | None


class SupersessionPage(BaseModel):
    """A page of decisions, newest first."""

    items: list[Supersession]
    next_cursor: str | None


class SweepOut(BaseModel):
    """What a sweep decided about the facts that it visited."""

    items: list[Supersession]
    visited: int
    superseded: list[UUID] = Field(description="Attributes that are superseded now")
    next_cursor: str | None = Field(description="For the facts that are left; null: all were visited")
