"""What requests about the identity of entities may say: search, merges and splits, duplicates."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from service.schemas_fields import Aliases, EntityType, Flag, Label, Model, Text, Vector

Reason = Annotated[Text, Field(max_length=1000, description="Why, in words")]
Ids = Annotated[list[UUID], Field(max_length=10_000)]


class EntitySearch(Model):
    """Which entities to look for."""

    query: Annotated[Label, Field(description="A name, part of one, or what it is about")]
    k: int = Field(10, ge=1, le=1000)
    type: EntityType | None = None
    mode: Literal["name", "semantic", "both"] = "both"
    embedding: Vector | None = Field(None, description="The query's vector, if you made it yourself")


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


class MergeInput(Model):
    """Another entity that is the same one."""

    other: Label = Field(description="Id, name or alias of the entity that goes into this one")
    reason: Reason | None = None


class SplitInput(Model):
    """A new entity, and what of the old one is its own."""

    name: Label
    type: EntityType | None = Field(None, description="Default: that of the old one")
    aliases: Aliases | None = Field(None, description="The old one loses them")
    edge_ids: Ids | None = None
    memory_ids: Ids | None = Field(None, description="Memories that mention it")
    aspect_ids: Ids | None = None
    reason: Reason | None = None


class DuplicatesInput(Model):
    """Whether to merge, or only to say what would be."""

    dry_run: Flag = True
    limit: int = Field(100, ge=1, le=1000)


class Duplicate(BaseModel):
    """Two entities that are one, or may be."""

    merge_id: UUID | None = Field(description="Undoes it; null: nothing was done")
    kept_id: UUID
    kept: str
    merged_id: UUID
    merged: str
    basis: Literal["name", "meaning"]
    score: float


class Duplicates(BaseModel):
    """What was merged, or would be; pairs by meaning are proposals only."""

    items: list[Duplicate]


class Undone(BaseModel):
    """The two entities that a merge joined; for a split, the merge that joins them again."""

    merge_id: UUID | None
    kept_id: UUID
    merged_id: UUID


class Merge(BaseModel):
    """A merge, or a split."""

    id: UUID
    kind: Literal["merge", "split"]
    kept_id: UUID
    kept: str
    merged_id: UUID = Field(description="What went into the kept one; of a split: what came out of it")
    merged: str
    reason: str | None
    automatic: bool
    edges: int
    mentions: int
    decided_at: datetime
    decided_by: UUID | None
    undone_at: datetime | None


class MergePage(BaseModel):
    """A page of merges and splits, newest first."""

    items: list[Merge]
    next_cursor: str | None
