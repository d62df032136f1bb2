"""Jobs: work that is done later."""

from loci.descriptors import C, Group, listing, operation
from loci.models.jobs import JobItem, JobKind, JobOut, JobState
from loci.requests import Id, Page, Request, get, page, post


class Jobs(Group[C]):
    """Operations on jobs."""

    @listing
    def list(
        self, *, state: JobState | None = None, kind: JobKind | None = None, limit: int | None = None, cursor: str | None = None
    ) -> Request[Page[JobItem]]:
        """Jobs, newest first, by state and kind."""
        return page(JobItem, "/jobs", state=state, kind=kind, limit=limit, cursor=cursor)

    @operation
    def get(self, id: Id) -> Request[JobOut]:
        """A job: how it stands, what its passes did, and what its calls of a language model took."""
        return get(JobOut, "/jobs/{id}", {"id": id})

    @operation
    def retry(self, id: Id) -> Request[JobOut]:
        """Try a job again that is dead, cancelled or skipped; one that waits runs now."""
        return post(JobOut, "/jobs/{id}/retry", {"id": id})

    @operation
    def cancel(self, id: Id) -> Request[JobOut]:
        """Cancel a job. One that runs is told to stop: its state is running until it has."""
        return post(JobOut, "/jobs/{id}/cancel", {"id": id})
