"""What requests for dreams may say, and what replies say of passes (rows L4, L5)."""

from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field

from service.schemas_fields import Flag, Model
from service.schemas_jobs import PassReport

DreamPass = Literal["memories", "entities", "preferences", "graph", "contradictions"]


class DreamInput(Model):
    """Which passes to run."""

    passes: list[DreamPass] | None = Field(
        None,
        min_length=1,
        max_length=5,
        description="These, also if the namespace has switched them off; default: those that it has not",
    )
    dry_run: Flag = Field(False, description="Only report what would be done")


class PassOut(PassReport):
    """The report of a pass, and the job that it was part of."""

    job_id: UUID = Field(description="The job that it was part of")


class PassPage(BaseModel):
    """A page of reports, newest first."""

    items: list[PassOut]
    next_cursor: str | None
