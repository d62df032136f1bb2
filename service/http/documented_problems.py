"""Problems that routes may answer with, as the OpenAPI document shows them."""

from typing import Any

PROBLEM = {"$ref": "#/components/schemas/Problem"}  # service/http/openapi.py puts it there
_ALWAYS = {401, 403, 404, 422, 429, 503, 504}
_TEXTS = {
    401: "No valid key",
    403: "No grant, or a role too low",
    404: "Not there, or no such namespace",
    409: "Contradicts what is stored, a limit is reached, or the Idempotency-Key was used for another request",
    410: "No longer there: answered before under this Idempotency-Key and erased since, or changes that are no longer kept",
    413: "The body is larger than the service takes",
    415: "The body is not of a media type that this path takes",
    422: "A field is wrong",
    429: "More requests than the key may send, or more at once than its share; Retry-After says how long to wait",
    503: "The database cannot be reached, or is busy",
    504: "It took longer than requests of its kind may take",
}


def problem_response(status: int) -> dict[str, Any]:
    """How the document shows a problem."""
    return {"description": _TEXTS[status], "content": {"application/problem+json": {"schema": PROBLEM}}}


def document_problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """`responses=` of a route: its problems, and those that every route has."""
    return {status: problem_response(status) for status in sorted({*_ALWAYS, *statuses})}
