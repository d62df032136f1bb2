"""Bulk writes: reading JSON or NDJSON, checking each item, and giving each its own result where that was asked."""

from collections.abc import Sequence
from typing import Any

import psycopg
from pydantic import ValidationError

from db import memories
from db.errors import FieldError, Invalid, LociError, Unsupported, refused_rows
from db.pool import Transaction
from loci.models.fields import MAX_BATCH
from loci.models.memories import MemoryBatch, MemoryInput
from service.batches import named, write_all
from service.exact_json import read_exactly
from service.http.problems import field_errors, problem_of

Outcome = dict[str, Any]


def _invalid(name: str, message: str) -> Invalid:
    return Invalid(f"{name}: {message}", [FieldError(name, message)])


def read_batch(content_type: str | None, body: bytes, atomic: bool | None) -> tuple[list[Any], bool]:
    """The items of a request, unchecked, and whether they are all or nothing. Raises Invalid or Unsupported."""
    media = (content_type or "").partition(";")[0].strip().lower()
    if media in {"application/x-ndjson", "application/jsonl", "application/ndjson"}:
        lines = [line for line in body.splitlines() if line.strip()]
        if not 0 < len(lines) <= MAX_BATCH:
            raise _invalid("body", f"must hold 1 to {MAX_BATCH:,} lines; it has {len(lines):,}")
        return [_line(line) for line in lines], bool(atomic)
    if media != "application/json" and not media.endswith("+json"):
        raise Unsupported("send application/json or application/x-ndjson")
    try:
        batch = MemoryBatch.model_validate_json(body)
    except ValidationError as error:
        errors = field_errors([{**e, "loc": e["loc"] or ("body",)} for e in error.errors()])
        raise Invalid("; ".join(f"{e.field}: {e.message}" for e in errors[:3]), errors) from None
    return batch.items, batch.atomic if atomic is None else atomic


def _line(line: bytes) -> Any:
    try:
        return read_exactly(line)
    except ValueError as error:
        return _invalid("line", f"is not JSON: {error}")


def check(item: Any) -> MemoryInput | LociError:
    """A checked item, or what is wrong with it."""
    if isinstance(item, LociError):
        return item
    try:
        return MemoryInput.model_validate(item)
    except ValidationError as error:
        errors = field_errors(error.errors())
        return Invalid("; ".join(f"{e.field}: {e.message}" for e in errors[:3]), errors)


async def write_each(tx: Transaction, items: list[Any], *, atomic: bool) -> dict[str, Any]:
    """Write a batch; `{items: [{id, duplicate, …} or {problem}]}`, in order. Atomic: raises the first problems instead."""
    checked = [check(item) for item in items]
    if atomic:
        return {"items": await write_all(tx, _all_right(checked), lambda part: _write(tx, part))}
    results: list[Outcome | LociError] = [c if isinstance(c, LociError) else {} for c in checked]
    await _write_or_split(tx, [(i, c.stated()) for i, c in enumerate(checked) if isinstance(c, MemoryInput)], results)
    return {"items": [{"problem": problem_of(r)} if isinstance(r, LociError) else r for r in results]}


def _all_right(checked: list[MemoryInput | LociError]) -> list[Outcome]:
    """What the items state. Raises Invalid, with what is wrong in each, where any is."""
    wrong = [named(i, c) for i, c in enumerate(checked) if isinstance(c, LociError)]
    if wrong:
        errors = [error for problem in wrong for error in problem.errors]
        raise Invalid(f"{len(wrong)} of {len(checked)} items are wrong; nothing was written", errors[:100])
    return [c.stated() for c in checked if isinstance(c, MemoryInput)]


async def _write(tx: Transaction, items: Sequence[Outcome]) -> list[Outcome]:
    """Write items in one statement; what became of each."""
    rows = await memories.remember(tx, items=list(items))
    return [{name: value for name, value in row.items() if name != "ordinal"} for row in rows]


async def _write_or_split(tx: Transaction, good: list[tuple[int, Outcome]], results: list[Outcome | LociError]) -> None:
    """Write all in one statement; where the database refuses, halve until the refused items stand alone."""
    if not good:
        return
    try:
        async with tx.connection.transaction():
            written = await _write(tx, [item for _, item in good])
    except psycopg.Error as error:
        known = refused_rows(error)
        if known is None:
            raise
        if len(good) == 1:
            results[good[0][0]] = known
            return
        half = len(good) // 2
        await _write_or_split(tx, good[:half], results)
        await _write_or_split(tx, good[half:], results)
    else:
        for (index, _), outcome in zip(good, written, strict=True):
            results[index] = outcome
