"""Keeping a service: namespaces, and whether it can serve."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx

from loci.operations import listing, operation
from loci.requests import (
    API,
    OMITTED,
    Json,
    Omitted,
    Page,
    Request,
    change,
    get,
    nothing,
    page,
    post,
    reading,
)
from service.schemas_replies import Health, Imported, NamespaceChanged, NamespaceOut, Readiness

LINES = "application/x-ndjson"


class Keeping:
    """Operations on namespaces."""

    @operation
    def create_namespace(
        self, name: str, *, description: str | None = None, language: str | None = None, settings: Json | None = None
    ) -> Request[NamespaceOut]:
        """Create a namespace. Only the operator may."""
        return post(NamespaceOut, "/namespaces", name=name, description=description, language=language, settings=settings)

    @listing
    def list_namespaces(self, *, limit: int | None = None, cursor: str | None = None) -> Request[Page[NamespaceOut]]:
        """Namespaces that the caller may read, by name, with counts."""
        return page(NamespaceOut, "/namespaces", limit=limit, cursor=cursor)

    @operation
    def get_namespace(self, name: str) -> Request[NamespaceOut]:
        """A namespace: settings in force, and how much it holds."""
        return get(NamespaceOut, "/namespaces/{name}", {"name": name})

    @operation
    def change_namespace(
        self, name: str, *, description: str | Omitted | None = OMITTED, settings: Json | Omitted = OMITTED
    ) -> Request[NamespaceChanged]:
        """Change description or settings; a setting of None goes back to its default. Admin."""
        shape, parts = NamespaceChanged, {"name": name}
        return change("PATCH", shape, "/namespaces/{name}", parts, description=description, settings=settings)

    @operation
    def delete_namespace(self, name: str) -> Request[None]:
        """Delete a namespace and everything in it. Admin."""
        return Request(method="DELETE", route=API + "/namespaces/{name}", parts={"name": name}, read=nothing, gone=True)

    @operation
    def import_namespace(self, name: str, content: bytes | Path | Iterable[bytes]) -> Request[Imported]:
        """Restore an export into a namespace: all of it or nothing; a repetition changes nothing. Admin.

        Bytes and a file may be sent again after a lost connection, other iterables may not.
        """
        request = Request(
            method="POST",
            route=API + "/namespaces/{name}/import",
            parts={"name": name},
            read=reading(Imported),
            content=content,
            media=LINES,
        )
        return replace(request, repeatable=isinstance(content, (bytes, Path)))

    @operation
    def health(self) -> Request[Health]:
        """The process answers."""
        return Request(method="GET", route="/healthz", read=reading(Health))

    @operation
    def readiness(self) -> Request[Readiness]:
        """Whether the service can serve, and why not; an unready one raises nothing."""
        return Request(method="GET", route="/readyz", read=reading(Readiness), told=503)

    @operation
    def metrics(self) -> Request[str]:
        """Figures in the text format of Prometheus."""
        return Request(method="GET", route="/metrics", read=_text)


def exporting(name: str, *, vectors: bool | None = None) -> Request[Any]:
    """The request of an export; its reply is read as it comes."""
    return Request(
        method="GET", route=API + "/namespaces/{name}/export", parts={"name": name}, query={"vectors": vectors}, read=nothing
    )


def _text(response: httpx.Response) -> str:
    return response.text
