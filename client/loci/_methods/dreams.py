"""Dreams: passes that use a language model, and the signals that they learn from."""

from collections.abc import Sequence
from typing import Literal

from loci.descriptors import C, Group, listing, operation
from loci.models.dreams import DreamPass, PassOut, Signal
from loci.models.jobs import JobQueued
from loci.requests import Id, Page, Request, page, post


class Dreams(Group[C]):
    """Operations on dreams."""

    @listing
    def list_signals(
        self, *, limit: int | None = None, cursor: str | None = None, kind: str | None = None, session_id: str | None = None
    ) -> Request[Page[Signal]]:
        """List what was said about the agent's work, newest first."""
        return page(Signal, "/feedback/signals", limit=limit, cursor=cursor, kind=kind, session_id=session_id)

    @operation
    def start(self, *, passes: Sequence[DreamPass] | None = None, dry_run: bool | None = None) -> Request[JobQueued]:
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
