"""Transfer: an import, and the request of an export."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from loci.descriptors import operation
from loci.models.transfer import Imported
from loci.requests import API, Request, nothing, reading

LINES = "application/x-ndjson"


class Transfer:
    """Operations that bring a namespace in."""

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


def exporting(name: str, *, vectors: bool | None = None) -> Request[Any]:
    """The request of an export; its reply is read as it comes."""
    return Request(
        method="GET", route=API + "/namespaces/{name}/export", parts={"name": name}, query={"vectors": vectors}, read=nothing
    )
