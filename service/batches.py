"""Batches that are all or nothing: which of its items the database refused, and why."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import psycopg

from db.errors import FieldError, LociError, refused_rows
from db.pool import Transaction

T = TypeVar("T")
Write = Callable[[Sequence[Any]], Awaitable[T]]


async def write_all(tx: Transaction, items: Sequence[Any], write: Write[T], *, prefix: str = "") -> T:
    """Write items in one statement, and return what that returns. Raises for the first one that is refused, by its index.

    Which it is, is found by writing halves, so that it costs three times the batch. `prefix`: what names of fields begin
    with where an item is written alone.
    """
    try:
        if len(items) == 1:  # nothing is written after it, so nothing has to be taken back by itself
            return await write(items)
        async with tx.savepoint():
            return await write(items)
    except psycopg.Error as error:
        known = refused_rows(error)
        found = None if known is None else await _find_first_refusal(tx, items, write, 0, known)
        if found is None:  # not because of the items, or not of one of them
            raise
    raise name_fields_of_item(*found, prefix=prefix)


def name_fields_of_item(index: int, known: LociError, *, prefix: str = "") -> LociError:
    """An error of an item, its fields named as those of the batch."""
    item = f"items[{index}]"
    known = drop_field_prefix(known, prefix)
    errors = [FieldError(_join_field_path(item, error.field), error.message) for error in known.errors]
    return replace(known, detail=f"{item}: {known.detail}", errors=errors or [FieldError(item, known.detail)])


def drop_field_prefix(known: LociError, prefix: str) -> LociError:
    """An error without a prefix of its fields."""
    errors = [FieldError(error.field.replace(prefix, ""), error.message.replace(prefix, "")) for error in known.errors]
    return replace(known, detail=known.detail.replace(prefix, ""), errors=errors)


def _join_field_path(item: str, field: str) -> str:
    return item if field == "body" else f"{item}.{field}"


async def _find_first_refusal(
    tx: Transaction, items: Sequence[Any], write: Write[T], start: int, known: LociError
) -> tuple[int, LociError] | None:
    """Index of the first item that is refused after those before it, and why; None: no item alone is. `known`: why all were."""
    if len(items) == 1:
        return start, known
    half = len(items) // 2
    for first, part in ((start, items[:half]), (start + half, items[half:])):
        try:
            async with tx.savepoint():
                await write(part)
        except psycopg.Error as error:
            refused = refused_rows(error)
            if refused is None:
                raise
            return await _find_first_refusal(tx, part, write, first, refused)
    return None
