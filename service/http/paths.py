"""Operations of the OpenAPI document, and which methods the path of a request knows."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

METHODS = ("get", "put", "post", "patch", "delete")
PLACE = re.compile(r"\{\w+\}")
Document = dict[str, Any]


def operations(document: Document) -> Iterator[tuple[str, str, Document]]:
    """Path, method and operation of each operation of a document."""
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                yield path, method, item[method]


def methods_of(routes: Iterable[BaseRoute], path: str) -> list[str]:
    """Methods that the path of a request knows; none where the document has no such path.

    Of the paths that match, the one with the most literal characters counts: /edges/batch is no id of an edge. They come from the
    routes: the document takes most of a second to make, for which everybody would wait at somebody's first mistake.
    """
    documented = [route for route in routes if isinstance(route, APIRoute) and route.include_in_schema]
    found = {route.path_format for route in documented if _pattern(route.path_format).fullmatch(path)}
    if not found:
        return []
    named = max(found, key=lambda template: (len(PLACE.sub("", template)), template))
    return sorted({method for route in documented if route.path_format == named for method in route.methods})


@lru_cache(maxsize=1024)
def _pattern(template: str) -> re.Pattern[str]:
    return re.compile("(?s:.+)".join(re.escape(part) for part in PLACE.split(template)))
