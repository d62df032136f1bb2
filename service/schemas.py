"""What requests may say: pydantic models.

Unknown fields, NUL, lone surrogates, NaN and infinities are refused by name. A time without an offset is in UTC.
"""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.config import JsonDict

from service.schemas_fields import (
    MAX_BATCH,
    Aliases,
    Category,
    Content,
    Description,
    EdgeType,
    EntityType,
    Flag,
    Label,
    Layer,
    Literal1000,
    Metadata,
    Model,
    Moment,
    NamespaceName,
    Rate,
    Tags,
    Unit,
    Vector,
    also,
    without_null,
)


class EntityInput(Model):
    """An entity named in a write."""

    name: Label
    type: EntityType | None = None
    aliases: Aliases | None = None


ONE_TARGET: JsonDict = {
    "oneOf": [
        {"required": ["target"], "properties": {"target": {"type": "string"}, "literal": {"type": "null"}}},
        {"required": ["literal"], "properties": {"literal": {"type": "string"}, "target": {"type": "null"}}},
    ]
}


class EdgeInput(Model):
    """A relation stated in a write: to an entity (`target`) or to a literal."""

    model_config = ConfigDict(json_schema_extra=ONE_TARGET)

    source: Label
    type: EdgeType
    target: Label | None = None
    literal: Literal1000 | None = None
    aspect: Label | None = Field(None, description="Name of the source's aspect that motivates it; made if there is none")
    confidence: Unit | None = None
    strength: Unit | None = None

    @model_validator(mode="after")
    def _one_target(self) -> "EdgeInput":
        if (self.target is None) == (self.literal is None):
            raise ValueError("exactly one of target and literal is needed")
        return self


class MemoryInput(Model):
    """A memory to write. Only `content` is needed."""

    content: Content = Field(description="The statement; at most 1 MiB")
    lineage: Label | None = Field(None, description="Name that groups versions; an existing one gets a new version")
    category: Category | None = Field(None, description="Slash-separated path", examples=["user-preferences/timezone"])
    tags: Tags | None = None
    layer: Layer | None = None
    parent_id: UUID | None = Field(None, description="The memory that this one stands under")
    valid_from: Moment | None = Field(None, description="From when it is true; default now")
    valid_to: Moment | None = Field(None, description="Until when (exclusive); default: still")
    importance: Unit | None = None
    confidence: Unit | None = None
    metadata: Metadata | None = None
    source: Label | None = Field(None, description="Who said it")
    session_id: Label | None = Field(None, description="The conversation it comes from")
    entities: Annotated[list[EntityInput], Field(max_length=1000)] | None = None
    edges: Annotated[list[EdgeInput], Field(max_length=1000)] | None = None
    embedding: Vector | None = Field(None, description="Your own vector, of the active model's dimensions")
    corrects: UUID | None = Field(None, description="The version that was wrong and never true: this one takes its validity")

    @field_validator("valid_to")
    @classmethod
    def _interval(cls, value: datetime | None, info: ValidationInfo) -> datetime | None:
        start = info.data.get("valid_from")
        if value is not None and start is not None and value < start:
            raise ValueError("must not be before valid_from")
        return value


class MemorySave(MemoryInput):
    """A memory to write by itself."""

    enrich: Flag = Field(
        False,
        description="Have a language model expand it into well-formed memories, in the background; it is stored as it is at once",
    )


class MemoryBatch(Model):
    """Many memories. Items are checked one by one, so that a wrong one does not hide the others."""

    items: Annotated[list[Any], Field(min_length=1, max_length=MAX_BATCH, description="Memories, at most 10,000")]
    atomic: Flag = Field(False, description="True: all or nothing. False: each item gets its own result")


class MemoryChanges(Model):
    """What may change about a memory. Its content changes by a new version, or by one that corrects it."""

    model_config = ConfigDict(
        json_schema_extra=also(without_null("parent_id", "valid_to"), dependentRequired={"parent_since": ["parent_id"]})
    )

    category: Category | None = None
    tags: Tags | None = None
    layer: Layer | None = None
    parent_id: UUID | None = Field(None, description="Move it under this memory; null detaches it")
    parent_since: Moment | None = Field(None, description="From when it stands there; default now")
    valid_from: Moment | None = None
    valid_to: Moment | None = Field(None, description="Until when (exclusive); null: still")
    importance: Unit | None = None
    confidence: Unit | None = None
    metadata: Metadata | None = None

    @model_validator(mode="after")
    def _not_null(self) -> "MemoryChanges":
        if "parent_since" in self.model_fields_set and "parent_id" not in self.model_fields_set:
            raise ValueError("parent_since needs parent_id beside it")
        for name in self.model_fields_set - {"parent_id", "valid_to"}:
            if getattr(self, name) is None:
                raise ValueError(f"{name} must not be null; leave it out to keep its value")
        return self


Versions = Annotated[
    Literal["all", "this"], Field(description="all: every version of their lineages; this: only the versions named")
]


class EraseInput(Model):
    """Memories to erase for good, all or none."""

    ids: Annotated[list[UUID], Field(min_length=1, max_length=MAX_BATCH, description="Memories, at most 10,000")]
    versions: Versions = "all"
    subtree: Flag = Field(False, description="With everything that stands under them now")


