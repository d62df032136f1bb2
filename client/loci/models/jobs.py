"""Jobs: work that is done later."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from loci.models.dreams import PassReport
from loci.models.fields import CreatedAt, Id, Items, NextCursor
from loci.models.models import ModelUse

JobKind = Literal["dream", "enrich", "contradictions", "settle", "tune", "project"]

JobState = Literal["waiting", "running", "succeeded", "dead", "cancelled", "skipped"]


class JobItem(BaseModel):
    """A job: what is to be done, and how it stands."""

    id: Id
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
    created_at: CreatedAt
    due_at: datetime | None = Field(description="Not before then; null: at once")
    started_at: datetime | None = Field(description="When it was last begun")
    finished_at: datetime | None = Field(description="When it ended for good; null: it waits or runs")
    error: str | None = Field(description="Why it last failed or was put off")
    result: dict[str, Any] | None = Field(description="What it did; while it runs, how far it is, where it says so")


class JobOut(JobItem):
    """A job with the reports of its passes, and what its calls of a language model took."""

    passes: list[PassReport] = Field(description="Passes that it has run to their end, in order")
    calls: ModelUse = Field(description="Its calls of a language model, all together")


class JobPage(BaseModel):
    """A page of jobs, newest first."""

    items: Items[JobItem]
    next_cursor: NextCursor


class JobQueued(BaseModel):
    """A job was asked for."""

    job_id: UUID = Field(description="Its id; GET /jobs/{id} shows how it stands")
    created: bool = Field(description="false: one that asks for the same waits already, and this is it")
