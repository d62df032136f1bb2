"""What replies say of jobs: work that is done later (row L6)."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

JobKind = Literal["dream", "enrich", "contradictions"]
JobState = Literal["waiting", "running", "succeeded", "dead", "cancelled", "skipped"]
PassName = Literal["memories", "entities", "preferences", "graph", "contradictions", "enrichment"]
PassOutcome = Literal["applied", "unchanged", "planned", "stopped", "failed"]


class PassReport(BaseModel):
    """What one pass of a job did: what it saw, what the model proposed, what was refused and what was applied."""

    id: UUID
    pass_: PassName = Field(alias="pass", description="Which pass")
    outcome: PassOutcome = Field(
        description="applied; unchanged (nothing new to look at: no model was asked); planned (dry run); stopped (it would have "
        "removed too much); failed (the model's answer could not be used)"
    )
    operation_id: UUID | None = Field(description="The operation that its changes are, to list or undo; null: it changed nothing")
    started_at: datetime
    finished_at: datetime
    seen: int = Field(description="How many things the model was shown")
    proposed: int = Field(description="How many changes the model proposed")
    applied: int = Field(description="How many of them were made; of a dry run: would be")
    refused: list[dict[str, Any]] = Field(description="What was not, as {guard, action, ids, reason}")
    changes: list[dict[str, Any]] = Field(description="What was, as {action, ids}")
    error: str | None = Field(description="Why it stopped or failed")


class ModelUse(BaseModel):
    """What the calls of a language model took."""

    calls: int = Field(description="How many calls")
    prompt_tokens: int = Field(description="Tokens that were sent")
    completion_tokens: int = Field(description="Tokens that came back")
    cost: float = Field(description="By the prices in the service's settings; 0 without prices")
    took_ms: int


class JobItem(BaseModel):
    """A job: what is to be done, and how it stands."""

    id: UUID
    kind: JobKind = Field(description="What is to be done")
    state: JobState = Field(
        description="waiting, running, succeeded, dead (given up after its tries), cancelled, or skipped (the namespace was "
        "busy each time)"
    )
    arguments: dict[str, Any] = Field(description="What it is about: ids and switches")
    tries: int = Field(description="How often it was begun")
    failures: int = Field(description="How often it failed or its worker was lost, since it was made or last retried by hand")
    postponed: int = Field(description="How often it was put off since then: the namespace was busy, or its budget spent")
    agent_id: UUID | None = Field(description="Who asked for it; null: a schedule")
    created_at: datetime
    due_at: datetime | None = Field(description="Not before then; null: at once")
    started_at: datetime | None = Field(description="When it was last begun")
    finished_at: datetime | None = Field(description="When it ended for good; null: it waits or runs")
    error: str | None = Field(description="Why it last failed or was put off")
    result: dict[str, Any] | None = Field(description="What it did")


class JobOut(JobItem):
    """A job with the reports of its passes, and what its calls of a language model took."""

    passes: list[PassReport] = Field(description="Passes that it has run to their end, in order")
    calls: ModelUse = Field(description="Its calls of a language model, all together")


class JobPage(BaseModel):
    """A page of jobs, newest first."""

    items: list[JobItem]
    next_cursor: str | None


class JobQueued(BaseModel):
    """A job was asked for."""

    job_id: UUID = Field(description="Its id; GET /jobs/{id} shows how it stands")
    created: bool = Field(description="false: one that asks for the same waits already, and this is it")
