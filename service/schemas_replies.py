"""What replies hold where a row of the database is the reply: memories in lists, links, entities, edges, namespaces, keys."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from service.schemas import MemoryOut, MemoryWritten
from service.schemas_graph import AspectRow

Role = Literal["reader", "writer", "admin"]


class FieldProblem(BaseModel):
    """One field that is wrong."""

    field: str = Field(description="Path of the field, such as items[3].confidence")
    message: str = Field(description="What is wrong, and what was expected")


class ItemProblem(BaseModel):
    """A problem document inside a reply."""

    type: str = Field(examples=["urn:loci:problem:invalid-request"])
    title: str
    status: int
    detail: str
    errors: list[FieldProblem] = []
    hint: str | None = None


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

    job_id: UUID | None = Field(None, description="The job that expands it: GET /jobs/{id}")
    skipped: str | None = Field(None, description="Why it stays as it is")


class MemoryStored(MemoryWritten, MemoryOut):
    """A memory as it was written, and what became of the write."""

    enrichment: Enrichment | None = Field(None, description="Only where the write asked for it (enrich)")


class PlacedMemory(MemoryOut):
    """A memory above or under another."""

    depth: int = Field(description="Steps to the memory that was asked about")


class PlacedPage(BaseModel):
    """A page of memories above or under another, nearest first."""

    items: list[PlacedMemory]
    next_cursor: str | None


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


class EntityOut(BaseModel):
    """An entity; mentions, observations and confidence are present figures."""

    id: UUID
    name: str
    canonical_name: str
    type: str
    aliases: list[str]
    description: str | None
    confidence: float
    mentions: int
    observations: int
    pinned: bool
    pinned_at: datetime | None
    metadata: dict[str, Any]
    first_seen_at: datetime
    created_at: datetime
    updated_at: datetime
    last_referenced_at: datetime | None


class EntityWritten(EntityOut):
    """An entity after a write."""

    created: bool = Field(description="False: it was there, and was added to")


class EntityMerged(EntityOut):
    """An entity after a merge or a split."""

    merge_id: UUID = Field(description="Undoes it")


class EntityPage(BaseModel):
    """A page of entities."""

    items: list[EntityOut]
    next_cursor: str | None


class EntityMatch(BaseModel):
    """An entity that a text names."""

    id: UUID
    name: str
    type: str
    matched: str = Field(description="The words of the text")
    is_alias: bool
    mentions: int
    pinned: bool
    position: int = Field(description="Of the first match in the text")


class EntityMatches(BaseModel):
    """Entities that a text names, in its order."""

    entities: list[EntityMatch]


class Touched(BaseModel):
    """How many entities there were."""

    touched: int


class AspectWritten(AspectRow):
    """An aspect after a write."""

    created: bool = Field(description="False: it was there, and was changed")


class EdgeOut(BaseModel):
    """An edge, to an entity (`target`) or to a literal."""

    id: UUID
    source_id: UUID
    source: str
    type: str
    target_id: UUID | None
    target: str | None
    literal: str | None
    confidence: float = Field(description="After decay")
    strength: float
    faded: bool
    observations: int
    first_observed_at: datetime
    last_observed_at: datetime
    fades_at: datetime | None
    valid_from: datetime
    valid_to: datetime | None
    recorded_at: datetime
    superseded_at: datetime | None
    metadata: dict[str, Any]
    aspect: str | None


class EdgePage(BaseModel):
    """A page of edges."""

    items: list[EdgeOut]
    next_cursor: str | None


class EdgeObserved(BaseModel):
    """What became of an observation."""

    id: UUID
    source: str
    source_id: UUID
    type: str
    target: str | None = None
    target_id: UUID | None
    literal: str | None = None
    created: bool
    restored: bool = Field(description="Seen in a new conversation, so that its confidence is full again")


class EdgesObserved(BaseModel):
    """What became of each observation, in order."""

    items: list[EdgeObserved]


class EdgeTypeOut(BaseModel):
    """Settings of an edge type."""

    type: str
    decay_rate: float = Field(description="Per day, in force")
    single_valued: bool
    description: str | None
    updated_at: datetime | None


class Decayed(BaseModel):
    """What a change of decay has done."""

    faded: int
    revived: int


class EdgeTypeChanged(EdgeTypeOut, Decayed):
    """Settings of an edge type after a change, and what that did to its edges."""


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

    path: list[str] | None = Field(None, description="Names and edge types from a start, where `paths` was asked for")
    score: float | None = Field(None, description="Product of confidences along that way, where `scores` was asked for")


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


class Imported(BaseModel):
    """What an import has written, by kind of line."""

    namespace: str
    created: bool
    kept: list[str] = Field(description="Where the namespace differs from the file")
    vectors: str | None = Field(description="Why those of the file were left out, if they were")
    written: dict[str, int]
    unchanged: dict[str, int]
    lines: int
    seconds: float


class Health(BaseModel):
    """The process answers."""

    status: Literal["ok"]


class Check(BaseModel):
    """Something that must hold before the service can serve."""

    name: str
    ok: bool
    detail: str


class Readiness(BaseModel):
    """Whether the service can serve, and why not."""

    status: Literal["ready", "not ready"]
    checks: list[Check]
