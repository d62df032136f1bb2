"""Reads an import for the service, in a process of its own: `python -I -m service.transfer.reading JOB`.

It imports readers and nothing of the service, takes limits upon itself, reads the file that it was given open, and writes rows.
"""

import errno
import hashlib
import json
import os
import struct
import sys
import zipfile
from typing import Any

import orjson

from service.exact_json import read_exact_json
from service.transfer.foreign.formats import FORMATS
from service.transfer.foreign.recognise import recognise_format
from service.transfer.foreign.records import UNKNOWN_SHAPE, ImportNotes, Link, Unreadable
from service.transfer.foreign.scratch import SCRATCH
from service.transfer.foreign.sources import MIB, FilledLines, Source, numbered_lines, open_stream
from service.transfer.foreign.values import WrongValue
from service.transfer.reading.confinement import confine_process, limit_memory, limit_time
from service.transfer.reading.job import AUTO, LINES, LOCI, Job
from service.transfer.reading.output import LONGEST_LINE_BYTES, Output, Refused

LONGEST_REASON = 1000
SECONDS, SECONDS_A_MIB = 30, 10  # of a processor: to begin with, and for what is read


def main(job: Job) -> None:
    """Read what the job says, and say what is in it."""
    output = Output(os.fdopen(1, "wb", 256 * 1024), 0, job.output)
    size = os.fstat(job.file).st_size
    limit_memory(job.memory)
    limit_time(SECONDS + SECONDS_A_MIB * size // MIB, job.seconds)
    SCRATCH.folder, SCRATCH.ask = job.folder, output.wait_for_room
    confine_process(job.folder, job.output)
    try:
        try:
            _read_job(job, output, size)
        except (MemoryError, OSError) as error:
            raise Refused(*_explain_error(error, job)) from None
        except (*UNKNOWN_SHAPE, NotImplementedError, struct.error, zipfile.BadZipFile) as error:
            raise Refused("unreadable", f"it has a shape that is not known ({type(error).__name__})") from None
    except Unreadable as error:
        output.write_refusal(Refused("unreadable", str(error)[:LONGEST_REASON]))
    except Refused as error:
        output.write_refusal(error)


def _explain_error(error: MemoryError | OSError, job: Job) -> tuple[str, str]:
    if isinstance(error, MemoryError):
        return "memory", f"reading it takes more than the {job.memory // MIB} MiB of memory that it may take"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "disk", str(error.strerror)
    if error.errno in (errno.EMFILE, errno.EFBIG):
        return "unreadable", "the archive holds more archives than are opened, or a larger one"
    return "unreadable", f"it cannot be read: {error.strerror or error}"


def _read_job(job: Job, output: Output, size: int) -> None:
    with os.fdopen(job.file, "rb") as stream:
        if job.format == LOCI:
            output.allow_for(size)
            stream.seek(0)  # whoever wrote it was at its end
            _read_export(stream, output)
            return
        source = open_stream(stream)
        with source.stack:
            total = max(size, sum(file.size for file in source.files))
            output.allow_for(total)
            limit_time(SECONDS + SECONDS_A_MIB * total // MIB, job.seconds)
            _read_source(job, source, output)


def _read_source(job: Job, source: Source, output: Output) -> None:
    name = recognise_format(source) if job.format == AUTO else job.format
    if name in FORMATS:
        output.write_message("format", name)
        read_records(source, str(name), output)
    elif source.only_file is None or not (job.format == LINES or source.only_file.read_head().lstrip()[:1] in (b"{", b"")):
        raise Refused("unknown", f"must be in one of the formats {', '.join(FORMATS)}, or JSON lines")
    else:
        output.write_message("format", LINES)
        _read_lines(source, output)


def read_records(source: Source, name: str, output: Output) -> None:
    """Records of a format; links last, when what they link has been written."""
    notes = ImportNotes()
    links: list[Link] = []
    try:
        for record in FORMATS[name].read(source, notes):
            if isinstance(record, Link):
                links.append(record)
            else:
                output.write_record(record, notes)
    except Unreadable as error:
        notes.note_error(error.place, error.reason)
    except UNKNOWN_SHAPE as error:
        notes.note_error("the file", f"has a shape that is not known ({type(error).__name__}: {error})")
    for link in links:
        output.write_record(link, notes)
    output.write_notes(notes)


def _read_lines(source: Source, output: Output) -> None:
    """Loose lines: the JSON of each; the service interprets it."""
    notes = ImportNotes()
    assert source.only_file is not None  # noqa: S101 (asked before)
    with source.only_file.open() as stream:
        lines = FilledLines(stream, LONGEST_LINE_BYTES)
        for number, line in lines:
            if line is None:
                notes.note_error(str(number), f"is longer than {LONGEST_LINE_BYTES:,} bytes")
                continue
            try:
                output.write_row(LINES, number, read_exact_json(line))
            except WrongValue as error:
                notes.note_error(str(number), str(error))
            except ValueError as error:
                notes.note_error(str(number), f"is not JSON: {error}")
    output.write_notes(notes, lines.count)


def _read_export(stream: Any, output: Output) -> None:
    """Lines of an export as they stand, each with its kind or what is wrong with it; and what all before the last amount to."""
    digest = hashlib.sha256()
    for number, line in numbered_lines(stream, LONGEST_LINE_BYTES):
        if line is None:
            output.write_message("line", None, f"is longer than {LONGEST_LINE_BYTES:,} bytes", beside=b"")
            continue
        kind, wrong = _kind_of(line)
        if kind == "end":
            output.write_message("line", kind, digest.hexdigest(), beside=line)
            continue
        if number > 1:
            digest.update(line)
        output.write_message("line", kind, wrong, beside=line if wrong is None else b"")
    output.write_notes(ImportNotes())


def _kind_of(line: bytes) -> tuple[str | None, str | None]:
    """The kind of a line of an export, or what is wrong with the line."""
    if line.isspace():
        return None, "is empty"
    try:
        item = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        try:
            item = json.loads(line.decode())  # numbers beyond a double, which the database keeps
        except (ValueError, RecursionError):
            return None, f"is not JSON: {error}"
    if not isinstance(item, dict):
        return None, "must be a JSON object"
    kind = item.get("kind")
    return (kind[:100] if isinstance(kind, str) else repr(kind)[:100]), None


if __name__ == "__main__":
    main(Job(**json.loads(sys.argv[1])))
