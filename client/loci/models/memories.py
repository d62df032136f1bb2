"""Memories: versions, links, categories, batches, erasure."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from loci.models.fields import (
    MAX_BATCH,
    Category,
    Confidence,
    Content,
    EdgeType,
    Flag,
    Id,
    Importance,
    Items,
    Label,
    Layer,
    Metadata,
    Model,
    Moment,
    NextCursor,
    RecordedAt,
    Strength,
    Tags,
    Unit,
    UpdatedAt,
    ValidFrom,
    ValidTo,
    Vector,
    also,
    as_items,
    not_null,
    without_null,
)
from loci.models.graph.edges import EdgeInput
from loci.models.graph.entities import EntityInput
from loci.models.operations import ForeseenChange
from loci.models.problems import ItemProblem

OnDuplicate = Annotated[
    Literal["reinforce", "update", "refuse"],
    Field(
        description="What becomes of an exact duplicate. reinforce: what is there is counted once more, and stays as it is; "
        "update: it takes over category, tags, layer, parent, importance, confidence, metadata and vector as well; refuse: 409"
    ),
]


class MemoryInput(Model):
    """A memory to write. Only `content` is needed."""

    content: Content = Field(description="The statement; at most 1 MiB")
    lineage: Label | None = Field(default=None, description="Name that groups versions; an existing one gets a new version")
    category: Category | None = Field(
        default=None,
        description="Slash-separated path; default: that of the version before, or general",
        examples=["user-preferences/timezone"],
    )
    tags: Tags | None = Field(
        default=None, description="Labels; their order means nothing; default: those of the version before, or []"
    )
    layer: Layer | None = Field(
        default=None, description="0 domain, 1 concept, 2 fact, 3 episode; default: that of the version before, or 2"
    )
    parent_id: UUID | None = Field(
        default=None, description="The memory that this one stands under; default: that of the version before, or none"
    )
    valid_from: Moment | None = Field(default=None, description="From when it is true; default now")
    valid_to: Moment | None = Field(default=None, description="Until when (exclusive); default: still")
    importance: Unit | None = Field(
        default=None, description="How much it matters, 0 to 1; default: that of the version before, or 0.5"
    )
    confidence: Unit | None = Field(default=None, description="How sure it is, 0 to 1; default: 1.0")
    metadata: Metadata | None = Field(
        default=None,
        description="Your own JSON object, at most 1 MiB; kept as it is; null: {}; default: that of the version before, or {}",
    )
    about: Label | None = Field(
        default=None,
        description="Whom or what it is about: name or id of an entity, which is made if it is not there; GET shows what the text "
        "says by itself. Default: that of the version before, or None",
    )
    source: Label | None = Field(default=None, description="Who said it; default: the user that the key is bound to")
    session_id: Label | None = Field(default=None, description="The conversation it comes from")
    entities: Annotated[list[EntityInput], Field(max_length=1000)] | None = Field(
        default=None, description="Entities that it mentions"
    )
    edges: Annotated[list[EdgeInput], Field(max_length=1000)] | None = Field(default=None, description="Relations that it states")
    embedding: Vector | None = Field(default=None, description="Your own vector, of the active model's dimensions")
    corrects: UUID | None = Field(
        default=None, description="The version that was wrong and never true: this one takes its validity"
    )
    replaces: UUID | None = Field(
        default=None, description="The memory that no longer holds from then on: this one is the next version of its lineage"
    )
    on_duplicate: OnDuplicate | None = Field(default=None, description="What becomes of an exact duplicate; default reinforce")

    @field_validator("valid_to")
    @classmethod
    def _interval(cls, value: datetime | None, info: ValidationInfo) -> datetime | None:
        start = info.data.get("valid_from")
        if value is not None and start is not None and value < start:
            raise ValueError("must not be before valid_from")
        return value

    @field_validator("replaces")
    @classmethod
    def _one_of_both(cls, value: UUID | None, info: ValidationInfo) -> UUID | None:
        if value is not None and info.data.get("corrects") is not None:
            raise ValueError("must not stand beside corrects: a memory was true until then, or it never was")
        return value


class MemorySave(MemoryInput):
    """A memory to write by itself."""

    enrich: Flag = Field(
        default=False,
        description="Have a language model expand it into well-formed memories, in the background; it is stored as it is at once",
    )
    compare: Flag = Field(
        default=False, description="Compare it with what is known, and name what it may outdate: `unsettled` in the reply"
    )


class UnsettledMemory(BaseModel):
    """A memory that a new one may outdate. Nobody has said which holds: POST /memories/{id}/settle."""

    id: Id
    content: str = Field(description="The statement")
    valid_from: ValidFrom
    similarity: float = Field(description="How near both are by meaning, or how sure a rule is")


Unsettled = Annotated[
    list[UnsettledMemory],
    Field(description="What it may outdate, the likeliest first; those that are near stay open (GET /memories/unsettled)"),
]


class MemoryBatch(Model):
    """Many memories. Items are checked one by one, so that a wrong one does not hide the others."""

    items: Annotated[list[Any], Field(min_length=1, max_length=MAX_BATCH, description="Memories, at most 10,000")]
    atomic: Flag = Field(default=False, description="True: all or nothing. False: each item gets its own result")
    _bare = model_validator(mode="before")(as_items)


class MemoryChanges(Model):
    """What may change about a memory. Its content changes by a new version, or by one that corrects it."""

    model_config = ConfigDict(
        json_schema_extra=also(
            without_null("parent_id", "valid_to", "metadata", "about"), dependentRequired={"parent_since": ["parent_id"]}
        )
    )

    category: Category | None = Field(default=None, description="Slash-separated path")
    tags: Tags | None = Field(default=None, description="Labels; their order means nothing")
    layer: Layer | None = Field(default=None, description="0 domain, 1 concept, 2 fact, 3 episode")
    parent_id: UUID | None = Field(default=None, description="Move it under this memory; null detaches it")
    parent_since: Moment | None = Field(default=None, description="From when it stands there; default now")
    valid_from: Moment | None = Field(default=None, description="From when it is true")
    valid_to: Moment | None = Field(default=None, description="Until when (exclusive); null: still")
    importance: Unit | None = Field(default=None, description="How much it matters, 0 to 1")
    confidence: Unit | None = Field(default=None, description="How sure it is, 0 to 1")
    metadata: Metadata | None = Field(default=None, description="Your own JSON object, at most 1 MiB; kept as it is; null: {}")
    about: Label | None = Field(
        default=None, description="Whom or what it is about: name or id of an entity; null: what the text says"
    )

    @field_validator(*("category", "tags", "layer", "parent_since", "valid_from", "importance", "confidence"), mode="before")
    @classmethod
    def _not_null(cls, value: object) -> object:
        return not_null(value)

    @model_validator(mode="after")
    def _parent_beside_since(self) -> "MemoryChanges":
        if "parent_since" in self.model_fields_set and "parent_id" not in self.model_fields_set:
            raise ValueError("parent_since needs parent_id beside it")
        return self


Versions = Annotated[
    Literal["all", "this"], Field(description="all: every version of their lineages; this: only the versions named")
]


Dependence = Literal["attribute", "edge", "entity"]


class Dependent(BaseModel):
    """A fact, an edge or an entity that rests on a memory."""

    kind: Dependence = Field(description="attribute (a fact or rule), edge, or entity")
    id: UUID = Field(description="Its id")
    content: str = Field(description="What it says; of an edge both ends and the type, of an entity its name")
    entity_id: UUID = Field(description="Id of the entity that it is about; of an edge, that it starts at")
    entity: str = Field(description="Name of that entity")
    aspect: str | None = Field(description="Name of the aspect that a fact stands under; null: it is none")
    status: str = Field(description="active, superseded or deleted")
    confidence: float = Field(description="0 to 1; of an edge without decay, of an entity that of the mention")
    valid_from: datetime | None = Field(description="From when it is true; null: an entity")
    valid_to: datetime | None = Field(description="Until when it is true (exclusive); null: still")
    alone: bool = Field(description="Whether nothing else shows it, so that it falls with the memory, unless it is pinned")


class DependentPage(BaseModel):
    """A page of what rests on a memory: attributes, edges, entities."""

    items: Items[Dependent]
    next_cursor: NextCursor


class EraseInput(Model):
    """Memories to erase for good, all or none."""

    ids: Annotated[list[UUID], Field(min_length=1, max_length=MAX_BATCH, description="Memories, at most 10,000")]
    versions: Versions = "all"
    subtree: Flag = Field(default=False, description="With everything that stands under them now")
    with_turns: Flag = Field(default=False, description="With turns of conversation that hold all the words of an erased text")
    dry_run: Flag = Field(default=False, description="Erase nothing, and say what would go")


class LineagesInput(Model):
    """Lineages to read, by name."""

    lineages: Annotated[list[Label], Field(min_length=1, max_length=1000)] = Field(description="Names of lineages")
    as_of: Moment | None = Field(default=None, description="Valid at this moment; default now")
    known_at: Moment | None = Field(default=None, description="As believed at this moment; default now")


class LinkInput(Model):
    """A link to another memory."""

    target_id: UUID = Field(description="The memory that it leads to")
    type: EdgeType = Field(default="related_to", description="Type of the link, such as explains")
    strength: Unit = Field(default=0.5, description="How strong the link is, 0 to 1")


class CutShort(BaseModel):
    """A stated end that was not kept, because a later version of the lineage begins before it."""

    stated: datetime = Field(description="The end that was stated")
    kept: datetime = Field(description="The end that it has: where the later version begins")
    by: UUID | None = Field(description="The later version")


Ignored = Annotated[
    list[str] | None,
    Field(
        description="Of a duplicate: fields that were stated otherwise and not taken over; null: it is none", examples=[["tags"]]
    ),
]
Cut = Annotated[CutShort | None, Field(description="Where a later version cut its stated validity short; null: nowhere")]


class MemoryWritten(BaseModel):
    """What became of a write."""

    id: Id
    lineage: str = Field(description="Name that groups the versions of one memory")
    version: int = Field(description="Number of the version within its lineage")
    superseded: UUID | None = Field(description="The version that it ended; null: none")
    duplicate: bool = Field(description="True: it was known already, and was reinforced")
    ignored: Ignored = None
    cut_short: Cut = None


class MemoryOut(BaseModel):
    """A memory."""

    id: Id
    lineage: str = Field(description="Name that groups the versions of one memory")
    version: int = Field(description="Number of the version within its lineage")
    content: str = Field(description="The statement")
    category: str = Field(description="Slash-separated path")
    tags: list[str] = Field(description="Labels; their order means nothing")
    layer: int = Field(description="0 domain, 1 concept, 2 fact, 3 episode")
    parent_id: UUID | None = Field(description="The memory that it stands under; null: none")
    valid_from: ValidFrom
    valid_to: ValidTo
    recorded_at: RecordedAt
    superseded_at: datetime | None = Field(description="When it stopped being believed; null: it is believed")
    current: bool = Field(description="Whether it is valid now, believed and not forgotten")
    status: Literal["active", "forgotten"] = Field(description="active or forgotten")
    importance: Importance
    confidence: Confidence
    metadata: dict[str, Any] = Field(description="Your own JSON object, at most 1 MiB; kept as it is")
    about: str | None = Field(
        description="Whom or what it is about: as stated, else the entity that the text begins with, else who says it in the first "
        "person; null: nobody"
    )
    source: str | None = Field(description="Who said it; null: nobody was named")
    session_id: str | None = Field(description="The conversation that it comes from; null: none")
    observations: int = Field(description="How often it was observed")
    last_observed_at: datetime = Field(description="When it was last observed")
    updated_at: UpdatedAt


Contradicts = Annotated[
    list[UUID] | None,
    Field(description="Current memories that it may contradict, and nobody has said which holds; absent where there are none"),
]


class ForgottenMemory(MemoryOut):
    """A memory that was forgotten, and whether it had been before."""

    already_forgotten: bool = Field(description="Whether it had been forgotten before, so that nothing changed")


class TurnNamed(BaseModel):
    """A turn of a conversation."""

    session_id: str = Field(description="The conversation")
    id: int = Field(description="Its number")


class Erased(BaseModel):
    """The receipt of an erasure: what the database counted, by table."""

    erased: int = Field(description="Memories erased, each version counted")
    deleted: dict[str, int] = Field(description="Rows deleted", examples=[{"memories": 1, "memory_texts": 1, "postings": 9}])
    added: dict[str, int] = Field(description="Rows added: counts that were lowered, neighbours that wait for a new vector")
    changed: dict[str, int] = Field(description="Rows changed: counters, edges with other evidence, emptied attributes and replies")
    turns: list[TurnNamed] = Field(
        description="Turns of conversation that hold all the words of an erased text, the first 1,000: they stay, unless erased "
        "with_turns"
    )
    turns_found: int = Field(description="How many there are")
    dry_run: bool = Field(description="Whether nothing was erased: the rest says what would be")
    changes: list[ForeseenChange] = Field(
        description="Of a dry run: what would go or change, memories and facts first, the first hundred; else empty"
    )
    more: int = Field(description="Of a dry run: how many more")


class MemoryPage(BaseModel):
    """A page of memories."""

    items: Items[MemoryOut]
    next_cursor: NextCursor


class ItemWritten(BaseModel):
    """What became of an item of a batch: an id, or a problem."""

    id: UUID | None = Field(default=None, description="Its id (UUID); null: it was not written")
    superseded: UUID | None = Field(default=None, description="The version that it ended; null: none")
    duplicate: bool = Field(default=False, description="True: it was known already, and was reinforced")
    ignored: Ignored = None
    cut_short: Cut = None
    problem: ItemProblem | None = Field(default=None, description="Why it was not written; null: it was")


class BatchWritten(BaseModel):
    """What became of each item, in order."""

    items: Items[ItemWritten]


class Enrichment(BaseModel):
    """What becomes of a memory that is to be enriched: a job, or why there is none."""

    job_id: UUID | None = Field(default=None, description="The job that expands it: GET /jobs/{id}")
    skipped: str | None = Field(default=None, description="Why it stays as it is")


class MemoryStored(MemoryWritten, MemoryOut):
    """A memory as it was written, and what became of the write."""

    enrichment: Enrichment | None = Field(default=None, description="Only where the write asked for it (enrich)")
    unsettled: Unsettled | None = Field(default=None, description="Only where the write asked for it (compare)")


class LinkEnded(BaseModel):
    """A link that was taken back."""

    source_id: UUID = Field(description="The memory that it starts at")
    target_id: UUID = Field(description="The memory that it leads to")
    type: str = Field(description="Type of the link, such as explains")


class Link(LinkEnded):
    """A link between two memories, named by the first versions of their lineages."""

    strength: Strength
    recorded_at: RecordedAt
    superseded_at: datetime | None = Field(description="When it got another strength or was taken back; null: it stands")


class LinkPage(BaseModel):
    """A page of links of a memory, strongest first."""

    items: Items[Link]
    next_cursor: NextCursor


class CategoryCount(BaseModel):
    """A category of the tree."""

    category: str = Field(description="Path of the category")
    memories: int = Field(description="In it")
    total: int = Field(description="In it and below")


class CategoryPage(BaseModel):
    """Categories in path order."""

    items: Items[CategoryCount]
    next_cursor: None = Field(description="null: all are on this page")
