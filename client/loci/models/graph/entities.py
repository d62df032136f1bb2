"""Entities: written, found in texts, searched by name and meaning, and what happened around them."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from loci.models.fields import Aliases, Content, Description, EntityType, Label, Metadata, Model, Unit, Vector, without_null


class EntityInput(Model):
    """An entity named in a write."""

    name: Label
    type: EntityType | None = None
    aliases: Aliases | None = None


class EntityWrite(EntityInput):
    """An entity to create, or to add to."""

    description: Description | None = None
    confidence: Unit | None = Field(
        default=None, description="Of a new entity the initial one; for a known one, what a running average is given"
    )
    metadata: Metadata | None = None
    session_id: Label | None = Field(
        default=None, description="The conversation; a new one restores confidence, the same one only counts"
    )


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


class EntitySearch(Model):
    """Which entities to look for."""

    query: Annotated[Label, Field(description="A name, part of one, or what it is about")]
    k: int = Field(default=10, ge=1, le=1000)
    type: EntityType | None = None
    mode: Literal["name", "semantic", "both"] = "both"
    embedding: Vector | None = Field(default=None, description="The query's vector, if you made it yourself")


class EntityFound(BaseModel):
    """An entity that was found."""

    id: UUID
    name: str
    type: str
    aliases: list[str]
    description: str | None
    mentions: int
    pinned: bool
    score: float = Field(description="1 - (1 - by_name) * (1 - by_meaning)")
    matched: str | None = Field(description="The name or alias that is like the query")
    by_name: float | None
    by_meaning: float | None = Field(description="Cosine similarity")


class EntitiesFound(BaseModel):
    """Entities, best first, and what did not take part."""

    entities: list[EntityFound]
    skipped: dict[str, str]


class EntityOut(BaseModel):
    """An entity; mentions, observations and confidence are present figures."""

    id: UUID
    name: str
    canonical_name: str
    type: str
    aliases: list[str]
    description: str | None
    confidence: float
    mentions: int
    observations: int
    pinned: bool
    pinned_at: datetime | None
    metadata: dict[str, Any]
    first_seen_at: datetime
    created_at: datetime
    updated_at: datetime
    last_referenced_at: datetime | None


class EntityWritten(EntityOut):
    """An entity after a write."""

    created: bool = Field(description="False: it was there, and was added to")


class EntityMerged(EntityOut):
    """An entity after a merge or a split."""

    merge_id: UUID = Field(description="Undoes it")


class EntityPage(BaseModel):
    """A page of entities."""

    items: list[EntityOut]
    next_cursor: str | None


class EntityMatch(BaseModel):
    """An entity that a text names."""

    id: UUID
    name: str
    type: str
    matched: str = Field(description="The words of the text")
    is_alias: bool
    mentions: int
    pinned: bool
    position: int = Field(description="Of the first match in the text")


class EntityMatches(BaseModel):
    """Entities that a text names, in its order."""

    entities: list[EntityMatch]


class Touched(BaseModel):
    """How many entities there were."""

    touched: int
