"""The operations log: who changed what, when, through what."""

from typing import Literal

from loci.operations import listing, operation
from loci.requests import Id, Moment, Page, Request, get, page
from service.schemas_operations import OperationChange, OperationOut


class Log:
    """Operations on the operations log."""

    @listing
    def list_operations(
        self,
        *,
        action: str | None = None,
        agent: Id | None = None,
        via: Literal["rest", "mcp", "cli", "worker", "sql"] | None = None,
        subject: Id | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Request[Page[OperationOut]]:
        """List what changed the namespace, newest first. `subject`: what changed this memory, entity or edge."""
        asked = {"action": action, "agent": agent, "via": via, "subject": subject, "since": since, "until": until}
        return page(OperationOut, "/operations", **asked, limit=limit, cursor=cursor)

    @operation
    def get_operation(self, id: Id) -> Request[OperationOut]:
        """An operation, with counts of its changes."""
        return get(OperationOut, "/operations/{id}", {"id": id})

    @listing
    def operation_changes(self, id: Id, *, limit: int | None = None, cursor: str | None = None) -> Request[Page[OperationChange]]:
        """What an operation changed, before and after, in order."""
        return page(OperationChange, "/operations/{id}/changes", {"id": id}, limit=limit, cursor=cursor)
