"""Recall, search by words, and the log of recalls."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from loci.models.facts import Constraint
from loci.models.fields import (
    Category,
    Content,
    Flag,
    Label,
    Layer,
    Metadata,
    Model,
    Moment,
    NamespaceName,
    Rate,
    Tags,
    Text,
    Unit,
    Vector,
)
from loci.models.memories import MemoryOut


class Filters(Model):
    """What results are restricted to; every filter applies before ranking."""

    category: Category | None = Field(default=None, description="This category and all below it")
    tags: Tags | None = Field(default=None, description="Any of these")
    tags_all: Tags | None = Field(default=None, description="All of these")
    layers: list[Layer] | None = None
    lineage: Label | None = None
    source: Label | None = None
    session_id: Label | None = None
    metadata: Metadata | None = Field(default=None, description="Contained in the memory's metadata")
    valid_after: Moment | None = Field(default=None, description="valid_from at or after")
    valid_before: Moment | None = Field(default=None, description="valid_from before")
    recorded_after: Moment | None = None
    recorded_before: Moment | None = None
    min_importance: Unit | None = None
    min_confidence: Unit | None = None
    under: UUID | None = Field(default=None, description="This memory and everything under it")
    entity: Label | None = Field(default=None, description="Mentions this entity (id, name or alias)")


class Weights(Model):
    """Weight of each arm in the fusion; relative_score has none."""

    lexical: Rate | None = None
    vector: Rate | None = None
    graph: Rate | None = None
    names: Rate | None = Field(
        default=None, description="The part of the graph arm that goes over rare names shared with the best hits"
    )
    hierarchy: Rate | None = None
    walk: Rate | None = Field(default=None, description="Memories behind the aspects of named and pinned entities")
    working_memory: Rate | None = None
    conversation: Rate | None = None


ArmName = Literal["lexical", "vector", "graph", "hierarchy", "walk", "working_memory", "conversation"]


class RecallInput(Model):
    """A question."""

    query: Content
    k: int = Field(default=10, ge=1, le=100, description="How many results")
    arms: list[ArmName] | None = Field(
        default=None,
        min_length=1,
        description="Default: the first five. working_memory adds live entries; conversation adds turns: of the session that the "
        "filters name, else of the one that asks, else of all. Filters that they do not know leave them out",
    )
    namespaces: Annotated[list[NamespaceName], Field(min_length=1, max_length=10_000)] | Literal["*"] | None = Field(
        default=None,
        description="Search these, or with * all that the key may read; weights and k are those of X-Namespace still",
    )
    weights: Weights | None = None
    fusion: Literal["rrf", "relative_score"] = Field(
        default="rrf",
        description="relative_score: the mean, over the arms that found it, of its score over the arm's best; cosines from 0.5",
    )
    rrf_k: Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)] | None = None
    filters: Filters | None = None
    as_of: Moment | None = Field(default=None, description="Valid at this moment; default now")
    known_at: Moment | None = Field(default=None, description="As believed at this moment; default now")
    explain: Flag = False
    session_id: Label | None = Field(
        default=None, description="The conversation that asks: what was injected into it and is found by words counts as used"
    )
    embedding: Vector | None = Field(default=None, description="The question's vector, if you made it yourself")
    log: Flag | None = Field(default=None, description="Log it, so that its results can be rated; default: setting recall_log")


class Explained(BaseModel):
    """A result of recall, whatever its tier."""

    namespace: str
    score: float
    explain: dict[str, Any] | None = Field(
        default=None,
        description="Each arm's rank and score, its weight (or the normalised score that was averaged), and the path; "
        "`lent`: what neighbours in the session gave, in all and in an arm",
    )


class Recalled(MemoryOut, Explained):
    """A memory as a result of recall."""

    tier: Literal["memory"]


class RecalledEntry(Explained):
    """An entry of working memory as a result of recall."""

    tier: Literal["working_memory"]
    key: str
    space: str
    value: Any
    category: str | None
    tags: list[str]
    stored_at: datetime
    expires_at: datetime


class RecalledTurn(Explained):
    """A turn of a conversation as a result of recall."""

    tier: Literal["conversation"]
    id: int
    session_id: str
    role: str
    content: str
    metadata: dict[str, Any]
    said_at: datetime


class NamespacedConstraint(Constraint):
    """A rule that holds, and the namespace that it holds in."""

    namespace: str


class RecallOut(BaseModel):
    """The answer to a question."""

    results: list[Annotated[Recalled | RecalledEntry | RecalledTurn, Field(discriminator="tier")]]
    constraints: list[NamespacedConstraint] = Field(
        description="Of the entities that the question names and of pinned ones, most important first, whatever was found"
    )
    entities: list[dict[str, Any]]
    skipped: dict[str, str] = Field(description="Arms that did not take part, and why")
    took_ms: float
    recall_id: UUID | None = Field(default=None, description="If it was logged: its id, in each namespace that logs it")

    @property
    def memories(self) -> list[Recalled]:
        """The results that are memories; others are there only where their arms were asked for."""
        return [result for result in self.results if isinstance(result, Recalled)]


class MentionedEntity(BaseModel):
    """An entity that a result mentions."""

    id: UUID
    name: str
    type: str


class Found(MemoryOut):
    """A memory as a result of lexical search."""

    score: float
    entities: list[MentionedEntity] = Field(description="What it mentions, the rarest first, at most 20")


class SearchOut(BaseModel):
    """What a lexical search found, and what the graph says about it."""

    results: list[Found]
    entities: list[dict[str, Any]] = Field(description="Entities that the question names")
    constraints: list[Constraint] = Field(description="Of these and of pinned ones, most important first")


class LoggedRecall(BaseModel):
    """A recall in the log."""

    id: UUID
    at: datetime
    agent_id: UUID
    session_id: str | None
    query: str
    arms: list[str]
    fusion: Literal["rrf", "relative_score"]
    k: int
    filters: dict[str, Any]
    as_of: datetime | None
    known_at: datetime | None
    skipped: dict[str, str]
    results: int = Field(description="Results of the whole answer, other namespaces and tiers included")
    took_ms: float


class ListedRecall(LoggedRecall):
    """A recall in a list of them."""

    useful: int = Field(description="Results that were found useful")
    useless: int


class RecallPage(BaseModel):
    """A page of logged recalls, newest first."""

    items: list[ListedRecall]
    next_cursor: str | None


class LoggedMemory(BaseModel):
    """A memory in the answer of a logged recall, and what became of it."""

    rank: int
    memory_id: UUID
    score: float
    arms: dict[str, dict[str, float]] = Field(description="By arm that found it: rank and score")
    injected_at: datetime | None = Field(description="When the session was shown it, at the recall or later")
    hits: int | None = Field(description="How often the session has found it by its words after it was shown")
    last_hit_at: datetime | None
    useful: bool | None
    note: str | None
    rated_at: datetime | None
    rated_by: UUID | None


class RecallDetail(LoggedRecall):
    """A logged recall with the memories in its answer."""

    memories: list[LoggedMemory]


class Rating(Model):
    """What became of a memory in the answer of a logged recall."""

    memory_id: UUID
    useful: Flag
    note: Annotated[Text, Field(max_length=10_000)] | None = None
