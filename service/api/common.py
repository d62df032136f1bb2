"""What routes share: documented problems, and parameters of lists."""

from typing import Annotated, Any

from fastapi import Header, Query
from pydantic import BeforeValidator, TypeAdapter, ValidationError

from db.errors import FieldError, Invalid
from service.problems import Problem
from service.schemas import Metadata, Moment, Text

VERSIONS = 2**31 - 1  # of one lineage, at most
Limit = Annotated[int, Query(ge=1, le=1000, description="Items of a page")]
Cursor = Annotated[Text | None, Query(max_length=1000, description="`next_cursor` of the page before")]
AsOf = Annotated[Moment | None, Query(description="Valid at this moment; default now")]
KnownAt = Annotated[Moment | None, Query(description="As believed at this moment; default now")]


def _utf8(header: object) -> object:
    """A header as the text that was sent in UTF-8; the framework takes its bytes for Latin-1."""
    return header.encode("latin-1").decode() if isinstance(header, str) else header


Space = Annotated[
    Text | None,
    BeforeValidator(_utf8),
    Header(
        alias="X-Space",
        max_length=255,
        description="Your own space of working memory, two segments such as session/abc: a plain key stands under it, and nothing "
        "outside it is written. Default: plain keys stand under agent/<your id>",
    ),
]

_OBJECT: TypeAdapter[dict[str, Any]] = TypeAdapter(Metadata)
_TEXTS = {
    401: "No valid key",
    403: "No grant, or a role too low",
    404: "Not there",
    409: "Contradicts what is stored, or a limit is reached",
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


def json_object(field: str, text: str | None) -> dict[str, Any] | None:
    """A JSON object in a query parameter. Raises Invalid for what is none, or could not be stored."""
    try:
        return None if text is None else _OBJECT.validate_json(text)
    except ValidationError as error:
        message = f"must be a JSON object: {str(error.errors()[0]['msg']).removeprefix('Value error, ')}"
        raise Invalid(f"{field} {message}", [FieldError(field, message)]) from None


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """`responses=` of a route: its problems, and those that every route has."""
    return {
        status: {"description": _TEXTS[status], "content": {"application/problem+json": {"schema": Problem.model_json_schema()}}}
        for status in sorted({401, 403, 422, 503, *statuses})
    }