class LineagesInput(Model):
    """Lineages to read, by name."""

    lineages: Annotated[list[Label], Field(min_length=1, max_length=1000)]
    as_of: Moment | None = Field(None, description="Valid at this moment; default now")
    known_at: Moment | None = Field(None, description="As believed at this moment; default now")


class LinkInput(Model):
    """A link to another memory."""

    target_id: UUID
    type: EdgeType = "related_to"
    strength: Unit = 0.5


class Filters(Model):
    """What results are restricted to; every filter applies before ranking."""

    category: Category | None = Field(None, description="This category and all below it")
    tags: Tags | None = Field(None, description="Any of these")
    tags_all: Tags | None = Field(None, description="All of these")
    layers: list[Layer] | None = None
    lineage: Label | None = None
    source: Label | None = None
    session_id: Label | None = None
    metadata: Metadata | None = Field(None, description="Contained in the memory's metadata")
    valid_after: Moment | None = Field(None, description="valid_from at or after")
    valid_before: Moment | None = Field(None, description="valid_from before")
    recorded_after: Moment | None = None
    recorded_before: Moment | None = None
    min_importance: Unit | None = None
    min_confidence: Unit | None = None
    under: UUID | None = Field(None, description="This memory and everything under it")
    entity: Label | None = Field(None, description="Mentions this entity (id, name or alias)")


class Weights(Model):
    """Weight of each arm in the fusion; relative_score has none."""

    lexical: Rate | None = None
    vector: Rate | None = None
    graph: Rate | None = None
    names: Rate | None = Field(None, description="The part of the graph arm that goes over rare names shared with the best hits")
    hierarchy: Rate | None = None
    walk: Rate | None = Field(None, description="Memories behind the aspects of named and pinned entities")
    working_memory: Rate | None = None
    conversation: Rate | None = None


ArmName = Literal["lexical", "vector", "graph", "hierarchy", "walk", "working_memory", "conversation"]


class RecallInput(Model):
    """A question."""

    query: Content
    k: int = Field(10, ge=1, le=100, description="How many results")
    arms: list[ArmName] | None = Field(
        None,
        min_length=1,
        description="Default: the first five. working_memory adds live entries; conversation adds turns: of the session that the "
        "filters name, else of the one that asks, else of all. Filters that they do not know leave them out",
    )
    namespaces: Annotated[list[NamespaceName], Field(min_length=1, max_length=10_000)] | Literal["*"] | None = Field(
        None,
        description="Search these, or with * all that the key may read; weights and k are those of X-Namespace still",
    )
    weights: Weights | None = None
    fusion: Literal["rrf", "relative_score"] = Field(
        "rrf",
        description="relative_score: the mean, over the arms that found it, of its score over the arm's best; cosines from 0.5",
    )
    rrf_k: Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)] | None = None
    filters: Filters | None = None
    as_of: Moment | None = Field(None, description="Valid at this moment; default now")
    known_at: Moment | None = Field(None, description="As believed at this moment; default now")
    explain: Flag = False
    session_id: Label | None = Field(
        None, description="The conversation that asks: what was injected into it and is found by words counts as used"
    )
    embedding: Vector | None = Field(None, description="The question's vector, if you made it yourself")
    log: Flag | None = Field(None, description="Log it, so that its results can be rated; default: setting recall_log")


class NamespaceInput(Model):
    """A namespace to create."""

    name: NamespaceName
    description: Description | None = None
    language: Label = Field("english", description="Text search configuration of PostgreSQL")
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


class MemoryWritten(BaseModel):
    """What became of a write."""

    id: UUID
    lineage: str
    version: int
    superseded: UUID | None
    duplicate: bool


class MemoryOut(BaseModel):
    """A memory."""

    id: UUID
    lineage: str
    version: int
    content: str
    category: str
    tags: list[str]
    layer: int
    parent_id: UUID | None
    valid_from: datetime
    valid_to: datetime | None
    recorded_at: datetime
    superseded_at: datetime | None
    current: bool
    status: Literal["active", "forgotten"]
    importance: float
    confidence: float
    metadata: dict[str, Any]
    source: str | None
    session_id: str | None
    observations: int
    last_observed_at: datetime
    updated_at: datetime


class Erased(BaseModel):
    """The receipt of an erasure: what the database counted, by table."""

    erased: int = Field(description="Memories erased, each version counted")
    deleted: dict[str, int] = Field(description="Rows deleted", examples=[{"memories": 1, "memory_texts": 1, "postings": 9}])
    added: dict[str, int] = Field(description="Rows added: counts that were lowered, neighbours that wait for a new vector")
    changed: dict[str, int] = Field(description="Rows changed: counters, edges with other evidence, emptied attributes and replies")


class MemoryPage(BaseModel):
    """A page of memories."""

    items: list[MemoryOut]
    next_cursor: str | None


class Constraint(BaseModel):
    """A rule that holds, with its entity and aspect."""

    id: UUID
    entity_id: UUID
    entity: str
    aspect_id: UUID
    aspect: str
    content: str
    importance: float
    confidence: float
    memory_id: UUID | None = Field(description="The memory that it rests on, if that is visible")
