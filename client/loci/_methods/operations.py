"""Operations: the log, undo, and the change feed."""

from typing import Literal

from loci.descriptors import C, Group, listing, operation
from loci.models.operations import ChangePage, OperationChange, OperationOut, OperationUndone
from loci.requests import Id, Moment, Page, Request, get, page, post
from loci.watch import Names


class Operations(Group[C]):
    """Operations on the log of operations and the change feed."""

    @listing
    def list(
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
    def get(self, id: Id) -> Request[OperationOut]:
        """An operation, with counts of its changes."""
        return get(OperationOut, "/operations/{id}", {"id": id})

    @listing
    def list_changes(self, id: Id, *, limit: int | None = None, cursor: str | None = None) -> Request[Page[OperationChange]]:
        """Changes of an operation, before and after, in order."""
        return page(OperationChange, "/operations/{id}/changes", {"id": id}, limit=limit, cursor=cursor)

    @operation
    def undo(self, id: Id, *, skip_changed: bool | None = None, dry_run: bool | None = None) -> Request[OperationUndone]:
        """Undo an operation: all that it changed is as before. `skip_changed` leaves alone what was changed again since.

        `dry_run` changes nothing: it says what would be as before, and in `conflicts` what stands in the way.
        """
        return post(OperationUndone, "/operations/{id}/undo", {"id": id}, skip_changed=skip_changed, dry_run=dry_run)

    @operation
    def feed(
        self,
        *,
        after: str | None = None,
        kind: Names | None = None,
        namespace: Names | None = None,
        limit: int | None = None,
        wait: float | None = None,
    ) -> Request[ChangePage]:
        """List changes after a cursor, oldest first; go on after `next_cursor`, which is always said. `wait` seconds for one."""
        return get(ChangePage, "/changes", after=after, kind=kind, namespace=namespace, limit=limit, wait=wait)
