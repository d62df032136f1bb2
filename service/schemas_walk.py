"""What requests about walks and sessions may say, and what they get: focal entities, constraints, feedback."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.config import JsonDict

from service.schemas import Constraint
from service.schemas_fields import Content, Flag, Label, Model, Moment, Text
from service.schemas_signals import Signal, SignalInput

Source = Literal["checkpoint", "project", "query", "session_key"]
Memories = Annotated[list[UUID], Field(max_length=10_000)]


class WalkInput(Model):
    """What a conversation is about. The first of checkpoint, project_path and query that gives an entity counts."""

    query: Content | None = Field(None, description="Words of the conversation; the first 2,000 characters count")
    project_path: Annotated[Text, Field(min_length=1, max_length=4096)] | None = Field(
        None,
        description="Folder; its last three segments are compared with names of projects",
        examples=["/home/a/rockbot"],
    )
    checkpoint: Annotated[list[UUID], Field(max_length=1000)] | None = Field(
        None, description="Entities carried over from an earlier session; unknown ones are left out"
    )
    session_key: Label | None = Field(None, description="A label, where nothing else is known")
    as_of: Moment | None = Field(None, description="What held at this moment; default now")
    known_at: Moment | None = Field(None, description="As known at this moment; default: as believed now")
    attributes: Flag = Field(False, description="With the attributes themselves, not only the memories behind them")


class Focal(BaseModel):
    """An entity that a walk starts from."""

    id: UUID | None = Field(description="None: a session key, which is only a label")
    name: str
    type: str | None
    pinned: bool
    source: Literal["checkpoint", "project", "query", "session_key", "pinned"]


class WalkAttribute(BaseModel):
    """An attribute that a walk came by."""

    id: UUID
    entity_id: UUID
    aspect_id: UUID
    aspect: str
    weight: float
    content: str
    importance: float
    confidence: float
    memory_id: UUID | None


class WalkOut(BaseModel):
    """What to know, as far as it could be collected in time."""

    focal: list[Focal]
    source: Source | None = Field(description="What gave the focal entities; pinned ones are always added. None: nothing did")
    memory_ids: list[UUID] = Field(description="Visible memories behind attributes and constraints, best first")
    constraints: list[Constraint] = Field(description="Most important first")
    attributes: list[WalkAttribute]
    entity_count: int = Field(description="Entities visited, neighbours included")
    aspect_ids: list[UUID] = Field(description="Aspects visited for their weight")
    timed_out: bool = Field(description="The deadline (setting walk_ms) cut something off")
    took_ms: float


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


class Rating(Model):
    """What became of a memory in the answer of a logged recall."""

    memory_id: UUID
    useful: Flag
    note: Annotated[Text, Field(max_length=10_000)] | None = None


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

    session_id: Label | None = Field(None, description="Needed for injected and confirmed")
    injected: Memories | None = Field(None, description="Shown to the session now")
    confirmed: Memories | None = Field(None, description="Found again by a search of yours; counts for those shown before")
    recall_id: UUID | None = Field(None, description="A logged recall; needed for ratings")
    ratings: Annotated[list[Rating], Field(max_length=1000)] | None = Field(None, description="Were its results of use?")
    signals: Annotated[list[SignalInput], Field(max_length=1000)] | None = Field(
        None, description="What was said about the agent's work"
    )

    @model_validator(mode="after")
    def _something(self) -> "FeedbackInput":
        if not (self.injected or self.confirmed or self.ratings or self.signals):
            raise ValueError("at least one of injected, confirmed, ratings and signals must hold something")
        return self


class FeedbackNoted(BaseModel):
    """What was new in a report."""

    session_id: str | None
    injected: list[UUID] = Field(description="Those that were not shown to the session before")
    confirmed: list[UUID] = Field(description="Those that had been shown to it")
    rated: list[UUID] | None = Field(None, description="Memories whose rating was noted, if there were ratings")
    signals: list[Signal] | None = Field(None, description="Signals that were noted, in order, if there were any")


class SessionEnd(BaseModel):
    """What the end of a session has changed."""

    session_id: str
    ended: bool = Field(description="False: it had ended before, and nothing was injected since; nothing has changed")
    ended_at: datetime
    injected: int = Field(description="Memories shown since the last end")
    hit: int = Field(description="Those of them that were found again")
    confirmed: int = Field(description="Aspects that gained weight")
    decayed: int = Field(description="Aspects that lost weight")
    sessions: int = Field(description="Sessions that this agent has ended")


class FeedbackEvent(BaseModel):
    """A change of weights that use has made."""

    id: UUID
    at: datetime
    agent_id: UUID
    session_id: str
    kind: Literal["confirmation", "decay"]
    aspects: int
    confirmations: int
    change: float


class FeedbackPage(BaseModel):
    """A page of changes, newest first."""

    items: list[FeedbackEvent]
    next_cursor: str | None
