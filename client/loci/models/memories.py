"""Memories: versions, links, categories, batches, erasure."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from loci.models.fields import (
    MAX_BATCH,
    Category,
    Content,
    EdgeType,
    Flag,
    Label,
    Layer,
    Metadata,
    Model,
    Moment,
    Tags,
    Unit,
    Vector,
    also,
    without_null,
)
from loci.models.graph.edges import EdgeInput
from loci.models.graph.entities import EntityInput
from loci.models.problems import ItemProblem


class MemoryInput(Model):
    """A memory to write. Only `content` is needed."""

    content: Content = Field(description="The statement; at most 1 MiB")
    lineage: Label | None = Field(default=None, description="Name that groups versions; an existing one gets a new version")
    category: Category | None = Field(default=None, description="Slash-separated path", examples=["user-preferences/timezone"])
    tags: Tags | None = None
    layer: Layer | None = None
    parent_id: UUID | None = Field(default=None, description="The memory that this one stands under")
    valid_from: Moment | None = Field(default=None, description="From when it is true; default now")
    valid_to: Moment | None = Field(default=None, description="Until when (exclusive); default: still")
    importance: Unit | None = None
    confidence: Unit | None = None
    metadata: Metadata | None = None
    source: Label | None = Field(default=None, description="Who said it")
    session_id: Label | None = Field(default=None, description="The conversation it comes from")
    entities: Annotated[list[EntityInput], Field(max_length=1000)] | None = None
    edges: Annotated[list[EdgeInput], Field(max_length=1000)] | None = None
    embedding: Vector | None = Field(default=None, description="Your own vector, of the active model's dimensions")
    corrects: UUID | None = Field(
        default=None, description="The version that was wrong and never true: this one takes its validity"
    )

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
        default=False,
        description="Have a language model expand it into well-formed memories, in the background; it is stored as it is at once",
    )


class MemoryBatch(Model):
    """Many memories. Items are checked one by one, so that a wrong one does not hide the others."""

    items: Annotated[list[Any], Field(min_length=1, max_length=MAX_BATCH, description="Memories, at most 10,000")]
    atomic: Flag = Field(default=False, description="True: all or nothing. False: each item gets its own result")


class MemoryChanges(Model):
    """What may change about a memory. Its content changes by a new version, or by one that corrects it."""

    model_config = ConfigDict(
        json_schema_extra=also(without_null("parent_id", "valid_to"), dependentRequired={"parent_since": ["parent_id"]})
    )

    category: Category | None = None
    tags: Tags | None = None
    layer: Layer | None = None
    parent_id: UUID | None = Field(default=None, description="Move it under this memory; null detaches it")
    parent_since: Moment | None = Field(default=None, description="From when it stands there; default now")
    valid_from: Moment | None = None
    valid_to: Moment | None = Field(default=None, description="Until when (exclusive); null: still")
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
    subtree: Flag = Field(default=False, description="With everything that stands under them now")


class LineagesInput(Model):
    """Lineages to read, by name."""

    lineages: Annotated[list[Label], Field(min_length=1, max_length=1000)]
    as_of: Moment | None = Field(default=None, description="Valid at this moment; default now")
    known_at: Moment | None = Field(default=None, description="As believed at this moment; default now")


class LinkInput(Model):
    """A link to another memory."""

    target_id: UUID
    type: EdgeType = "related_to"
    strength: Unit = 0.5


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


class ItemWritten(BaseModel):
    """What became of an item of a batch: an id, or a problem."""

    id: UUID | None = None
    superseded: UUID | None = None
    duplicate: bool = False
    problem: ItemProblem | None = None


class BatchWritten(BaseModel):
    """What became of each item, in order."""

    items: list[ItemWritten]


class Enrichment(BaseModel):
    """What becomes of a memory that is to be enriched: a job, or why there is none."""

    job_id: UUID | None = Field(default=None, description="The job that expands it: GET /jobs/{id}")
    skipped: str | None = Field(default=None, description="Why it stays as it is")


class MemoryStored(MemoryWritten, MemoryOut):
    """A memory as it was written, and what became of the write."""

    enrichment: Enrichment | None = Field(default=None, description="Only where the write asked for it (enrich)")


class LinkEnded(BaseModel):
    """A link that was taken back."""

    source_id: UUID
    target_id: UUID
    type: str


class Link(LinkEnded):
    """A link between two memories, named by the first versions of their lineages."""

    strength: float
    recorded_at: datetime


class LinkPage(BaseModel):
    """Links of a memory, strongest first."""

    items: list[Link]
    next_cursor: None


class CategoryCount(BaseModel):
    """A category of the tree."""

    category: str
    memories: int = Field(description="In it")
    total: int = Field(description="In it and below")


class CategoryPage(BaseModel):
    """Categories in path order."""

    items: list[CategoryCount]
    next_cursor: None
