"""An import from the beginning to the end: what is it, read it, write it."""

import asyncio
from collections.abc import Callable
from difflib import get_close_matches

from db.errors import FieldError, Invalid
from service.transfer.foreign.formats import FORMATS, Format
from service.transfer.foreign.recognise import recognise
from service.transfer.foreign.records import Unreadable
from service.transfer.foreign.rows import Rows
from service.transfer.foreign.sources import Binary, Source, open_stream
from service.transfer.foreign.write import Report, write
from service.transfer.load import Open

AUTO = "auto"


def format_of(source: Source, name: str) -> Format | None:
    """The format that was named, or that a file has; None where it has none that is known. Raises Invalid for an unknown name."""
    if name == AUTO:
        found = recognise(source)
        return FORMATS.get(found) if found else None
    if name not in FORMATS:
        near = get_close_matches(name, FORMATS)
        hint = f"Did you mean {near[0]}?" if near else f"Formats: {', '.join(FORMATS)}."
        raise Invalid(
            f"no format is called {name!r}", [FieldError("format", f"must be {AUTO} or one of {', '.join(FORMATS)}")], hint=hint
        )
    return FORMATS[name]


async def run_import(
    open_transaction: Open,
    source: Source,
    format: Format,
    report: Report,
    *,
    account: str = "",
    valid_from_created: bool = False,
    advance: Callable[[Report], None] | None = None,
) -> Report:
    """Import a source of a format."""
    report.notes.skip("links in the folder, which are not followed", source.skipped)
    rows = Rows(format.system, account, report.notes, created_is_valid=valid_from_created)
    return await write(open_transaction, format.read(source, report.notes), report, rows, advance=advance)


async def import_stream(
    open_transaction: Open, stream: Binary, namespace: str, name: str, *, dry_run: bool, account: str, valid_from_created: bool
) -> Report:
    """Import what a request brought. Raises Invalid for what is of no format that is known, or cannot be read at all."""
    try:
        source = await asyncio.to_thread(open_stream, stream)
        with source.stack:
            known = await asyncio.to_thread(format_of, source, name)
            if known is None:
                wrong = [FieldError("body", f"must be in one of the formats {', '.join(FORMATS)}")]
                raise Invalid("the body is of no format that is known", wrong)
            report = Report(known.name, namespace, dry_run=dry_run, operator=False)
            return await run_import(open_transaction, source, known, report, account=account, valid_from_created=valid_from_created)
    except Unreadable as error:
        raise Invalid(f"the body cannot be imported: {error}", [FieldError("body", str(error))]) from None


__all__ = ["AUTO", "format_of", "import_stream", "run_import"]
