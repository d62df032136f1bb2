"""Dreams: passes that use a language model, and the signals that they learn from."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from loci.models.fields import Content, Flag, Id, Items, Label, Model, NextCursor

DreamPass = Literal["memories", "entities", "preferences", "graph", "contradictions"]


class DreamInput(Model):
    """Which passes to run."""

    passes: list[DreamPass] | None = Field(
        default=None,
        min_length=1,
        max_length=5,
        description="These, also if the namespace has switched them off; default: those that it has not",
    )
    dry_run: Flag = Field(default=False, description="Only report what would be done")


PassName = Literal["memories", "entities", "preferences", "graph", "contradictions", "enrichment"]

PassOutcome = Literal["applied", "unchanged", "planned", "stopped", "failed"]


class PassReport(BaseModel):
    """What one pass of a job did: what it saw, what the model proposed, what was refused and what was applied."""

    id: Id
    pass_: PassName = Field(alias="pass", description="Which pass")
    outcome: PassOutcome = Field(
        description="applied; unchanged (nothing new to look at: no model was asked); planned (dry run); stopped (it would have "
        "removed too much); failed (the model's answer could not be used)"
    )
    operation_id: UUID | None = Field(description="The operation that its changes are, to list or undo; null: it changed nothing")
    started_at: datetime = Field(description="When it began")
    finished_at: datetime = Field(description="When it ended")
    seen: int = Field(description="How many things the model was shown")
    proposed: int = Field(description="How many changes the model proposed")
    applied: int = Field(description="How many of them were made; of a dry run: would be")
    refused: list[dict[str, Any]] = Field(description="What was not, as {guard, action, ids, reason}")
    changes: list[dict[str, Any]] = Field(description="What was, as {action, ids}")
    error: str | None = Field(description="Why it stopped or failed")


class PassOut(PassReport):
    """The report of a pass, and the job that it was part of."""

    job_id: UUID = Field(description="The job that it was part of")


class PassPage(BaseModel):
    """A page of reports, newest first."""

    items: Items[PassOut]
    next_cursor: NextCursor


SignalKind = Literal["correction", "tool_failure", "praise", "complaint", "note"]


class SignalInput(Model):
    """What somebody, or a tool, said about the agent's work."""

    kind: SignalKind = Field(description="Lessons are learned from corrections; the others are shown beside them")
    content: Annotated[Content, Field(max_length=10_000)] = Field(
        examples=["use grep for content search, not search_files"], description="What was said"
    )
    session_id: Label | None = Field(default=None, description="The conversation; default: that of the report")
    memory_id: UUID | None = Field(default=None, description="The memory that it is about; the signal is erased with it")


class Signal(BaseModel):
    """A signal that was noted."""

    id: Id
    kind: SignalKind = Field(description="correction, tool_failure, praise, complaint or note")
    content: str = Field(description="What was said")
    session_id: str | None = Field(description="The conversation that it was said in; null: none")
    memory_id: UUID | None = Field(description="The memory that it is about")
    agent_id: UUID | None = Field(description="Who noted it")
    at: datetime = Field(description="When it was noted")


class SignalPage(BaseModel):
    """A page of signals, newest first."""

    items: Items[Signal]
    next_cursor: NextCursor
