"""Traversal of the graph, the graph around a message, and the constellation."""

from datetime import datetime
from typing import Annotated, Literal, cast
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.config import JsonDict

from loci.models.fields import UNQUOTED, Content, EdgeType, Flag, Id, Importance, Label, Model, Moment, Strength, Unit, one_of_these
from loci.models.graph.entities import EntityMatch

Bound = Literal["limit", "fan_out", "time"]


def _or_one(schema: JsonDict) -> None:
    """One name may stand alone."""
    options = cast("list[JsonDict]", schema["anyOf"])
    options.insert(0, cast("JsonDict", options[0]["items"]))


def _as_list(start: object) -> object:
    return [start] if isinstance(start, str) else start


class TraverseInput(Model):
    """Where to start walking the graph, and how far."""

    model_config = ConfigDict(json_schema_extra=one_of_these("start", "text"))

    start: Annotated[Annotated[list[Label], Field(min_length=1, max_length=100)] | None, BeforeValidator(_as_list)] = Field(
        default=None, description="Names, aliases or ids of entities, or one", json_schema_extra=_or_one
    )
    text: Content | None = Field(
        default=None, description="Start from the entities that this text names, too; one of the two is needed"
    )
    edge_types: Annotated[list[EdgeType], Field(min_length=1, max_length=100)] | None = Field(
        default=None, description="Only edges of these types"
    )
    direction: Literal["out", "in", "both"] = Field(default="both", description="Along the edges, against them, or both")
    max_hops: Annotated[int, Field(ge=0, le=20), UNQUOTED] | None = Field(
        default=None, description="At most so many steps, 0: the entities alone; default: the namespace's setting"
    )
    limit: Annotated[int, Field(ge=1, le=10_000), UNQUOTED] = Field(default=100, description="How many edges at most")
    min_confidence: Unit | None = Field(default=None, description="0 shows faded edges too")
    min_strength: Unit = Field(default=0.0, description="At least this strength")
    as_of: Moment | None = Field(default=None, description="Edges that held at this moment; default now")
    known_at: Moment | None = Field(default=None, description="As known at this moment; default: as believed now")
    paths: Flag = Field(default=False, description="The way from a start to each edge, the shortest one")
    scores: Flag = Field(default=False, description="Product of the effective confidences along that way")

    @model_validator(mode="after")
    def _starts_somewhere(self) -> "TraverseInput":
        if self.start is None and self.text is None:
            raise ValueError("start or text is needed: names or ids of entities, or a text that names some")
        return self


class GraphContextInput(Model):
    """A message, and how much of the graph around what it names to show."""

    text: Content = Field(description="The message")
    max_hops: Annotated[int, Field(ge=0, le=20), UNQUOTED] | None = Field(
        default=None, description="Default: the namespace's setting"
    )
    limit: Annotated[int, Field(ge=1, le=1000), UNQUOTED] | None = Field(
        default=None, description="Edges; default: the namespace's setting `context_triples`"
    )
    as_of: Moment | None = Field(default=None, description="Edges that held at this moment; default now")
    known_at: Moment | None = Field(default=None, description="As known at this moment; default: as believed now")
    touch: Flag = Field(default=True, description="Note that the entities were referenced now, where the key may write")


class Crossed(BaseModel):
    """An edge that a walk came over."""

    id: Id
    source_id: UUID = Field(description="Id of the entity that it starts at")
    source: str = Field(description="Name of the entity that it starts at")
    type: str = Field(description="Type of the edge, such as works_on")
    target_id: UUID | None = Field(description="Id of the entity that it leads to; null: it leads to a literal")
    target: str | None = Field(description="Name of the entity that it leads to; null: it leads to a literal")
    literal: str | None = Field(description="The value that the edge leads to, where that is no entity")
    confidence: float = Field(description="After decay")
    strength: Strength
    hop: int = Field(description="Steps from the start; 1: an edge of the start itself")


