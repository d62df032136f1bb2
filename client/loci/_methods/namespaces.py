"""Namespaces and their settings."""

from loci.descriptors import C, Group, listing, operation
from loci.models.namespaces import Growth, NamespaceChanged, NamespaceOut
from loci.requests import API, OMITTED, Json, Omitted, Page, Request, change, get, nothing, page, post


class Namespaces(Group[C]):
    """Operations on namespaces."""

    @operation
    def create(
        self, name: str, *, description: str | None = None, language: str | None = None, settings: Json | None = None
    ) -> Request[NamespaceOut]:
        """Create a namespace. Only the operator may."""
        return post(NamespaceOut, "/namespaces", name=name, description=description, language=language, settings=settings)

    @listing
    def list(self, *, limit: int | None = None, cursor: str | None = None) -> Request[Page[NamespaceOut]]:
        """Namespaces that the caller may read, by name, with counts."""
        return page(NamespaceOut, "/namespaces", limit=limit, cursor=cursor)

    @operation
    def get(self, name: str) -> Request[NamespaceOut]:
        """A namespace: settings in force, and how much it holds."""
        return get(NamespaceOut, "/namespaces/{name}", {"name": name})

    @operation
    def growth(self, name: str, *, weeks: int | None = None) -> Request[Growth]:
        """How a namespace has grown: memories written in each week, and how many there were at its end; oldest week first."""
        return get(Growth, "/namespaces/{name}/growth", {"name": name}, weeks=weeks)

    @operation
    def change(
        self, name: str, *, description: str | Omitted | None = OMITTED, settings: Json | Omitted = OMITTED
    ) -> Request[NamespaceChanged]:
        """Change description or settings; a setting of None goes back to its default. Admin."""
        shape, parts = NamespaceChanged, {"name": name}
        return change("PATCH", shape, "/namespaces/{name}", parts, description=description, settings=settings)

    @operation
    def delete(self, name: str) -> Request[None]:
        """Delete a namespace and everything in it. Admin."""
        return Request(method="DELETE", route=API + "/namespaces/{name}", parts={"name": name}, read=nothing, gone=True)
