"""Facts: aspects with attributes and constraints, supersession, and the walk over them."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, model_validator

from loci.models.fields import Content, Flag, Label, Model, Moment, Text, Unit, without_null


class Constraint(BaseModel):
    """A rule that holds, with its entity and aspect."""

    id: UUID
    entity_id: UUID
    entity: str
    aspect_id: UUID
    aspect: str
    content: str
    importance: float
    confidence: float
    memory_id: UUID | None = Field(description="The memory that it rests on, if that is visible")


Statement = Annotated[Content, Field(max_length=10_000)]


class AspectWrite(Model):
    """An aspect to give an entity, or to change."""

    name: Label
    weight: Unit = Field(default=0.5, description="Salience")
    single_valued: Flag | None = Field(
        default=None, description="Whether its attributes replace each other; null: their words decide"
    )


class AttributeWrite(Model):
    """A fact, or a constraint, to put under an aspect."""

    content: Statement
    kind: Literal["attribute", "constraint"] = "attribute"
    memory_id: UUID | None = Field(default=None, description="The memory that it rests on")
    confidence: Unit = 0.0
    importance: Unit = 0.5
    valid_from: Moment | None = Field(default=None, description="From when it is true; default now")
    valid_to: Moment | None = Field(default=None, description="Until when (exclusive); default: still")


class AttributeChanges(Model):
    """What may change about an attribute. New content is a new attribute; the old one stays as superseded."""

    model_config = ConfigDict(json_schema_extra=without_null("valid_to"))

    content: Statement | None = None
    valid_from: Moment | None = Field(default=None, description="With content: from when the new content is true")
    valid_to: Moment | None = None
    status: Literal["active", "superseded", "deleted"] | None = None
    confidence: Unit | None = None
    importance: Unit | None = None

    @model_validator(mode="after")
    def _not_null(self) -> "AttributeChanges":
        for name in self.model_fields_set - {"valid_to"}:
            if getattr(self, name) is None:
                raise ValueError(f"{name} must not be null; leave it out to keep its value")
        return self


class AttributeOut(BaseModel):
    """An attribute or constraint."""

    id: UUID
    aspect_id: UUID
    kind: Literal["attribute", "constraint"]
    content: str
    status: Literal["active", "superseded", "deleted"]
    superseded_by: UUID | None
    memory_id: UUID | None
    confidence: float
    importance: float
    valid_from: datetime
    valid_to: datetime | None
    recorded_at: datetime
    superseded_at: datetime | None
    updated_at: datetime


class AttributeWritten(AttributeOut):
    """An attribute as it stands after a write, and what the write did to its siblings."""

    superseded: list[UUID] = Field(description="Attributes that are superseded now; itself among them if it is back-dated")
    proposed: list[UUID] = Field(description="Supersessions that wait for a decision")


class AspectRow(BaseModel):
    """An aspect by itself."""

    id: UUID
    entity_id: UUID
    name: str
    canonical_name: str
    weight: float
    single_valued: bool | None
    confirmed_at: datetime | None
    created_at: datetime
    updated_at: datetime


class AspectOut(AspectRow):
    """An aspect with what held under it at the moments asked for."""

    attributes: list[AttributeOut]
    constraints: list[AttributeOut]


class AspectPage(BaseModel):
    """The aspects of an entity."""

    items: list[AspectOut]
    next_cursor: None


class AspectWritten(AspectRow):
    """An aspect after a write."""

    created: bool = Field(description="False: it was there, and was changed")


SupersessionStatus = Literal["proposed", "applied", "dismissed", "undone"]

SupersessionSignal = Literal["negation", "antonym", "value_conflict", "temporal_marker", "model"]


class Sweep(Model):
    """Which facts to look at, and what to do."""

    entity: Label | None = Field(default=None, description="Only facts of this entity: name, alias or id")
    mode: Literal["apply", "propose"] | None = Field(
        default=None, description="Default: the setting `supersession`; propose where it is off"
    )
    limit: int = Field(default=500, ge=1, le=10_000, description="Facts to visit in this call")
    cursor: Annotated[Text | None, Field(max_length=1000, description="`next_cursor` of the call before")] = None


class Supersession(BaseModel):
    """A decision that one attribute supersedes a sibling."""

    id: UUID
    status: SupersessionStatus
    signal: SupersessionSignal
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


FocalSource = Literal["checkpoint", "project", "query", "session_key"]


class WalkInput(Model):
    """What a conversation is about. The first of checkpoint, project_path and query that gives an entity counts."""

    query: Content | None = Field(default=None, description="Words of the conversation; the first 2,000 characters count")
    project_path: Annotated[Text, Field(min_length=1, max_length=4096)] | None = Field(
        default=None,
        description="Folder; its last three segments are compared with names of projects",
        examples=["/home/a/rockbot"],
    )
    checkpoint: Annotated[list[UUID], Field(max_length=1000)] | None = Field(
        default=None, description="Entities carried over from an earlier session; unknown ones are left out"
    )
    session_key: Label | None = Field(default=None, description="A label, where nothing else is known")
    as_of: Moment | None = Field(default=None, description="What held at this moment; default now")
    known_at: Moment | None = Field(default=None, description="As known at this moment; default: as believed now")
    attributes: Flag = Field(default=False, description="With the attributes themselves, not only the memories behind them")


class Focal(BaseModel):
    """An entity that a walk starts from."""

    id: UUID | None = Field(description="None: a session key, which is only a label")
    name: str
    type: str | None
    pinned: bool
    source: Literal["checkpoint", "project", "query", "session_key", "pinned"]


class WalkAttribute(BaseModel):
    """An attribute that a walk came by."""

    id: UUID
    entity_id: UUID
    aspect_id: UUID
    aspect: str
    weight: float
    content: str
    importance: float
    confidence: float
    memory_id: UUID | None


class WalkOut(BaseModel):
    """What to know, as far as it could be collected in time."""

    focal: list[Focal]
    source: FocalSource | None = Field(description="What gave the focal entities; pinned ones are always added. None: nothing did")
    memory_ids: list[UUID] = Field(description="Visible memories behind attributes and constraints, best first")
    constraints: list[Constraint] = Field(description="Most important first")
    attributes: list[WalkAttribute]
    entity_count: int = Field(description="Entities visited, neighbours included")
    aspect_ids: list[UUID] = Field(description="Aspects visited for their weight")
    timed_out: bool = Field(description="The deadline (setting walk_ms) cut something off")
    took_ms: float
