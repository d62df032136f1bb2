"""Merges and splits of entities, and duplicates."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from loci.models.fields import Aliases, EntityType, Flag, Label, Model, Text

Reason = Annotated[Text, Field(max_length=1000, description="Why, in words")]

SplitIds = Annotated[list[UUID], Field(max_length=10_000)]


class MergeInput(Model):
    """Another entity that is the same one."""

    other: Label = Field(description="Id, name or alias of the entity that goes into this one")
    reason: Reason | None = None


class SplitInput(Model):
    """A new entity, and what of the old one is its own."""

    name: Label
    type: EntityType | None = Field(default=None, description="Default: that of the old one")
    aliases: Aliases | None = Field(default=None, description="The old one loses them")
    edge_ids: SplitIds | None = None
    memory_ids: SplitIds | None = Field(default=None, description="Memories that mention it")
    aspect_ids: SplitIds | None = None
    reason: Reason | None = None


class DuplicatesInput(Model):
    """Whether to merge, or only to say what would be."""

    dry_run: Flag = True
    limit: int = Field(default=100, ge=1, le=1000)


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
