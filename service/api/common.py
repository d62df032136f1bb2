"""What routes share: documented problems, and parameters of lists."""

from typing import Annotated, Any

from fastapi import Query

from db.errors import FieldError, Invalid
from service.problems import Problem
from service.schemas import Moment, Text

VERSIONS = 2**31 - 1  # of one lineage, at most
Limit = Annotated[int, Query(ge=1, le=1000, description="Items of a page")]
Cursor = Annotated[Text | None, Query(max_length=1000, description="`next_cursor` of the page before")]
AsOf = Annotated[Moment | None, Query(description="Valid at this moment; default now")]
KnownAt = Annotated[Moment | None, Query(description="As believed at this moment; default now")]

_TEXTS = {
    401: "No valid key",
    403: "No grant, or a role too low",
    404: "Not there",
    409: "Contradicts what is stored",
    410: "Answered before under this Idempotency-Key, and erased since",
    422: "A field is wrong",
    503: "The database cannot be reached",
}


def position(cursor: str | None, largest: int = 2**63 - 1) -> int | None:
    """The number that a cursor of a numbered list stands for. Raises Invalid for what was never a cursor."""
    if cursor is None:
        return None
    if not (cursor.isascii() and cursor.isdigit() and int(cursor[:20]) <= largest):
        raise Invalid("cursor must be the next_cursor of a page", [FieldError("cursor", "must be the next_cursor of a page")])
    return int(cursor)


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """`responses=` of a route: its problems, and those that every route has."""
    return {
        status: {"description": _TEXTS[status], "content": {"application/problem+json": {"schema": Problem.model_json_schema()}}}
        for status in sorted({401, 403, 422, 503, *statuses})
    }
