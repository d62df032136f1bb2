"""Merges and splits of entities, and duplicates."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from loci.models.fields import UNQUOTED, Aliases, EntityType, Flag, Id, Items, Label, Model, NextCursor, Text

Reason = Annotated[Text, Field(max_length=1000, description="Why, in words")]

SplitIds = Annotated[list[UUID], Field(max_length=10_000)]


class MergeInput(Model):
    """Another entity that is the same one."""

    other: Label = Field(description="Id, name or alias of the entity that goes into this one")
    reason: Reason | None = Field(default=None, description="Why, in words")


class SplitInput(Model):
    """A new entity, and what of the old one is its own."""

    name: Label = Field(description="Name of the new entity")
    type: EntityType | None = Field(default=None, description="Default: that of the old one")
    aliases: Aliases | None = Field(default=None, description="The old one loses them")
    edge_ids: SplitIds | None = Field(default=None, description="Edges that are its own")
    memory_ids: SplitIds | None = Field(default=None, description="Memories that mention it")
    aspect_ids: SplitIds | None = Field(default=None, description="Aspects that are its own")
    reason: Reason | None = Field(default=None, description="Why, in words")


class DuplicatesInput(Model):
    """Whether to merge, or only to say what would be."""

    dry_run: Flag = Field(default=True, description="Only say what would be done")
    limit: Annotated[int, Field(ge=1, le=1000), UNQUOTED] = Field(default=100, description="How many pairs at most")


class Duplicate(BaseModel):
    """Two entities that are one, or may be."""

    merge_id: UUID | None = Field(description="Undoes it; null: nothing was done")
    kept_id: UUID = Field(description="Id of the entity that stays")
    kept: str = Field(description="Name of the entity that stays")
    merged_id: UUID = Field(description="Id of the entity that went into it")
    merged: str = Field(description="Name of the entity that went into it")
    basis: Literal["name", "meaning"] = Field(description="What they are alike in")
    score: float = Field(description="How alike they are, 0 to 1")


class Duplicates(BaseModel):
    """What was merged, or would be; pairs by meaning are proposals only."""

    items: Items[Duplicate]


class UndoMergeInput(Model):
    """What becomes of what was written since, when a merge or a split is undone."""

    keep_names: Flag = Field(
        default=True, description="Of a split: the names of the part stay, as aliases of the whole; false: those it did not have go"
    )
    edge_ids: SplitIds | None = Field(
        default=None, description="Of a merge: edges of the kept entity, written since, that go with the other; default: none"
    )


class EdgeSince(BaseModel):
    """An edge that was written to the kept entity since the merge."""

    id: Id
    source: str = Field(description="Name of the entity that it starts at")
    type: str = Field(description="Type of the edge, such as works_on")
    target: str | None = Field(description="Name of the entity that it leads to; null: it leads to a literal")
    literal: str | None = Field(description="The value that the edge leads to, where that is no entity")


class Undone(BaseModel):
    """The two entities that a merge joined, and what stays with the kept one; for a split, the merge that joins them again."""

    merge_id: UUID | None = Field(description="Id of the merge or split")
    kept_id: UUID = Field(description="Id of the entity that stays")
    merged_id: UUID = Field(description="Id of the entity that went into it")
    aliases: list[str] = Field(description="Of a split: names of the part that are aliases of the whole from now on")
    edges: list[EdgeSince] = Field(
        description="Of a merge: edges that were written since, under whichever name, and stay with the kept one; the newest 100"
    )


class Merge(BaseModel):
    """A merge, or a split."""

    id: Id
    kind: Literal["merge", "split"] = Field(description="merge or split")
    kept_id: UUID = Field(description="Id of the entity that stays")
    kept: str = Field(description="Name of the entity that stays")
    merged_id: UUID = Field(description="What went into the kept one; of a split: what came out of it")
    merged: str = Field(description="Name of the entity that went into it")
    reason: str | None = Field(description="Why, in words")
    automatic: bool = Field(description="Whether rules decided it")
    edges: int = Field(description="Edges that were moved")
    mentions: int = Field(description="Mentions that were moved")
    decided_at: datetime = Field(description="When it was decided")
    decided_by: UUID | None = Field(description="The agent that decided; null: nobody has")
    undone_at: datetime | None = Field(description="When it was undone; null: it stands")


class MergePage(BaseModel):
    """A page of merges and splits, newest first."""

    items: Items[Merge]
    next_cursor: NextCursor
