"""Facts: aspects with attributes and constraints, supersession, and the walk over them."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, field_validator

from loci.models.fields import (
    UNQUOTED,
    Confidence,
    Content,
    CreatedAt,
    Flag,
    Id,
    Importance,
    Items,
    Label,
    Model,
    Moment,
    NextCursor,
    RecordedAt,
    Text,
    Unit,
    UpdatedAt,
    ValidFrom,
    ValidTo,
    not_null,
    without_null,
)


class Constraint(BaseModel):
    """A rule that holds, with its entity and aspect."""

    id: Id
    entity_id: UUID = Field(description="Id of the entity")
    entity: str = Field(description="Name of the entity")
    aspect_id: UUID = Field(description="Id of the aspect")
    aspect: str = Field(description="Name of the aspect")
    content: str = Field(description="The rule")
    importance: Importance
    confidence: Confidence
    memory_id: UUID | None = Field(description="The memory that it rests on, if that is visible")


Statement = Annotated[Content, Field(max_length=10_000)]


class AspectWrite(Model):
    """An aspect to give an entity, or to change."""

    name: Label = Field(description="Name of the aspect")
    weight: Unit = Field(default=0.5, description="Salience")
    single_valued: Flag | None = Field(
        default=None, description="Whether its attributes replace each other; null: their words decide"
    )


class AttributeWrite(Model):
    """A fact, or a constraint, to put under an aspect."""

    content: Statement = Field(description="The statement")
    kind: Literal["attribute", "constraint"] = Field(default="attribute", description="attribute (a fact) or constraint (a rule)")
    memory_id: UUID | None = Field(default=None, description="The memory that it rests on")
    confidence: Unit = Field(default=0.0, description="How sure it is, 0 to 1")
    importance: Unit = Field(default=0.5, description="How much it matters, 0 to 1")
    valid_from: Moment | None = Field(default=None, description="From when it is true; default now")
    valid_to: Moment | None = Field(default=None, description="Until when (exclusive); default: still")


class AttributeChanges(Model):
    """What may change about an attribute. New content is a new attribute; the old one stays as superseded."""

    model_config = ConfigDict(json_schema_extra=without_null("valid_to"))

    content: Statement | None = Field(default=None, description="The statement")
    valid_from: Moment | None = Field(default=None, description="With content: from when the new content is true")
    valid_to: Moment | None = Field(default=None, description="Until when it is true (exclusive); null: still")
    status: Literal["active", "superseded", "deleted"] | None = Field(default=None, description="active, superseded or deleted")
    confidence: Unit | None = Field(default=None, description="How sure it is, 0 to 1")
    importance: Unit | None = Field(default=None, description="How much it matters, 0 to 1")

    _not_null = field_validator("content", "valid_from", "status", "confidence", "importance", mode="before")(not_null)


class AttributeOut(BaseModel):
    """An attribute or constraint."""

    id: Id
    aspect_id: UUID = Field(description="Id of the aspect")
    kind: Literal["attribute", "constraint"] = Field(description="attribute (a fact) or constraint (a rule)")
    content: str = Field(description="The statement")
    status: Literal["active", "superseded", "deleted"] = Field(description="active, superseded or deleted")
    superseded_by: UUID | None = Field(description="The attribute that replaced it; null: none")
    memory_id: UUID | None = Field(description="The memory that it rests on; null: none")
    confidence: Confidence
    importance: Importance
    valid_from: ValidFrom
    valid_to: ValidTo
    recorded_at: RecordedAt
    superseded_at: datetime | None = Field(description="When it stopped being believed; null: it is believed")
    updated_at: UpdatedAt
    observations: int = Field(description="How often it was stated")


class AttributeWritten(AttributeOut):
    """An attribute as it stands after a write, and what the write did to its siblings."""

    superseded: list[UUID] = Field(description="Attributes that are superseded now; itself among them if it is back-dated")
    proposed: list[UUID] = Field(description="Supersessions that wait for a decision")


class AspectRow(BaseModel):
    """An aspect by itself."""

    id: Id
    entity_id: UUID = Field(description="Id of the entity")
    name: str = Field(description="Name of the aspect")
    canonical_name: str = Field(description="The form that names are compared in: folded case and spaces")
    weight: float = Field(description="Salience, 0 to 1")
    single_valued: bool | None = Field(description="Whether its attributes replace each other; null: their words decide")
    confirmed_at: datetime | None = Field(description="When use last confirmed it; null: never")
    created_at: CreatedAt
    updated_at: UpdatedAt


class AspectOut(AspectRow):
    """An aspect with what held under it at the moments asked for."""

    attributes: list[AttributeOut] = Field(description="Facts under it")
    constraints: list[AttributeOut] = Field(description="Rules under it")


class AspectPage(BaseModel):
    """The aspects of an entity."""

    items: Items[AspectOut]
    next_cursor: None = Field(description="null: all are on this page")


class AspectWritten(AspectRow):
    """An aspect after a write."""

    created: bool = Field(description="False: it was there, and was changed")


SupersessionStatus = Literal["proposed", "applied", "dismissed", "undone"]

SupersessionSignal = Literal["negation", "antonym", "value_conflict", "temporal_marker", "model", "single_valued", "replaced"]


class Sweep(Model):
    """Which facts to look at, and what to do."""

    entity: Label | None = Field(default=None, description="Only facts of this entity: name, alias or id")
    mode: Literal["apply", "propose"] | None = Field(
        default=None, description="Default: the setting `supersession`; propose where it is off"
    )
    limit: Annotated[int, Field(ge=1, le=10_000), UNQUOTED] = Field(default=500, description="Facts to visit in this call")
    cursor: Annotated[Text | None, Field(max_length=1000, description="`next_cursor` of the call before")] = None


class Supersession(BaseModel):
    """A decision that one attribute supersedes a sibling, or that one edge ended another (`single_valued`)."""

    id: Id
    status: SupersessionStatus = Field(description="proposed, applied, dismissed or undone")
    signal: SupersessionSignal = Field(description="What shows that two facts contradict each other")
    confidence: Confidence
    evidence: list[str] = Field(description="The words that decided; empty once one of the two was erased")
    origin: Literal["inline", "sweep", "manual", "pass"] = Field(
        description="Who found it: a write (inline), a sweep, an agent (manual) or a pass"
    )
    entity_id: UUID = Field(description="Id of the entity")
    entity: str = Field(description="Name of the entity")
    aspect_id: UUID | None = Field(description="Id of the aspect; null: they are edges")
    aspect: str | None = Field(description="Name of the aspect; null: they are edges")
    older_id: UUID = Field(description="Id of the older attribute or edge")
    older: str = Field(description="The older statement; of an edge, type and target")
    newer_id: UUID = Field(description="Id of the newer attribute or edge")
    newer: str = Field(description="The newer statement; of an edge, type and target")
    created_at: CreatedAt
    decided_at: datetime | None = Field(description="When it was decided")
    decided_by: UUID | None = Field(description="The agent that decided; null: nobody has")
    undone_at: datetime | None = Field(description="When it was undone; null: it stands")
    ended_at: datetime | None = Field(description="When the older edge ended; null: they are attributes")


class SupersessionPage(BaseModel):
    """A page of decisions, newest first."""

    items: Items[Supersession]
    next_cursor: NextCursor


class SweepOut(BaseModel):
    """What a sweep decided about the facts that it visited."""

    items: Items[Supersession]
    visited: int = Field(description="How many facts were looked at")
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
    name: str = Field(description="Name of the entity, or the session key")
    type: str | None = Field(description="Type of the entity, such as person; null: a session key")
    pinned: bool = Field(description="Whether it is pinned")
    source: Literal["checkpoint", "project", "query", "session_key", "pinned"] = Field(description="What gave it")


class WalkAttribute(BaseModel):
    """An attribute that a walk came by."""

    id: Id
    entity_id: UUID = Field(description="Id of the entity")
    aspect_id: UUID = Field(description="Id of the aspect")
    aspect: str = Field(description="Name of the aspect")
    weight: float = Field(description="Weight of the aspect, 0 to 1")
    content: str = Field(description="The statement")
    importance: Importance
    confidence: Confidence
    memory_id: UUID | None = Field(description="The memory that it rests on; null: none that is visible")


class WalkOut(BaseModel):
    """What to know, as far as it could be collected in time."""

    focal: list[Focal] = Field(description="Entities that it starts from")
    source: FocalSource | None = Field(description="What gave the focal entities; pinned ones are always added. None: nothing did")
    memory_ids: list[UUID] = Field(description="Visible memories behind attributes and constraints, best first")
    constraints: list[Constraint] = Field(description="Most important first")
    attributes: list[WalkAttribute] = Field(description="The attributes themselves, where they were asked for")
    entity_count: int = Field(description="Entities visited, neighbours included")
    aspect_ids: list[UUID] = Field(description="Aspects visited for their weight")
    timed_out: bool = Field(description="The deadline (setting walk_ms) cut something off")
    took_ms: float = Field(description="Milliseconds that it took")
