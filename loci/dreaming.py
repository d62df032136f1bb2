"""Dreams: passes that ask a language model what to change."""

from collections.abc import Sequence
from typing import Literal

from loci.operations import listing, operation
from loci.requests import Id, Page, Request, page, post
from service.schemas_dreams import DreamPass, PassOut
from service.schemas_jobs import JobQueued


class Dreaming:
    """Operations on dreams."""

    @operation
    def dream(self, *, passes: Sequence[DreamPass] | None = None, dry_run: bool | None = None) -> Request[JobQueued]:
        """Ask for a dream; a job does it. `passes`: these alone, also if the namespace has switched them off."""
        return post(JobQueued, "/dream", passes=None if passes is None else list(passes), dry_run=dry_run)

    @listing
    def list_passes(
        self,
        *,
        name: Literal["memories", "entities", "preferences", "graph", "contradictions", "enrichment"] | None = None,
        job_id: Id | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Request[Page[PassOut]]:
        """Reports of passes, newest first."""
        return page(PassOut, "/passes", name=name, job_id=job_id, limit=limit, cursor=cursor)
