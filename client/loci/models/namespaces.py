"""Namespaces and their settings."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from loci.models.access import Role
from loci.models.fields import Description, Label, Metadata, Model, NamespaceName, without_null


class NamespaceInput(Model):
    """A namespace to create."""

    name: NamespaceName
    description: Description | None = None
    language: Label = Field(default="english", description="Text search configuration of PostgreSQL")
    settings: Metadata = Field(default_factory=dict)


class NamespaceChanges(Model):
    """What may change about a namespace."""

    model_config = ConfigDict(json_schema_extra=without_null("description"))

    description: Description | None = None
    settings: Metadata | None = None

    @field_validator("settings")
    @classmethod
    def _an_object(cls, value: dict[str, Any] | None) -> dict[str, Any]:
        if value is None:
            raise ValueError("must not be null; leave it out to keep them")
        return value


class NamespaceOut(BaseModel):
    """A namespace: settings in force, and how much it holds."""

    name: str
    description: str | None
    language: str
    role: Role = Field(description="Of the caller")
    settings: dict[str, Any]
    memories: int
    current_memories: int
    entities: int
    edges: int
    pending_embeddings: int
    pending_names: int
    created_at: datetime
    updated_at: datetime


class NamespaceChanged(NamespaceOut):
    """A namespace after a change; the counts are there where the decay of edges has changed."""

    faded: int | None = None
    revived: int | None = None


class NamespacePage(BaseModel):
    """A page of namespaces, by name."""

    items: list[NamespaceOut]
    next_cursor: str | None
