"""Transfer: an import, and the request of an export."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from loci.descriptors import C, Group, operation
from loci.models.transfer import ExportFormat, Imported, ImportFormat, ImportReport, LinesImported
from loci.requests import API, Request, nothing, reading

LINES, BYTES = "application/x-ndjson", "application/octet-stream"
T = TypeVar("T")


class Transfer(Group[C]):
    """Operations that bring a namespace in."""

    @operation
    def import_namespace(self, name: str, content: bytes | Path | Iterable[bytes]) -> Request[Imported]:
        """Restore an export into a namespace: all of it or nothing; a repetition changes nothing. Admin.

        Bytes and a file may be sent again after a lost connection, other iterables may not.
        """
        return _sending(Imported, name, content, LINES)

    @operation
    def import_from(
        self,
        name: str,
        content: bytes | Path | Iterable[bytes],
        *,
        format: ImportFormat = "auto",
        dry_run: bool | None = None,
        atomic: bool | None = None,
        account: str | None = None,
        valid_from_created: bool | None = None,
    ) -> Request[ImportReport | LinesImported]:
        """Import what another memory system has written, or loose lines: a file, or an archive of files. Writer.

        `format` is told by the content, if it is not named. Items that are wrong are in the report, and the rest goes in;
        `atomic`: nothing does.
        """
        query = {
            "format": format,
            "dry_run": dry_run,
            "atomic": atomic,
            "account": account,
            "valid_from_created": valid_from_created,
        }
        shape: Any = ImportReport | LinesImported
        return replace(_sending(shape, name, content, BYTES), query=query)


def _sending(shape: type[T], name: str, content: bytes | Path | Iterable[bytes], media: str) -> Request[T]:
    """Request that sends a file to be imported. Bytes and a file may be sent again after a lost connection."""
    return Request(
        method="POST",
        route=API + "/namespaces/{name}/import",
        parts={"name": name},
        read=reading(shape),
        content=content,
        media=media,
        repeatable=isinstance(content, (bytes, Path)),
    )


def exporting(name: str, *, vectors: bool | None = None, format: ExportFormat | None = None) -> Request[Any]:
    """The request of an export; its reply is read as it comes."""
    query = {"vectors": vectors, "format": format}
    return Request(method="GET", route=API + "/namespaces/{name}/export", parts={"name": name}, query=query, read=nothing)
