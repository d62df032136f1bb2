"""Namespaces and their settings."""

from datetime import date
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from loci.models.access import Role
from loci.models.fields import (
    CreatedAt,
    Description,
    Items,
    Label,
    Metadata,
    Model,
    NamespaceName,
    NextCursor,
    UpdatedAt,
    without_null,
)


class NamespaceInput(Model):
    """A namespace to create."""

    name: NamespaceName = Field(description="Its name")
    description: Description | None = Field(default=None, description="What it is for, in words")
    language: Label = Field(default="english", description="Text search configuration of PostgreSQL")
    settings: Metadata = Field(default_factory=dict, description="Settings to set, by name; the others have their defaults")


class NamespaceChanges(Model):
    """What may change about a namespace."""

    model_config = ConfigDict(json_schema_extra=without_null("description"))

    description: Description | None = Field(default=None, description="What it is for, in words; null: nothing")
    settings: Metadata | None = Field(default=None, description="Settings to set, by name; null: back to the default")

    @field_validator("settings")
    @classmethod
    def _an_object(cls, value: dict[str, Any] | None) -> dict[str, Any]:
        if value is None:
            raise ValueError("must not be null; leave it out to keep them")
        return value


class NamespaceOut(BaseModel):
    """A namespace: settings in force, and how much it holds."""

    name: str = Field(description="Its name")
    description: str | None = Field(description="What it is for, in words")
    language: str = Field(description="Text search configuration of PostgreSQL")
    role: Role = Field(description="Of the caller")
    settings: dict[str, Any] = Field(description="Settings that are in force, by name")
    memories: int = Field(description="How many versions it holds")
    current_memories: int = Field(description="How many are visible now")
    entities: int = Field(description="How many entities it holds")
    edges: int = Field(description="How many edges it holds")
    pending_embeddings: int = Field(description="Texts that wait for a vector")
    pending_names: int = Field(description="Texts that wait to be searched for names")
    cell: int | None = Field(default=None, description="Of one that is asked by name: its cell, where there are cells")
    created_at: CreatedAt
    updated_at: UpdatedAt


class Week(BaseModel):
    """A week of a namespace."""

    week: date = Field(description="Its Monday, in UTC")
    written: int = Field(description="Versions of memories that were written in it; those erased since are not counted")
    memories: int = Field(description="How many versions there were at its end")


class Growth(BaseModel):
    """How a namespace has grown, by week."""

    items: Items[Week]


class NamespaceChanged(NamespaceOut):
    """A namespace after a change; the counts are there where the decay of edges has changed."""

    faded: int | None = Field(default=None, description="How many edges have faded by it")
    revived: int | None = Field(default=None, description="How many edges came back by it")


class NamespacePage(BaseModel):
    """A page of namespaces, by name."""

    items: Items[NamespaceOut]
    next_cursor: NextCursor
