"""Bulk writes: reading JSON or NDJSON, checking each item, and giving each its own result where that was asked."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from io import BytesIO
from typing import Any

import psycopg
from pydantic import ValidationError

from db import memories
from db.errors import FieldError, Invalid, LociError, Unsupported, refused_rows
from db.pool import Transaction
from loci.models.fields import MAX_BATCH
from loci.models.memories import MemoryBatch, MemoryInput
from service.batches import name_fields_of_item, write_all
from service.http.problems import MOST_ERRORS, problem_of, refusal_of
from service.json_parts import read_in_parts

Outcome = dict[str, Any]


def _make_invalid(name: str, message: str) -> Invalid:
    return Invalid(f"{name}: {message}", [FieldError(name, message)])


Checked = list[MemoryInput | LociError]


def read_batch(content_type: str | None, body: bytes, atomic: bool | None) -> tuple[Checked, bool]:
    """The items of a request, each checked, and whether they are all or nothing. Raises Invalid, TooLarge, Unsupported."""
    media = (content_type or "").partition(";")[0].strip().lower()
    if media in {"application/x-ndjson", "application/jsonl", "application/ndjson"}:
        lines = [line for line in BytesIO(body) if line.strip()]
        if not 0 < len(lines) <= MAX_BATCH:
            raise _make_invalid("body", f"must hold 1 to {MAX_BATCH:,} lines; it has {len(lines):,}")
        return check_each(_parse_line(line) for line in lines), bool(atomic)
    if media != "application/json" and not media.endswith("+json"):
        raise Unsupported("send application/json or application/x-ndjson")
    try:
        batch = MemoryBatch.model_validate(read_in_parts(body))
    except ValidationError as error:
        raise refusal_of(error) from None
    except ValueError as error:
        raise _make_invalid("body", f"is not JSON: {error}") from None
    return check_each(batch.items), batch.atomic if atomic is None else atomic


def _parse_line(line: bytes) -> Any:
    try:
        return read_in_parts(line, part=True)
    except LociError as error:
        return replace(error, errors=[FieldError("line", error.detail)])
    except ValueError as error:
        return _make_invalid("line", f"is not JSON: {error}")


def check_each(items: Iterable[Any]) -> Checked:
    """Each item checked, or what is wrong with it. Fields are named of as many items as anybody reads."""
    checked, named_fields = Checked(), 0
    for item in items:
        each = check_item(item)
        if isinstance(each, LociError):
            named_fields += len(each.errors)
            each = each if named_fields <= MOST_ERRORS else replace(each, errors=[])
        checked.append(each)
    return checked


def check_item(item: Any) -> MemoryInput | LociError:
    """A checked item, or what is wrong with it."""
    if isinstance(item, LociError):
        return item
    try:
        return MemoryInput.model_validate(item)
    except ValidationError as error:
        return refusal_of(error)


async def write_each(tx: Transaction, checked: Checked, *, atomic: bool) -> dict[str, Any]:
    """Write a batch; `{items: [{id, duplicate, …} or {problem}]}`, in order. Atomic: raises the first problems instead."""
    if atomic:
        return {"items": await write_all(tx, _all_right(checked), lambda part: _write_items(tx, part))}
    results: list[Outcome | LociError] = [c if isinstance(c, LociError) else {} for c in checked]
    await _write_or_split(tx, [(i, c.stated()) for i, c in enumerate(checked) if isinstance(c, MemoryInput)], results)
    return {"items": [{"problem": problem_of(r)} if isinstance(r, LociError) else r for r in results]}


def _all_right(checked: Checked) -> list[Outcome]:
    """The items, as stated. Raises Invalid, with what is wrong in each, where any is."""
    wrong = [name_fields_of_item(i, c) for i, c in enumerate(checked) if isinstance(c, LociError)]
    if wrong:
        errors = [error for problem in wrong for error in problem.errors]
        raise Invalid(f"{len(wrong)} of {len(checked)} items are wrong; nothing was written", errors[:100])
    return [c.stated() for c in checked if isinstance(c, MemoryInput)]


async def _write_items(tx: Transaction, items: Sequence[Outcome]) -> list[Outcome]:
    """Write items in one statement; what became of each."""
    rows = await memories.remember(tx, items=list(items))
    return [{name: value for name, value in row.items() if name != "ordinal"} for row in rows]


async def _write_or_split(tx: Transaction, good: list[tuple[int, Outcome]], results: list[Outcome | LociError]) -> None:
    """Write all in one statement; where the database refuses, halve until the refused items stand alone."""
    if not good:
        return
    try:
        async with tx.savepoint():
            written = await _write_items(tx, [item for _, item in good])
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
