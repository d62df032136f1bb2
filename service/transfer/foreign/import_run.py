"""An import from the beginning to the end: a process reads it, what it says becomes records, and these are written."""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

from db.errors import FieldError, Invalid
from service.spool import Spool
from service.transfer.foreign.formats import FORMATS
from service.transfer.foreign.record_writer import Report, write_records
from service.transfer.foreign.records import Edge, Entity, ImportNotes, Json, Link, Memory, Record, Turn
from service.transfer.foreign.rows import Rows
from service.transfer.import_lines import Load, Open, load_lines
from service.transfer.reading.job import LINES
from service.transfer.reading.process import Frame, Reading, start_reading

KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in (Memory, Turn, Entity, Edge, Link)}
MOMENTS = ("valid_from", "valid_to", "made", "changed", "said")


async def import_spool(
    open_transaction: Open, spool: Spool, name: str, report: Report, *, account: str, valid_from_created: bool
) -> Report | Load:
    """Import what a request brought: a file of the format `name`, or AUTO. Raises Invalid for what cannot be read at all."""
    async with start_reading(spool, name) as process:
        _, found = await anext(frames := process.read_frames())
        if found == LINES:
            if account or valid_from_created:
                wrong = [FieldError("format", "is lines, which have no account or valid_from_created")]
                raise Invalid("account and valid_from_created are for other systems' files, which this is not", wrong)
            stated: dict[str, Any] = {"atomic": report.atomic, "dry_run": report.dry_run, "operator": report.operator}
            return await load_lines(open_transaction, process, frames, namespace=report.namespace, **stated)
        report.format = found
        rows = Rows(FORMATS[found].system, account, report.notes, created_is_valid=valid_from_created)
        return await write_records(open_transaction, _read_records(process, frames, report.notes), report, rows)


async def _read_records(process: Reading, frames: AsyncIterator[Frame], notes: ImportNotes) -> AsyncIterator[tuple[Record, int]]:
    """The records of the process with their sizes in bytes; its notes on the whole are merged at the end."""
    async for frame in frames:
        if frame[0] == "end":
            notes.merge_notes(ImportNotes.from_json(frame[1]))
            return
        yield record_of(frame[1], frame[2]), process.size


def record_of(kind: str, fields: Json) -> Record:
    """A record, as it was before it was said."""
    for name in MOMENTS:
        if fields.get(name) is not None:
            fields[name] = datetime.fromisoformat(fields[name])
    record: Record = KINDS[kind](**fields)
    return record


__all__ = ["import_spool", "record_of"]
