"""Query parameters that a route does not know: ignored, they would be answered as if they had not been asked."""

from collections.abc import Iterator
from difflib import get_close_matches

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError

REPEATED_CHARACTERS = 100  # characters of an unknown name that an error repeats


def check_query(request: Request) -> None:
    """Raise RequestValidationError for parameters that the route of a request does not declare, naming the nearest that it does."""
    if not request.scope["query_string"]:
        return
    known = sorted(set(_list_declared_parameters(request.scope["route"].dependant)))
    unknown = [name[:REPEATED_CHARACTERS] for name in request.query_params if name not in known]
    if unknown:
        raise RequestValidationError([{"loc": ("query", name), "msg": _describe_expected_names(name, known)} for name in unknown])


def _list_declared_parameters(dependant: Dependant) -> Iterator[str]:
    """Names of the query parameters of a route and of what it depends on."""
    yield from (field.alias for field in dependant.query_params)
    for part in dependant.dependencies:
        yield from _list_declared_parameters(part)


def _describe_expected_names(name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, n=1)
    if near:
        return f"is no query parameter here; did you mean {near[0]}?"
    return f"is no query parameter here; there {'are' if known else 'is'} {', '.join(known) or 'none'}"
