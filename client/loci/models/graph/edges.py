"""Edges, their types and their decay."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic.config import JsonDict

from loci.models.fields import (
    MAX_BATCH,
    Description,
    EdgeType,
    Flag,
    Id,
    Items,
    Label,
    Literal1000,
    Metadata,
    Model,
    Moment,
    NextCursor,
    Rate,
    RecordedAt,
    Strength,
    Unit,
    ValidFrom,
    ValidTo,
    as_items,
    not_null,
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

    source: Label = Field(description="Name of the entity that the edge starts at")
    type: EdgeType = Field(description="Type of the edge, such as works_on")
    target: Label | None = Field(default=None, description="Name of the entity that the edge leads to")
    literal: Literal1000 | None = Field(default=None, description="The value that the edge leads to, where that is no entity")
    aspect: Label | None = Field(default=None, description="Name of the source's aspect that motivates it; made if there is none")
    confidence: Unit | None = Field(default=None, description="How sure it is, 0 to 1")
    strength: Unit | None = Field(default=None, description="How strong the relation is, 0 to 1")
    observed_at: Moment | None = Field(
        default=None, description="When it was observed; default: when the episode was that says so, else now"
    )

    @model_validator(mode="after")
    def _one_target(self) -> "EdgeInput":
        if (self.target is None) == (self.literal is None):
            raise ValueError("exactly one of target and literal is needed")
        return self


class EdgeWrite(EdgeInput):
    """An observation of an edge."""

    session_id: Label | None = Field(
        default=None,
        description="The conversation; one that is new to the edge restores its confidence. Without one, another day does",
    )
    memory_id: UUID | None = Field(default=None, description="The memory that says so")
    valid_from: Moment | None = Field(default=None, description="From when it is true; default: when it was observed")
    valid_to: Moment | None = Field(default=None, description="Until when it is true (exclusive); null: still")
    metadata: Metadata | None = Field(default=None, description="Your own JSON object, at most 1 MiB; kept as it is")


class EdgeBatch(Model):
    """Many observations, all or nothing."""

    items: Annotated[list[EdgeWrite], Field(min_length=1, max_length=MAX_BATCH)] = Field(description="Observations, at most 10,000")
    _bare = model_validator(mode="before")(as_items)


class EdgeChanges(Model):
    """What is corrected about an edge: what was believed of it until now stays known."""

    model_config = ConfigDict(json_schema_extra=without_null("valid_to"))

    confidence: Unit | None = Field(default=None, description="How sure it is, 0 to 1; decays from now on")
    strength: Unit | None = Field(default=None, description="How strong the relation is, 0 to 1")
    valid_from: Moment | None = Field(default=None, description="From when it is true, in the spell of now, or the last before")
    valid_to: Moment | None = Field(default=None, description="Until when it is true (exclusive); null: still")

    _not_null = field_validator("confidence", "strength", "valid_from", mode="before")(not_null)


class EdgeTypeChanges(Model):
    """Settings of an edge type."""

    model_config = ConfigDict(json_schema_extra=without_null("decay_rate", "description"))

    decay_rate: Rate | None = Field(default=None, le=1e9, description="Per day; null: the namespace's")
    single_valued: Flag | None = Field(default=None, description="Whether a new target ends the one before")
    description: Description | None = Field(default=None, description="What the type means, in words; null: nothing")


class DecayInput(Model):
    """Which edges to recalculate."""

    type: EdgeType | None = Field(default=None, description="Default: all types")


class EdgeOut(BaseModel):
    """An edge, to an entity (`target`) or to a literal."""

    id: Id
    source_id: UUID = Field(description="Id of the entity that it starts at")
    source: str = Field(description="Name of the entity that it starts at")
    type: str = Field(description="Type of the edge, such as works_on")
    target_id: UUID | None = Field(description="Id of the entity that it leads to; null: it leads to a literal")
    target: str | None = Field(description="Name of the entity that it leads to; null: it leads to a literal")
    literal: str | None = Field(description="The value that the edge leads to, where that is no entity")
    confidence: float = Field(description="After decay")
    strength: Strength
    faded: bool = Field(description="Whether its confidence is below the threshold")
    observations: int = Field(description="How often it was observed until then")
    first_observed_at: datetime | None = Field(description="When it was first observed; null: not until then")
    last_observed_at: datetime | None = Field(description="When it was last observed; null: not until then")
    restored_at: datetime | None = Field(
        description="Since when its confidence decays: the last observation in a new conversation; null: not yet"
    )
    fades_at: datetime | None = Field(description="When its confidence falls below the threshold; null: never, or not known yet")
    valid_from: ValidFrom
    valid_to: ValidTo
    recorded_at: RecordedAt
    superseded_at: datetime | None = Field(description="When it stopped being believed; null: it is believed")
    metadata: dict[str, Any] = Field(description="Your own JSON object, at most 1 MiB; kept as it is")
    aspect: str | None = Field(description="Name of the source's aspect that motivates it; null: none")


class Spell(BaseModel):
    """A time in which an edge holds, and when that was believed."""

    valid_from: ValidFrom
    valid_to: ValidTo
    recorded_at: datetime = Field(description="Since when it is believed")
    superseded_at: datetime | None = Field(description="When it stopped being believed; null: it is believed")


class EdgeObservation(BaseModel):
    """Evidence: somebody said so, at a moment."""

    id: Id
    observed_at: datetime = Field(description="When it was observed")
    valid_from: datetime | None = Field(description="From when it is true, as stated; null: not stated")
    valid_to: datetime | None = Field(description="Until when it is true, as stated; null: not stated")
    confidence: Unit | None = Field(description="How sure it was, 0 to 1, as stated; null: a correction that leaves it")
    corrects: bool = Field(description="It corrects what was said before, and is no observation")
    restored: bool = Field(description="Seen in a new conversation, so that confidence was set anew")
    session_id: str | None = Field(description="The conversation; null: none was stated")
    memory_id: UUID | None = Field(description="The memory that says so; null: none")
    recorded_at: RecordedAt


class EdgeDetail(EdgeOut):
    """An edge with what it rests on."""

    spells: list[Spell] = Field(description="When it holds, in order of time; those believed no longer, too")
    evidence: list[EdgeObservation] = Field(description="Its observations, newest first")


class EndedEdge(BaseModel):
    """An edge that ended, because its type has one target at a time."""

    id: Id
    target_id: UUID | None = Field(description="Id of the entity that it leads to; null: it leads to a literal")
    target: str | None = Field(description="Name of the entity that it leads to; null: it leads to a literal")
    literal: str | None = Field(description="The value that the edge leads to, where that is no entity")
    valid_to: datetime = Field(description="When it ended")
    supersession_id: UUID = Field(description="The decision, which can be undone")


class EdgeWritten(EdgeOut):
    """An edge that was observed, as it is now, and what the observation did."""

    created: bool = Field(description="False: it was there, and was observed again")
    restored: bool = Field(description="Seen in a new conversation, so that its confidence is full again")
    superseded: list[EndedEdge] = Field(description="Edges that ended by it")


class EdgePage(BaseModel):
    """A page of edges."""

    items: Items[EdgeOut]
    next_cursor: NextCursor


class EdgeObserved(BaseModel):
    """What became of an observation."""

    id: Id
    source: str = Field(description="Name of the entity that it starts at")
    source_id: UUID = Field(description="Id of the entity that it starts at")
    type: str = Field(description="Type of the edge, such as works_on")
    target: str | None = Field(default=None, description="Name of the entity that it leads to; null: it leads to a literal")
    target_id: UUID | None = Field(description="Id of the entity that it leads to; null: it leads to a literal")
    literal: str | None = Field(default=None, description="The value that the edge leads to, where that is no entity")
    created: bool = Field(description="False: it was there, and was observed again")
    restored: bool = Field(description="Seen in a new conversation, so that its confidence is full again")
    superseded: list[EndedEdge] = Field(description="Edges that ended by it")


class EdgesObserved(BaseModel):
    """What became of each observation, in order."""

    items: Items[EdgeObserved]


class EdgeTypeOut(BaseModel):
    """Settings of an edge type."""

    type: str = Field(description="Type of the edge, such as works_on")
    decay_rate: float = Field(description="Per day, in force")
    single_valued: bool = Field(description="Whether a new target ends the one before")
    description: str | None = Field(description="What the type means, in words")
    updated_at: datetime | None = Field(description="When it was last changed; null: never")


class EdgeTypeListed(EdgeTypeOut):
    """Settings of an edge type, and how many edges it has."""

    edges: int = Field(description="Edges that are believed now, faded ones and those of the past too")
    faded: int = Field(description="Of these, those that have faded")


class EdgeTypePage(BaseModel):
    """A page of edge types, in the order of the alphabet."""

    items: Items[EdgeTypeListed]
    next_cursor: NextCursor


class Decayed(BaseModel):
    """What a change of decay has done."""

    faded: int = Field(description="How many edges have faded by it")
    revived: int = Field(description="How many edges came back by it")


class Recalculated(Decayed):
    """How edges stand after they were recalculated."""

    faded: int = Field(description="How many have faded since the last recalculation, by time or by a rate")
    edges: int = Field(description="How many edges were looked at, those that are believed no longer included")
    faded_now: int = Field(description="How many are faded now")


class EdgeTypeChanged(EdgeTypeOut, Decayed):
    """Settings of an edge type after a change, and what that did to its edges."""
