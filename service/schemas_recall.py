"""What recall, lexical search and the log of recalls reply."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from service.schemas import Constraint, MemoryOut


class Explained(BaseModel):
    """A result of recall, whatever its tier."""

    namespace: str
    score: float
    explain: dict[str, Any] | None = Field(
        None,
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
    recall_id: UUID | None = Field(None, description="If it was logged: its id, in each namespace that logs it")

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
