"""Traversal of the graph, the graph around a message, and the constellation."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, model_validator

from loci.models.fields import Content, EdgeType, Flag, Label, Model, Moment, Unit, one_of_these
from loci.models.graph.entities import EntityMatch


class TraverseInput(Model):
    """Where to start walking the graph, and how far."""

    model_config = ConfigDict(json_schema_extra=one_of_these("start", "text"))

    start: Annotated[list[Label], Field(min_length=1, max_length=100)] | None = Field(
        default=None, description="Names, aliases or ids of entities"
    )
    text: Content | None = Field(
        default=None, description="Start from the entities that this text names, too; one of the two is needed"
    )
    edge_types: Annotated[list[EdgeType], Field(min_length=1, max_length=100)] | None = None
    direction: Literal["out", "in", "both"] = "both"
    max_hops: int | None = Field(default=None, ge=1, le=20)
    limit: int = Field(default=100, ge=1, le=10_000)
    min_confidence: Unit | None = Field(default=None, description="0 shows faded edges too")
    min_strength: Unit = 0.0
    as_of: Moment | None = Field(default=None, description="Edges that held at this moment; default now")
    known_at: Moment | None = Field(default=None, description="As known at this moment; default: as believed now")
    paths: Flag = Field(default=False, description="Names and edge types from a start to each edge, the shortest way")
    scores: Flag = Field(default=False, description="Product of the effective confidences along that way")

    @model_validator(mode="after")
    def _starts_somewhere(self) -> "TraverseInput":
        if self.start is None and self.text is None:
            raise ValueError("start or text is needed: names or ids of entities, or a text that names some")
        return self


class GraphContextInput(Model):
    """A message, and how much of the graph around what it names to show."""

    text: Content
    max_hops: int | None = Field(default=None, ge=0, le=20, description="Default: the namespace's setting")
    limit: int | None = Field(default=None, ge=1, le=1000, description="Edges; default: the namespace's setting `context_triples`")
    as_of: Moment | None = Field(default=None, description="Edges that held at this moment; default now")
    known_at: Moment | None = Field(default=None, description="As known at this moment; default: as believed now")
    touch: Flag = Field(default=True, description="Note that the entities were referenced now, where the key may write")


class Crossed(BaseModel):
    """An edge that a walk came over."""

    id: UUID
    source_id: UUID
    source: str
    type: str
    target_id: UUID | None
    target: str | None
    literal: str | None
    confidence: float = Field(description="After decay")
    strength: float
    hop: int = Field(description="Steps from the start; 1: an edge of the start itself")


class Hop(Crossed):
    """An edge in order of discovery."""

    path: list[str] | None = Field(default=None, description="Names and edge types from a start, where `paths` was asked for")
    score: float | None = Field(default=None, description="Product of confidences along that way, where `scores` was asked for")


class EntityName(BaseModel):
    """An entity by its name."""

    id: UUID
    name: str


class Traversal(BaseModel):
    """The graph around its start, breadth first."""

    edges: list[Hop]
    entities: list[EntityName]
    truncated: bool
    reason: str | None = Field(description="What cut it short")


class GraphContext(BaseModel):
    """The graph around what a message names."""

    entities: list[EntityMatch]
    edges: list[Crossed]
    rendered: str | None = Field(description="Lines that go before an inference; null: nothing was found")
    truncated: bool
    reason: str | None = Field(description="What cut it short")


class StarAttribute(BaseModel):
    """An attribute or constraint of a star."""

    id: UUID
    kind: Literal["attribute", "constraint"]
    content: str
    importance: float
    memory_id: UUID | None


class StarAspect(BaseModel):
    """An aspect of a star, with what holds under it."""

    id: UUID
    name: str
    weight: float
    attributes: list[StarAttribute]


class Star(BaseModel):
    """An entity of the constellation."""

    id: UUID
    name: str
    type: str
    mentions: int
    pinned: bool
    pinned_at: datetime | None
    aspects: list[StarAspect]


class Line(BaseModel):
    """A living edge between two stars."""

    id: UUID
    source_id: UUID
    target_id: UUID
    type: str
    strength: float
    confidence: float = Field(description="After decay")


class Constellation(BaseModel):
    """The graph as a picture."""

    entities: list[Star] = Field(description="Pinned ones first, then the most mentioned")
    edges: list[Line]
    more: bool = Field(description="There are entities that are not in it")
