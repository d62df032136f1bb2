"""An import from the beginning to the end: what is it, read it, write it."""

import asyncio
from difflib import get_close_matches
from typing import Any

from db.errors import FieldError, Invalid
from service.transfer.foreign.formats import FORMATS, Format
from service.transfer.foreign.recognise import recognise
from service.transfer.foreign.records import Unreadable
from service.transfer.foreign.rows import Rows
from service.transfer.foreign.sources import Binary, Source, open_stream
from service.transfer.foreign.write import Report, write
from service.transfer.load import Load, Open, load

AUTO, LINES = "auto", "lines"


def format_of(source: Source, name: str) -> Format | None:
    """The format that was named, or that a file has; None where it has none that is known. Raises Invalid for an unknown name."""
    if name == AUTO:
        found = recognise(source)
        return FORMATS.get(found) if found else None
    if name not in FORMATS:
        near = get_close_matches(name, FORMATS)
        hint = f"Did you mean {near[0]}?" if near else f"Formats: {', '.join(FORMATS)}."
        wrong = [FieldError("format", f"must be {AUTO}, {LINES} or one of {', '.join(FORMATS)}")]
        raise Invalid(f"no format is called {name!r}", wrong, hint=hint)
    return FORMATS[name]


async def run_import(
    open_transaction: Open,
    source: Source,
    format: Format,
    report: Report,
    *,
    account: str = "",
    valid_from_created: bool = False,
) -> Report:
    """Import a source of a format."""
    report.notes.skip("links in the folder, which are not followed", source.skipped)
    rows = Rows(format.system, account, report.notes, created_is_valid=valid_from_created)
    return await write(open_transaction, format.read(source, report.notes), report, rows)


async def import_stream(
    open_transaction: Open,
    stream: Binary,
    name: str,
    report: Report,
    *,
    account: str,
    valid_from_created: bool,
) -> Report | Load:
    """Import what a request brought. Raises Invalid for what is of no format that is known, or cannot be read at all."""
    try:
        source = await asyncio.to_thread(open_stream, stream)
        with source.stack:
            known = None if name == LINES else await asyncio.to_thread(format_of, source, name)
            if known is None:
                strange = bool(account or valid_from_created)
                return await _load_lines(open_transaction, source, report, named=name == LINES, strange=strange)
            report.format = known.name
            return await run_import(open_transaction, source, known, report, account=account, valid_from_created=valid_from_created)
    except Unreadable as error:
        raise Invalid(f"the body cannot be imported: {error}", [FieldError("body", str(error))]) from None


async def _load_lines(open_transaction: Open, source: Source, report: Report, *, named: bool, strange: bool) -> Load:
    """Import loose lines: what was named so, or is of no other format and begins as an object does.

    `strange`: what is said of other systems' files was said of them.
    """
    if source.single is None or not (named or source.single.head().lstrip()[:1] in (b"{", b"")):
        wrong = [FieldError("body", f"must be in one of the formats {', '.join(FORMATS)}, or JSON lines")]
        raise Invalid("the body is of no format that is known", wrong)
    if strange:
        wrong = [FieldError("format", "is lines, which have no account or valid_from_created")]
        raise Invalid("account and valid_from_created are for other systems' files, which this is not", wrong)
    stated: dict[str, Any] = {"atomic": report.atomic, "dry_run": report.dry_run, "operator": report.operator}
    with source.single.open() as lines:
        return await load(open_transaction, lines, namespace=report.namespace, **stated)


__all__ = ["AUTO", "format_of", "import_stream", "run_import"]
