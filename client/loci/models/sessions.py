"""Sessions: working memory, conversations, contexts, and feedback at their end."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, Strict, model_validator
from pydantic.config import JsonDict

from loci.models.dreams import Signal, SignalInput
from loci.models.facts import Constraint
from loci.models.fields import (
    UNQUOTED,
    Category,
    Content,
    Count,
    Flag,
    Id,
    Items,
    Json,
    Label,
    Metadata,
    Model,
    Moment,
    NextCursor,
    Room,
    ServerKind,
    Tags,
    Text,
    Unit,
    User,
)
from loci.models.memories import Contradicts, MemoryOut
from loci.models.recall import Passage, Rating
from loci.models.retain import UnsettledPair

SectionName = Literal["profile", "memories", "constraints", "unsettled", "graph", "working_memory", "patrol", "subagents", "turns"]

Space = Annotated[
    Text,
    Field(
        pattern=r"^[^/]+/[^/]+$",
        max_length=255,
        examples=["session/abc", "patrol/heartbeat"],
        json_schema_extra={"pattern": r"^[^/\u0000-\u001f\u007f-\u009f]+/[^/\u0000-\u001f\u007f-\u009f]+$"},
    ),
]


class ContextInput(Model):
    """What a context is for, and how large it may be."""

    message: Content | None = Field(default=None, description="What is about to be answered; without it nothing is searched for")
    session_id: Label | None = Field(
        default=None,
        description="The conversation: a memory is shown to it once. Without it nothing is stored and nothing is held back",
    )
    user: User = None
    space: Space | None = Field(
        default=None,
        description="Own space of working memory; default: X-Space, else session/ and the session. "
        "Under patrol/ and subagent/ the working memory of others is left out",
    )
    k: Count | None = Field(
        default=None,
        description="Memories to recall; auto: as many as may answer, 3 to 50. Default: the namespace's setting `context_memories`",
    )
    min_relevance: Unit | None = Field(
        default=None,
        description="Leave out memories less likely than this to answer the message, 0 to 1; then none are shown where nothing was "
        "found. Default: nothing is left out",
    )
    max_chars: Room | None = Field(
        default=None, description="The text is never longer; default: LOCI_MAX_CHARS of the service (16,000)"
    )
    sections: list[SectionName] | None = Field(default=None, min_length=1, description="Default: all")
    repeat: Flag = Field(
        default=False,
        description="Show memories that the session was shown before as well. By default each is shown to a session once: a second "
        "context for the same message has none of them, and says how many it held back (`held_back`)",
    )
    preview: Flag = Field(default=False, description="Only show what the session would get now: nothing is stored of it")
    as_of: Moment | None = Field(default=None, description="Memories and edges that held at this moment; default now")
    known_at: Moment | None = Field(default=None, description="As believed at this moment; default now")


class ContextMemory(MemoryOut):
    """A memory in a context."""

    score: float | None = Field(description="Of the recall; null: the recall did not find it")
    relevance: float | None = Field(description="How likely it answers the message, 0 to 1, as in a recall; null as the score")
    contradicts: Contradicts = None
    passage: Passage | None = Field(default=None, description="What the text shows of it, where it is too long for the budget")


class ContextGraph(BaseModel):
    """What the message names, and the edges around that."""

    entities: list[dict[str, Any]] = Field(description="Entities that the message names")
    edges: list[dict[str, Any]] = Field(description="Edges around them")


class ContextKey(BaseModel):
    """An entry of working memory, without its value."""

    key: str = Field(description="Full path of the entry")
    space: str = Field(description="First two segments of the path")
    category: str | None = Field(description="Slash-separated path")
    tags: list[str] = Field(description="Labels; their order means nothing")
    stored_at: datetime = Field(description="When it was stored")
    expires_at: datetime = Field(description="From when it is unseen")
    expires_in: float = Field(description="Seconds")


class ContextTurn(BaseModel):
    """A turn of the conversation."""

    id: int = Field(description="Grows within a session")
    session_id: str = Field(description="The conversation")
    role: str = Field(description="Who spoke")
    content: str = Field(description="What was said")
    metadata: dict[str, Any] = Field(description="Your own JSON object, at most 1 MiB; kept as it is")
    said_at: datetime = Field(description="When it was said")


class LeftOut(BaseModel):
    """What a section lacks."""

    section: SectionName = Field(description="The section that it would have stood in")
    left_out: int | None = Field(description="Items; null: not counted")
    reason: str = Field(description="max_chars, min_relevance, context_keys (setting), or what ended the walk through the graph")


class ContextOut(BaseModel):
    """What to inject: as text, and as the data of what is in the text."""

    session_id: str | None = Field(description="The conversation; null: none was named")
    space: str = Field(description="Own space of working memory")
    text: str = Field(description="What to put before the inference")
    profile: list[ContextMemory] = Field(
        description="What is known of the one who asks and new to the session, the most important first; not in `memories` as well"
    )
    memories: list[ContextMemory] = Field(description="Memories that are new to the session, best first")
    constraints: list[Constraint] = Field(description="Rules that hold, most important first")
    unsettled: list[UnsettledPair] = Field(
        description="Up to three open pairs of what is shown, or what the one who asks has told: say which holds (settle)"
    )
    graph: ContextGraph = Field(description="What the message names, and the edges around that")
    working_memory: list[ContextKey] = Field(description="Of the own space")
    patrol: list[ContextKey] = Field(description="Keys of what patrols have found")
    subagents: list[ContextKey] = Field(description="Keys that end in -index")
    turns: list[ContextTurn] = Field(description="Turns, oldest first")
    first: bool = Field(description="The first context of the session, or since its end")
    held_back: int = Field(description="Memories that were found and had been shown to the session before")
    truncated: list[LeftOut] = Field(description="What sections lack")
    skipped: dict[str, str] = Field(description="Arms of the recall that did not take part, and why")
    waiting: int = Field(
        default=0, description="Memories whose vectors were not made yet, up to 1,000; they have a place in the recall nevertheless"
    )
    took_ms: float = Field(description="Milliseconds that it took")
    server: ServerKind = "primary"


Seconds = Annotated[float, Strict(), Field(gt=0, le=31_622_400, allow_inf_nan=False)]

Prefix = Annotated[Text, Field(max_length=512)]

TurnRole = Annotated[Label, Field(max_length=64)]


class EntryInput(Model):
    """An entry of working memory."""

    value: Json = Field(description="Any JSON, at most 1 MiB")
    ttl_seconds: Seconds | None = Field(default=None, description="How long it lives; default: the setting working_memory_ttl")
    category: Category | None = Field(default=None, description="Slash-separated path")
    tags: Tags | None = Field(default=None, description="Labels; their order means nothing")


class Entry(BaseModel):
    """An entry, without its value."""

    key: str = Field(description="Full path")
    space: str = Field(description="Its first two segments")
    category: str | None = Field(description="Slash-separated path")
    tags: list[str] = Field(description="Labels; their order means nothing")
    stored_at: datetime = Field(description="When it was stored")
    expires_at: datetime = Field(description="From when it is unseen")


class EntryOut(Entry):
    """An entry."""

    value: Any = Field(description="Any JSON")


class EntryPage(BaseModel):
    """A page of entries, in order of their keys."""

    items: Items[Entry]
    next_cursor: NextCursor


class EntrySearch(Model):
    """Which entries to look for."""

    query: Content | None = Field(default=None, description="Words or a question; without it the newest come first")
    category: Category | None = Field(default=None, description="This category and all below it")
    tags: Tags | None = Field(default=None, description="Any of these")
    prefix: Prefix | None = Field(default=None, description="Under these segments; default: the space of X-Space, else everywhere")
    limit: Annotated[int, Field(ge=1, le=1000), UNQUOTED] = Field(default=10, description="How many results at most")


class EntryFound(EntryOut):
    """An entry that was found."""

    score: float | None = Field(
        description="Nought to one: the mean of its score by words (BM25) and by meaning (cosine), each over the best; "
        "null without a query"
    )


class EntriesFound(BaseModel):
    """Entries, best first."""

    items: Items[EntryFound]
    skipped: dict[str, str] = Field(description="`vector` and why, where entries were not searched by meaning")


class TurnInput(Model):
    """What somebody said."""

    role: TurnRole = Field(examples=["user", "assistant"], description="Who speaks")
    content: Content = Field(description="What is said")
    metadata: Metadata | None = Field(default=None, description="Your own JSON object, at most 1 MiB; kept as it is")
    said_at: Moment | None = Field(default=None, description="Default: now")


ONE_OR_MANY: JsonDict = {
    "oneOf": [
        {
            "required": ["role", "content"],
            "properties": {"role": {"type": "string"}, "content": {"type": "string"}, "turns": {"type": "null"}},
        },
        {"required": ["turns"], "properties": {"turns": {"type": "array"}}, "maxProperties": 1},
    ]
}


class TurnsInput(Model):
    """One turn, or several in order: either `role` and `content`, or `turns`."""

    model_config = ConfigDict(json_schema_extra=ONE_OR_MANY)

    role: TurnRole | None = Field(default=None, description="Who speaks")
    content: Content | None = Field(default=None, description="What is said")
    metadata: Metadata | None = Field(default=None, description="Your own JSON object, at most 1 MiB; kept as it is")
    said_at: Moment | None = Field(default=None, description="When it was said; default now")
    turns: Annotated[list[TurnInput], Field(min_length=1, max_length=1000)] | None = Field(
        default=None, description="Several turns, in order"
    )

    @model_validator(mode="after")
    def _one_or_many(self) -> Self:
        single = self.model_fields_set - {"turns"}
        if self.turns is not None:
            if single:
                raise ValueError(f"either turns, or one turn by itself: {', '.join(sorted(single))} must not stand beside turns")
        elif self.role is None or self.content is None:
            raise ValueError("role and content are needed, or turns")
        return self

    def listed(self) -> list[dict[str, Any]]:
        """The turns, JSON-ready."""
        return [turn.stated() for turn in self.turns] if self.turns is not None else [self.stated()]


class Turn(BaseModel):
    """A turn of a conversation."""

    id: int = Field(description="Grows within a session")
    session_id: str = Field(description="The conversation")
    role: str = Field(description="Who spoke")
    content: str = Field(description="What was said")
    metadata: dict[str, Any] = Field(description="Your own JSON object, at most 1 MiB; kept as it is")
    said_at: datetime = Field(description="When it was said")


class Turns(BaseModel):
    """Turns, oldest first."""

    items: Items[Turn]


class TurnPage(Turns):
    """Turns, oldest first; `next_cursor` leads to those before them."""

    next_cursor: NextCursor


class TurnsDeleted(BaseModel):
    """How many turns were deleted."""

    session_id: str = Field(description="The conversation")
    deleted: int = Field(description="How many turns were deleted")


class Conversation(BaseModel):
    """A session that has turns."""

    session_id: str = Field(description="The conversation")
    turns: int = Field(description="How many turns it has")
    first_said_at: datetime = Field(description="When its first turn was said")
    last_said_at: datetime = Field(description="When its last turn was said")
    logged: int = Field(description="Turns that no pass has learned from yet")


class ConversationPage(BaseModel):
    """A page of conversations, in order of their sessions."""

    items: Items[Conversation]
    next_cursor: NextCursor


MemoryIds = Annotated[list[UUID], Field(max_length=10_000)]


def _report(whose: str, field: str) -> JsonDict:
    given: JsonDict = {whose: {"type": "string"}, field: {"type": "array", "minItems": 1}}
    return {"required": [whose, field], "properties": given}


SOME_REPORT: JsonDict = {
    "anyOf": [
        _report("session_id", "injected"),
        _report("session_id", "confirmed"),
        _report("recall_id", "ratings"),
        {"required": ["signals"], "properties": {"signals": {"type": "array", "minItems": 1}}},
    ]
}


class FeedbackInput(Model):
    """What became of memories in a session, or in the answer of a recall. Hits are counted before injections."""

    model_config = ConfigDict(json_schema_extra=SOME_REPORT)

    session_id: Label | None = Field(default=None, description="Needed for injected and confirmed")
    injected: MemoryIds | None = Field(default=None, description="Shown to the session now")
    confirmed: MemoryIds | None = Field(default=None, description="Found again by a search of yours; counts for those shown before")
    recall_id: UUID | None = Field(default=None, description="A logged recall; needed for ratings")
    ratings: Annotated[list[Rating], Field(max_length=1000)] | None = Field(default=None, description="Were its results of use?")
    signals: Annotated[list[SignalInput], Field(max_length=1000)] | None = Field(
        default=None, description="What was said about the agent's work"
    )

    @model_validator(mode="after")
    def _something(self) -> "FeedbackInput":
        if not (self.injected or self.confirmed or self.ratings or self.signals):
            raise ValueError("at least one of injected, confirmed, ratings and signals must hold something")
        return self


class FeedbackNoted(BaseModel):
    """What was new in a report."""

    session_id: str | None = Field(description="The conversation; null: none was named")
    injected: list[UUID] = Field(description="Those that were not shown to the session before")
    confirmed: list[UUID] = Field(description="Those that had been shown to it")
    rated: list[UUID] | None = Field(default=None, description="Memories whose rating was noted, if there were ratings")
    signals: list[Signal] | None = Field(default=None, description="Signals that were noted, in order, if there were any")


class SessionEnd(BaseModel):
    """What the end of a session has changed."""

    session_id: str = Field(description="The conversation")
    ended: bool = Field(description="False: it had ended before, and nothing was injected since; nothing has changed")
    ended_at: datetime = Field(description="When the session ended")
    injected: int = Field(description="Memories shown since the last end")
    hit: int = Field(description="Those of them that were found again")
    confirmed: int = Field(description="Aspects that gained weight")
    decayed: int = Field(description="Aspects that lost weight")
    sessions: int = Field(description="Sessions that this agent has ended")


class FeedbackEvent(BaseModel):
    """A change of weights that use has made."""

    id: Id
    at: datetime = Field(description="When it happened")
    agent_id: UUID = Field(description="The agent whose session it was")
    session_id: str = Field(description="The conversation")
    kind: Literal["confirmation", "decay"] = Field(description="confirmation (weights went up) or decay (they went down)")
    aspects: int = Field(description="How many aspects changed")
    confirmations: int = Field(description="How many confirmations")
    change: float = Field(description="By how much the weight changed")


class FeedbackPage(BaseModel):
    """A page of changes, newest first."""

    items: Items[FeedbackEvent]
    next_cursor: NextCursor
