"""The hierarchy: memories above and under others."""

from loci.descriptors import C, Group, listing, operation
from loci.models.hierarchy import PlacedMemory, PlacedPage
from loci.requests import Id, Moment, Page, Request, get, page


class Hierarchy(Group[C]):
    """Operations on the hierarchy."""

    @listing
    def subtree(
        self,
        id: Id,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        as_of: Moment | None = None,
        known_at: Moment | None = None,
    ) -> Request[Page[PlacedMemory]]:
        """Memories under this one, nearest first, with their depth."""
        parts = {"id": id}
        return page(PlacedMemory, "/memories/{id}/subtree", parts, limit=limit, cursor=cursor, as_of=as_of, known_at=known_at)

    @operation
    def ancestors(self, id: Id, *, as_of: Moment | None = None, known_at: Moment | None = None) -> Request[PlacedPage]:
        """Memories above this one, nearest first, with their depth."""
        return get(PlacedPage, "/memories/{id}/ancestors", {"id": id}, as_of=as_of, known_at=known_at)