class Hop(Crossed):
    """An edge in order of discovery."""

    path: list[str] | None = Field(
        default=None,
        description="From a start: names, and between them edge types with the way in which they point (`--manages-->`, "
        "`<--manages--`), where `paths` was asked for",
    )
    score: float | None = Field(default=None, description="Product of confidences along that way, where `scores` was asked for")


class EntityName(BaseModel):
    """An entity by its name."""

    id: Id
    name: str = Field(description="Its name")


class Traversal(BaseModel):
    """The graph around its start, breadth first."""

    edges: list[Hop] = Field(description="Edges in order of discovery")
    entities: list[EntityName] = Field(description="Entities at their ends")
    truncated: bool = Field(description="Whether a bound cut it short")
    reason: list[Bound] = Field(description="What cut it short, in the order in which it did; empty: nothing")


class GraphContext(BaseModel):
    """The graph around what a message names."""

    entities: list[EntityMatch] = Field(description="Entities that the message names")
    edges: list[Crossed] = Field(description="Edges around them")
    rendered: str | None = Field(description="Lines that go before an inference; null: nothing was found")
    truncated: bool = Field(description="Whether a bound cut it short")
    reason: list[Bound] = Field(description="What cut it short, in the order in which it did; empty: nothing")


class StarAttribute(BaseModel):
    """An attribute or constraint of a star."""

    id: Id
    kind: Literal["attribute", "constraint"] = Field(description="attribute (a fact) or constraint (a rule)")
    content: str = Field(description="The statement")
    importance: Importance
    memory_id: UUID | None = Field(description="The memory that it rests on; null: none that is visible")


class StarAspect(BaseModel):
    """An aspect of a star, with what holds under it."""

    id: Id
    name: str = Field(description="Name of the aspect")
    weight: float = Field(description="Salience, 0 to 1")
    attributes: list[StarAttribute] = Field(description="What holds under it")


class Star(BaseModel):
    """An entity of the constellation."""

    id: Id
    name: str = Field(description="Its name")
    type: str = Field(description="Type of the entity, such as person")
    mentions: int = Field(description="How many memories mention it")
    pinned: bool = Field(description="Whether it is pinned")
    pinned_at: datetime | None = Field(description="When it was pinned; null: it is not")
    first_seen_at: datetime = Field(description="From when on it is in the picture")
    x: float | None = Field(description="Where it stands in the picture, to the right; kept, so it never moves; null: nowhere yet")
    y: float | None = Field(description="Where it stands in the picture, upwards; null: nowhere yet")
    aspects: list[StarAspect] = Field(description="Its aspects")


class Line(BaseModel):
    """A living edge between two stars."""

    id: Id
    source_id: UUID = Field(description="Id of the entity that it starts at")
    target_id: UUID = Field(description="Id of the entity that it leads to")
    type: str = Field(description="Type of the edge, such as works_on")
    strength: Strength
    confidence: float = Field(description="After decay")


class LineStep(BaseModel):
    """What an edge was worth since a moment, until the next one."""

    at: datetime = Field(description="Since when")
    confidence: float | None = Field(description="Before decay; null: it did not hold")
    restored_at: datetime | None = Field(description="From when that decays; null: it does not")
    fades_at: datetime | None = Field(description="When it has faded by that; null: never")


class LineHistory(BaseModel):
    """An edge between two stars at all times.

    At any moment it is worth what its last step until then says: confidence × e^(-decay_rate × days since restored_at).
    """

    id: Id
    source_id: UUID = Field(description="Id of the entity that it starts at")
    target_id: UUID = Field(description="Id of the entity that it leads to")
    type: str = Field(description="Type of the edge, such as works_on")
    strength: Strength
    decay_rate: float = Field(description="Loss of confidence per day")
    steps: list[LineStep] = Field(description="In order; before the first, it is not born")


class Constellation(BaseModel):
    """The graph as a picture."""

    entities: list[Star] = Field(description="Pinned ones first, then the most mentioned")
    edges: list[Line] = Field(description="Living edges between them")
    more: bool = Field(description="There are entities that are not in it")
    history: list[LineHistory] | None = Field(
        description="Edges between them whenever they held, the 5,000 strongest; null: not asked for"
    )
