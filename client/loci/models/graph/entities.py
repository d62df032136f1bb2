"""Entities: written, found in texts, searched by name and meaning, and what happened around them."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from loci.models.fields import (
    UNQUOTED,
    Aliases,
    Confidence,
    Content,
    CreatedAt,
    Description,
    EntityType,
    Id,
    Items,
    Label,
    Metadata,
    Model,
    Moment,
    NextCursor,
    RecordedAt,
    Unit,
    UpdatedAt,
    Vector,
    without_null,
)


class EntityInput(Model):
    """An entity named in a write."""

    name: Label = Field(description="Its name")
    type: EntityType | None = Field(default=None, description="Type of the entity, such as person")
    aliases: Aliases | None = Field(default=None, description="Other names of the entity")


class EntityWrite(EntityInput):
    """An entity to create, or to add to."""

    description: Description | None = Field(default=None, description="What it is, in words")
    confidence: Unit | None = Field(
        default=None, description="Of a new entity the initial one; for a known one, what a running average is given"
    )
    metadata: Metadata | None = Field(default=None, description="Your own JSON object, at most 1 MiB; kept as it is")
    session_id: Label | None = Field(
        default=None, description="The conversation; a new one restores confidence, the same one only counts"
    )


class EntityChanges(Model):
    """What may change about an entity."""

    model_config = ConfigDict(json_schema_extra=without_null("description", "metadata"))

    name: Label | None = Field(default=None, description="Its new name; the old one becomes an alias")
    type: EntityType | None = Field(default=None, description="Type of the entity, such as person")
    aliases: Aliases | None = Field(default=None, description="Other names of the entity")
    description: Description | None = Field(default=None, description="What it is, in words")
    confidence: Unit | None = Field(default=None, description="How sure it is, 0 to 1")
    metadata: Metadata | None = Field(default=None, description="Your own JSON object, at most 1 MiB; kept as it is")


class MatchInput(Model):
    """A text to find entities in."""

    text: Content = Field(description="Text to look in")
    as_of: Moment | None = Field(default=None, description="Entities seen by this moment; default now")
    known_at: Moment | None = Field(default=None, description="By the names that were known at this moment; default now")


class TouchInput(Model):
    """Entities that were referenced."""

    ids: Annotated[list[UUID], Field(min_length=1, max_length=10_000)] = Field(description="Ids of the entities")


class EntityEvent(BaseModel):
    """Something that happened around an entity."""

    at: datetime = Field(description="Valid time")
    recorded_at: RecordedAt
    kind: Literal["entity", "edge", "fact", "memory"] = Field(description="What it happened to")
    event: Literal["created", "changed", "merged", "parted", "split", "observed", "stated", "ended", "deleted", "version"] = Field(
        description="What happened"
    )
    id: UUID = Field(description="Of the entity, edge or memory")
    detail: dict[str, Any] = Field(description="What changed")


class Timeline(BaseModel):
    """A page of events, oldest first."""

    items: Items[EntityEvent]
    next_cursor: NextCursor


class EntitySearch(Model):
    """Which entities to look for."""

    query: Annotated[Label, Field(description="A name, part of one, or what it is about")]
    k: Annotated[int, Field(ge=1, le=1000), UNQUOTED] = Field(default=10, description="How many results")
    type: EntityType | None = Field(default=None, description="Only entities of this type")
    mode: Literal["name", "semantic", "both"] = Field(default="both", description="How to look: by name, by meaning, or both")
    embedding: Vector | None = Field(default=None, description="The query's vector, if you made it yourself")
    as_of: Moment | None = Field(default=None, description="Entities seen by this moment; default now")
    known_at: Moment | None = Field(default=None, description="As known at this moment, by the names of then; default now")


class EntityFound(BaseModel):
    """An entity that was found."""

    id: Id
    name: str = Field(description="Its name")
    type: str = Field(description="Type of the entity, such as person")
    aliases: list[str] = Field(description="Other names of the entity")
    description: str | None = Field(description="What it is, in words")
    mentions: int = Field(description="How many memories mention it")
    pinned: bool = Field(description="Whether it is pinned")
    score: float = Field(description="1 - (1 - by_name) * (1 - by_meaning)")
    matched: str | None = Field(description="The name or alias that is like the query")
    by_name: float | None = Field(description="Likeness of the names, 0 to 1; null: not by name")
    by_meaning: float | None = Field(description="Cosine similarity")


class EntitiesFound(BaseModel):
    """Entities, best first, and what did not take part."""

    entities: list[EntityFound] = Field(description="Entities, best first")
    skipped: dict[str, str] = Field(description="What did not take part, and why")


class EntityOut(BaseModel):
    """An entity; mentions, observations and confidence are present figures."""

    id: Id
    name: str = Field(description="Its name")
    canonical_name: str = Field(description="The form that names are compared in: folded case and spaces")
    type: str = Field(description="Type of the entity, such as person")
    aliases: list[str] = Field(description="Other names of the entity")
    description: str | None = Field(description="What it is, in words")
    confidence: Confidence
    mentions: int = Field(description="How many memories mention it")
    observations: int = Field(description="How often it was observed")
    pinned: bool = Field(description="Whether it is pinned")
    pinned_at: datetime | None = Field(description="When it was pinned; null: it is not")
    metadata: dict[str, Any] = Field(description="Your own JSON object, at most 1 MiB; kept as it is")
    first_seen_at: datetime = Field(description="When it was first mentioned")
    created_at: CreatedAt
    updated_at: UpdatedAt
    last_referenced_at: datetime | None = Field(description="When it was last referenced; null: never")


class EntityWritten(EntityOut):
    """An entity after a write."""

    created: bool = Field(description="False: it was there, and was added to")


class EntityMerged(EntityOut):
    """An entity after a merge or a split."""

    merge_id: UUID = Field(description="Undoes it")


class EntityPage(BaseModel):
    """A page of entities."""

    items: Items[EntityOut]
    next_cursor: NextCursor


class EntityMatch(BaseModel):
    """An entity that a text names."""

    id: Id
    name: str = Field(description="Its name")
    type: str = Field(description="Type of the entity, such as person")
    matched: str = Field(description="The words of the text")
    is_alias: bool = Field(description="Whether the text named it by an alias")
    mentions: int = Field(description="How many memories mention it")
    pinned: bool = Field(description="Whether it is pinned")
    position: int = Field(description="Of the first match in the text")


class EntityMatches(BaseModel):
    """Entities that a text names, in its order."""

    entities: list[EntityMatch] = Field(description="Entities, in the order of the text")


class Touched(BaseModel):
    """How many entities there were."""

    touched: int = Field(description="How many of them there were")
