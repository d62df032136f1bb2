"""Pages of lists: what routes send and commands print."""

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypedDict, TypeVar, cast

from db.errors import FieldError, Invalid

R = TypeVar("R", bound=Mapping[str, Any])
NOT_A_CURSOR = "must be the next_cursor of a page"
PLACES = {"cursor", "position"}  # where a row stands in its list; it is said of the last one alone


class Page(TypedDict, Generic[R]):
    """A page of a list, and the cursor that leads to the next one; None: this is the last."""

    items: list[R]
    next_cursor: str | None


def make_page(rows: Sequence[R], limit: int, cursor: str = "cursor") -> Page[R]:
    """A page of `limit` rows. One row more than that was asked for, to know whether there is a next page.

    `cursor` is the column that the next page begins after.
    """
    last = str(rows[limit - 1][cursor]) if len(rows) > limit else None
    return {"items": [without_place(row) for row in rows[:limit]], "next_cursor": last}


def make_only_page(rows: Sequence[R]) -> Page[R]:
    """A list that is never longer than one page."""
    return {"items": [without_place(row) for row in rows], "next_cursor": None}


def without_place(row: R) -> R:
    """A row as it is shown: without its place in the list."""
    return cast("R", {key: value for key, value in row.items() if key not in PLACES})


def parse_position(cursor: str | None, largest: int = 2**63 - 1) -> int | None:
    """The number that a cursor of a numbered list stands for. Raises Invalid for what was never a cursor."""
    if cursor is None:
        return None
    if not (cursor.isascii() and cursor.isdigit() and int(cursor[:20]) <= largest):
        raise Invalid(f"cursor {NOT_A_CURSOR}", [FieldError("cursor", NOT_A_CURSOR)])
    return int(cursor)
