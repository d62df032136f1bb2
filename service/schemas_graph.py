"""What requests about the graph may say: entities, edges, walks, aspects and attributes."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, model_validator

from service.schemas import EdgeInput, EntityInput
from service.schemas_fields import (
    MAX_BATCH,
    Aliases,
    Content,
    Description,
    EdgeType,
    EntityType,
    Flag,
    Label,
    Metadata,
    Model,
    Moment,
    Rate,
    Unit,
    one_of_these,
    without_null,
)

Statement = Annotated[Content, Field(max_length=10_000)]


class TraverseInput(Model):
    """Where to start walking the graph, and how far."""

    model_config = ConfigDict(json_schema_extra=one_of_these("start", "text"))

    start: Annotated[list[Label], Field(min_length=1, max_length=100)] | None = Field(
        None, description="Names, aliases or ids of entities"
    )
    text: Content | None = Field(None, description="Start from the entities that this text names, too; one of the two is needed")
    edge_types: Annotated[list[EdgeType], Field(min_length=1, max_length=100)] | None = None
    direction: Literal["out", "in", "both"] = "both"
    max_hops: int | None = Field(None, ge=1, le=20)
    limit: int = Field(100, ge=1, le=10_000)
    min_confidence: Unit | None = Field(None, description="0 shows faded edges too")
    min_strength: Unit = 0.0
    as_of: Moment | None = Field(None, description="Edges that held at this moment; default now")
    known_at: Moment | None = Field(None, description="As known at this moment; default: as believed now")
    paths: Flag = Field(False, description="Names and edge types from a start to each edge, the shortest way")
    scores: Flag = Field(False, description="Product of the effective confidences along that way")

    @model_validator(mode="after")
    def _starts_somewhere(self) -> "TraverseInput":
        if self.start is None and self.text is None:
            raise ValueError("start or text is needed: names or ids of entities, or a text that names some")
        return self


class GraphContextInput(Model):
    """A message, and how much of the graph around what it names to show."""

    text: Content
    max_hops: int | None = Field(None, ge=0, le=20, description="Default: the namespace's setting")
    limit: int | None = Field(None, ge=1, le=1000, description="Edges; default: the namespace's setting `context_triples`")
    as_of: Moment | None = Field(None, description="Edges that held at this moment; default now")
    known_at: Moment | None = Field(None, description="As known at this moment; default: as believed now")
    touch: Flag = Field(True, description="Note that the entities were referenced now, where the key may write")


class EntityWrite(EntityInput):
    """An entity to create, or to add to."""

    description: Description | None = None
    confidence: Unit | None = Field(
        None, description="Of a new entity the initial one; for a known one, what a running average is given"
    )
    metadata: Metadata | None = None
    session_id: Label | None = Field(None, description="The conversation; a new one restores confidence, the same one only counts")


class EntityChanges(Model):
    """What may change about an entity."""

    model_config = ConfigDict(json_schema_extra=without_null("description", "metadata"))

    name: Label | None = None
    type: EntityType | None = None
    aliases: Aliases | None = None
    description: Description | None = None
    confidence: Unit | None = None
    metadata: Metadata | None = None


class TextInput(Model):
    """A text to find entities in."""

    text: Content


class TouchInput(Model):
    """Entities that were referenced."""

    ids: Annotated[list[UUID], Field(min_length=1, max_length=10_000)]


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

    decay_rate: Rate | None = Field(None, description="Per day; null: the namespace's")
    single_valued: Flag | None = None
    description: Description | None = None


class DecayInput(Model):
    """Which edges to recalculate."""

    type: EdgeType | None = Field(None, description="Default: all types")


class AspectWrite(Model):
    """An aspect to give an entity, or to change."""

    name: Label
    weight: Unit = Field(0.5, description="Salience")
    single_valued: Flag | None = Field(None, description="Whether its attributes replace each other; null: their words decide")


class AttributeWrite(Model):
    """A fact, or a constraint, to put under an aspect."""

    content: Statement
    kind: Literal["attribute", "constraint"] = "attribute"
    memory_id: UUID | None = Field(None, description="The memory that it rests on")
    confidence: Unit = 0.0
    importance: Unit = 0.5
    valid_from: Moment | None = Field(None, description="From when it is true; default now")
    valid_to: Moment | None = Field(None, description="Until when (exclusive); default: still")


class AttributeChanges(Model):
    """What may change about an attribute. New content is a new attribute; the old one stays as superseded."""

    model_config = ConfigDict(json_schema_extra=without_null("valid_to"))

    content: Statement | None = None
    valid_from: Moment | None = Field(None, description="With content: from when the new content is true")
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


class EntityEvent(BaseModel):
    """Something that happened around an entity."""

    at: datetime = Field(description="Valid time")
    recorded_at: datetime
    kind: Literal["entity", "edge", "memory"]
    event: Literal["created", "changed", "merged", "parted", "split", "observed", "ended", "deleted", "version"]
    id: UUID = Field(description="Of the entity, edge or memory")
    detail: dict[str, Any]


class Timeline(BaseModel):
    """A page of events, oldest first."""

    items: list[EntityEvent]
    next_cursor: str | None
