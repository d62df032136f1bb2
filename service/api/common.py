"""What routes share: documented problems, and parameters of lists."""

from typing import Annotated, Any

from fastapi import Query

from service.problems import Problem

Limit = Annotated[int, Query(ge=1, le=1000, description="Items of a page")]
Cursor = Annotated[str | None, Query(max_length=1000, description="`next_cursor` of the page before")]

_TEXTS = {
    401: "No valid key",
    403: "No grant, or a role too low",
    404: "Not there",
    409: "Contradicts what is stored",
    422: "A field is wrong",
    503: "The database cannot be reached",
}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """`responses=` of a route: its problems, and those that every route has."""
    return {
        status: {"description": _TEXTS[status], "content": {"application/problem+json": {"schema": Problem.model_json_schema()}}}
        for status in sorted({401, 403, 422, 503, *statuses})
    }
