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
        found = None if known is None else await _first_refused(tx, items, write, 0, known)
        if found is None:  # not because of the items, or not of one of them
            raise
    raise named(*found, prefix=prefix)


def named(index: int, known: LociError, *, prefix: str = "") -> LociError:
    """An error of an item, its fields named as those of the batch."""
    item = f"items[{index}]"
    known = renamed(known, prefix)
    errors = [FieldError(_under(item, error.field), error.message) for error in known.errors]
    return replace(known, detail=f"{item}: {known.detail}", errors=errors or [FieldError(item, known.detail)])


def renamed(known: LociError, prefix: str) -> LociError:
    """An error that says nothing of a prefix of its fields."""
    errors = [FieldError(error.field.replace(prefix, ""), error.message.replace(prefix, "")) for error in known.errors]
    return replace(known, detail=known.detail.replace(prefix, ""), errors=errors)


def _under(item: str, field: str) -> str:
    return item if field == "body" else f"{item}.{field}"


async def _first_refused(
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
            return await _first_refused(tx, part, write, first, refused)
    return None
